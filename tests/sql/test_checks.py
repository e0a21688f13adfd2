"""Every SQL check finds nothing in good tables, and the row in tables that were spoiled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

import bgdata
from bgdata.datasets import all_kinds
from bgdata.datasets.lookahead_labels import DATASET as LOOKAHEAD
from bgdata.datasets.match_equity import DATASET as MATCH_EQUITY
from bgdata.datasets.rollout_decisions import DATASET as DECISIONS
from bgdata.store.checks import SQL, select_columns, sql_checks

FILES = {path.stem: path for path in sorted((SQL / "checks").glob("*.sql"))}


class Spoiler(NamedTuple):
    """Damage to a table, the row that the check must return (its key, or what tells of it), and how many it returns."""

    damage: str
    row: dict[str, object]
    rows: int = 1


def changed(table: str, change: str, **key: int | str | bool) -> Spoiler:
    """A changed value in the row with this key."""
    where = " and ".join(f"{column} = {value!r}" for column, value in key.items())
    return Spoiler(f"update {table} set {change} where {where}", dict(key))


def first_play(change: str, rank: int) -> Spoiler:
    """A changed value in the first play of this rank, with none after it where ranks end there."""
    row = f"(select (game, turn, rank) from play_sample where rank = {rank} order by game, turn limit 1)"
    return Spoiler(f"update play_sample set {change} where (game, turn, rank) = {row}", {"rank": rank})


def pair(table: str, change: str, on_roll: int = 5, opponent: int = 7) -> Spoiler:
    """A changed value of one pair."""
    return changed(table, change, on_roll_index=on_roll, opponent_index=opponent)


OWN_SET = DECISIONS.slug(DECISIONS.smallest)
PAIR = "on_roll_index = 5 and opponent_index = 7"
FIRST_ROW = "(select min(row) from lookahead_labels)"
LABELLED = LOOKAHEAD.slug(LOOKAHEAD.smallest)
FIRST_TURNS = "dataset = 'matches' and game = 0 and turn < 2"
BUILT_MET = MATCH_EQUITY.slug(MATCH_EQUITY.smallest)
BUILT_CELL = f"away = 2 and opponent_away = 3 and met = '{BUILT_MET}'"
SPOILERS: dict[str, list[Spoiler]] = {
    "benchmark_decisions__boards_have_26_integers": [
        changed("benchmark_decisions", "board = board[1:25]", decision=0, variant="contact"),
        changed("benchmark_decisions", "board = null", decision=1, variant=OWN_SET),
    ],
    "benchmark_decisions__plays_are_counted": [
        changed("benchmark_decisions", "n_plays = n_plays + 1", decision=0, variant="contact"),
        changed("benchmark_decisions", "n_plays = null", decision=1, variant=OWN_SET),
        changed("benchmark_decisions", "n_legal_plays = n_plays - 1", decision=1, variant=OWN_SET),
        Spoiler("delete from benchmark_plays where decision = 2 and rank = 1", {"decision": 2, "found": 3}),
    ],
    "benchmark_plays__losses_ascend_from_zero": [
        changed("benchmark_plays", "loss = 0.01", decision=0, rank=0, variant="contact"),
        changed("benchmark_plays", "loss = -0.01", decision=0, rank=1, variant="contact"),
        changed("benchmark_plays", "loss = 0", decision=0, rank=2, variant=OWN_SET),
    ],
    "benchmark_plays__standard_errors_are_of_blocks": [
        changed("benchmark_plays", change, decision=1, rank=rank, variant=OWN_SET)
        for rank, change in (
            (0, "trials = 73"),
            (1, "trials = 36"),
            (1, "trials = null"),
            (1, "standard_error = -0.1"),
            (1, "standard_error = null"),
            (1, "loss_standard_error = 'nan'"),
            (0, "loss_standard_error = 0.1"),
        )
    ],
    "benchmark_rollouts__equities_are_those_of_the_plays": [
        Spoiler(f"update {table} set {change} where decision = 1 and variant = '{OWN_SET}'", {"decision": 1}, rows=4)
        for table, change in (
            ("benchmark_rollouts", "win = 1 - win"),
            ("benchmark_rollouts", "win_gammon = null"),
            ("benchmark_rollouts", "position_id = '4HPwATDgc/ABMA'"),
            ("benchmark_plays", "equity = -equity"),
        )
    ],
    "claims__statuses_follow_from_the_answers": [
        changed("claims", change, claim="A12.matches-few")
        for change in (
            *("status = 'open'", "status = 'right'", "status = null", "answer = null", "our_value = 0.2"),
            *("our_value = null", "published_value = 0.2"),
        )
    ],
    "claims__what_is_not_right_is_explained": [
        changed("claims", change, claim="A12.total-luck")
        for change in ("explanation = null", "correction = null", "is_erratum = false", "is_erratum = null")
    ],
    "first_doubles__chances_follow_each_other": [
        changed("first_doubles", change, state=7)
        for change in (
            "win = 1.01",
            "win = null",
            "win_gammon = win + 0.01",
            "win_backgammon = win_gammon + 0.01",
            "lose_gammon = 1.01 - win",
            "lose_backgammon = -0.01",
        )
    ],
    "first_doubles__weights_sum_to_one": [
        Spoiler("update first_doubles set weight = weight + 0.01 where state = 7", {"states": 330}),
        Spoiler("update first_doubles set weight = null", {"weights": None}),
        Spoiler("delete from first_doubles where state = 7", {"states": 329}),
    ],
    "game_scores__games_take_turns": [
        changed("game_scores", "turns = 12", number=3),
        changed("game_scores", "turns = null", number=3),
    ],
    "game_scores__hedged_points_are_points_less_luck": [
        changed("game_scores", change, number=3)
        for change in (
            "net_luck = 0.5",
            "hedged_points = 0.5",
            "net_luck = 0.5, hedged_points = outcome - 0.49",
            "net_luck = 'nan', hedged_points = 0.5",
        )
    ],
    "game_scores__outcomes_are_one_to_three_points": [
        changed("game_scores", "outcome = 0", number=3),
        changed("game_scores", "outcome = -4", number=3),
        changed("game_scores", "outcome = null", number=3),
    ],
    "game_scores__the_player_begins_every_other_game": [
        changed("game_scores", "begins = true", number=3),
        changed("game_scores", "begins = null", number=2),
    ],
    "benchmark_scores__losses_are_not_negative": [
        changed("benchmark_scores", "loss = -0.01", decision=0),
        changed("benchmark_scores", "loss = null", decision=0),
        changed("benchmark_scores", "rank = 0, loss = 0.01", decision=0),
    ],
    "bgsage_rollouts__chances_follow_each_other": [
        changed("bgsage_rollouts", change, line=1)
        for change in ("win = 1.01", "win = -0.01", "win_backgammon = win_gammon + 0.1", "lose_backgammon = -0.01")
    ],
    "cube_studies__figures_are_possible": [
        changed("cube_studies", change, setting=0.25, measure="win_share")
        for change in ("value = 1.1", "value = -0.1", "value = 'nan'", "value_error = -1", "value_error = null")
    ]
    + [
        changed("cube_studies", "value = 0.9", setting=0.25, measure="mean_cube_value"),
        changed("cube_studies", "sample_size = 0", setting=0.25, measure="points_per_game"),
    ],
    "cube_studies__shares_sum_to_1": [
        Spoiler(
            f"update cube_studies set value = value + 0.01 where setting = 0.25 and measure = '{measure}'",
            {"setting": 0.25, "is_cube": is_cube},
        )
        for measure, is_cube in (("passed_share", False), ("cube_4_share", True))
    ],
    "games__hedged_points_are_points_less_luck": [
        changed("games", change, game=3, dataset="selfplay")
        for change in (
            "hedged_points = 0.5",
            "luck_0 = 0.5",
            "luck_0 = 0.5, hedged_points = if(winner = 0, points_won, -points_won) - 0.49",
            "luck_0 = 'nan', hedged_points = 0.5",
        )
    ],
    "games__luck_is_that_of_their_turns": [
        changed("games", "luck_0 = 0.5", game=3, dataset="selfplay"),
        Spoiler("update turns set luck = 0.5 where dataset = 'selfplay' and game = 3 and turn = 2", {"game": 3}),
        Spoiler("update turns set luck = 0.5 where dataset = 'selfplay' and game = 3", {"game": 3}),
        Spoiler(
            "update turns set luck = 0.5 where dataset = 'selfplay' and game = 3; "
            "update games set luck_0 = 90.5 where dataset = 'selfplay' and game = 3",
            {"game": 3, "luck_0": 90.5},
        ),
    ],
    "games__turns_are_counted": [
        changed("games", "n_turns = n_turns + 1", game=3, dataset="selfplay"),
        changed("games", "n_turns = null", game=0, dataset="matches"),
        Spoiler("delete from turns where dataset = 'selfplay' and game = 3 and turn = 7", {"game": 3}),
        Spoiler("delete from turns where dataset = 'matches' and game = 0", {"game": 0, "found": None}),
    ],
    "match_equity__chances_from_0_to_1": [
        changed("match_equity", f"mwc = {mwc}", away=2, opponent_away=1, is_post_crawford=True, met="sample")
        for mwc in ("1.01", "-0.01", "null", "'nan'")
    ],
    "match_equity__fewer_points_to_go_are_better": [
        changed("match_equity", "mwc = 0.3", away=2, opponent_away=2, met=BUILT_MET),
        changed("match_equity", "mwc = null", away=1, opponent_away=4, is_post_crawford=False, met=BUILT_MET),
    ],
    "match_equity__sides_of_built_tables_sum_to_one": [
        Spoiler(f"update match_equity set mwc = {mwc} where {BUILT_CELL}", {"away": 2, "opponent_away": 3}, rows=2)
        for mwc in ("mwc + 0.01", "null", "'nan'")
    ]
    + [Spoiler(f"delete from match_equity where {BUILT_CELL}", {"away": 3, "opponent_away": 2})],
    "match_equity_sensitivities__changes_of_both_sides_cancel": [
        Spoiler(
            f"update match_equity_sensitivities set mwc_change = {change} where away = 2 and opponent_away = 3",
            {"away": 3, "opponent_away": 2},
            rows=2,
        )
        for change in ("mwc_change + 0.01", "null", "'nan'")
    ],
    "play_sample__games_have_one_split": [
        Spoiler(
            "update play_sample set split = if(split = 'test', 'train', 'test') where (game, turn, rank) in "
            "(select (game, max(turn), 1) from play_sample group by game having count(*) > 1 order by game limit 1)",
            {"splits": 2},
        ),
        Spoiler(
            "update play_sample set split = 'other' where game = (select max(game) from play_sample)", {"splits": 1}
        ),
        Spoiler("update play_sample set split = null where game = (select max(game) from play_sample)", {"splits": 0}),
    ],
    "play_sample__losses_ascend_from_zero": [
        first_play("loss = null", 2),
        first_play("loss = -0.01", 2),
        first_play("loss = 'nan'", 4),
        first_play("loss = loss - 0.2", 4),
        first_play("rank = 9", 4)._replace(row={"rank": 9}),
        Spoiler(
            "update play_sample set loss = 0.01 where (game, turn) = "
            "(select (game, turn) from play_sample group by game, turn having count(*) = 1 order by all limit 1)",
            {"rank": 1, "loss": 0.01},
        ),
    ],
    "position_sample__games_have_one_split": [
        Spoiler(
            "update position_sample set split = if(split = 'test', 'train', 'test') where (game, turn) in "
            "(select (game, max(turn)) from position_sample group by game having count(*) > 1 order by game limit 1)",
            {"splits": 2},
        ),
        Spoiler(
            "update position_sample set split = 'other' where game = (select max(game) from position_sample)",
            {"splits": 1},
        ),
        Spoiler(
            "update position_sample set split = null where game = (select max(game) from position_sample)",
            {"splits": 0},
        ),
    ],
    "position_sample__positions_are_distinct": [
        Spoiler(
            "insert into position_sample from position_sample "
            "where position_id = (select min(position_id) from position_sample)",
            {"rows": 2},
        ),
    ],
    "selfplay_labels__chances_follow_each_other": [
        changed("selfplay_labels", change, game=3, turn=2)
        for change in (
            *("win = 1.01", "win = -0.01", "win = null", "win_gammon = win + 0.1"),
            *("win_backgammon = win_gammon + 0.1", "lose_gammon = 1 - win + 0.1", "lose_backgammon = lose_gammon + 1"),
        )
    ],
    "selfplay_labels__equities_follow_from_the_chances": [
        changed("selfplay_labels", f"cubeless_equity = {equity}", game=3, turn=2)
        for equity in ("cubeless_equity + 0.001", "null", "'nan'")
    ],
    "selfplay_labels__games_have_one_split": [
        changed("selfplay_labels", "split = if(split = 'test', 'train', 'test')", game=3, turn=2)._replace(
            row={"game": 3, "splits": 2}
        ),
        Spoiler("update selfplay_labels set split = 'other' where game = 3", {"game": 3, "splits": 1}),
        Spoiler("update selfplay_labels set split = null where game = 3", {"game": 3, "splits": 0}),
    ],
    "selfplay_labels__labels_have_a_source": [
        changed("selfplay_labels", change, game=3, turn=2)
        for change in (
            *("outcome = 0", "outcome = 4", "outcome = null"),
            *("label_source = 'rollout'", "label_source = null"),
            *("label_source = 'outcome', turns_later = 1", "label_source = 'outcome', turns_later = null"),
            *("label_source = 'exact', turns_later = null", "label_source = 'combined', turns_later = -1"),
            "label_source = 'exact', turns_later = 0, lose_gammon = 0.5",
            "label_source = 'combined', turns_later = 0, lose_backgammon = 0.5",
        )
    ],
    "selfplay_labels__luck_is_of_rolls_up_to_the_label": [
        changed("selfplay_labels", "hedged_equity = 0.5", game=3, turn=2)._replace(rows=47),  # all turns of the game
        Spoiler(
            "update selfplay_labels set hedged_equity = if(turn = 2, 'nan', cubeless_equity) where game = 3",
            {"game": 3, "turn": 2},
        ),
        Spoiler(
            "update selfplay_labels set hedged_equity = cubeless_equity + if(turns_later = 0, 0.1, 0) where game = 3",
            {"game": 3, "turn": 33},
            rows=14,  # that the table covers
        ),
    ],
    "selfplay_labels__turns_agree_with_the_next": [
        *(
            changed("selfplay_labels", change, game=3, turn=2)._replace(rows=2)  # it and the turn before
            for change in (
                *("label_source = 'exact'", "label_source = null", "outcome = -outcome", "outcome = null"),
                *("cubeless_equity = cubeless_equity + 0.1", "turns_later = 7000", "turns_later = null"),
            )
        ),
        changed("selfplay_labels", "turns_later = 1", game=4, turn=45)._replace(rows=2),  # beyond the last turn
        Spoiler("delete from selfplay_labels where game = 3 and turn = 2", {"game": 3, "turn": 1}, rows=45),
    ],
    "supervised_learning_curve__epochs_follow_each_other": [
        Spoiler(
            "update supervised_learning_curve set epoch = 3 where epoch = 2 and network = 'race'",
            {"epoch": 3, "network": "race"},
            rows=3,
        ),
        Spoiler(
            "update supervised_learning_curve set network = 'other' where epoch = 1 and network = 'race'",
            {"epoch": 1, "network": "other"},
            rows=2,
        ),
    ],
    "supervised_learning_curve__errors_are_possible": [
        changed("supervised_learning_curve", change, epoch=1, network="contact")
        for change in (
            *(
                "learning_rate = -1",
                "learning_rate = null",
                "learning_rate = 'nan'",
                "positions = -1",
                "positions = null",
            ),
            *("train_cross_entropy = -0.1", "validation_cross_entropy = 'nan'", "validation_cross_entropy = null"),
            *("train_squared_error = 36.1", "validation_squared_error = -0.1", "train_squared_error = null"),
        )
    ],
    "supervised_learning_curve__kept_weights_are_the_best": [
        changed("supervised_learning_curve", "is_best = not is_best", epoch=1, network="contact"),
        changed("supervised_learning_curve", "is_best = null", epoch=1, network="contact"),
    ],
    "turns__doubles_are_answered": [
        changed("turns", "action = 'double'", game=0, turn=0, dataset="matches"),
        Spoiler(
            f"update turns set action = if(turn = 0, 'double', 'take'), player = 0 where {FIRST_TURNS}",
            {"game": 0, "turn": 0},
        ),
        Spoiler(
            f"update turns set action = if(turn = 0, 'double', 'take'), cube_value = 1 + turn where {FIRST_TURNS}",
            {"game": 0, "turn": 0},
        ),
    ],
    "turns__equities_are_possible": [
        changed("turns", change, game=3, turn=2, dataset="selfplay")
        for change in (
            "cubeless_equity = 3.001",
            "cubeless_equity = -3.001",
            "cubeless_equity = 'nan'",
            "luck = 6.001",
            "luck = -6.001",
            "luck = 'nan'",
        )
    ],
    "games__winners_have_points": [
        changed("games", "points_won = null", game=0, dataset="matches"),
        changed("games", "winner = null", game=0, dataset="matches"),
        changed("games", "points_won = 0", game=0, dataset="matches"),
    ],
    "gnubg_training__chances_follow_each_other": [
        changed("gnubg_training", change, line=2)
        for change in (
            "win = 1.01",
            "win = -0.01",
            "win_gammon = win + 0.1",
            "win_backgammon = win_gammon + 0.1",
            "lose_gammon = 1 - win + 0.1",
            "lose_backgammon = lose_gammon + 0.1",
            "lose_backgammon = -0.01",
        )
    ],
    "learning_curve__games_ascend_in_equal_steps": [
        Spoiler("update learning_curve set games = 401 where games = 400", {"games": 401}),  # beyond its step
        Spoiler("update learning_curve set games = 200 where games = 400", {"games": 200}),  # twice
        Spoiler("update learning_curve set games = 0 where games = 200", {"games": 0}, rows=2),
        # a shorter step is for the last row
        Spoiler(
            "insert into learning_curve select * replace (games + 100 as games) from learning_curve where games = 200",
            {"games": 300},
            rows=2,
        ),
    ],
    "learning_curve__rates_never_rise": [
        changed("learning_curve", "rate = 0.11", games=400),
        changed("learning_curve", "rate = 1.01", games=200),
        changed("learning_curve", "rate = 0", games=400),
        changed("learning_curve", "rate = 'nan'", games=400),
        changed("learning_curve", "rate = null", games=400),
    ],
    "learning_curve__results_are_possible": [
        changed("learning_curve", change, games=400)
        for change in (
            *("points_per_game = 3.01", "points_per_game = -3.01", "points_per_game = 'nan'"),
            *("standard_error = -0.01", "standard_error = 'nan'", "standard_error = null"),
            *("bearoff_error = -0.01", "bearoff_error = 2.01", "bearoff_error = null"),
        )
    ],
    "learning_curve__shares_between_0_and_1": [
        changed("learning_curve", change, games=200)
        for change in (
            *("gammon_share = -0.01", "backgammon_share = -0.01", "gammon_share = 1 - backgammon_share + 0.01"),
            *("backgammon_share = 'nan'", "gammon_share = null"),
            *("turns_per_game = 12.9", "turns_per_game = 400.1", "turns_per_game = null"),
        )
    ],
    "bearoff_labels__chances_follow_each_other": [
        changed("bearoff_labels", change, row=700)
        for change in ("win = 1.01", "win = null", "win_gammon = win + 0.1", "lose_gammon = 1 - win + 0.1")
    ],
    "bearoff_labels__gammons_need_all_checkers": [
        *(
            changed("bearoff_labels", change, row=850)  # of the two-sided table
            for change in (
                *("win_gammon = 0.1, cubeless_equity = cubeless_equity + 0.1", "lose_gammon = null"),
                *("lose_gammon = 0.1, cubeless_equity = cubeless_equity - 0.1", "win_backgammon = 0.1"),
                *("cubeless_equity = cubeless_equity + 0.001", "label_source = 'outcome'", "label_source = null"),
            )
        ),
        changed("bearoff_labels", "label_source = 'exact'", row=800),  # all 15 checkers of the one-sided table
    ],
    "bearoff_labels__positions_are_bearoffs": [
        changed("bearoff_labels", change, row=700)
        for change in (
            *("board = board[1:25]", "board = list_prepend(1, board[2:])", "board = null", "class = 'contact'"),
            *("board = [-x for x in board]", "board = [greatest(x, 0) for x in board]", "split = 'other'"),
            "split = null",
        )
    ],
    "engine_labels__answers_are_of_somebody": [
        changed("engine_labels", change, row=1)
        for change in (
            *("engine = 'gnubg'", "engine = null", "ply = -1", "ply = null"),
            *("cubeless_equity = cubeless_equity + 0.001", "cubeless_equity = null"),
        )
    ],
    "engine_labels__chances_follow_each_other": [
        changed("engine_labels", change, row=1)
        for change in ("win = 1.01", "win = null", "win_gammon = win + 0.1", "lose_backgammon = lose_gammon + 0.1")
    ],
    "engine_labels__games_have_one_split": [
        changed("engine_labels", "split = 'other'", row=1)._replace(row={"row": 1, "splits": 1}),
        changed("engine_labels", "split = null", row=1)._replace(row={"row": 1, "splits": 0}),
        Spoiler("update engine_labels set game = 3, split = if(row = 1, 'train', 'test')", {"game": 3, "splits": 2}),
    ],
    "lookahead_labels__chances_follow_each_other": [
        Spoiler(f"update lookahead_labels set {change} where row = {FIRST_ROW}", {"variant": LABELLED})
        for change in ("win = 1.01", "win = null", "win_gammon = win + 0.1", "lose_backgammon = lose_gammon + 0.1")
    ],
    "lookahead_labels__changes_are_of_equities": [
        Spoiler(f"update lookahead_labels set {change} where row = {FIRST_ROW}", {"variant": LABELLED})
        for change in (
            *(
                "change = change + 0.001",
                "change = 'nan'",
                "change = null",
                "cubeless_equity = cubeless_equity + 0.001",
            ),
            *(
                "static_equity = 3.01, change = cubeless_equity - 3.01",
                "static_equity = null",
                "label_source = 'rollout'",
            ),
            *(
                "label_source = null",
                "label_source = 'lookahead', network = 'x'",
                "label_source = 'lookahead', network = null",
            ),
            "label_source = 'exact', static_equity = cubeless_equity - 0.5, change = 0.5",
        )
    ],
    "lookahead_labels__games_have_one_split": [
        Spoiler(
            "update lookahead_labels set split = if(split = 'test', 'train', 'test') where row in (select max(row) "
            "from lookahead_labels group by game having count(*) > 1 order by game limit 1)",
            {"splits": 2},
        ),
        Spoiler(f"update lookahead_labels set game = null, split = 'other' where row = {FIRST_ROW}", {"splits": 1}),
        Spoiler(f"update lookahead_labels set game = null, split = null where row = {FIRST_ROW}", {"splits": 0}),
    ],
    "lookahead_labels__positions_are_distinct": [
        Spoiler(
            f"insert into lookahead_labels from lookahead_labels where row = {FIRST_ROW}",
            {"variant": LABELLED, "rows": 2},
        ),
    ],
    "positions__boards_have_26_integers": [
        changed("positions", "board = board[1:25]", line=2),
        changed("positions", "board = null", line=2),
    ],
    "rollout_labels__chances_follow_each_other": [
        changed("rollout_labels", change, row=1)
        for change in ("win = 1.01", "win = null", "win_gammon = win + 0.1", "lose_backgammon = lose_gammon + 0.1")
    ],
    "rollout_labels__equities_follow_from_the_chances": [
        changed("rollout_labels", "equity = equity + 1", row=0),
        changed("rollout_labels", "equity = null", row=0),
        changed("rollout_labels", "equity = 'nan'", row=0),
    ],
    "rollout_labels__errors_and_trials_are_possible": [
        changed("rollout_labels", change, row=1)
        for change in (
            "trials = 73",
            "trials = 36",
            "standard_error = -0.1",
            "plain_standard_error = null",
            "lose_gammon_standard_error = -0.1",
            "is_reached = null",
            "network = 'x'",
        )
    ],
    "referee_scores__losses_are_possible": [
        changed("referee_scores", change, decision=3)
        for change in (
            "loss = -0.01",
            "loss = 2.01",
            "loss = null",
            "rank = -1",
            "rank = n_plays",
            "rank = 1, loss = 0",
        )
    ],
    "referee_scores__there_is_a_choice": [
        changed("referee_scores", change, decision=3)
        for change in ("n_plays = 1, rank = 0", "n_plays = null", "die1 = 0", "die2 = null")
    ],
    "scores__figures_are_possible": [
        *(
            changed("scores", change, measure="points_per_game")
            for change in ("value = 3.01", "value = null", "value = 'nan'", "value_error = -0.1", "sample_size = 0")
        ),
        changed("scores", "value = 1.01", measure="gammon_share"),
        changed("scores", "value = -0.01", measure="backgammon_share"),
        *(
            Spoiler(
                f"update scores set measure = '{measure}', value = -0.1 where measure = 'points_per_game'",
                {"measure": measure},
            )
            for measure in ("error_rate", "bearoff_loss_without_tables")
        ),
    ],
    "scores__figures_have_a_source": [
        changed("scores", change, measure="gammon_share")
        for change in ("source_version = null", "source_version = 'selfplay/pubeval-20-seed-3'")
    ],
    "turns__plays_have_dice": [
        changed("turns", "die1 = null", game=0, turn=0, dataset="matches"),
        changed("turns", "die2 = 7", game=0, turn=0, dataset="matches"),
        changed("turns", "action = 'double'", game=0, turn=0, dataset="matches"),
    ],
    "wildbg_training__chances_follow_each_other": [
        changed("wildbg_training", "win = 1.01", line=2),
        changed("wildbg_training", "win_gammon = win + 0.1", line=2),
    ],
    "cube_life__chances_are_possible": [
        pair("cube_life", "win_chance = 1.01"),
        pair("cube_life", "one_sided_win_chance = -0.01"),
        pair("cube_life", "win_chance = 0.4, one_sided_win_chance = 0.46"),
        pair("cube_life", "win_chance = 'nan'"),
    ],
    "cube_life__indexes_are_from_0_to_1": [
        pair("cube_life", "centered_cube_life_index = -0.01"),
        pair("cube_life", "owned_cube_life_index = 1.01"),
        pair("cube_life", "opponent_owned_cube_life_index = 'nan'"),
    ],
    "cube_life__losses_are_margins_or_nothing": [
        *(
            pair("cube_life", f"{source}_{action}_loss = abs({action}_margin) + 0.001")
            for source in ("janowski", "one_sided")
            for action in ("double", "redouble", "take")
        ),
        pair("cube_life", "janowski_take_loss = 'nan'"),
    ],
    "cube_life__redoubling_asks_for_more_than_doubling": [
        pair("cube_life", "redouble_margin = double_margin + 0.001"),
        pair("cube_life", "redouble_margin = 'nan'"),
    ],
    "bearoff_match__chances_between_losing_and_certainty": [
        pair("bearoff_match", "cubeless_mwc = double_pass_mwc + 0.001"),
        pair("bearoff_match", "cubeless_mwc = lost_mwc - 0.001"),
        pair("bearoff_match", "owned_mwc = 1.01"),
        pair("bearoff_match", "centered_mwc = -0.01"),
        pair("bearoff_match", "opponent_owned_mwc = 'nan'"),
        pair("bearoff_match", "taken_mwc = 1.01"),
    ],
    "bearoff_match__every_pair_once": [
        Spoiler(f"delete from bearoff_match where {PAIR}", {"on_roll_index": 5}),
        Spoiler(f"update bearoff_match set opponent_index = 8 where {PAIR}", {"on_roll_index": 5}),
    ],
    "bearoff_match__finished_games_are_decided": [
        pair("bearoff_match", "cubeless_mwc = cubeless_mwc - 0.001", 0, 7),
        pair("bearoff_match", "centered_mwc = centered_mwc + 0.001", 5, 0),
    ],
    "bearoff_match__only_cubes_that_can_be": [
        pair("bearoff_match", "centered_mwc = null"),
        pair("bearoff_match", "owned_mwc = 0.5"),
        pair("bearoff_match", "opponent_owned_mwc = 0.5"),
        pair("bearoff_match", "taken_mwc = null"),
        pair("bearoff_match", "is_crawford = true"),
    ],
    "bearoff_match__owning_the_cube_never_hurts": [
        pair("bearoff_match", "owned_mwc = cubeless_mwc - 0.001"),
        pair("bearoff_match", "opponent_owned_mwc = cubeless_mwc + 0.001"),
    ],
    "bearoff_error__difference_is_one_sided_minus_exact": [
        pair("bearoff_error", "difference = difference + 0.00001"),
        pair("bearoff_error", "one_sided_equity = one_sided_equity - 0.00001"),
        pair("bearoff_error", "exact_equity = 'nan'"),
    ],
    "bearoff_error__difference_is_small": [
        pair("bearoff_error", "difference = 0.11"),
        pair("bearoff_error", "difference = -0.11"),
        pair("bearoff_error", "difference = 'nan'"),
    ],
    "bearoff_error__equities_within_one_point": [
        pair("bearoff_error", "one_sided_equity = 1.00001"),
        pair("bearoff_error", "exact_equity = -1.00001"),
    ],
    "bearoff_gammon__all_15_checkers_on_the_board": [
        changed("bearoff_gammon", "points = [13, 0, 1]", position_index=700),
        changed("bearoff_gammon", "points = [14, 1, 1]", position_index=700),
    ],
    "bearoff_gammon__at_least_one_roll": [
        changed("bearoff_gammon", "chances = list_prepend(0.1, chances[2:])", position_index=700),
        changed("bearoff_gammon", "mean_rolls = 0.99", position_index=700),
    ],
    "bearoff_gammon__chances_sum_to_one": [
        changed("bearoff_gammon", "chances = list_append(chances, 0.00001)", position_index=700),
        changed("bearoff_gammon", "chances = list_append(chances, 'nan'::float)", position_index=700),
    ],
    "bearoff_one_sided__chances_sum_to_one": [
        changed("bearoff_one_sided", "chances = list_append(chances, 0.00001)", position_index=400),
        changed("bearoff_one_sided", "chances = chances[:-2]", position_index=400),
    ],
    "bearoff_one_sided__every_position_once": [
        Spoiler("delete from bearoff_one_sided where position_index = 0", {"variant": "3x15", "rows": 815}),
        Spoiler("delete from bearoff_one_sided where position_index = 400", {"variant": "3x15", "rows": 815}),
        Spoiler(
            "insert into bearoff_one_sided from bearoff_one_sided where position_index = 400",
            {"variant": "3x15", "rows": 817},
        ),
        Spoiler(
            "update bearoff_one_sided set position_index = 401 where position_index = 400",
            {"variant": "3x15", "rows": 816},
        ),
        Spoiler(
            "update bearoff_one_sided set position_index = -1 where position_index = 400",
            {"variant": "3x15", "rows": 816},
        ),
    ],
    # a sample of rows, of which a table on three points has only the first: others are put into it
    "bearoff_one_sided__index_is_the_rank_of_the_points": [
        Spoiler(
            "update bearoff_one_sided set position_index = 1009 where position_index = 8", {"position_index": 1009}
        ),
        changed("bearoff_one_sided", "points = [0, 0, 1]", position_index=0),
        changed("bearoff_one_sided", "checkers = 1", position_index=0),
        changed("bearoff_one_sided", "pip_count = 1", position_index=0),
    ],
    "bearoff_one_sided__mean_follows_from_the_chances": [
        changed("bearoff_one_sided", "mean_rolls = mean_rolls + 0.0001", position_index=400),
        changed("bearoff_one_sided", "mean_rolls = 'nan'", position_index=400),
        changed("bearoff_one_sided", "chances = list_prepend(0, chances)", position_index=400),
    ],
    "bearoff_two_sided__equities_within_two_points": [
        pair("bearoff_two_sided", f"{column} = {value}")
        for column in ("cubeless", "owned", "centered", "opponent_owned")
        for value in ("2.001", "-2.001", "'nan'")
    ],
    "bearoff_two_sided__every_pair_once": [
        Spoiler(f"delete from bearoff_two_sided where {PAIR}", {"variant": "3x3", "on_roll_index": 5, "pairs": 19}),
        Spoiler(
            "delete from bearoff_two_sided where on_roll_index = 5 and opponent_index = 19",
            {"variant": "3x3", "on_roll_index": 5, "pairs": 19},
        ),
        Spoiler(
            f"insert into bearoff_two_sided from bearoff_two_sided where {PAIR}",
            {"variant": "3x3", "on_roll_index": 5, "pairs": 21},
        ),
        # as many pairs as there should be, but one twice and one missing
        Spoiler(
            f"update bearoff_two_sided set opponent_index = 8 where {PAIR}",
            {"on_roll_index": 5, "pairs": 20},
        ),
        Spoiler(
            f"update bearoff_two_sided set opponent_index = -7 where {PAIR}",
            {"on_roll_index": 5, "pairs": 20},
        ),
        Spoiler(
            "update bearoff_two_sided set opponent_index = 8 where on_roll_index = 5 and opponent_index in (6, 10)",
            {"on_roll_index": 5, "pairs": 20},
        ),
        # all pairs of one position missing or under another number: every position has a wrong number of others
        Spoiler("delete from bearoff_two_sided where on_roll_index = 5", {"on_roll_index": 4, "pairs": 20}, rows=19),
        Spoiler(
            "update bearoff_two_sided set on_roll_index = -1 where on_roll_index = 5",
            {"on_roll_index": -1, "pairs": 20},
            rows=20,
        ),
        Spoiler(
            "update bearoff_two_sided set on_roll_index = 20 where on_roll_index = 5",
            {"on_roll_index": 20, "pairs": 20},
            rows=20,
        ),
    ],
    "bearoff_two_sided__finished_games_are_decided": [
        pair("bearoff_two_sided", "cubeless = 0.999", 0, 7),
        pair("bearoff_two_sided", "cubeless = -0.999", 5, 0),
        pair("bearoff_two_sided", "cubeless = -1", 0, 0),
    ],
    # (cubeless, owned, centered, opponent_owned), each wrong in one way
    "bearoff_two_sided__owning_the_cube_never_hurts": [
        pair(
            "bearoff_two_sided",
            f"cubeless = {cubeless}, owned = {owned}, centered = {centered}, opponent_owned = {opponent_owned}",
        )
        for cubeless, owned, centered, opponent_owned in [
            (0, 0.1, 0.101, 0),
            (0, 0, -0.001, 0),
            (0.101, 0.1, 0, 0),
            (-0.001, 0, 0, 0),
        ]
    ],
}


@pytest.fixture(scope="module")
def tables(small_root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The smallest variant of every kind as tables that can be changed; nothing else is loaded than before a build."""
    warehouse = bgdata.open_warehouse(small_root)
    with duckdb.connect() as connection:
        for path in sorted((SQL / "macros").glob("*.sql")):
            connection.execute(path.read_text())
        for kind in warehouse.kinds.values():
            folder = warehouse.open(kind.name, kind.slug(kind.smallest)).folder
            for shape in kind.tables:
                columns, path = select_columns(kind, kind.smallest, shape), folder / shape.file
                query = f"select {columns} from read_parquet('{path}')"
                connection.execute(f"create table if not exists {shape.name} as {query} limit 0")
                connection.execute(f"insert into {shape.name} {query}")
        yield connection


@pytest.fixture
def spoiled(tables: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """The tables, put right again after the test."""
    tables.begin()
    yield tables
    tables.rollback()


@pytest.mark.parametrize("check", FILES)
def test_good_tables_pass(connection: duckdb.DuckDBPyConnection, check: str) -> None:
    assert connection.sql(f"select count(*) from {check.partition('__')[0]}").fetchall() > [(0,)]
    assert connection.sql(FILES[check].read_text()).fetchall() == []


@pytest.mark.parametrize(
    ("check", "spoiler"),
    [
        pytest.param(check, spoiler, id=f"{check}-{number}")
        for check, spoilers in SPOILERS.items()
        for number, spoiler in enumerate(spoilers)
    ],
)
def test_spoiled_rows_are_found(spoiled: duckdb.DuckDBPyConnection, check: str, spoiler: Spoiler) -> None:
    query = FILES[check].read_text()
    assert spoiled.sql(query).fetchall() == []
    spoiled.execute(spoiler.damage)
    found = spoiled.sql(query)
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    assert spoiler.row in [{name: row[name] for name in spoiler.row} for row in rows]
    assert len(rows) == spoiler.rows


@pytest.mark.parametrize("check", FILES)
def test_the_variant_is_named_first(tables: duckdb.DuckDBPyConnection, check: str) -> None:
    assert tables.sql(FILES[check].read_text()).columns[0] == "variant"


def test_every_check_has_a_spoiler() -> None:
    assert sorted(SPOILERS) == sorted(FILES)
    assert [check for check, spoilers in SPOILERS.items() if not spoilers] == []


def test_every_check_belongs_to_a_kind_and_every_kind_has_one() -> None:
    """A check whose name begins with no kind would never run."""
    tables = {kind.name: {shape.name for shape in kind.tables} for kind in all_kinds().values()}
    every = set().union(*tables.values())
    run = [f"{table}__{claim}" for table in every for claim, _ in sql_checks(table)]
    assert sorted(run) == sorted(FILES)
    checked = {check.partition("__")[0] for check in FILES}
    assert [kind for kind, names in tables.items() if not names & checked] == []

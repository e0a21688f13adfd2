"""Damage to games, positions and other people's data."""

from tests.sql.corruptions.corruption import Corruption, changed


def first_play(change: str, rank: int) -> Corruption:
    """A changed value in the first play of this rank."""
    row = f"(select (game, turn, rank) from play_sample where rank = {rank} order by game, turn limit 1)"
    return Corruption(f"update play_sample set {change} where (game, turn, rank) = {row}", {"rank": rank})


FIRST_TURNS = "dataset = 'matches' and game = 0 and turn < 2"
CORRUPTIONS: dict[str, list[Corruption]] = {
    "bgsage_rollouts__chances_follow_each_other": [
        changed("bgsage_rollouts", change, line=1)
        for change in ("win = 1.01", "win = -0.01", "win_backgammon = win_gammon + 0.1", "lose_backgammon = -0.01")
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
        Corruption("update turns set luck = 0.5 where dataset = 'selfplay' and game = 3 and turn = 2", {"game": 3}),
        Corruption("update turns set luck = 0.5 where dataset = 'selfplay' and game = 3", {"game": 3}),
        Corruption(
            "update turns set luck = 0.5 where dataset = 'selfplay' and game = 3; "
            "update games set luck_0 = 90.5 where dataset = 'selfplay' and game = 3",
            {"game": 3, "luck_0": 90.5},
        ),
    ],
    "games__turns_are_counted": [
        changed("games", "n_turns = n_turns + 1", game=3, dataset="selfplay"),
        changed("games", "n_turns = null", game=0, dataset="matches"),
        Corruption("delete from turns where dataset = 'selfplay' and game = 3 and turn = 7", {"game": 3}),
        Corruption("delete from turns where dataset = 'matches' and game = 0", {"game": 0, "found": None}),
    ],
    "foreign_analysis__made_plays_are_those_of_the_turns": [
        Corruption(
            "insert into foreign_analysis by name select variant, game, turn, 'play' as subject, 'it' as analyst, "
            f"0 as choice, {text} as text, true as is_made from turns "
            "where dataset = 'matches' and game = 0 and turn = 0",
            {"game": 0, "turn": 0, "analyst": "it"},
        )
        for text in ("'24/20'", "null")
    ],
    "imported_matches__games_are_counted": [
        changed("imported_matches", change, match=0)
        for change in ("n_games = n_games + 1", "n_games = null", "n_files = 0", "n_files = null")
    ],
    "match_analysis__losses_are_of_decisions": [
        changed("match_analysis", change, game=0, turn=0, subject="play")
        for change in (
            *("loss = -1", "loss = null", "loss = 'nan'", "loss_mwc = -0.1", "loss = 0, error = 'play'"),
            *("loss = 0.5, error = null", "loss = 0.5, error = 'play', is_forced = true"),
            "loss = 0.5, error = 'play', best = made",
        )
    ],
    "match_analysis__rolls_have_luck": [
        changed("match_analysis", change, game=0, turn=0, subject="play") for change in ("luck = null", "die1 = null")
    ],
    "match_rollouts__best_choices_lose_nothing": [
        *(changed("match_rollouts", f"loss = {value}", decision=0, choice=0) for value in ("0.1", "-0.1", "null")),
        changed("match_rollouts", "loss_mwc = null", decision=0, choice=0),
    ],
    "match_rollouts__one_choice_was_made": [
        Corruption(f"update match_rollouts set is_made = {value} where decision = 0", {"decision": 0})
        for value in ("true", "false", "null")
    ],
    "play_sample__games_have_one_split": [
        Corruption(
            "update play_sample set split = if(split = 'test', 'train', 'test') where (game, turn, rank) in "
            "(select (game, max(turn), 1) from play_sample group by game having count(*) > 1 order by game limit 1)",
            {"splits": 2},
        ),
        Corruption(
            "update play_sample set split = 'other' where game = (select max(game) from play_sample)", {"splits": 1}
        ),
        Corruption(
            "update play_sample set split = null where game = (select max(game) from play_sample)", {"splits": 0}
        ),
    ],
    "play_sample__losses_ascend_from_zero": [
        first_play("loss = null", 2),
        first_play("loss = -0.01", 2),
        first_play("loss = 'nan'", 4),
        first_play("loss = loss - 0.2", 4),
        first_play("rank = 9", 4)._replace(row={"rank": 9}),
        Corruption(
            "update play_sample set loss = 0.01 where (game, turn) = "
            "(select (game, turn) from play_sample group by game, turn having count(*) = 1 order by all limit 1)",
            {"rank": 1, "loss": 0.01},
        ),
    ],
    "position_sample__games_have_one_split": [
        Corruption(
            "update position_sample set split = if(split = 'test', 'train', 'test') where (game, turn) in "
            "(select (game, max(turn)) from position_sample group by game having count(*) > 1 order by game limit 1)",
            {"splits": 2},
        ),
        Corruption(
            "update position_sample set split = 'other' where game = (select max(game) from position_sample)",
            {"splits": 1},
        ),
        Corruption(
            "update position_sample set split = null where game = (select max(game) from position_sample)",
            {"splits": 0},
        ),
    ],
    "position_sample__positions_are_distinct": [
        Corruption(
            "insert into position_sample from position_sample "
            "where position_id = (select min(position_id) from position_sample)",
            {"rows": 2},
        ),
    ],
    "turns__doubles_are_answered": [
        changed("turns", "action = 'double'", game=0, turn=0, dataset="matches"),
        Corruption(
            f"update turns set action = if(turn = 0, 'double', 'take'), player = 0 where {FIRST_TURNS}",
            {"game": 0, "turn": 0},
        ),
        Corruption(
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
    "positions__boards_have_26_integers": [
        changed("positions", "board = board[1:25]", line=2),
        changed("positions", "board = null", line=2),
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
}

"""Damage to labels of positions."""

from bgdata.selfplay.kinds.lookahead_labels import DATASET as LOOKAHEAD
from tests.sql.corruptions.corruption import Corruption, changed

FIRST_ROW = "(select min(row) from lookahead_labels)"
LABELLED = LOOKAHEAD.slug(LOOKAHEAD.smallest)
CORRUPTIONS: dict[str, list[Corruption]] = {
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
        Corruption("update selfplay_labels set split = 'other' where game = 3", {"game": 3, "splits": 1}),
        Corruption("update selfplay_labels set split = null where game = 3", {"game": 3, "splits": 0}),
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
        Corruption(
            "update selfplay_labels set hedged_equity = if(turn = 2, 'nan', cubeless_equity) where game = 3",
            {"game": 3, "turn": 2},
        ),
        Corruption(
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
        Corruption("delete from selfplay_labels where game = 3 and turn = 2", {"game": 3, "turn": 1}, rows=45),
    ],
    "bearoff_labels__chances_follow_each_other": [
        changed("bearoff_labels", change, row=700)
        for change in ("win = 1.01", "win = null", "win_gammon = win + 0.1", "lose_gammon = 1 - win + 0.1")
    ],
    "bearoff_labels__gammons_need_all_checkers": [
        *(
            changed("bearoff_labels", change, row=850)  # a row of the two-sided table
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
        Corruption("update engine_labels set game = 3, split = if(row = 1, 'train', 'test')", {"game": 3, "splits": 2}),
    ],
    "lookahead_labels__chances_follow_each_other": [
        Corruption(f"update lookahead_labels set {change} where row = {FIRST_ROW}", {"variant": LABELLED})
        for change in ("win = 1.01", "win = null", "win_gammon = win + 0.1", "lose_backgammon = lose_gammon + 0.1")
    ],
    "lookahead_labels__changes_are_of_equities": [
        Corruption(f"update lookahead_labels set {change} where row = {FIRST_ROW}", {"variant": LABELLED})
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
        Corruption(
            "update lookahead_labels set split = if(split = 'test', 'train', 'test') where row in (select max(row) "
            "from lookahead_labels group by game having count(*) > 1 order by game limit 1)",
            {"splits": 2},
        ),
        Corruption(f"update lookahead_labels set game = null, split = 'other' where row = {FIRST_ROW}", {"splits": 1}),
        Corruption(f"update lookahead_labels set game = null, split = null where row = {FIRST_ROW}", {"splits": 0}),
    ],
    "lookahead_labels__positions_are_distinct": [
        Corruption(
            f"insert into lookahead_labels from lookahead_labels where row = {FIRST_ROW}",
            {"variant": LABELLED, "rows": 2},
        ),
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
    "training_games__chances_follow_each_other": [
        changed("training_games", change, game=0, turn=2)
        for change in ("win = 1.01", "win = null", "win_gammon = win + 0.1", "lose_backgammon = lose_gammon + 0.1")
    ],
    "training_games__equities_follow_from_the_chances": [
        changed("training_games", change, game=0, turn=2)
        for change in (
            *("cubeless_equity = cubeless_equity + 0.001", "cubeless_equity = null", "lookahead_equity = 3.01"),
            *("lookahead_equity = null", "static_equity = -3.01", "static_equity = 'nan'"),
            *("network = 'x'", "network = null"),
        )
    ],
    "training_games__games_have_one_split_and_start": [
        changed("training_games", "split = if(split = 'test', 'train', 'test')", game=0, turn=2)._replace(
            row={"game": 0, "splits": 2}
        ),
        changed("training_games", "start = 'elsewhere'", game=0, turn=2)._replace(row={"game": 0, "starts": 2}),
        changed("training_games", "start = null", game=0, turn=2)._replace(row={"game": 0}),
        Corruption("update training_games set split = 'other' where game = 0", {"game": 0, "splits": 1}),
        Corruption("update training_games set split = null where game = 0", {"game": 0, "splits": 0}),
    ],
    "training_games__turns_follow_each_other": [
        Corruption("delete from training_games where game = 0 and turn = 2", {"game": 0}),
        Corruption("delete from training_games where game = 0 and turn = 0", {"game": 0}),
        changed("training_games", "turn = 1", game=0, turn=2)._replace(row={"game": 0}),
    ],
}

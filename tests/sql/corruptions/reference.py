"""Damage to reference positions, and to players' values of them."""

from tests.sql.corruptions.corruption import Corruption, changed

TABLE, SCORES, CHECKS = "reference_positions", "reference_scores", "reference_checks"
CORRUPTIONS: dict[str, list[Corruption]] = {
    "reference_positions__chances_follow_each_other": [
        changed(TABLE, change, row=5)
        for change in (
            *("win = 1.01", "win = -0.01", "win = null", "win_gammon = win + 0.1", "lose_gammon = 1 - win + 0.1"),
            *("win_backgammon = win_gammon + 0.1", "lose_backgammon = lose_gammon + 0.1"),
        )
    ],
    "reference_positions__equities_follow_from_the_chances": [
        changed(TABLE, f"cubeless_equity = {equity}", row=5) for equity in ("cubeless_equity + 0.001", "null", "'nan'")
    ],
    "reference_positions__standard_errors_and_trials_are_possible": [
        changed(TABLE, change, row=5)
        for change in (
            *("trials = 73", "trials = 36", "trials = null", "standard_error = -0.1", "standard_error = 'nan'"),
            *("standard_error = 3.1", "standard_error = null", "lose_gammon_standard_error = -0.1"),
            *("win_standard_error = 1.1", "win_standard_error = null", "is_reached = null", "network = 'x'"),
            "network = null",
        )
    ],
    "reference_positions__themes_agree_with_the_class": [
        *(
            changed(TABLE, f"theme = {theme}", row=5)
            for theme in ("'blots'", "null", "'race'", "'bear-off'", "'crashed'")
        ),
        changed(TABLE, "class = 'race'", row=5),
    ],
    "reference_positions__games_have_one_split_and_source": [
        *(  # the first two rows in one game
            Corruption(
                f"update {TABLE} set game = -7, split = 'test', source = 'a', start = 'b', is_perturbed = false "
                f"where row < 2; update {TABLE} set {change} where row = 1",
                {"game": -7},
            )
            for change in ("split = 'validation'", "source = 'c'", "start = 'c'", "is_perturbed = true")
        ),
        *(
            Corruption(f"update {TABLE} set {change} where game = 0", {"game": 0})
            for change in ("split = 'train'", "split = null", "source = null", "start = null", "is_perturbed = null")
        ),
    ],
    "reference_positions__positions_are_distinct": [
        Corruption(f"insert into {TABLE} select * replace (-1 as row) from {TABLE} where row = 5", {"positions": 2}),
        Corruption(
            f"insert into {TABLE} select * replace (-1 as row, flip(board) as board) from {TABLE} where row = 5",
            {"positions": 2},
        ),
    ],
    "reference_positions__themes_have_as_many_of_both_splits": [
        Corruption(f"delete from {TABLE} where row = 5", {"theme": "blitz"}),
        changed(TABLE, "split = 'other'", row=5)._replace(row={"theme": "blitz"}),
        changed(TABLE, "split = null", row=5)._replace(row={"theme": "blitz"}),
    ],
    "reference_positions__one_position_of_a_theme_in_a_game": [
        Corruption(f"update {TABLE} set game = 7 where theme = 'blitz'", {"game": 7, "theme": "blitz", "positions": 2}),
        changed(TABLE, "game = null", row=5)._replace(row={"game": None}),
        changed(TABLE, "game = -1", row=5)._replace(row={"game": -1}),
    ],
    "reference_scores__chances_are_from_0_to_1": [
        changed(SCORES, change, row=5)
        for change in (
            *("win = 1.001", "win = -0.001", "win = null", "win_gammon = 'nan'", "win_backgammon = 1.001"),
            *("lose_gammon = -0.001", "lose_backgammon = null"),
        )
    ],
    "reference_scores__equities_follow_from_the_chances": [
        changed(SCORES, f"cubeless_equity = {equity}", row=5) for equity in ("cubeless_equity + 0.001", "null", "'nan'")
    ],
    "reference_scores__errors_are_possible": [
        changed(SCORES, change, row=5)
        for change in (
            *("equity_error = cubeless_equity + 3.01", "equity_error = null", "equity_error = 'nan'"),
            *("standard_error = -0.1", "standard_error = 3.1", "standard_error = null", "standard_error = 'nan'"),
        )
    ],
    "reference_scores__positions_are_of_a_theme_and_split": [
        changed(SCORES, change, row=5)
        for change in (
            *("theme = 'blots'", "theme = null", "split = 'train'", "split = null", "game = -1", "game = null"),
        )
    ],
    "reference_checks__scores_follow_from_differences": [
        changed(CHECKS, change, row=4)
        for change in (
            *(
                "z_score = z_score + 0.1",
                "equity_difference = equity_difference + 0.1",
                "difference_standard_error = 0",
            ),
            *("standard_error = 3.1", "equity_difference = null", "equity_difference = 6.1"),
        )
    ],
}

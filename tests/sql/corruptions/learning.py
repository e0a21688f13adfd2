"""Damage to learning curves."""

from tests.sql.corruptions.corruption import Corruption, changed

CORRUPTIONS: dict[str, list[Corruption]] = {
    "supervised_learning_curve__epochs_follow_each_other": [
        Corruption(
            "update supervised_learning_curve set epoch = 3 where epoch = 2 and network = 'race'",
            {"epoch": 3, "network": "race"},
            rows=3,
        ),
        Corruption(
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
    "learning_curve__games_ascend_in_equal_steps": [
        Corruption("update learning_curve set games = 401 where games = 400", {"games": 401}),  # beyond its step
        Corruption("update learning_curve set games = 200 where games = 400", {"games": 200}),  # twice
        Corruption("update learning_curve set games = 0 where games = 200", {"games": 0}, rows=2),
        # a shorter step is for the last row
        Corruption(
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
    "turn_input__games_ascend_in_equal_steps": [
        Corruption("update turn_input set games = 7 where games = 5 and arm = 'no input'", {"games": 7}),
        Corruption("update turn_input set games = 4 where games = 5 and arm = 'no input'", {"games": 4}),  # twice
        Corruption("update turn_input set games = 0 where games = 2 and arm = 'dice kept'", {"games": 0}, rows=3),
    ],
    "turn_input__arms_have_the_same_rows": [
        Corruption("delete from turn_input where games = 4 and arm = 'no input'", {"games": 4}),
        Corruption("update turn_input set arm = 'other' where games = 4 and arm = 'no input'", {"games": 4}),
        Corruption("update turn_input set arm = 'no input' where games = 4 and arm = 'dice kept'", {"games": 4}),
    ],
    "turn_input__figures_are_possible": [
        changed("turn_input", change, games=4, arm="dice kept")
        for change in (
            *(f"{name} = {value}" for name in ("win", "side_difference") for value in (-1.01, 1.01, "null")),
            *("win_gammon = 1.01", "win_backgammon = -0.01", "lose_gammon = 'nan'", "lose_backgammon = 1.01"),
            *("gammon_share = -0.01", "backgammon_share = 1 - gammon_share + 0.01", "gammon_share = null"),
            *("turns_per_game = 12.9", "turns_per_game = 400.1", "turns_per_game = null"),
        )
    ],
    "turn_input__without_the_input_the_dice_do_not_matter": [
        changed("turn_input", change, games=4, arm="no input")
        for change in ("win = 0.51", "win = null", "win_gammon = lose_gammon + 0.01", "lose_backgammon = 0.9")
    ],
    "output_trials__games_ascend_in_equal_steps": [
        Corruption("update output_trials set games = 7 where games = 5 and trial = 'zeroed'", {"games": 7}),
        Corruption("update output_trials set games = 4 where games = 5 and trial = 'zeroed'", {"games": 4}),  # twice
        Corruption("update output_trials set games = 0 where games = 2 and trial = 'zeroed'", {"games": 0}, rows=3),
    ],
    "output_trials__trials_have_the_same_rows": [
        Corruption("delete from output_trials where games = 4 and trial = 'weighted'", {"games": 4}),
        Corruption("update output_trials set trial = 'other' where games = 4 and trial = 'weighted'", {"games": 4}),
        Corruption("update output_trials set trial = 'gammon' where games = 4 and trial = 'chances'", {"games": 4}),
    ],
    "output_trials__figures_are_possible": [
        changed("output_trials", change, games=4, trial="chances")
        for change in (
            *(f"{name} = {value}" for name in ("win", "side_difference") for value in (-1.01, 1.01, "null")),
            *("win_gammon = 1.01", "win_backgammon = -0.01", "lose_gammon = 'nan'", "lose_backgammon = 1.01"),
            *("gammon_share = -0.01", "backgammon_share = 1 - gammon_share + 0.01", "gammon_share = null"),
            *("turns_per_game = 12.9", "turns_per_game = 400.1", "turns_per_game = null"),
            *("points_per_game = 3.01", "points_per_game = -3.01", "points_per_game = 'nan'"),
            *("standard_error = -0.01", "standard_error = null"),
        )
    ],
    "output_trials__conditional_chances_are_ordered": [
        *(
            changed("output_trials", change, games=4, trial="backgammon")
            for change in (
                *("win_gammon = win + 0.01", "win_backgammon = win_gammon + 0.01", "lose_gammon = 1.01 - win"),
                *("lose_backgammon = lose_gammon + 0.01", "lose_gammon = null"),
            )
        ),
        *(
            changed("output_trials", change, games=4, trial="gammon")
            for change in ("win_backgammon = 0.01", "lose_backgammon = 0.01")
        ),
    ],
    "contact_parts__errors_are_possible": [
        changed("contact_parts", change, arm="one", grouping="all")
        for change in (
            *("tested = -1", "tested = null", "learned = -1", "learned = null"),
            *("rmse = -0.01", "rmse = 6.01", "rmse = 'nan'", "rmse = null", "rmse_standard_error = -0.01"),
            *("bias = rmse + 0.01", "bias = -rmse - 0.01", "bias = null"),
        )
    ],
    "contact_parts__groups_make_up_all": [
        Corruption(
            "update contact_parts set tested = tested + 1 where arm = 'k-means 3' and group_name = '1'",
            {"arm": "k-means 3", "grouping": "part"},
        ),
        Corruption(
            "update contact_parts set learned = learned - 1 where arm = 'classes' and group_name = '1'",
            {"arm": "classes", "grouping": "part"},
        ),
        Corruption(
            "delete from contact_parts where arm = 'themes' and grouping = 'part' and tested = "
            "(select max(tested) from contact_parts where arm = 'themes' and grouping = 'part')",
            {"arm": "themes", "grouping": "part"},
        ),
    ],
    "contact_parts__arms_have_the_same_themes": [
        Corruption(
            "update contact_parts set group_name = 'other' "
            "where arm = 'classes' and group_name = 'blitz' and grouping = 'theme'",
            {"arm": "classes", "grouping": "theme"},
        ),
        Corruption(
            "delete from contact_parts where arm = 'k-means 2' and group_name = 'opening' and grouping <> 'theme'",
            {"arm": "k-means 2", "grouping": "reference-theme"},
        ),
    ],
}

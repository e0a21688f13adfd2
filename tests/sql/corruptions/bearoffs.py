"""Damage to tables of bearoffs, for money and in matches."""

from tests.sql.corruptions.corruption import Corruption, changed


def pair(table: str, change: str, on_roll: int = 5, opponent: int = 7) -> Corruption:
    """A changed value of one pair."""
    return changed(table, change, on_roll_index=on_roll, opponent_index=opponent)


def rule(change: str, weighting: str = "equal") -> Corruption:
    """A changed value of one rule of thumb."""
    return changed("race_rules", change, rule="keith", cube_decision="double", weighting=weighting, part="all")


def group(change: str) -> Corruption:
    """A changed value of one group of pairs."""
    return changed("race_error", change, grouping="checkers", on_roll_group=2, opponent_group=3)


def endgames(table: str, limit: int, columns: list[str]) -> dict[str, list[Corruption]]:
    """Corruptions of tables of contact endgames, by check."""
    name = {1: "a_point", 3: "three_points"}[limit]
    return {
        f"{table}__equities_within_{name}": [
            *(pair(table, f"{column} = {limit}.001") for column in columns),
            *(pair(table, f"{column} = 'nan'") for column in columns),
        ],
        f"{table}__owning_the_cube_never_hurts": [
            pair(table, "owned = centered - 0.0001"),
            pair(table, "centered = opponent_owned - 0.0001"),
            pair(table, "owned = cubeless - 0.0001"),
            pair(table, "opponent_owned = cubeless + 0.0001"),
        ],
        f"{table}__every_pair_once": [
            Corruption(f"delete from {table} where {PAIR}", {"variant": "1", "pairs": 600}),
            Corruption(f"insert into {table} from {table} where {PAIR}", {"variant": "1", "pairs": 602}),
            Corruption(f"update {table} set opponent_index = 8 where {PAIR}", {"variant": "1", "pairs": 601}),
            Corruption(f"update {table} set on_roll_index = 6 where {PAIR}", {"variant": "1", "pairs": 601}),
        ],
    }


PAIR = "on_roll_index = 5 and opponent_index = 7"
CORRUPTIONS: dict[str, list[Corruption]] = {
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
    **endgames("contact_endgame", 1, ["cubeless", "owned", "centered", "opponent_owned"]),
    **endgames("hypergammon", 3, ["cubeless", "owned", "centered", "opponent_owned", "centered_jacoby"]),
    "hypergammon__chances_are_possible": [
        pair("hypergammon", "win = 1.01"),
        pair("hypergammon", "win_gammon = win + 0.01"),
        pair("hypergammon", "win_backgammon = win_gammon + 0.01"),
        pair("hypergammon", "lose_gammon = 1.01 - win"),
        pair("hypergammon", "lose_backgammon = 'nan'"),
    ],
    "hypergammon__chances_make_the_cubeless_equity": [
        pair("hypergammon", "win_gammon = win_gammon - 0.0001"),
        pair("hypergammon", "cubeless = cubeless + 0.0001"),
    ],
    "race_error__figures_are_possible": [
        group("mean_difference = mean_absolute_difference + 0.001"),
        group("mean_difference = 'nan'"),
        group("mean_absolute_difference = sd_difference + abs(mean_difference) + 0.001"),
        group("sd_difference = -0.001"),
        group("largest_difference = mean_difference - 0.001"),
        group("smallest_difference = mean_difference + 0.001"),
        group("smallest_difference = null"),
        group("largest_on_roll_index = 0"),
        group("smallest_opponent_index = 0"),
    ],
    "race_error__groups_add_up": [
        Corruption(
            "update race_error set pairs = pairs + 1 "
            "where grouping = 'checkers' and on_roll_group = 2 and opponent_group = 3",
            {"grouping": "checkers"},
        ),
        Corruption(
            "update race_error set mean_difference = mean_difference + 0.0001 "
            "where grouping = 'wastage' and pairs = (select max(pairs) from race_error where grouping = 'wastage')",
            {"grouping": "wastage"},
        ),
        Corruption("delete from race_error where grouping = 'pips' and on_roll_group = 3", {"grouping": "pips"}),
    ],
    "race_rules__losses_are_possible": [
        rule("mean_loss_per_cube = -0.001"),
        rule("mean_loss_per_cube = largest_loss + 0.001"),
        rule("mean_loss_per_cube = 'nan'"),
        rule("largest_loss = 4.001"),
        rule("error_share = 1.001"),
        rule("error_share = 'nan'"),
        rule("on_roll_index = null"),
        rule("opponent_index = null"),
    ],
    "race_rules__every_rule_decides_the_same_positions": [
        rule("positions = positions - 1"),
        rule("occurrences = occurrences + 1"),
        rule("occurrences = occurrences + 1", "played"),
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
        Corruption(f"delete from bearoff_match where {PAIR}", {"on_roll_index": 5}),
        Corruption(f"update bearoff_match set opponent_index = 8 where {PAIR}", {"on_roll_index": 5}),
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
        Corruption("delete from bearoff_one_sided where position_index = 0", {"variant": "3x15", "rows": 815}),
        Corruption("delete from bearoff_one_sided where position_index = 400", {"variant": "3x15", "rows": 815}),
        Corruption(
            "insert into bearoff_one_sided from bearoff_one_sided where position_index = 400",
            {"variant": "3x15", "rows": 817},
        ),
        Corruption(
            "update bearoff_one_sided set position_index = 401 where position_index = 400",
            {"variant": "3x15", "rows": 816},
        ),
        Corruption(
            "update bearoff_one_sided set position_index = -1 where position_index = 400",
            {"variant": "3x15", "rows": 816},
        ),
    ],
    # a sample of rows, of which a table on three points has only the first: others are put into it
    "bearoff_one_sided__index_is_the_rank_of_the_points": [
        Corruption(
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
        Corruption(f"delete from bearoff_two_sided where {PAIR}", {"variant": "3x3", "on_roll_index": 5, "pairs": 19}),
        Corruption(
            "delete from bearoff_two_sided where on_roll_index = 5 and opponent_index = 19",
            {"variant": "3x3", "on_roll_index": 5, "pairs": 19},
        ),
        Corruption(
            f"insert into bearoff_two_sided from bearoff_two_sided where {PAIR}",
            {"variant": "3x3", "on_roll_index": 5, "pairs": 21},
        ),
        # as many pairs as there should be, but one twice and one missing
        Corruption(
            f"update bearoff_two_sided set opponent_index = 8 where {PAIR}",
            {"on_roll_index": 5, "pairs": 20},
        ),
        Corruption(
            f"update bearoff_two_sided set opponent_index = -7 where {PAIR}",
            {"on_roll_index": 5, "pairs": 20},
        ),
        Corruption(
            "update bearoff_two_sided set opponent_index = 8 where on_roll_index = 5 and opponent_index in (6, 10)",
            {"on_roll_index": 5, "pairs": 20},
        ),
        # all pairs of one position missing or renumbered: every position has a wrong number of pairs
        Corruption("delete from bearoff_two_sided where on_roll_index = 5", {"on_roll_index": 4, "pairs": 20}, rows=19),
        Corruption(
            "update bearoff_two_sided set on_roll_index = -1 where on_roll_index = 5",
            {"on_roll_index": -1, "pairs": 20},
            rows=20,
        ),
        Corruption(
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

"""Damage to match equity tables, studies of the cube and claims."""

from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from tests.sql.corruptions.corruption import Corruption, changed

BUILT_MET = MATCH_EQUITY.slug(MATCH_EQUITY.smallest)
BUILT_CELL = f"away = 2 and opponent_away = 3 and met = '{BUILT_MET}'"
CORRUPTIONS: dict[str, list[Corruption]] = {
    "claims__statuses_follow_from_the_answers": [
        changed("claims", change, claim="A12.matches-few")
        for change in (
            *(
                "status = 'open'",
                "status = 'disagrees'",
                "status = 'right'",
                "status = null",
                "answer = null",
                "our_value = 0.2",
            ),
            *("our_value = null", "published_value = 0.2"),
        )
    ]
    + [
        changed("claims", change, claim="A12.more-matches")
        for change in ("our_value = 10", "our_value = null", "status = 'open'", "published = 'more than 12'")
    ],
    "claims__tolerances_cover_the_errors": [
        changed("claims", change, claim="A12.total-luck")
        for change in (
            *("our_error = 0", "published_error = -1", "our_error = 0.1", "published_error = 0.1"),
            *("our_error = 1e-6, our_value = null", "our_error = 0.00015, published_error = 0.00015"),
            *("our_bound = 0", "our_bound = 0.1"),
        )
    ],
    "claims__kinds_say_which_claim_they_restate": [
        changed("claims", change, claim="A12.total-luck-as-added")
        for change in (
            *("kind = 'published'", "kind = 'right'", "kind = null", "restates = null", "restates = 'A12.colour'"),
            "restates = claim",
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
        Corruption("update first_doubles set weight = weight + 0.01 where state = 7", {"states": 330}),
        Corruption("update first_doubles set weight = null", {"weights": None}),
        Corruption("delete from first_doubles where state = 7", {"states": 329}),
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
        Corruption(
            f"update cube_studies set value = value + 0.01 where setting = 0.25 and measure = '{measure}'",
            {"setting": 0.25, "is_cube": is_cube},
        )
        for measure, is_cube in (("passed_share", False), ("cube_4_share", True))
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
        Corruption(f"update match_equity set mwc = {mwc} where {BUILT_CELL}", {"away": 2, "opponent_away": 3}, rows=2)
        for mwc in ("mwc + 0.01", "null", "'nan'")
    ]
    + [Corruption(f"delete from match_equity where {BUILT_CELL}", {"away": 3, "opponent_away": 2})],
    "published_luck__luck_is_the_change_of_the_evaluation": [
        changed("published_luck", change, round=24, program="jellyfish")
        for change in (
            "printed_luck = 0.48",
            "printed_luck = null",
            "average = 1.1, printed_luck = evaluation - 1.1",
            "evaluation = 'nan'",
        )
    ],
    "match_equity_sensitivities__changes_of_both_sides_cancel": [
        Corruption(
            f"update match_equity_sensitivities set mwc_change = {change} where away = 2 and opponent_away = 3",
            {"away": 3, "opponent_away": 2},
            rows=2,
        )
        for change in ("mwc_change + 0.01", "null", "'nan'")
    ],
}

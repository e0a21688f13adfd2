"""Damage to ladders, and to the games with the cube that they are made from."""

from tests.sql.corruptions.corruption import Corruption, changed

CORRUPTIONS: dict[str, list[Corruption]] = {
    "cubeful_scores__outcomes_are_points_of_a_cube": [
        changed("cubeful_scores", change, number=3)
        for change in (
            "net_points = 0",
            "net_points = null",
            "net_points = 2",
            "games_played = 0",
            "games_played = null",
        )
    ],
    "cubeful_scores__hedged_points_are_points_less_luck": [
        changed("cubeful_scores", change, number=3)
        for change in ("net_luck = 0.5", "hedged_points = 0.5", "net_luck = 0.1, hedged_points = net_points")
    ],
    "cubeful_scores__games_take_turns": [
        changed("cubeful_scores", change, number=3) for change in ("turns = games_played - 1", "turns = null")
    ],
    "ladder__ratings_descend_by_rank": [
        Corruption("update ladder set rating = 1 where rank = 2", {"rank": 1}),
        Corruption("update ladder set rating = 'nan' where rank = 2", {"rank": 2}, rows=2),
        Corruption("update ladder set rank = 3 where rank = 2", {"rank": 3}),
    ],
    "ladder__intervals_follow_from_the_errors": [
        changed("ladder", change, rank=2)
        for change in ("rating_low = rating", "rating_high = null", "rating_error = -rating_error")
    ],
    "ladder__one_player_is_zero": [
        Corruption("update ladder set rating = 0.1 where rank = 1", {"zeros": 0}),
        Corruption("update ladder set rating = 0, rating_error = 0 where rank = 2", {"zeros": 2}),
    ],
    "ladder__games_are_those_of_the_pairings": [
        changed("ladder", change, rank=2) for change in ("games = games + 2", "opponents = 2", "player_name = 'other'")
    ],
    "ladder_pairings__expectations_follow_from_the_ratings": [
        changed("ladder_pairings", change, player_name="pubeval")
        for change in ("expected = expected + 0.001", "expected = null", "opponent_ply = 1")
    ],
    "ladder_pairings__deviations_are_points_less_expected": [
        changed("ladder_pairings", change, player_name="pubeval")
        for change in ("deviation = 0.1", "mean_points = null", "points_error = -0.1")
    ],
}

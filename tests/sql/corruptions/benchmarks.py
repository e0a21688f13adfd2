"""Damage to benchmarks and to what players score."""

from bgdata.measures.kinds.rollout_decisions import DATASET as DECISIONS
from tests.sql.corruptions.corruption import Corruption, changed

OWN_SET = DECISIONS.slug(DECISIONS.smallest)
CORRUPTIONS: dict[str, list[Corruption]] = {
    "benchmark_decisions__boards_have_26_integers": [
        changed("benchmark_decisions", "board = board[1:25]", decision=0, variant="contact"),
        changed("benchmark_decisions", "board = null", decision=1, variant=OWN_SET),
    ],
    "benchmark_decisions__plays_are_counted": [
        changed("benchmark_decisions", "n_plays = n_plays + 1", decision=0, variant="contact"),
        changed("benchmark_decisions", "n_plays = null", decision=1, variant=OWN_SET),
        changed("benchmark_decisions", "n_legal_plays = n_plays - 1", decision=1, variant=OWN_SET),
        Corruption(
            f"delete from benchmark_plays where decision = 2 and rank = 1 and variant = '{OWN_SET}'",
            {"decision": 2, "found": 3},
        ),
    ],
    "benchmark_plays__losses_ascend_from_zero": [
        changed("benchmark_plays", "loss = 0.01", decision=0, rank=0, variant="contact"),
        changed("benchmark_plays", "loss = -0.01", decision=0, rank=1, variant="contact"),
        changed("benchmark_plays", "loss = 0", decision=0, rank=2, variant=OWN_SET),
    ],
    "benchmark_plays__loss_errors_are_of_differences": [
        changed("benchmark_plays", change, decision=1, rank=2, variant=OWN_SET)
        for change in (
            "loss_standard_error = 30 * standard_error",
            "loss_standard_error = 0, standard_error = 30 * standard_error",
        )
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
        Corruption(f"update {table} set {change} where decision = 1 and variant = '{OWN_SET}'", {"decision": 1}, rows=4)
        for table, change in (
            ("benchmark_rollouts", "win = 1 - win"),
            ("benchmark_rollouts", "win_gammon = null"),
            ("benchmark_rollouts", "position_id = '4HPwATDgc/ABMA'"),
            ("benchmark_plays", "equity = -equity"),
        )
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
    "cube_benchmark__best_actions_follow_from_values": [
        changed("cube_benchmark", change, decision=1)
        for change in (
            "no_double = -3",
            "no_double = null",
            "double_take = null",
            "best_action = null",
            "best_action = 'redouble'",
        )
    ],
    "cube_benchmark__games_have_one_decision": [
        Corruption("update cube_benchmark set game = 7 where score = 'money'", {"game": 7}),
        Corruption("update cube_benchmark set game = 7 where score <> 'money'", {"game": 7}),
    ],
    "cube_benchmark__standard_errors_and_trials_are_possible": [
        changed("cube_benchmark", change, decision=1)
        for change in (
            "no_double_standard_error = -0.1",
            "double_take_standard_error = null",
            "trials = 1",
            "double_pass = 0.9",
        )
    ],
    "cubeful_equities__models_lie_between_a_dead_and_a_live_cube": [
        changed("cubeful_equities", change, row=3)
        for change in ("model = model + 0.01", "live = live + 0.01", "dead = null")
    ],
    "cubeful_equities__rollouts_and_stakes_are_possible": [
        changed("cubeful_equities", change, row=3)
        for change in (
            "measured = 'nan'",
            "standard_error = -0.1",
            "trials = 1",
            "away = null, opponent_away = 5",
            "away = 1, opponent_away = 5",
            "cube_value = 2, cube_owner = 'centered'",
            "away = 3, opponent_away = 3, cube_value = 4, cube_owner = 'opponent'",
        )
    ],
    "cube_benchmark_scores__losses_are_of_one_action": [
        changed("cube_benchmark_scores", change, decision=1)
        for change in (
            "double_loss = -0.01",
            "answer_loss = null",
            "is_doubled = not is_doubled",
            "is_taken = not is_taken",
            "double_take = null",
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
            Corruption(
                f"update scores set measure = '{measure}', value = -0.1 where measure = 'points_per_game'",
                {"measure": measure},
            )
            for measure in ("error_rate", "bearoff_loss_without_tables", "equity_rmse")
        ),
    ],
    "scores__figures_have_a_source": [
        changed("scores", change, measure="gammon_share")
        for change in ("source_version = null", "source_version = 'selfplay/pubeval-20-seed-3'")
    ],
}

"""Damage to opening books."""

from tests.sql.corruptions.corruption import Corruption, changed

TABLE = "openings"
CORRUPTIONS: dict[str, list[Corruption]] = {
    "openings__chances_follow_each_other": [
        changed(TABLE, change, decision=5, rank=1)
        for change in (
            *("win = 1.01", "win = -0.01", "win = null", "win_gammon = win + 0.1", "lose_gammon = 1 - win + 0.1"),
            *("win_backgammon = win_gammon + 0.1", "lose_backgammon = lose_gammon + 0.1"),
        )
    ],
    "openings__errors_and_trials_are_possible": [
        changed(TABLE, change, decision=5, rank=1)
        for change in (
            *("trials = 73", "trials = 36", "trials = null", "standard_error = -0.1", "standard_error = 'nan'"),
            *("standard_error = null", "loss_standard_error = -0.1", "loss_standard_error = null"),
            *("lose_gammon_standard_error = -0.1", "win_standard_error = 1.1", "win_standard_error = null"),
            *("is_reached = null", "network = 'x'", "network = null"),
        )
    ]
    + [changed(TABLE, "loss_standard_error = 0.001", decision=5, rank=0)],
    "openings__losses_ascend_from_zero": [
        *(changed(TABLE, f"loss = {loss}", decision=5, rank=2) for loss in ("-0.1", "loss + 0.001", "null", "'nan'")),
        changed(TABLE, "equity = equity + 0.001", decision=5, rank=2),
        changed(TABLE, "equity = null", decision=5, rank=2),
        Corruption(f"update {TABLE} set equity = equity + 4 where decision = 5", {"decision": 5, "rank": 0}, 3),
    ],
    "openings__plays_lead_on": [
        *(
            changed(TABLE, change, decision=5, rank=1)
            for change in (
                *("objective = 'points'", "objective = null", "first_roll = '33'", "first_roll = '13'"),
                *("first_roll = null", "first_play = null", "first_play = '24/20'", "reply_roll = null"),
                *("position_id = next_position_id", "position_id = null", "play = ''", "play = null"),
                *("next_position_id = position_id", "next_position_id = null", "n_legal_plays = 1"),
                "n_legal_plays = null",
            )
        ),
        Corruption(f"update {TABLE} set position_id = 'x' where decision = 0 and rank = 1", {"decision": 0, "rank": 1}),
    ],
}

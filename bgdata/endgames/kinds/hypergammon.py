"""Hypergammon: backgammon with one, two or three checkers a side."""

from __future__ import annotations

from bgdata.endgames.kinds import contact_endgame as base
from bgdata.endgames.kinds.contact_endgame import ContactEndgame, EndgameParameters
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.store.dataset import Column, Estimate, FlatArray


class Hypergammon(ContactEndgame):
    """Kind `hypergammon`: exact equities and chances of backgammon with one to three checkers a side, with one row for
    each pair of layouts that share no point. A side that has borne no checker off loses a gammon, or a backgammon if it
    has a checker on the bar or in the winner's home board."""

    name = "hypergammon"
    revision = 3
    summary = (
        "Hypergammon solved: exact chances and equities of every position for the player on roll who does not double "
        "now, with the cube in every place, and with it in the middle under the Jacoby rule."
    )
    source = "Computed: value iteration over all legal plays and cube actions of both sides, between bounds that close"
    columns = (
        base.ON_ROLL,
        base.OPPONENT,
        *CHANCE_COLUMNS,
        Column("cubeless", "FLOAT", "points", "Equity without a doubling cube"),
        *base.CUBE_COLUMNS,
        Column(
            "centered_jacoby",
            "FLOAT",
            base.UNIT,
            "As centered, but gammons count only once the cube is turned",
        ),
    )
    arrays = (
        FlatArray(
            "chances",
            "float32",
            "on-roll index, opponent index, (win, win_gammon, win_backgammon, lose_gammon, lose_backgammon)",
            "Chances when both sides play for the best cubeless equity; NaN where both stand on one point, or neither "
            "has a checker",
        ),
        FlatArray(
            "equities",
            "float32",
            "on-roll index, opponent index, (cubeless, owned, centered, opponent_owned, centered_jacoby)",
            "Equities; NaN as in chances",
        ),
    )
    most_checkers = 3

    def estimate(self, parameters: EndgameParameters) -> Estimate:
        return base.endgame_estimate(parameters, lanes=8, stored=40, work=4 * 21 + 41)


DATASET = Hypergammon()

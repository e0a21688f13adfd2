"""Samples for tests of cube decisions: random chances, and a match equity table."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.doubling import Strategy, best_action, check_chances, check_money, money_equities
from bgdata.equity.kinds.match_equity import PUBLISHED_RATE, PUBLISHED_ROW
from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.met_induction import induced_table
from bgdata.game.match import CubeOwner
from bgdata.kernel import Array
from tests.reference.cube import MatchReference


def random_chances(count: int, seed: int) -> NDArray[np.float64]:
    """float64[count, 5]: random ordered chances. In some rows the game is surely won or lost, or has no gammons."""
    random = np.random.default_rng(seed)
    win = random.random(count)
    win[::20], win[10::20] = 1.0, 0.0
    shares = random.random((count, 4)) ** 2
    shares[5::10] = 0
    win_gammon, lose_gammon = win * shares[:, 0], (1 - win) * shares[:, 2]
    return np.stack([win, win_gammon, win_gammon * shares[:, 1], lose_gammon, lose_gammon * shares[:, 3]], axis=1)


class EquityColumns(NamedTuple):
    """`CubeEquities` of many positions, each float64[n]."""

    no_double: NDArray[np.float64]
    double_take: NDArray[np.float64]
    double_beaver: NDArray[np.float64]
    double_pass: NDArray[np.float64]


def decide_money(
    strategy: Strategy,
    chances: Array,
    *,
    owner: CubeOwner = CubeOwner.CENTERED,
    is_jacoby: bool = False,
    has_beavers: bool = False,
) -> tuple[EquityColumns, NDArray[np.int8]]:
    """Equities and best actions in money play, from float[n, 5] chances."""
    code = check_money(strategy, owner, is_jacoby=is_jacoby)
    rows = check_chances(chances)
    equities = [money_equities(strategy, row, code, is_jacoby, has_beavers) for row in rows]
    return EquityColumns(*np.array(equities).T), np.array([best_action(of_actions) for of_actions in equities], np.int8)


@cache
def published_met() -> MatchEquity:
    """The table to 12-away induced from the published row."""
    return induced_table("published", PUBLISHED_ROW, PUBLISHED_RATE)


def match_reference(away: int, opponent_away: int, shares: list[float]) -> MatchReference:
    """The slow reference at a score of the published table."""

    def mwc(away: int, opponent_away: int, is_post_crawford: bool) -> float:
        return published_met().mwc(away, opponent_away, is_post_crawford=is_post_crawford)

    return MatchReference(mwc, away, opponent_away, shares)

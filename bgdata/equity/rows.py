"""Match equity tables as rows of data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.match_equity import GameMwc, MatchEquity
from bgdata.game.match import MatchScore


def cell_rows(columns: Mapping[str, NDArray[np.float64]], length: int) -> Iterator[dict[str, Any]]:
    """One row for each score that all columns (float64[2, n, n] each: before and after the Crawford game) have, with
    the columns of the table `match_equity`."""
    chances = np.stack([cells[:, :length, :length] for cells in columns.values()])
    for part, away, opponent_away in np.argwhere(np.isfinite(chances).all(axis=0)).tolist():
        score = {"is_post_crawford": bool(part), "away": away + 1, "opponent_away": opponent_away + 1}
        yield score | dict(zip(columns, chances[:, part, away, opponent_away].tolist(), strict=True))


def score_rows(met: MatchEquity, score: MatchScore) -> Iterator[dict[str, Any]]:
    """The stakes at a score, for each cube value that can matter: chances of winning the match."""
    cube_value = 1
    while True:
        game = met.game(score, cube_value)
        yield {
            "met": met.name,
            **{name: getattr(score, name) for name in ("away", "opponent_away", "is_crawford")},
            "mwc": met.at(score),
            "cube_value": cube_value,
            **dict(zip(("mwc_win", "mwc_win_gammon", "mwc_lose", "mwc_lose_gammon"), ends_of(game), strict=True)),
            "gammon_value": game.gammon_value,
            "take_point": None if score.is_crawford else met.take_point(score, cube_value),
        }
        if cube_value >= max(score.away, score.opponent_away) or score.is_crawford:
            return
        cube_value *= 2


def ends_of(game: GameMwc) -> tuple[float, ...]:
    """The chances of winning the match after losing and winning a single game or a gammon."""
    return (*game.win[:2], *game.lose[:2])

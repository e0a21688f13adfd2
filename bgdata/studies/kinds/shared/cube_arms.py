"""The studies of cube handling: their series of games, and the figures that Computational Backgammon published in 2012.

An arm is one series of games: a model with some setting against itself or against a fixed model. Figures are from the
posts of 20 and 21 March (statistics and indexes, before the author corrected the too-good points and announced new
figures), 28 March (the first version of the jump model, since withdrawn) and 9 April (matches). They are as printed:
the endings at an index of 0.5 sum to 105 %, since 40.0 % passed is 5 too much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.players import DEFAULT_NETWORK


class Arm(NamedTuple):
    """One series of games in a study: a setting of the cube model, the opponent, the match length and the published
    figures."""

    setting: float  # cube life index, or volatility of the jump model
    cube: str  # cube handling of both sides, in the form of `cubeful_selfplay.sides_of`
    against: str  # description of the opponent
    length: int  # length of the matches, 0 for money
    published: Mapping[str, float]  # published figures by measure
    is_jacoby: bool = False

    @property
    def is_paired(self) -> bool:
        """Whether every sequence of dice is played twice with the sides swapped, because the sides differ."""
        return " " in self.cube


QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
FINE = (0.55, 0.6, 0.65, 0.7, 0.75)
HIGH = (0.8, 0.85, 0.9, 0.95, 1.0)  # settings of a published chart
JUMPS = (0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.11)
LOCAL_JUMPS = (0.06, 0.08, 0.1)
LENGTHS = (3, 5, 7, 9)
LONG_LENGTHS = (5, 9, 15, 25)  # some of these have no published figures
ALL_LENGTHS = (3, 5, 7, 9, 11, 13, 15, 17, 21, 25)
CUBES = (1, 2, 4, 8, 16, 32, 64)
ENDINGS = ("passed", "single", "gammon", "backgammon")  # by number of the ending, from 0
CUBE_STATISTICS: dict[str, Sequence[float]] = {  # figures in percent, except the mean
    "passed_share": (21.8, 27.4, 40.0, 50.9, 96.3),
    "single_share": (55.4, 51.2, 45.9, 34.8, 0.4),
    "gammon_share": (21.8, 20.3, 18.1, 13.6, 3.1),
    "backgammon_share": (1.2, 1.1, 1.0, 0.7, 0.2),
    "mean_cube_value": (14.7, 4.49, 2.72, 1.89, 1.0),
    "cube_1_share": (0.6, 3.2, 12.3, 33.9, 100.0),
    "cube_2_share": (24.2, 47.8, 61.0, 56.7, 0.0),
    "cube_4_share": (24.4, 31.3, 21.2, 8.5, 0.0),
    "cube_8_share": (18.6, 12.2, 4.5, 0.8, 0.0),
    "cube_16_share": (12.8, 4.1, 0.8, 0.0, 0.0),
    "cube_32_share": (8.2, 1.1, 0.1, 0.0, 0.0),
    "cube_64_share": (11.1, 0.4, 0.0, 0.0, 0.0),
}
COARSE_INDEX: dict[str, Sequence[float]] = {
    "points_per_game": (-0.30, -0.14, -0.04, 0.0, -0.09),
    "win_share": (37.5, 41.8, 45.9, 51.2, 58.3),
    "mean_cube_value": (2.32, 2.40, 2.27, 1.96, 1.45),
}
FINE_INDEX: dict[str, Sequence[float]] = {
    "points_per_game": (-0.03, -0.01, 0.0, 0.0, 0.0),
    "win_share": (46.9, 47.8, 48.9, 50.0, 51.2),
    "mean_cube_value": (2.23, 2.17, 2.11, 2.04, 1.96),
}
JUMP_MODEL: dict[float, dict[str, float]] = {
    0.05: {"points_per_game": -0.006, "win_share": 0.502},
    0.11: {"points_per_game": 0.011, "win_share": 0.442},
}
MATCH_POINTS: dict[int, Sequence[float]] = {
    3: (0.056, 0.047, 0.051, 0.066, 0.054),
    5: (0.073, 0.080, 0.091, 0.105, 0.067),
    7: (0.115, 0.138, 0.137, 0.142, 0.061),
    9: (0.115, 0.148, 0.150, 0.154, 0.081),
}
OWN_MET, OWN_MET_CUBEFUL = "match-own", "match-own-cubeful"
FIRST = "first-"  # prefix of studies with the first, withdrawn version of Janowski's model
FIRST_PLAYER = "contact-160"
"""The default network of these studies, which reproduce figures of Player 3.3 from March 2012. The network is about as
strong: it wins +0.600 points per game against PubEval, Player 3.3 won +0.595."""
NAMES = {  # title of each study
    "statistics": "cube statistics of a cube life index against itself",
    "index": "a cube life index against 0.7",
    "fine-index": "a cube life index near 0.7 against 0.7",
    "high-index": "a cube life index from 0.8 to 1 against 0.7",
    "first-statistics": "the same statistics by Janowski's model in its first, withdrawn version",
    "first-index": "a cube life index against 0.7, both by that version",
    "first-fine-index": "a cube life index near 0.7 against 0.7, both by that version",
    "jump": "the jump model at a volatility against Janowski at 0.7",
    "local": "the jump model with the volatility of each position against the same with one volatility",
    "match": "a cube life index by the score against the same as in money play",
    OWN_MET: "the same with the match equity table that is built here",
    "match-cubeful": "a cube life index by the score against the same as in money play, cubeful plays",
    OWN_MET_CUBEFUL: "the same, cubeful plays, with the match equity table that is built here",
    "match-long": "a cube life index of 0.75 by the score against the same as in money play, cubeful plays",
    "plays": "cubeful plays against cubeless plays, for money",
    "plays-jacoby": "cubeful plays against cubeless plays, for money with the Jacoby rule",
    "plays-match": "cubeful plays against cubeless plays, in matches",
}


def arms_of(name: str) -> tuple[Arm, ...]:
    """Return the arms of a study, in the order of its rows. Raises InvalidParameterError if there is no such study."""
    kind = name.removeprefix(FIRST)
    model = "first:" if kind != name else ""
    if kind == "statistics":
        return tuple(
            Arm(x, f"{model}{x:g}", "itself", 0, figures_at(CUBE_STATISTICS, n)) for n, x in enumerate(QUARTERS)
        )
    if kind in ("index", "fine-index"):
        settings, published = (QUARTERS, COARSE_INDEX) if kind == "index" else (FINE, FINE_INDEX)
        other = f"{model}0.7"
        return tuple(
            Arm(x, f"{model}{x:g} {other}", other, 0, figures_at(published, n)) for n, x in enumerate(settings)
        )
    if name == "high-index":
        return tuple(Arm(x, f"{x:g} 0.7", "0.7", 0, {}) for x in HIGH)
    if name == "jump":
        return tuple(Arm(v, f"jump:{v:g} 0.7", "0.7", 0, JUMP_MODEL.get(v, {})) for v in JUMPS)
    if name == "local":
        return tuple(Arm(v, f"local:{v:g} jump:{v:g}", f"jump:{v:g}", 0, {}) for v in LOCAL_JUMPS)
    if name in ("match", OWN_MET):
        return tuple(
            Arm(x, f"{x:g} money:{x:g}", f"money:{x:g}", length, {"points_per_match": MATCH_POINTS[length][n]})
            for length in LENGTHS
            for n, x in enumerate(QUARTERS)
        )
    if name in ("match-cubeful", OWN_MET_CUBEFUL):
        return tuple(arm._replace(cube=f"cubeful:{arm.setting:g} cubeful:{arm.against}") for arm in arms_of("match"))
    if name == "match-long":
        return tuple(Arm(0.75, "cubeful:0.75 cubeful:money:0.75", "money:0.75", n, {}) for n in LONG_LENGTHS)
    if name in ("plays", "plays-jacoby"):
        return (Arm(0.7, "cubeful:0.7 0.7", "cubeless plays", 0, {}, name == "plays-jacoby"),)
    if name == "plays-match":
        return tuple(Arm(0.7, "cubeful:0.7 0.7", "cubeless plays", length, {}) for length in ALL_LENGTHS)
    raise InvalidParameterError(f"expected a study among {', '.join(NAMES)}, got {name!r}")


def player_of(study: str, network: str = DEFAULT_NETWORK) -> str:
    """Return the name of the network that plays a study. `network` is the default for studies that do not need a
    network of their own."""
    return FIRST_PLAYER if study.startswith(FIRST) else network


def figures_at(figures: Mapping[str, Sequence[float]], place: int) -> dict[str, float]:
    """Return the published figures in column `place`, by measure; percentages become shares from 0 to 1."""
    return {name: row[place] / (100 if name.endswith("_share") else 1) for name, row in figures.items()}

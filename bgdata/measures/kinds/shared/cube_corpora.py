"""Parameters of kinds that draw positions from two corpora of games with the cube: money games and matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.kinds.match_equity import PUBLISHED as PUBLISHED_TABLE
from bgdata.errors import InvalidParameterError
from bgdata.matches.kinds.match_analysis import METS, OWN
from bgdata.selfplay.kinds.cubeful_selfplay import DATASET as CUBEFUL_SELFPLAY
from bgdata.selfplay.kinds.cubeful_selfplay import CubefulParameters
from bgdata.selfplay.kinds.shared.rollouts import RollerParameters
from bgdata.store.parameters import Parameters

MONEY_GAMES, MATCHES = "money_games", "matches"  # roles of the corpora
LEAST_AWAY, MOST_AWAY = 2, 9  # points that both players may need


@dataclass(frozen=True)
class CorporaParameters(RollerParameters):
    """Parameters that name the network, the settings of rollouts with the cube, and the two corpora. `cube` is the cube
    model of the games, `money_games` and `matches` their numbers, `length` the match length and `seed` the seed of
    their dice. `sample_seed` decides which positions are drawn. `met` is the match equity table: own or published."""

    later: ClassVar[tuple[str, ...]] = ()

    cube: str = "0.7"
    money_games: int = 10_000
    matches: int = 1_500
    length: int = MOST_AWAY
    seed: int = 1
    sample_seed: int = 0
    met: str = OWN

    @property
    def corpora_text(self) -> str:
        """The part of a variant's name that says which games the positions are from."""
        again = f"-sample-{self.sample_seed}" if self.sample_seed else ""
        return f"{self.money_games}-and-{self.matches}-games-of-{self.network}-seed-{self.seed}{again}"

    @property
    def met_text(self) -> str:
        """The suffix of a variant's name if the match equity table is not bgdata's own, else an empty string."""
        return "" if self.met == OWN else f"-{self.met}-met"

    def games(self) -> dict[str, CubefulParameters]:
        """Return the parameters of the two corpora, money games and matches, by role."""
        network = (self.network, self.network_version, self.table_points, self.table_checkers)
        return {
            MONEY_GAMES: CubefulParameters(*network, self.cube, self.money_games, self.seed),
            MATCHES: CubefulParameters(*network, self.cube, self.matches, self.seed, self.length),
        }

    def cube_inputs(self) -> Mapping[str, tuple[str, Parameters]]:
        """Return the inputs by role: the corpora, the network with its bearoff tables, and the match equity table."""
        met = MATCH_EQUITY.defaults[0] if self.met == OWN else PUBLISHED_TABLE
        games = {role: (CUBEFUL_SELFPLAY.name, recipe) for role, recipe in self.games().items()}
        return {**games, **self.network_inputs(), "met": (MATCH_EQUITY.name, met)}

    def check_corpora(self, rows: int, noun: str) -> None:
        """Raise InvalidParameterError if these parameters allow no rollouts with the cube or no corpora, or if `rows`,
        the number of rows, cannot be halved. The error calls a row `noun`."""
        self.check_roller(0)
        if (self.stop, self.turns) != ("exact", 0):
            raise InvalidParameterError(
                f"expected rollouts with the cube to end with the game, got stop={self.stop} and turns={self.turns}; "
                "leave both out"
            )
        for games in self.games().values():
            CUBEFUL_SELFPLAY.check_parameters(games)
        if not LEAST_AWAY <= self.length <= MOST_AWAY:
            raise InvalidParameterError(f"expected matches to {LEAST_AWAY} to {MOST_AWAY} points, got {self.length}")
        if not 2 <= rows < 1 << 31 or rows % 2:
            raise InvalidParameterError(f"expected an even number of {noun}, from 2 on, got {rows}")
        if not 0 <= self.sample_seed < 1 << 57:
            raise InvalidParameterError(f"expected a sample seed from 0 to 2^57 - 1, got {self.sample_seed}")
        if self.met not in METS:
            raise InvalidParameterError(f"expected own or published as met, got {self.met!r}")

"""What kinds of rollouts share: the network, the settings, and the source of the positions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.kinds.shared.race import RaceParameters
from bgdata.errors import InvalidParameterError, UsageError
from bgdata.evaluation.networks.shipped import DEFAULT_NETWORK, SHIPPED
from bgdata.selfplay.kinds.shared.sources import UNNAMED, source_input
from bgdata.store.dataset import Input
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import NONE_GIVEN, Given, Parameters, VersionRef
from bgdata.training.kinds.shared.networks import known_network

if TYPE_CHECKING:
    from bgdata.selfplay.rollout import Limits, RolloutSettings

ERROR_COLUMNS = tuple(
    Column(f"{name}_standard_error", "FLOAT", "chance", f"Standard error of {name}")
    for name in ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")
)
EQUITY_COLUMNS = (
    Column("equity", "DOUBLE", "points", "Cubeless money equity, from the chances before they are held to the rules"),
    Column("standard_error", "DOUBLE", "points", "Standard error of equity"),
    Column("plain_standard_error", "DOUBLE", "points", "What it were if luck had not been subtracted"),
    Column("trials", "BIGINT", "games", "Games played"),
    Column("is_reached", "BOOLEAN", "", "Whether the standard error is as small as was wanted"),
)
NETWORK_COLUMN = Column("network", "VARCHAR", "", "Network that played both sides, and its version")
NETWORK_ARRAY = FlatArray("network", "uint8", "byte", "Network that played both sides, and its version: UTF-8")


@dataclass(frozen=True)
class NetworkChoice(Parameters):
    """A network and its bearoff tables. `network` is one that comes with bgdata, or else `network_version` names its
    version in the warehouse."""

    network: str = DEFAULT_NETWORK
    network_version: str = ""
    table_points: int = 6
    table_checkers: int = 6

    def check_network(self) -> None:
        """Raise InvalidParameterError for what cannot be the name of a network."""
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.network):
            raise InvalidParameterError(f"expected the name of a network, got {self.network!r}")

    def check_determined(self) -> None:
        """Raise InvalidParameterError for a network that does not come with bgdata without its version: it may be
        trained again."""
        comes_along = known_network(self.network) is not None or (SHIPPED / self.network).is_dir()
        if not (self.network_version or comes_along):
            raise InvalidParameterError(
                f"expected the version of the network {self.network}, which does not come with bgdata, "
                "in network_version, such as r1-0123abcd, got none"
            )

    def usual_network(self, network: str) -> str:
        """The network that plays unless another one is chosen, where `network` plays as `network`."""
        return network

    def network_inputs(self) -> dict[str, tuple[str, Parameters]]:
        """The tables, and the network where it comes with bgdata, by role."""
        race = RaceParameters(self.table_points)
        found: dict[str, tuple[str, Parameters]] = {
            "two_sided": ("bearoff_two_sided", TwoSidedParameters(self.table_points, self.table_checkers)),
            "one_sided": ("bearoff_one_sided", race),
            "gammon": ("bearoff_gammon", race),
        }
        known = known_network(self.network)
        if known and not self.network_version:
            found["network"] = known
        return found


@dataclass(frozen=True)
class RollerParameters(NetworkChoice):
    """The network that plays both sides, and the settings of rollouts: see `selfplay.rollout`.

    `until` is the wanted standard error in points; with `turns` 0 games are played to the end. `play_ply` is how far
    both sides choose their plays ahead, 0 or 1.
    """

    later: ClassVar[tuple[str, ...]] = ("play_ply",)

    trials: int = 1296
    until: float | None = None
    most_trials: int = 0
    stop: str = "exact"
    turns: int = 0
    with_luck: bool = True
    play_ply: int = 0

    @property
    def how_text(self) -> str:
        """What names of variants add for plays that are chosen ahead."""
        return f"-{self.play_ply}ply" if self.play_ply else ""

    def how(self) -> RolloutSettings:
        """The settings of the rollouts."""
        from bgdata.selfplay.rollout import RolloutSettings

        return RolloutSettings(self.stop, self.turns, self.with_luck, play_ply=self.play_ply)

    def limits(self) -> Limits:
        """The limits on the number of trials."""
        from bgdata.selfplay.rollout import Limits

        return Limits(self.trials, math.inf if self.until is None else self.until, self.most_trials)

    def check_roller(self, seed: int) -> None:
        """Raise InvalidParameterError if no rollout with dice of this seed is possible."""
        try:
            self.limits().check()
            self.how().for_kernels(seed)
        except UsageError as error:
            raise InvalidParameterError(str(error)) from None
        self.check_network()


@dataclass(frozen=True)
class RolloutParameters(RollerParameters):
    """The source of the positions, the network and the settings of rollouts, and the seed of their dice;
    `source_recipe` has the parameters of the source for `sources.source_input`."""

    source: VersionRef = UNNAMED
    seed: int = 0
    source_recipe: Given = NONE_GIVEN

    @property
    def slug(self) -> str:
        """The name of the variant."""
        source = re.sub(r"[^a-z0-9]+", "-", str(self.source))
        return f"{source}-by-{self.network}{self.how_text}-{self.trials}-seed-{self.seed}"

    def check(self) -> None:
        """Raise InvalidParameterError if no rollout is possible."""
        self.check_roller(self.seed)
        source_input(self.source, self.source_recipe, turns=False)

    def inputs(self) -> dict[str, Input]:
        """What the rollouts are computed from, by role."""
        return {"source": source_input(self.source, self.source_recipe, turns=False), **self.network_inputs()}


def number_of(expected: str, text: str) -> float:
    """A number that a parameter holds as text. Raises InvalidParameterError."""
    try:
        return float(text)
    except ValueError:
        raise InvalidParameterError(f"expected {expected}, got {text!r}") from None

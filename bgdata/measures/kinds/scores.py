"""How good a player is: the figures of its games, self-play, benchmarks, bearoffs and values in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.errors import InvalidParameterError
from bgdata.kinds import all_kinds
from bgdata.kinds.columns import text_declarations
from bgdata.measures.kinds.game_scores import DATASET as GAMES
from bgdata.measures.kinds.shared.measures import READERS, UNITS
from bgdata.measures.kinds.shared.players import check_player_name, player_slug
from bgdata.selfplay.kinds.selfplay import DATASET as SELF_PLAY
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters, VersionRef, value_text

AGAINST = "Opponent with its plies, set of decisions, set of positions and its theme, or table that judges"
MOST_ROWS = 80  # of a player, or somewhat more: for estimates
SMALLEST = (
    VersionRef(GAMES.name, GAMES.slug(GAMES.smallest)),
    VersionRef(SELF_PLAY.name, SELF_PLAY.slug(SELF_PLAY.smallest)),
)


@dataclass(frozen=True)
class ScoresParameters(Parameters):
    """A player, its ply and the version that it reports, and the versions that its figures are from, in order of name;
    one without a version is the smallest variant of its kind, built first."""

    player: str = "pubeval"
    ply: int = 0
    version: str = "2"
    sources: tuple[VersionRef, ...] = SMALLEST

    def check_sources(self) -> None:
        """Raise InvalidParameterError for a name that cannot be a source, and for another order."""
        for place in self.sources:
            if place.kind not in READERS:
                raise InvalidParameterError(
                    f"expected sources KIND/VARIANT/VERSION of {', '.join(sorted(READERS))}, got '{place}'"
                )
        if not self.sources or list(self.sources) != sorted(set(self.sources), key=str):
            raise InvalidParameterError(f"expected sources in order, each once, got {value_text(self.sources)!r}")


class Scores(Dataset[ScoresParameters]):
    """One row for each measure."""

    name = "scores"
    revision = 1
    summary = (
        "How good players are: games, luck-adjusted too, gammons, error rates, bearoffs, values by theme; with errors."
    )
    source = "Computed: figures of other versions here, which say how they were found"
    columns = (
        Column("measure", "VARCHAR", "", "What was measured: " + ", ".join(UNITS)),
        Column("against", "VARCHAR", "", AGAINST),
        Column("player_name", "VARCHAR", "", "Player"),
        Column("ply", "INTEGER", "", "How many rolls it looked ahead; 0 is the static evaluation"),
        Column("player_version", "VARCHAR", "", "Version of the player as it says it"),
        Column("value", "DOUBLE", "as unit says", "Mean of the sample, or root of its mean square"),
        Column("value_error", "DOUBLE", "as unit says", "Standard error of value"),
        Column("unit", "VARCHAR", "", "Unit of value and value_error"),
        Column("sample_size", "BIGINT", "", "Games, decisions or positions"),
        Column("source_version", "VARCHAR", "", "Where each game or decision is: dataset/variant/version"),
    )
    key = ("measure", "against")
    arrays = (
        *text_declarations("measures", "row", "What was measured"),
        *text_declarations("against", "row", AGAINST),
        *text_declarations("units", "row", "Unit of the figure and its error"),
        *text_declarations("sources", "row", "Versions that the figures are from"),
        FlatArray("figures", "float64", "row", "Mean of the sample, or root of its mean square"),
        FlatArray("errors", "float64", "row", "Standard error of the figure"),
        FlatArray("sizes", "int64", "row", "Games, decisions or positions"),
    )
    parameters = ScoresParameters
    defaults = ()
    smallest = ScoresParameters()

    def slug(self, parameters: ScoresParameters) -> str:
        return player_slug(parameters.player, parameters.ply)

    def check_parameters(self, parameters: ScoresParameters) -> None:
        check_player_name(parameters.player)
        parameters.check_sources()
        self.inputs(parameters)

    def inputs(self, parameters: ScoresParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {role_of(place): smallest_variant(place) for place in parameters.sources if not place.version}

    def estimate(self, _parameters: ScoresParameters) -> Estimate:
        return Estimate(MOST_ROWS, 200 * MOST_ROWS, 1 << 20)


def role_of(place: VersionRef) -> str:
    """Role of a source among the inputs."""
    return str(place).replace("/", "_").replace("-", "_")


def smallest_variant(place: VersionRef) -> tuple[str, Parameters]:
    """(kind, parameters) of the smallest variant of a kind. Raises InvalidParameterError for another variant."""
    kind = all_kinds()[place.kind]
    if kind.slug(kind.smallest) != place.variant:
        raise InvalidParameterError(f"expected a version, such as {place}/r1-0123abcd, got {place}")
    smallest: Parameters = kind.smallest
    return place.kind, smallest


DATASET = Scores()

"""What a player's cube actions lose on a cube benchmark, decision by decision."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.kinds.match_equity import PUBLISHED as PUBLISHED_TABLE
from bgdata.errors import InvalidParameterError
from bgdata.evaluation.players import PROGRAMS
from bgdata.kinds.columns import text_declarations
from bgdata.matches.kinds.match_analysis import METS, OWN, PUBLISHED_MET
from bgdata.measures.kinds.cube_benchmark import DATASET as CUBE_BENCHMARK
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.shared.players import check_player_name, player_slug, source_input
from bgdata.selfplay.kinds.cubeful_selfplay import LOCAL, side_of
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.table import Table

AHEAD = "ahead:"  # prefix of a cube model: both sides may double on the way, as many rolls ahead as the ply
DEFAULT = "default"  # the model by which commands and players decide unless another one is chosen
MODELS = (DEFAULT, "0.7", "jump:0.113", f"{LOCAL}0.113", f"{AHEAD}{DEFAULT}")  # for players that are not programs
SMALLEST = VersionRef(CUBE_BENCHMARK.name, CUBE_BENCHMARK.slug(CUBE_BENCHMARK.smallest))


@dataclass(frozen=True)
class CubeScoreParameters(Parameters):
    """Parameters of `cube_benchmark_scores`: a player, its ply and version, its cube model, the benchmark, and whether
    a network plays with its bearoff tables.

    `cube` is a model such as default, 0.7, jump:0.113, local:0.113 or ahead:default, by which both sides turn the cube
    later in the game; it is empty for programs, which have models of their own. `met` is the match equity table of a
    player that is not a program, as in `match_analysis`."""

    player: str = "network"
    ply: int = 0
    cube: str = MODELS[0]
    version: str = ""
    benchmark: VersionRef = SMALLEST
    met: str = OWN
    tables: bool = True

    @classmethod
    def on(cls, table: Table, player: str, ply: int, cube: str, version: str) -> Self:
        """Return the parameters to score a player that reports `version` on the cube benchmark `table`."""
        return cls(player, ply, cube, version, VersionRef.parse(table.name), str(table.manifest.parameters["met"]))


class CubeBenchmarkScores(Dataset[CubeScoreParameters]):
    """Kind `cube_benchmark_scores`: what the cube actions of a player lose according to a judge. One row per decision,
    in the order of `cube_benchmark`."""

    name = "cube_benchmark_scores"
    made_again = BY_PLAYERS
    revision = 1
    summary = "Cube actions of a player on the decisions of a cube benchmark, and what each loses by its judge."
    source = "Computed: the player's double and answer, by its own values, and what the judge's rollouts say of them"
    columns = (
        Column("decision", "INTEGER", "", "Number of the decision in cube_benchmark of the same set"),
        Column("xgid", "VARCHAR", "", "Position, score and cube of the player on roll"),
        Column("theme", "VARCHAR", "", f"What kind of game is played: {', '.join(THEMES)}"),
        Column("score", "VARCHAR", "", "money, or points that the player on roll and the opponent need, such as 3-5"),
        Column("no_double", "DOUBLE", "points", "The player's value without a double, as normalised equity"),
        Column("double_take", "DOUBLE", "points", "The player's value after a double and a take, as normalised equity"),
        Column("is_doubled", "BOOLEAN", "", "Whether the player on roll doubles"),
        Column("is_taken", "BOOLEAN", "", "Whether the same player, asked in the opponent's place, takes"),
        Column("double_loss", "DOUBLE", "points", "What doubling or not loses against the better of the two"),
        Column("answer_loss", "DOUBLE", "points", "What the answer loses against the better of take and pass"),
        Column("judge", "VARCHAR", "", "Program or network that rolled out, and its version"),
    )
    key = ("decision",)
    arrays = (
        *text_declarations("xgids", "decision", "Position, score and cube"),
        FlatArray("themes", "uint8", "decision", f"Theme: {', '.join(THEMES)} from 0 on"),
        FlatArray("values", "float64", "decision, (no double, double and take)", "The player's normalised equities"),
        FlatArray("losses", "float64", "decision, (double or not, answer)", "Points lost against the better action"),
        *text_declarations("judge", "text", "Program or network, and its version", is_shared=True),
    )
    parameters = CubeScoreParameters
    defaults = ()
    smallest = CubeScoreParameters("network/tiny", 0, version="b49ded87", met=PUBLISHED_MET, tables=False)

    def slug(self, parameters: CubeScoreParameters) -> str:
        cube = re.sub(r"[^a-z0-9]+", "-", parameters.cube).strip("-")
        player = player_slug(parameters.player, parameters.ply) + (f"-cube-{cube}" if cube else "")
        player += "" if parameters.tables else "-without-tables"
        return f"{player}-on-{parameters.benchmark.variant}"

    def check_parameters(self, parameters: CubeScoreParameters) -> None:
        check_player_name(parameters.player)
        if parameters.player in PROGRAMS:
            if parameters.cube:
                raise InvalidParameterError(
                    f"expected no cube model with {parameters.player}, which has its own, got {parameters.cube}"
                )
        else:
            check_model(parameters.cube)
        if parameters.met not in METS:
            raise InvalidParameterError(f"expected own or published as met, got {parameters.met!r}")
        self.inputs(parameters)

    def inputs(self, parameters: CubeScoreParameters) -> Mapping[str, Input]:
        benchmark = parameters.benchmark
        if benchmark.kind != CUBE_BENCHMARK.name:
            raise InvalidParameterError(f"expected a version of {CUBE_BENCHMARK.name}, got {benchmark}")
        met = MATCH_EQUITY.defaults[0] if parameters.met == OWN else PUBLISHED_TABLE
        return {"benchmark": source_input(benchmark), "met": (MATCH_EQUITY.name, met)}

    def estimate(self, _parameters: CubeScoreParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # a row for each decision


def check_model(text: str) -> None:
    """Raise InvalidParameterError unless `text` is a cube model like those of MODELS."""
    if text.removeprefix(AHEAD) == DEFAULT:
        return
    side = side_of(text.removeprefix(AHEAD))
    is_plain = not (side.cubeful_plays or side.as_money or text.startswith("first:"))
    if not is_plain or (text.startswith(AHEAD) and side.is_local):
        raise InvalidParameterError(f"expected a cube model such as {', '.join(MODELS)}, got {text}")


DATASET = CubeBenchmarkScores()

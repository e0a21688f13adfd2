"""Cube decisions from self-play, rolled out with the cube by a judge: the network, gnubg or bgsage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from bgdata.errors import InvalidParameterError
from bgdata.evaluation.players import NETWORK, PROGRAMS
from bgdata.kinds.columns import CLASS_COLUMN, POSITION_COLUMNS, TURN_COLUMN, text_declarations
from bgdata.matches.kinds.match_analysis import PUBLISHED_MET
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.shared.cube_corpora import CorporaParameters
from bgdata.selfplay.kinds.shared.rollouts import NETWORK_ARRAY
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters
from bgdata.store.table import published_folder, published_versions
from bgdata.store.versions import Versions

PUBLISHED = Path(__file__).parents[1] / "cube_benchmark"  # <variant>/<version>/, see docs/ship.py
JUDGES = (NETWORK, *PROGRAMS)
ACTIONS = ("no double", "double, take", "double, pass", "too good to double")


@dataclass(frozen=True)
class CubeBenchmarkParameters(CorporaParameters):
    """Parameters of `cube_benchmark`: the games, the number of decisions, how close they are, and the judge.

    Half of the decisions come from money games, half from matches, no two from one game. A decision is close if
    doubling gains or costs at most `window` points, or taking does, by the static chances of the network and Janowski's
    model. `sample_seed` determines the choice among them. `judge` is the player that rolls out the decisions: network,
    or gnubg or bgsage with `judge_version`; `play_ply` is its ply in the games. Each rollout has rounds of `trials`
    games until both standard errors are at most `until`, at most `most_trials` games."""

    later: ClassVar[tuple[str, ...]] = ()

    trials: int = 216
    until: float | None = 0.01
    most_trials: int = 2592
    judge: str = NETWORK
    judge_version: str = ""
    decisions: int = 504
    window: float = 0.15


def published_cube_benchmark() -> dict[CubeBenchmarkParameters, Path]:
    """Return the folders of the cube benchmarks in the package, by parameters. Folders with a damaged manifest are left
    out."""
    return published_versions(PUBLISHED, CubeBenchmarkParameters)


class CubeBenchmark(Dataset[CubeBenchmarkParameters]):
    """Kind `cube_benchmark`: close cube decisions of contact positions, rolled out with the cube. One row per decision,
    ordered by a hash; every judge rolls out the same decisions."""

    name = "cube_benchmark"
    made_again = BY_PLAYERS
    revision = 1
    summary = "Close cube decisions from self-play, for money and in matches, rolled out with the cube by a judge."
    source = "Computed: rollouts to the end of the game, with variance reduction by luck, by the judge that is named"
    columns = (
        Column("decision", "INTEGER", "", "Number of the decision, from 0"),
        Column("xgid", "VARCHAR", "", "Position, score and cube of the player on roll"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        Column("theme", "VARCHAR", "", f"What kind of game is played: {', '.join(THEMES)}"),
        Column("score", "VARCHAR", "", "money, or points that the player on roll and the opponent need, such as 3-5"),
        Column("cube_value", "INTEGER", "", "Cube before the decision"),
        Column("cube_owner", "VARCHAR", "", "centered or on_roll"),
        Column("no_double", "DOUBLE", "points", "Value without a double, in points of normalised equity"),
        Column("double_take", "DOUBLE", "points", "Value after a double and a take, in points of normalised equity"),
        Column("double_pass", "DOUBLE", "points", "Value after a double and a pass: 1 point of normalised equity"),
        Column("no_double_standard_error", "DOUBLE", "points", "Standard error of no_double"),
        Column("double_take_standard_error", "DOUBLE", "points", "Standard error of double_take"),
        Column("mwc_no_double", "DOUBLE", "mwc", "no_double as mwc; null in money play"),
        Column("mwc_double_take", "DOUBLE", "mwc", "double_take as mwc; null in money play"),
        Column("mwc_double_pass", "DOUBLE", "mwc", "double_pass as mwc; null in money play"),
        Column("best_action", "VARCHAR", "", f"{'; '.join(ACTIONS)}"),
        Column("trials", "BIGINT", "games", "Games of each of the two rollouts"),
        Column("judge", "VARCHAR", "", "Program or network that rolled out, and its version"),
        Column("level", "VARCHAR", "", "How it was judged: rollout, the ply of its plays, and the number of games"),
        Column("game", "INTEGER", "", "Number of the game in the money games or matches, from 0"),
        TURN_COLUMN,
    )
    key = ("decision",)
    arrays = (
        *text_declarations("xgids", "decision", "Position, score and cube"),
        FlatArray("seeds", "int64", "decision", "Seed of the dice of its rollouts; ascends"),
        FlatArray("boards", "int8", "decision, 26 integers", "Board of the player on roll"),
        FlatArray("classes", "uint8", "decision", "Class of the position, numbered as by gnubg"),
        FlatArray("themes", "uint8", "decision", f"Theme: {', '.join(THEMES)} from 0 on"),
        FlatArray("games", "int32", "decision", "Number of the game"),
        FlatArray("turns", "int32", "decision", "Number of the turn in it"),
        FlatArray("values", "float64", "decision, (no double, double and take)", "Normalised equities"),
        FlatArray("standard_errors", "float64", "decision, (no double, double and take)", "Standard errors"),
        FlatArray("windows", "float64", "decision, (lost, won)", "Chances after a lost and a won game; NaN in money"),
        FlatArray("trials", "int64", "decision", "Games of each rollout"),
        *text_declarations("judge", "text", "Program or network, and its version", is_shared=True),
        NETWORK_ARRAY,
    )
    parameters = CubeBenchmarkParameters
    defaults = more = tuple(published_cube_benchmark())
    named_only = True  # the games that they are from take a minute to play
    smallest = CubeBenchmarkParameters(
        "contact-160", "", 3, 3, 72, None, 0, money_games=30, matches=6, length=5, decisions=4, window=0.5,
        met=PUBLISHED_MET,
    )  # fmt: skip

    def slug(self, parameters: CubeBenchmarkParameters) -> str:
        judge = parameters.network if parameters.judge == NETWORK else parameters.judge
        by = f"{judge}{parameters.how_text}-{parameters.most_trials or parameters.trials}{parameters.met_text}"
        return f"{parameters.decisions}-of-{parameters.corpora_text}-by-{by}"

    def check_parameters(self, parameters: CubeBenchmarkParameters) -> None:
        if parameters.judge not in JUDGES:
            raise InvalidParameterError(f"expected a judge among {', '.join(JUDGES)}, got {parameters.judge!r}")
        if (parameters.judge == NETWORK) == bool(parameters.judge_version):
            raise InvalidParameterError(
                f"expected a version of a program, and none of a network, got {parameters.judge_version!r} of "
                f"{parameters.judge}"
            )
        parameters.check_corpora(parameters.decisions, "decisions")
        if not 0 < parameters.window <= 2:
            raise InvalidParameterError(f"expected a window above 0, up to 2 points, got {parameters.window}")

    def complete(self, parameters: CubeBenchmarkParameters, _warehouse: Versions) -> CubeBenchmarkParameters:
        """Return the parameters with the installed version of the judge added. Raises UnknownPlayerError if the judge
        is not installed."""
        if parameters.judge_version or parameters.judge not in PROGRAMS:
            return parameters
        from bgdata.evaluation.player import open_named_player

        return replace(parameters, judge_version=open_named_player(parameters.judge).version)

    def inputs(self, parameters: CubeBenchmarkParameters) -> Mapping[str, tuple[str, Parameters]]:
        return parameters.cube_inputs()

    def published_folder(self, parameters: CubeBenchmarkParameters) -> Path | None:
        return published_folder(PUBLISHED, parameters, self.slug(parameters))

    def estimate(self, parameters: CubeBenchmarkParameters) -> Estimate:
        turns = 60 * (parameters.money_games + 8 * parameters.matches)
        return Estimate(parameters.decisions, 50_000 + 400 * parameters.decisions, (1 << 28) + 150 * turns)


DATASET = CubeBenchmark()

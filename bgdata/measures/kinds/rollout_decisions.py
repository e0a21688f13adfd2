"""Benchmarks that bgdata makes: decisions from self-play, and rollouts of their better plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bgdata.errors import InvalidParameterError, UsageError
from bgdata.measures.kinds.shared.benchmarks import DECISIONS, PLAYS, ROLLOUTS
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.selfplay.kinds.shared.rollouts import NETWORK_ARRAY, RollerParameters
from bgdata.store.dataset import Dataset, Estimate, FlatArray, TableShape
from bgdata.store.parameters import Parameters
from bgdata.store.table import published_folder, published_versions

if TYPE_CHECKING:
    from bgdata.selfplay.rollout_decisions import Window

PUBLISHED = Path(__file__).parents[1] / "benchmarks"  # <variant>/<version>/, see docs/ship.py
CLASSES = ("contact", "crashed", "race")


@dataclass(frozen=True)
class DecisionParameters(SelfPlayParameters, RollerParameters):
    """Parameters of `rollout_decisions`: a corpus, the class and number of the decisions, which plays are rolled out,
    and the settings of the rollouts.

    `sample_seed` determines the decisions and the dice of their rollouts; `within` is in points. If `one_per_game` is
    true, no two decisions are from the same game, so that they are independent, as the standard errors of scores
    assume. If `settled_at` is given, a play gets no more games once it is that many standard errors behind the best."""

    # recipes leave these fields out at their defaults, so that shipped sets keep their keys and digests
    later = (*RollerParameters.later, "one_per_game", "settled_at")

    until: float | None = 0.005
    most_trials: int = 46_656
    position_class: str = "contact"
    decisions: int = 40
    sample_seed: int = 0
    within: float = 0.16
    least_plays: int = 2
    most_plays: int = 5
    one_per_game: bool = False
    settled_at: float | None = None

    def window(self) -> Window:
        """Return the rule that says which plays of a decision are rolled out."""
        from bgdata.selfplay.rollout_decisions import Window

        return Window(self.within, self.least_plays, self.most_plays)


def published_decisions() -> dict[DecisionParameters, Path]:
    """Return the folders of the benchmarks in the package, by parameters. Folders with a damaged manifest are left
    out."""
    return published_versions(PUBLISHED, DecisionParameters)


class RolloutDecisions(Dataset[DecisionParameters]):
    """Kind `rollout_decisions`: benchmarks from self-play, with rolled-out plays. One row per decision, ordered by a
    hash: a larger set of the same corpus begins with a smaller one."""

    name = "rollout_decisions"
    revision = 2  # 2: likely plays measure luck in races too
    summary = "Checker decisions from self-play whose better plays a network rolled out, all with the same dice."
    source = "Computed: rollouts with stratified rolls and variance reduction by luck (Zare 2000, Montgomery 2000)"
    columns = DECISIONS.columns
    key = DECISIONS.key
    arrays = (
        FlatArray("decisions_boards", "int8", "decision, 26 integers", "Boards of the player on roll"),
        FlatArray("decisions_classes", "uint8", "decision", "Class of the position, numbered as by gnubg"),
        FlatArray("decisions_dice", "int8", "decision, 2", "The roll, the higher die first"),
        FlatArray("decisions_seeds", "int64", "decision", "Seed of the dice of its rollouts; ascends"),
        FlatArray("decisions_games", "int32", "decision", "Game of the corpus"),
        FlatArray("decisions_turns", "int32", "decision", "Turn of that game"),
        FlatArray("decisions_n_legal_plays", "int32", "decision", "All plays of the roll"),
        FlatArray("decisions_n_plays", "int64", "decision", "Those that were rolled out"),
        FlatArray("decisions_first_plays", "int64", "decision", "Where they begin"),
        FlatArray("plays_decisions", "int64", "play", "Its decision"),
        FlatArray("plays_ranks", "int64", "play", "Its place, 0 for the best"),
        FlatArray(
            "plays_boards", "int8", "play, 26 integers", "Boards after the play, of the opponent, who is on roll"
        ),
        FlatArray("plays_chances", "float32", "play, chance", "The opponent's cumulative chances, to six decimals"),
        FlatArray("plays_equities", "float64", "play", "Cubeless equities of who plays, to seven decimals"),
        FlatArray("plays_standard_errors", "float64", "play", "Standard errors of `plays_equities`"),
        FlatArray("plays_losses", "float64", "play", "Behind the best play, to seven decimals"),
        FlatArray("plays_loss_standard_errors", "float64", "play", "Standard errors of `plays_losses`"),
        FlatArray("plays_trials", "int64", "play", "Games played"),
        NETWORK_ARRAY,
    )
    parameters = DecisionParameters
    defaults = tuple(published_decisions())
    smallest = DecisionParameters(
        "tiny", "", 3, 3, 72, 0.02, 144, turns=2, **vars(SELFPLAY.smallest), decisions=3, most_plays=4
    )

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return DECISIONS, PLAYS, ROLLOUTS

    def slug(self, parameters: DecisionParameters) -> str:
        again = f"-sample-{parameters.sample_seed}" if parameters.sample_seed else ""
        corpus = SELFPLAY.slug(parameters.corpus)
        return f"{parameters.position_class}-{parameters.decisions}-of-{corpus}{again}{parameters.how_text}"

    def check_parameters(self, parameters: DecisionParameters) -> None:
        SELFPLAY.check_parameters(parameters.corpus)
        if parameters.position_class not in CLASSES:
            raise InvalidParameterError(f"expected a class of {', '.join(CLASSES)}, got {parameters.position_class}")
        parameters.check_roller(0)
        try:
            parameters.window().check()
        except UsageError as error:
            raise InvalidParameterError(str(error)) from None
        if parameters.settled_at is not None and not parameters.settled_at > 0:
            raise InvalidParameterError(
                f"expected plays settled at more than 0 standard errors, got {parameters.settled_at}"
            )
        if not 1 <= parameters.decisions < 1 << 31 or not 0 <= parameters.sample_seed < 1 << 57:
            raise InvalidParameterError(
                f"expected at least 1 decision and a seed from 0 to 2^57 - 1, "
                f"got {parameters.decisions} and {parameters.sample_seed}"
            )

    def inputs(self, parameters: DecisionParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"games": (SELFPLAY.name, parameters.corpus), **parameters.network_inputs()}

    def published_folder(self, parameters: DecisionParameters) -> Path | None:
        return published_folder(PUBLISHED, parameters, self.slug(parameters))

    def estimate(self, parameters: DecisionParameters) -> Estimate:
        plays = parameters.decisions * parameters.most_plays
        return Estimate(parameters.decisions, 50_000 + 200 * plays, (1 << 28) + 2000 * parameters.games)


DATASET = RolloutDecisions()

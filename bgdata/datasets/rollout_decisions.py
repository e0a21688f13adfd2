"""Benchmarks made here: decisions from self-play, and what each of their better plays is worth by rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.common.benchmarks import (
    DECISIONS,
    PLAYS,
    ROLLOUTS,
    Rows,
    decision_columns,
    play_columns,
    rollout_columns,
)
from bgdata.datasets.common.decision_file import CHANCE_DECIMALS, DECIMALS, with_lines
from bgdata.datasets.common.decision_sample import Turns, decision_hashes, sampled_turns
from bgdata.datasets.common.rollouts import (
    NETWORK_ARRAY,
    RollerParameters,
    network_text,
    open_roller,
)
from bgdata.datasets.position_sample import corpus_of
from bgdata.datasets.selfplay import DATASET as SELFPLAY
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.errors import CheckFailedError, InvalidParameterError, UsageError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate
from bgdata.store.declaration import FlatArray, TableShape
from bgdata.store.parameters import Parameters
from bgdata.store.published import published_versions

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.choices import Chooser
    from bgdata.play.rollout_decisions import Window
    from bgdata.store.arrays import Array
    from bgdata.store.table import Table

PUBLISHED = Path(__file__).parents[1] / "play" / "benchmarks"  # <variant>/<version>/, see docs/ship.py
CLASSES = ("contact", "crashed", "race")
CANDIDATES = 8  # of which verify rolls out again the one with the fewest games: each takes up to a minute
PLAY_DTYPES = {  # what a play has, in arrays `plays_...`, but for its board
    "equities": "float64",
    "standard_errors": "float64",
    "losses": "float64",
    "loss_standard_errors": "float64",
    "trials": "int64",
}


@dataclass(frozen=True)
class DecisionParameters(SelfPlayParameters, RollerParameters):
    """A corpus, how many decisions of which class are taken from it, which of their plays are rolled out, and how.

    `sample_seed` chooses the decisions, and with each of them the dice of its rollouts; `within` is in points.
    """

    until: float | None = 0.005
    most_trials: int = 46_656
    position_class: str = "contact"
    decisions: int = 40
    sample_seed: int = 0
    within: float = 0.16
    least_plays: int = 2
    most_plays: int = 5

    def window(self) -> Window:
        """Which plays are rolled out."""
        from bgdata.play.rollout_decisions import Window

        return Window(self.within, self.least_plays, self.most_plays)


def published_decisions() -> dict[DecisionParameters, Path]:
    """Folders of the sets that come with the package, by recipe; one whose manifest is damaged is none."""
    return published_versions(PUBLISHED, DecisionParameters)


class RolloutDecisions(Dataset[DecisionParameters]):
    """One row a decision, by a hash: a larger set of the same corpus begins with a smaller one."""

    name = "rollout_decisions"
    revision = 1
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
        corpus = SELFPLAY.slug(corpus_of(parameters))
        return f"{parameters.position_class}-{parameters.decisions}-of-{corpus}{again}"

    def check_parameters(self, parameters: DecisionParameters) -> None:
        SELFPLAY.check_parameters(corpus_of(parameters))
        if parameters.position_class not in CLASSES:
            raise InvalidParameterError(f"expected a class of {', '.join(CLASSES)}, got {parameters.position_class}")
        parameters.check_roller(0)
        try:
            parameters.window().check()
        except UsageError as error:
            raise InvalidParameterError(str(error)) from None
        if not 1 <= parameters.decisions < 1 << 31 or not 0 <= parameters.sample_seed < 1 << 57:
            raise InvalidParameterError(
                f"expected at least 1 decision and a seed from 0 to 2^57 - 1, "
                f"got {parameters.decisions} and {parameters.sample_seed}"
            )

    def inputs(self, parameters: DecisionParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"games": (SELFPLAY.name, corpus_of(parameters)), **parameters.network_inputs()}

    def published(self, parameters: DecisionParameters) -> Path | None:
        return published_decisions().get(parameters)

    def estimate(self, parameters: DecisionParameters) -> Estimate:
        plays = parameters.decisions * parameters.most_plays
        return Estimate(parameters.decisions, 50_000 + 200 * plays, (1 << 28) + 2000 * parameters.games)

    def compute(self, build: Build[DecisionParameters]) -> None:
        from bgdata.game.board_kernels import position_classes

        parameters, inputs, job = build.parameters, build.inputs, build.job
        brain = open_roller(build).chooser
        sample = sample_of(parameters, inputs["games"], brain)
        n, most = parameters.decisions, parameters.most_plays
        state: dict[str, Array] = {name: np.zeros((n, most), dtype) for name, dtype in PLAY_DTYPES.items()}
        state["boards"] = np.zeros((n, most, 26), np.int8)
        state["chances"] = np.zeros((n, most, 5), np.float32)
        counts = np.zeros((n, 2), np.int64)  # plays rolled out, and all
        label = f"{self.name}/{self.slug(parameters)}"
        for row in job.steps(label, "decisions", range(n), [1] * n, {**state, "counts": counts}):
            found, n_legal_plays = rolled_out(parameters, brain, sample, row)
            counts[row] = len(found["trials"]), n_legal_plays
            for name, values in found.items():
                state[name][row, : counts[row, 0]] = values
        job.save("decisions_classes", position_classes(sample.boards).astype(np.uint8))
        job.save("network", network_text(parameters, inputs))
        for name, values in sample._asdict().items():
            job.save(f"decisions_{name}", values)
        for name, values in {**play_places(counts), **kept_plays(state, counts[:, 0])}.items():
            job.save(name, values)

    def batches(self, computed: Computed[DecisionParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        rows = Rows(with_lines(computed.arrays), "decisions")
        text = np.asarray(computed.arrays["network"]).tobytes().decode()
        network = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(rows), np.int8)), pa.array([text]))
        more = {"n_legal_plays": rows["n_legal_plays"], "game": rows["games"], "turn": rows["turns"]}
        return rows.batches(decision_columns(rows, pa.array(rows["seeds"])), more, {"network": network})

    def side_batches(self, name: str, computed: Computed[DecisionParameters]) -> Iterator[pa.RecordBatch]:
        if name == ROLLOUTS.name:
            rows = Rows(with_lines(computed.arrays), "rollouts")
            return rows.batches(rollout_columns(rows))
        rows = Rows(computed.arrays, "plays")
        more = {"standard_error": "standard_errors", "loss_standard_error": "loss_standard_errors", "trials": "trials"}
        return rows.batches(play_columns(rows), {column: rows[field] for column, field in more.items()})

    def statistics(self, computed: Computed[DecisionParameters]) -> Mapping[str, float]:
        arrays = computed.arrays
        errors = np.asarray(arrays["plays_standard_errors"])
        return {
            "plays": float(len(errors)),
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "reached_share": float((errors <= computed.parameters.limits().until).mean()),
            "mean_loss_standard_error": float(np.asarray(arrays["plays_loss_standard_errors"]).mean()),
            "games": float(np.asarray(arrays["plays_trials"]).sum()),
        }

    def check_sample(self, recheck: Recheck[DecisionParameters]) -> str:
        """Decisions are turns of the corpus; of some, the one with the fewest games is rolled out again."""
        table = recheck.table
        arrays = table.arrays()
        chosen = recheck.generator.permutation(len(arrays["decisions_seeds"]))[: min(recheck.rows, CANDIDATES)].tolist()
        check_turns(table, recheck.inputs["games"], chosen)
        brain = open_roller(recheck).chooser
        first, counts = arrays["decisions_first_plays"], arrays["decisions_n_plays"]
        row = min(chosen, key=lambda row: arrays["plays_trials"][first[row]] * counts[row])
        sample = Turns(*(np.asarray(arrays[f"decisions_{name}"]) for name in Turns._fields))
        plays = slice(first[row], first[row] + counts[row])
        for name, values in rolled_out(recheck.parameters, brain, sample, row)[0].items():
            if not np.array_equal(values, arrays[f"plays_{name}"][plays]):
                raise CheckFailedError(
                    f"expected {name} of {values.tolist()} in decision {row} of {table.name}, "
                    f"found {arrays[f'plays_{name}'][plays].tolist()}"
                )
        return (
            f"1 of {len(arrays['decisions_seeds'])} decisions rolled out again, and {len(chosen)} found in the corpus"
        )


def sample_of(parameters: DecisionParameters, corpus: Table, brain: Chooser) -> Turns:
    """The decisions. Raises InvalidParameterError for a corpus that has too few."""
    from bgdata.game.classes import PositionClass

    wanted, count = PositionClass[parameters.position_class.upper()], parameters.decisions
    found = sampled_turns(corpus, wanted, count, parameters.sample_seed, brain, parameters.window())
    if len(found.seeds) < count:
        raise InvalidParameterError(
            f"expected {count:,} decisions of the class {parameters.position_class} with a play that loses up to "
            f"{parameters.within} in the test games of {corpus.name}, found {len(found.seeds):,}; try more games"
        )
    return found


def rolled_out(parameters: DecisionParameters, brain: Chooser, sample: Turns, row: int) -> tuple[dict[str, Array], int]:
    """(what arrays hold of the plays of a decision, the number of its legal plays); depends on this decision alone."""
    from bgdata.datasets.bgsage_rollouts import flipped_chances
    from bgdata.play.rollout_decisions import roll_out_decision

    high, low = sample.dice[row].tolist()
    limits, window = parameters.limits(), parameters.window()
    found = roll_out_decision(
        sample.boards[row], (high, low), brain, int(sample.seeds[row]), parameters.how(), window, limits
    )
    equities = np.round(found.result.equities, DECIMALS)
    chances = flipped_chances(found.result.legal_chances().astype(np.float64))
    return {
        "boards": found.boards,
        "chances": np.round(chances, CHANCE_DECIMALS).astype(np.float32),
        "equities": equities,
        "standard_errors": found.result.equity_standard_errors,
        "losses": np.round(equities[0] - equities, DECIMALS),
        "loss_standard_errors": found.loss_standard_errors,
        "trials": found.result.trials,
    }, found.n_plays


def play_places(counts: Array) -> dict[str, Array]:
    """Which plays belong to which decision, from int64[n, 2] numbers of plays rolled out and of all."""
    n_plays = np.ascontiguousarray(counts[:, 0])
    first_plays = np.cumsum(n_plays) - n_plays
    decisions = np.repeat(np.arange(len(counts)), n_plays)
    return {
        "decisions_n_legal_plays": counts[:, 1].astype(np.int32),
        "decisions_n_plays": n_plays,
        "decisions_first_plays": first_plays,
        "plays_decisions": decisions,
        "plays_ranks": np.arange(len(decisions)) - first_plays[decisions],
    }


def kept_plays(state: Mapping[str, Array], n_plays: Array) -> dict[str, Array]:
    """The plays of all decisions one after the other, from arrays with room for the most that one may have."""
    is_play = np.arange(state["trials"].shape[1]) < n_plays[:, None]
    return {f"plays_{name}": values[is_play] for name, values in state.items()}


def check_turns(table: Table, corpus: Table, chosen: list[int]) -> None:
    """Raise CheckFailedError unless decisions are the turns of the corpus that they name, with the seeds of those."""
    seed = int(table.manifest.parameters["sample_seed"])
    first_turns, boards, dice = (corpus.array(name) for name in ("first_turns", "turn_boards", "dice"))
    for row in chosen:
        place = first_turns[table.array("decisions_games")[row]] + table.array("decisions_turns")[row]
        roll = -np.sort(-np.asarray(dice[place]))
        hashed = decision_hashes(np.asarray(boards[place])[None], roll[None], seed) >> np.uint64(1)
        expected = {"boards": boards[place], "dice": roll, "seeds": hashed.astype(np.int64)[0]}
        for name, values in expected.items():
            if not np.array_equal(table.array(f"decisions_{name}")[row], values):
                raise CheckFailedError(
                    f"expected {name} of {values.tolist()} in decision {row} of {table.name}, as in its game and turn, "
                    f"found {table.array(f'decisions_{name}')[row].tolist()}"
                )


DATASET = RolloutDecisions()

"""Positions of self-play with what a player can learn from them: how the game ended, or better what tables know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.bearoff_one_sided import DATASET as ONE_SIDED
from bgdata.datasets.bearoff_two_sided import DATASET as TWO_SIDED
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters, error_bound
from bgdata.datasets.common.columns import (
    CHANCE_COLUMNS,
    CLASS_COLUMN,
    POSITION_COLUMNS,
    chance_columns,
    chosen_texts,
    class_column,
    position_columns,
)
from bgdata.datasets.common.games import slices
from bgdata.datasets.common.imports import CHANCES_ARRAY, POSITION_ARRAYS
from bgdata.datasets.common.race import RaceParameters
from bgdata.datasets.selfplay import DATASET as SELFPLAY
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.errors import CheckFailedError, CorruptFileError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.bearoff import BearoffEvaluator
    from bgdata.store.arrays import Array
    from bgdata.store.table import Table

SOURCES = ("outcome", "exact", "combined")  # numbered as `BearoffSource`


@dataclass(frozen=True)
class LabelParameters(SelfPlayParameters):
    """A corpus, the size of the two-sided table, and the points of the one-sided and gammon tables whose combination
    counts beside it: 0 for exact chances alone."""

    points: int = 6
    checkers: int = 9
    one_sided_points: int = 0


class SelfPlayLabels(Dataset[LabelParameters]):
    """One row a turn, in the order of the games; see `play.truth`."""

    name = "selfplay_labels"
    revision = 1
    summary = (
        "Every turn of self-play labelled with how its game ended, or with the chances of tables once it got there."
    )
    source = "Computed: games rescored by bearoff tables, as Lc0 rescores its own by endgame tablebases"
    columns = (
        Column("game", "INTEGER", "", "Number of the game in its corpus, from 0"),
        Column("turn", "INTEGER", "", "Number of the turn in that game, from 0"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        Column("outcome", "TINYINT", "points", "Points that the player on roll won in the end, -3 to 3"),
        *CHANCE_COLUMNS,
        Column("cubeless_equity", "FLOAT", "points", "What the five chances are worth to the player on roll"),
        Column("label_source", "VARCHAR", "", "Where they are from: outcome, exact (two-sided table) or combined"),
        Column("turns_later", "INTEGER", "turns", "When the table covers the game, 0: here; null for the outcome"),
        Column("hedged_equity", "FLOAT", "points", "The label less the luck of the rolls up to it, null if unknown"),
        Column("split", "VARCHAR", "", "train, validation or test: the same for all positions of a game"),
    )
    key = ("game", "turn")
    arrays = (
        *POSITION_ARRAYS,
        CHANCES_ARRAY,
        FlatArray("games", "int32", "row", "Number of the game"),
        FlatArray("turns", "int32", "row", "Number of the turn in it"),
        FlatArray("outcomes", "int8", "row", "Points that the player on roll won, -3 to 3"),
        FlatArray("sources", "uint8", "row", "Outcome, exact or combined: 0, 1 or 2"),
        FlatArray("turns_later", "int32", "row", "Turns until a table covers the game; -1: never"),
        FlatArray("hedged_equities", "float32", "row", "The label less the luck of the rolls up to it, NaN if unknown"),
        FlatArray("splits", "uint8", "row", "Train, validation or test: 0, 1 or 2"),
    )
    parameters = LabelParameters
    defaults = tuple(LabelParameters(**vars(corpus)) for corpus in SELFPLAY.defaults)
    smallest = LabelParameters(**vars(SELFPLAY.smallest), points=6, checkers=6, one_sided_points=6)

    def slug(self, parameters: LabelParameters) -> str:
        combined = f"-combined-{parameters.one_sided_points}" if parameters.one_sided_points else ""
        return f"{SELFPLAY.slug(corpus_of(parameters))}-{parameters.points}x{parameters.checkers}{combined}"

    def check_parameters(self, parameters: LabelParameters) -> None:
        SELFPLAY.check_parameters(corpus_of(parameters))
        TWO_SIDED.check_parameters(TwoSidedParameters(parameters.points, parameters.checkers))
        if parameters.one_sided_points:
            ONE_SIDED.check_parameters(RaceParameters(parameters.one_sided_points))

    def inputs(self, parameters: LabelParameters) -> Mapping[str, tuple[str, Parameters]]:
        found: dict[str, tuple[str, Parameters]] = {
            "games": (SELFPLAY.name, corpus_of(parameters)),
            "two_sided": (TWO_SIDED.name, TwoSidedParameters(parameters.points, parameters.checkers)),
        }
        if parameters.one_sided_points:
            race = RaceParameters(parameters.one_sided_points)
            found |= {"one_sided": (ONE_SIDED.name, race), "gammon": ("bearoff_gammon", race)}
        return found

    def estimate(self, parameters: LabelParameters) -> Estimate:
        rows = (120 if parameters.player == "random" else 55) * parameters.games
        return Estimate(rows, 90 * rows, (1 << 28) + 300 * rows)

    def compute(self, build: Build[LabelParameters]) -> None:
        games = np.arange(build.parameters.games)
        for name, values in labelled(build.parameters, build.inputs, games).items():
            build.job.save(name, values)

    def batches(self, computed: Computed[LabelParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from bgdata.evaluation.chances import cubeless_equities
        from bgdata.play.splits import SPLITS

        for rows in slices(len(computed.arrays["games"]), self.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in computed.arrays.items()}
            turns_later = found["turns_later"]
            yield pa.record_batch(
                {
                    "game": found["games"],
                    "turn": found["turns"],
                    **position_columns(found["boards"]),
                    "class": class_column(found["classes"]),
                    "outcome": found["outcomes"],
                    **chance_columns(found["chances"]),
                    "cubeless_equity": cubeless_equities(found["chances"]),
                    "label_source": chosen_texts(pa.array(SOURCES), found["sources"].astype(np.int32)),
                    "turns_later": pa.array(turns_later, mask=turns_later < 0),
                    "hedged_equity": pa.array(found["hedged_equities"], from_pandas=True),
                    "split": chosen_texts(pa.array(SPLITS), found["splits"].astype(np.int32)),
                }
            )

    def statistics(self, computed: Computed[LabelParameters]) -> Mapping[str, float]:
        from bgdata.play.rescoring import Labels, rescoring_report

        parameters, arrays = computed.parameters, computed.arrays
        chances, turns_later = np.asarray(arrays["chances"]), np.asarray(arrays["turns_later"])
        solved = np.where(turns_later < 0, -1, np.arange(len(turns_later)) + turns_later)
        report = rescoring_report(Labels(outcome_chances(np.asarray(arrays["outcomes"])), chances, solved))
        found = {name: float(value) for name, value in report._asdict().items() if value == value}
        found["removed_share"] = 1 - report.variance_after / report.variance_before if report.variance_before else 0.0
        hedged = np.asarray(arrays["hedged_equities"]).astype(np.float64)
        if parameters.luck:
            found["variance_hedged"] = float(hedged.var())
        return found | {"exact_equity_error_bound": error_bound(parameters.points, parameters.checkers)}

    def check_sample(self, recheck: Recheck[LabelParameters]) -> str:
        """Label some games again, alone."""
        parameters = recheck.parameters
        n_turns = np.diff(recheck.inputs["games"].array("first_turns"))
        chosen = np.sort(recheck.generator.permutation(parameters.games)[: recheck.rows])
        places = np.flatnonzero(np.isin(np.repeat(np.arange(parameters.games), n_turns), chosen))
        for name, expected in labelled(parameters, recheck.inputs, chosen).items():
            found = np.asarray(recheck.table.array(name))[places]
            for row in places[differing(found, expected)][:1]:
                raise CheckFailedError(
                    f"expected {name} of the game's turn, labelled again, in row {row} of {recheck.table.name}, "
                    "found others"
                )
        return sampled(len(chosen), parameters.games, "games")


def corpus_of(parameters: LabelParameters) -> SelfPlayParameters:
    """The corpus that is labelled."""
    return SelfPlayParameters(**{name: getattr(parameters, name) for name in SelfPlayParameters.names()})


def labelled(parameters: LabelParameters, inputs: Mapping[str, Table], games: Array) -> dict[str, Array]:
    """Every declared array for the turns of ascending games. Raises CorruptFileError."""
    from bgdata.evaluation.bearoff import BearoffEvaluator
    from bgdata.play.luck.labels import luck_adjusted_equities
    from bgdata.play.rescoring import GameOutcomes, rescored_labels
    from bgdata.play.splits import splits_of_games

    corpus, tables = inputs["games"], {role: table for role, table in inputs.items() if role != "games"}
    check_corpus(corpus)
    bearoff = BearoffEvaluator(**tables)
    first_turns = np.asarray(corpus.array("first_turns"))
    n_turns = (first_turns[1:] - first_turns[:-1])[games]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_turns)])
    numbers, turns = np.repeat(games, n_turns), np.arange(offsets[-1]) - np.repeat(offsets[:-1], n_turns)
    rows = first_turns[numbers] + turns
    boards = np.ascontiguousarray(corpus.array("turn_boards")[rows])
    outcomes = GameOutcomes(corpus.array("outcomes")[games], corpus.array("begins")[games], offsets)
    labels = rescored_labels(bearoff.arrays, outcomes, boards, combined="one_sided" in tables)
    is_solved = labels.solved >= 0
    return {
        "boards": boards,
        "classes": np.asarray(corpus.array("turn_classes")[rows]),
        "chances": labels.rescored,
        "games": numbers.astype(np.int32),
        "turns": turns.astype(np.int32),
        "outcomes": points_of(labels.outcomes),
        "sources": np.where(is_solved, sources_of(bearoff, boards, labels.solved), 0).astype(np.uint8),
        "turns_later": np.where(is_solved, labels.solved - np.arange(len(rows)), -1).astype(np.int32),
        "hedged_equities": luck_adjusted_equities(labels, offsets, np.asarray(corpus.array("lucks")[rows])),
        "splits": splits_of_games(parameters.seed, numbers),
    }


def check_corpus(corpus: Table) -> None:
    """Raise CorruptFileError for a corpus whose games and turns do not agree: kernels would read beyond its ends."""
    first_turns, turns = np.asarray(corpus.array("first_turns")), len(corpus.array("turn_boards"))
    sizes = {name: len(corpus.array(name)) for name in ("outcomes", "begins", "turn_classes", "lucks")}
    games = len(first_turns) - 1
    expected = {"outcomes": games, "begins": games, "turn_classes": turns, "lucks": turns}
    if sizes != expected or first_turns[0] != 0 or first_turns[-1] != turns or (np.diff(first_turns) < 1).any():
        raise CorruptFileError(f"expected whole games in {corpus.name}, found turns of none; try: bgdata verify")


def sources_of(bearoff: BearoffEvaluator, boards: Array, solved: Array) -> Array:
    """int8[n]: who answers for the solved board of each row, anything where there is none."""
    covered = np.flatnonzero(solved == np.arange(len(solved)))
    sources = np.zeros(len(boards), np.int8)
    sources[covered] = bearoff.evaluate_many(boards[covered]).sources
    return sources[solved]


def points_of(chances: Array) -> Array:
    """int8[n]: -3 to 3 points to the player whose chances, all 0 or 1, are given; `outcome_chances` turned around."""
    from bgdata.evaluation.chances import cubeless_equities

    return cubeless_equities(chances).astype(np.int8)


def outcome_chances(points: Array) -> Array:
    """float32[n, 5]: the chances of finished games, worth so many points to the player."""
    reached = [points > 0, points > 1, points > 2, points < -1, points < -2]
    return np.stack(reached, axis=1).astype(np.float32)


def differing(found: Array, expected: Array) -> Array:
    """bool[n]: whether rows differ; not a number equals itself."""
    is_same = (found == expected) | ((found != found) & (expected != expected))
    return np.asarray(~is_same.reshape(len(found), -1).all(axis=1))


DATASET = SelfPlayLabels()

"""Positions after the best plays of turns of self-play: what a player must tell apart to choose well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bgdata.datasets.common.columns import CLASS_COLUMN, POSITION_COLUMNS, chosen_texts, class_column, position_columns
from bgdata.datasets.common.games import slices, turn_places
from bgdata.datasets.common.rollouts import NetworkChoice, open_roller
from bgdata.datasets.position_sample import chosen_rows, corpus_of, file_classes
from bgdata.datasets.selfplay import DATASET as SELFPLAY
from bgdata.datasets.selfplay import SelfPlayParameters
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters, number_text

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.evaluation.choices import Chooser
    from bgdata.play.rollout_decisions import Window
    from bgdata.store.arrays import Array

STEP = 8192  # turns whose plays are evaluated at a time
MOST_PLAYS = 20  # of a turn
CLASSES = ("contact", "crashed", "race")  # bearoffs are races here


@dataclass(frozen=True)
class PlaySampleParameters(SelfPlayParameters, NetworkChoice):
    """A corpus, of which classes how many turns each are taken from it at most, how many of the best plays of each, how
    many points they may lose at 0-ply, and which network says so."""

    classes: tuple[str, ...] = CLASSES
    most: int = 2000
    plays: int = 4
    within: float = 6.0

    def numbers(self) -> list[int]:
        """The classes as files number them. Raises InvalidParameterError."""
        from bgdata.game.classes import PositionClass

        names = self.classes
        if not names or names != tuple(name for name in CLASSES if name in names):
            raise InvalidParameterError(
                f"expected some of {' '.join(CLASSES)} in this order, got {' '.join(names) or 'none'}"
            )
        return [int(PositionClass[name.upper()]) for name in names]

    def window(self) -> Window:
        """Which plays are taken. Raises InvalidParameterError."""
        from bgdata.play.rollout_decisions import Window

        if not 0 <= self.within <= 6:
            raise InvalidParameterError(f"expected plays within 0 to 6 points, got {self.within}")
        return Window(within=self.within, least_plays=1, most_plays=self.plays)


class Rows(NamedTuple):
    """The plays of some turns: a row a play."""

    boards: Array  # int8[n, 26] after the play, of the opponent, who is on roll
    turns: Array  # int64[n] place of the turn among those given
    ranks: Array  # uint8[n] from 1, the best
    losses: Array  # float32[n] points at a glance


class PlaySample(Dataset[PlaySampleParameters]):
    """One row a play, the best first, in the order of the games."""

    name = "play_sample"
    revision = 2
    summary = "Positions after the best plays of turns of self-play, split into train, validation and test by game."
    source = "Computed: turns chosen from a version of selfplay by a hash of the position, plays by a network"
    columns = (
        Column("game", "INTEGER", "", "Number of the first game of the corpus that has the position before the turn"),
        Column("turn", "INTEGER", "", "Number of the turn in that game, from 0"),
        Column("rank", "SMALLINT", "", "Rank of the play, 1 for the best, as the network sees it at a glance"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        Column("loss", "DOUBLE", "points", "What the play loses against the best at a glance"),
        Column("split", "VARCHAR", "", "train, validation or test: the same for all positions of a game"),
    )
    key = ("game", "turn", "rank")
    arrays = (
        FlatArray("boards", "int8", "row, 26 integers", "Boards after the play, of the opponent, who is on roll"),
        FlatArray("classes", "uint8", "row", "Class of the position, numbered as by gnubg"),
        FlatArray("games", "int32", "row", "Number of the game"),
        FlatArray("turns", "int32", "row", "Number of the turn in it"),
        FlatArray("ranks", "uint8", "row", "Rank of the play, from 1"),
        FlatArray("losses", "float32", "row", "Points that the play loses at a glance"),
        FlatArray("splits", "uint8", "row", "Train, validation or test: 0, 1 or 2"),
    )
    parameters = PlaySampleParameters
    defaults = ()
    smallest = PlaySampleParameters(
        **vars(SELFPLAY.smallest), most=20, within=0.16, network="tiny", table_points=3, table_checkers=3
    )

    def slug(self, parameters: PlaySampleParameters) -> str:
        corpus, within = SELFPLAY.slug(corpus_of(parameters)), number_text(parameters.within).replace(".", "-")
        classes = "" if parameters.classes == CLASSES else f"{'-'.join(parameters.classes)}-of-"
        return (
            f"{classes}{corpus}-most-{parameters.most}-plays-{parameters.plays}-within-{within}-by-{parameters.network}"
        )

    def check_parameters(self, parameters: PlaySampleParameters) -> None:
        SELFPLAY.check_parameters(corpus_of(parameters))
        if not 1 <= parameters.most < 1 << 31:
            raise InvalidParameterError(f"expected at least 1 turn of each class, got {parameters.most}")
        if not 1 <= parameters.plays <= MOST_PLAYS:
            raise InvalidParameterError(f"expected 1 to {MOST_PLAYS} plays of a turn, got {parameters.plays}")
        parameters.window()
        parameters.numbers()
        parameters.check_network()

    def inputs(self, parameters: PlaySampleParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"games": (SELFPLAY.name, corpus_of(parameters)), **parameters.network_inputs()}

    def estimate(self, parameters: PlaySampleParameters) -> Estimate:
        rows = min(3 * parameters.most, 40 * parameters.games) * parameters.plays
        return Estimate(rows, 90 * rows, (1 << 28) + 6000 * parameters.games)

    def compute(self, build: Build[PlaySampleParameters]) -> None:
        from bgdata.game.board_kernels import position_classes
        from bgdata.play.splits import splits_of_games

        parameters, job = build.parameters, build.job
        corpus, brain = build.inputs["games"], open_roller(build).chooser
        boards, dice = np.asarray(corpus.array("turn_boards")), np.asarray(corpus.array("dice"))
        classes = np.asarray(corpus.array("turn_classes"))
        rows = chosen_rows(boards, classes, parameters.most)
        rows = rows[np.isin(file_classes(classes[rows]), parameters.numbers())]
        job.progress.start(f"{self.name}/{self.slug(parameters)}", len(rows), "turns")
        parts = []
        for start in range(0, len(rows), STEP):
            part = rows[start : start + STEP]
            found = plays_of(brain, boards[part], dice[part], parameters.window())
            parts.append(found._replace(turns=part[found.turns]))
            job.progress.advance(len(part))
        found = Rows(*map(np.concatenate, zip(*parts, strict=True)))
        games, turns = turn_places(np.asarray(corpus.array("first_turns")), slice(0, len(boards)))
        job.save("boards", found.boards)
        job.save("classes", position_classes(found.boards).astype(np.uint8))
        job.save("games", games[found.turns].astype(np.int32))
        job.save("turns", turns[found.turns].astype(np.int32))
        job.save("ranks", found.ranks)
        job.save("losses", found.losses)
        job.save("splits", splits_of_games(parameters.seed, games[found.turns]))

    def batches(self, computed: Computed[PlaySampleParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from bgdata.play.splits import SPLITS

        for rows in slices(len(computed.arrays["games"]), self.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in computed.arrays.items()}
            yield pa.record_batch(
                {
                    "game": found["games"],
                    "turn": found["turns"],
                    "rank": found["ranks"].astype(np.int16),
                    **position_columns(found["boards"]),
                    "class": class_column(found["classes"]),
                    "loss": found["losses"].astype(np.float64),
                    "split": chosen_texts(pa.array(SPLITS), found["splits"].astype(np.int32)),
                }
            )

    def statistics(self, computed: Computed[PlaySampleParameters]) -> Mapping[str, float]:
        from bgdata.play.splits import SPLITS

        splits = np.bincount(computed.arrays["splits"], minlength=len(SPLITS))
        named = {name: float(count) for name, count in zip(SPLITS, splits, strict=True)}
        return {**named, "turns": float((np.asarray(computed.arrays["ranks"]) == 1).sum())}

    def check_sample(self, recheck: Recheck[PlaySampleParameters]) -> str:
        """Rank the plays of some turns again."""
        table = recheck.table
        corpus, brain = recheck.inputs["games"], open_roller(recheck).chooser
        first_turns = np.asarray(corpus.array("first_turns"))
        begins = np.flatnonzero(np.asarray(table.array("ranks")) == 1)
        ends = np.append(begins[1:], len(table.array("ranks")))
        chosen = np.sort(recheck.generator.permutation(len(begins))[: recheck.rows])
        here = np.concatenate([np.arange(begins[turn], ends[turn]) for turn in chosen])
        first = begins[chosen]
        places = first_turns[np.asarray(table.array("games"))[first]] + np.asarray(table.array("turns"))[first]
        boards, dice = np.asarray(corpus.array("turn_boards"))[places], np.asarray(corpus.array("dice"))[places]
        expected = plays_of(brain, boards, dice, recheck.parameters.window())
        for name in ("boards", "ranks", "losses"):
            found, values = np.asarray(table.array(name))[here], getattr(expected, name)
            if not np.array_equal(found, values):
                raise CheckFailedError(f"expected the {name} of the best plays in {table.name}, found others")
        return sampled(len(chosen), len(begins), "turns")


def plays_of(brain: Chooser, boards: Array, dice: Array, window: Window) -> Rows:
    """The best plays of int8[n, 26] boards with int8[n, 2] dice, as a network sees them at a glance."""
    from bgdata.game.codec import flip_boards
    from bgdata.game.play_kernels import batch_plays
    from bgdata.play.rollout_decisions import static_losses, within_window

    offsets, after_play = batch_plays(np.ascontiguousarray(boards), np.ascontiguousarray(dice))
    after = flip_boards(after_play)
    losses = static_losses(brain, after, offsets)
    kept = within_window(losses, offsets, window)
    turns = np.searchsorted(offsets, kept, side="right") - 1
    order = np.lexsort((losses[kept], turns))  # stable: of equals the first
    kept, turns = kept[order], turns[order]
    first = np.searchsorted(turns, turns)
    return Rows(after[kept], turns, (np.arange(len(turns)) - first + 1).astype(np.uint8), losses[kept])


DATASET = PlaySample()

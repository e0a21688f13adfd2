"""What a gnubg benchmark file holds, as tables: decisions, their plays, rollouts, evaluations, cube decisions.

Every table has the line of each row, so that `format_gnubg_benchmark` can put a file together again, and the *forms* of
its numbers (`fields.format_number`), so that it comes out as it was. Numbers are float64, exactly those written.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bgdata.formats.lines import Intake, check_mask
from bgdata.game.codec import Boards

NO_SEED = int(np.iinfo(np.int64).min)  # no `r` line stands before a decision or evaluation
TableName = Literal["decisions", "plays", "rollouts", "evaluations", "cube_rollouts", "best_plays", "seeds"]

Indexes = NDArray[np.int64]
Numbers = NDArray[np.float64]
Forms = NDArray[np.int8]


class Text(NamedTuple):
    """A comment or the settings in force from here on, with its line number."""

    line: int
    text: str


@dataclass(frozen=True)
class BenchmarkTable:
    """Rows in file order: the first axis of every array counts them."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def select(self, keep: NDArray[np.bool_]) -> Self:
        """The rows where `keep` (bool[rows]) holds."""
        return replace(self, **{field.name: getattr(self, field.name)[keep] for field in fields(self)})


@dataclass(frozen=True)
class BenchmarkDecisions(BenchmarkTable):
    """`m` lines, n of them: a roll to be played. Row k has `n_plays[k]` plays, `first_plays[k]` and those behind it.

    `lines` int64[n]; `boards` int8[n, 26] of the player who has rolled, before the play; `dice` int8[n, 2] as written,
    in either order; `seeds` int64[n], of the rollouts, or NO_SEED; `first_plays`, `n_plays` int64[n].
    """

    lines: Indexes
    boards: Boards
    dice: NDArray[np.int8]
    seeds: Indexes
    first_plays: Indexes
    n_plays: Indexes


@dataclass(frozen=True)
class BenchmarkPlays(BenchmarkTable):
    """The rolled-out plays of all decisions, k of them, best first in each.

    `decisions` int64[k] indexes; `ranks` int64[k], 0 for the best; `boards` int8[k, 26] after the play, with the
    OPPONENT on roll; `equities` float64[k], cubeless money, for the player who MADE the play; `losses` float64[k]: what
    it costs against the best, at least 0; `forms` int8[k] of the number written: the equity of the best, the loss of
    the others; `rollouts` int64[k] index of the `#R` line with its chances, or -1.
    """

    decisions: Indexes
    ranks: Indexes
    boards: Boards
    equities: Numbers
    losses: Numbers
    forms: Forms
    rollouts: Indexes


@dataclass(frozen=True)
class Rollouts(BenchmarkTable):
    """`#R` lines, n of them: chances after one play of the next decision.

    `boards` int8[n, 26] with the OPPONENT of that decision on roll, `chances` float64[n, 5] of the OPPONENT;
    `decisions` int64[n] index of the decision, or -1 where none follows or it is quarantined. Chances are noisy: see
    `chance_rules.NOISY`.
    """

    lines: Indexes
    boards: Boards
    chances: Numbers
    forms: Forms
    decisions: Indexes


@dataclass(frozen=True)
class BenchmarkEvaluations(BenchmarkTable):
    """`o`, `e` and `O` lines, n of them: chances of the player on roll, before the roll.

    `kinds` S1[n]: `o` rollout (for cube decisions), `e` network, `O` one-sided rollout of a race.
    """

    lines: Indexes
    kinds: NDArray[np.bytes_]
    boards: Boards
    chances: Numbers
    forms: Forms
    seeds: Indexes


@dataclass(frozen=True)
class CubeRollouts(BenchmarkTable):
    """`c` lines, n of them: cubeful rollouts before a double.

    `mwc_percents` float64[n, 2]: chance of winning the match, 0 to 100, without doubling and after double and take;
    `actions` S3[n]: `ND` no double, `D/T` double and take, `D/D` double and pass, `TG` too good to double.
    """

    lines: Indexes
    boards: Boards
    mwc_percents: Numbers
    forms: Forms
    actions: NDArray[np.bytes_]
    seeds: Indexes


@dataclass(frozen=True)
class BestPlays(BenchmarkTable):
    """`b` lines, n of them: the play that an evaluation prefers.

    `boards` before and `play_boards` after it, int8[n, 26], `chances` float64[n, 5], in the perspectives as written
    (no file with such a line was seen; `#R` lines have the opponent's).
    """

    lines: Indexes
    boards: Boards
    dice: NDArray[np.int8]
    play_boards: Boards
    chances: Numbers
    forms: Forms


@dataclass(frozen=True)
class Seeds(BenchmarkTable):
    """`r` lines, n of them: the random seed of the next decision, evaluation `o` or cube rollout."""

    lines: Indexes
    seeds: Indexes


@dataclass(frozen=True)
class Benchmark(Intake):
    """A benchmark file; `settings` are its `s` lines, `comments` its `#` lines but for `#R`."""

    settings: tuple[Text, ...]
    comments: tuple[Text, ...]
    seeds: Seeds
    decisions: BenchmarkDecisions
    plays: BenchmarkPlays
    rollouts: Rollouts
    evaluations: BenchmarkEvaluations
    cube_rollouts: CubeRollouts
    best_plays: BestPlays

    def quarantine(self, table: TableName, is_bad: NDArray[np.bool_], reason: str) -> Benchmark:
        """The benchmark without the rows of a table where `is_bad` (bool[rows]) holds: their lines are quarantined for
        that reason.

        A bad play removes its decision, and a decision all its plays. For rules that need more than the line, such as
        legal play. Raises UsageError for an array of another shape or type.
        """
        check_mask(is_bad, len(getattr(self, table)))
        if table == "plays":
            counts = np.bincount(self.plays.decisions[is_bad], minlength=len(self.decisions))
            return self.quarantine("decisions", counts > 0, reason)
        bad_table = getattr(self, table)
        ledger = self.ledger.copy()
        ledger.reject(bad_table.lines[is_bad] - 1, reason)
        rest = replace(self, ledger=ledger, **{table: bad_table.select(~is_bad)})
        if table == "decisions":
            plays = self.plays.select(~is_bad[self.plays.decisions])
            n_plays = rest.decisions.n_plays
            return replace(
                rest,
                decisions=replace(rest.decisions, first_plays=np.cumsum(n_plays) - n_plays),
                plays=replace(plays, decisions=_renumber(plays.decisions, ~is_bad)),
                rollouts=replace(self.rollouts, decisions=_renumber(self.rollouts.decisions, ~is_bad)),
            )
        if table == "rollouts":
            return replace(rest, plays=replace(self.plays, rollouts=_renumber(self.plays.rollouts, ~is_bad)))
        return rest


def _renumber(indexes: Indexes, keep: NDArray[np.bool_]) -> Indexes:
    """Indexes of rows after only those with `keep` are left; -1 for none and for rows that are gone."""
    numbers = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    return np.asarray(numbers[indexes], np.int64)

"""Read and write gnubg's benchmark files `contact.bm`, `crashed.bm`, `race.bm`: decisions with rolled-out plays.

The first field of a line is its kind: `m` a decision with its plays, `#R` the rollout of one play of the next `m` line,
`r` the seed of the next rollout, `o`, `e`, `O` evaluations, `c` a cube rollout, `b` a best play, `s` settings, `#` a
comment. Other lines are quarantined. Numbers are float64, exactly as written. Every table contains the line numbers of
its rows and the *forms* of its numbers (`fields.format_number`), so that the file can be written again. A canonical
file (line feeds, single spaces, no blank line, numbers of at most 15 digits without redundant signs or zeros) is
reproduced byte for byte, although files mix forms: six significant digits in old lines, seven decimals in merged lines.
Source: rows of the published files and their description; no program text was used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from heapq import merge
from itertools import repeat
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bgdata.formats.fields import NO_NUMBER, NOISY, PLAIN, Fields, Forms, Numbers, Places, format_number
from bgdata.formats.lines import Intake, check_mask, comment_text, split_lines
from bgdata.game.codec import Boards, format_key20s

NO_SEED = int(np.iinfo(np.int64).min)  # there is no `r` line before a decision or evaluation
TableName = Literal["decisions", "plays", "rollouts", "evaluations", "cube_rollouts", "best_plays", "seeds"]
_ACTIONS = (b"TG", b"D/T", b"D/D", b"ND")
_MAX_EQUITY = 3 + NOISY.range
_FIELD_COUNTS = {b"#R": 7, b"o": 7, b"e": 7, b"O": 7, b"c": 5, b"b": 10, b"r": 2}
_KINDS = (b"m", b"s", *_FIELD_COUNTS)
_USES_SEED = (b"m", b"o", b"c")


class Text(NamedTuple):
    """A comment or settings line. Settings apply from their line on."""

    line: int
    text: str


@dataclass(frozen=True)
class BenchmarkTable:
    """Base class of the tables in a benchmark file: the first axis of every array is rows, in the order of the file."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def select(self, keep: NDArray[np.bool_]) -> Self:
        """Return the rows where `keep`, bool[rows], is True."""
        return replace(self, **{field.name: getattr(self, field.name)[keep] for field in fields(self)})


@dataclass(frozen=True)
class BenchmarkDecisions(BenchmarkTable):
    """The n `m` lines of a file: a position and a roll to play. Row k has `n_plays[k]` plays, from `first_plays[k]` on.

    `lines` int64[n]; `boards` int8[n, 26] of the player who has rolled, before the play; `dice` int8[n, 2] in the order
    written; `seeds` int64[n] of the rollouts, or NO_SEED; `first_plays`, `n_plays` int64[n]."""

    lines: Places
    boards: Boards
    dice: NDArray[np.int8]
    seeds: Places
    first_plays: Places
    n_plays: Places


@dataclass(frozen=True)
class BenchmarkPlays(BenchmarkTable):
    """The k rolled-out plays of all decisions, best first within a decision.

    `decisions` int64[k] indexes; `ranks` int64[k], 0 for the best; `boards` int8[k, 26] after the play, with the
    OPPONENT on roll; `equities` float64[k], cubeless money, for the player who MADE the play; `losses` float64[k]
    compared with the best play, at least 0; `forms` int8[k] of the written number, which is the equity of the best play
    and the loss of every other play; `rollouts` int64[k] index of the `#R` line with its chances, or -1.
    """

    decisions: Places
    ranks: Places
    boards: Boards
    equities: Numbers
    losses: Numbers
    forms: Forms
    rollouts: Places


@dataclass(frozen=True)
class Rollouts(BenchmarkTable):
    """The n `#R` lines of a file: chances after one play of the next decision. `boards` int8[n, 26] with the OPPONENT
    of that decision on roll, `chances` float64[n, 5] of the OPPONENT; `decisions` int64[n] index of the decision, or -1
    if it is missing or quarantined. Chances are noisy: see `fields.NOISY`."""

    lines: Places
    boards: Boards
    chances: Numbers
    forms: Forms
    decisions: Places


@dataclass(frozen=True)
class BenchmarkEvaluations(BenchmarkTable):
    """The n `o`, `e` and `O` lines of a file: chances of the player on roll, before the roll. `kinds` S1[n]: `o`
    rollout (for cube decisions), `e` network, `O` one-sided rollout of a race."""

    lines: Places
    kinds: NDArray[np.bytes_]
    boards: Boards
    chances: Numbers
    forms: Forms
    seeds: Places


@dataclass(frozen=True)
class CubeRollouts(BenchmarkTable):
    """The n `c` lines of a file: cubeful rollouts before a double. `mwc_percents` float64[n, 2]: the chance of winning
    the match, 0 to 100, without doubling and after double and take; `actions` S3[n]: `ND` no double, `D/T` double and
    take, `D/D` double and pass, `TG` too good to double."""

    lines: Places
    boards: Boards
    mwc_percents: Numbers
    forms: Forms
    actions: NDArray[np.bytes_]
    seeds: Places


@dataclass(frozen=True)
class BestPlays(BenchmarkTable):
    """The n `b` lines of a file: the play that an evaluation prefers. `boards` before and `play_boards` after the play,
    int8[n, 26], and `chances` float64[n, 5] are in the perspective of the file. No file with such lines is known; in
    `#R` lines it is the opponent's."""

    lines: Places
    boards: Boards
    dice: NDArray[np.int8]
    play_boards: Boards
    chances: Numbers
    forms: Forms


@dataclass(frozen=True)
class Seeds(BenchmarkTable):
    """The n `r` lines of a file: the random seed of the next decision, evaluation `o` or cube rollout."""

    lines: Places
    seeds: Places


@dataclass(frozen=True)
class Benchmark(Intake):
    """The tables of a benchmark file. `settings` are its `s` lines, `comments` its `#` lines without `#R`."""

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
        """Return a copy without the rows of a table where `is_bad`, bool[rows], is True. Their lines are quarantined
        with this reason. A bad play also removes its decision, and a decision all its plays. This is for rules that
        need more than a line, such as legal play. Raises UsageError for an array of another shape or type."""
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


def _renumber(indexes: Places, keep: NDArray[np.bool_]) -> Places:
    """Convert row indexes to the row indexes after the rows without `keep` are removed. -1 and the indexes of removed
    rows become -1."""
    numbers = np.append(np.where(keep, np.cumsum(keep) - 1, -1), -1)
    return np.asarray(numbers[indexes], np.int64)


def parse_gnubg_benchmark(data: bytes) -> Benchmark:
    """Parse a benchmark file into its tables; bad lines are quarantined.

    Bad lines have: an unknown kind, a wrong number of fields, a key of an illegal position, a die outside 1 to 6, a
    number that is not finite, losses that are negative or not ascending, equities outside -3 to 3, the same play twice,
    chances far outside their range or order (they are noisy), or an unknown cube action."""
    return _Reader(data).read()


class _Reader(Fields):
    """Reads a benchmark file. For each kind of line, a method checks its lines and returns their table."""

    def __init__(self, data: bytes) -> None:
        super().__init__(split_lines(data))
        filled = np.flatnonzero(self.counts)
        first = self.first[filled]
        self.kinds = np.zeros(len(self.counts), "S2")  # the first field if it is a known kind, else empty
        for kind in _KINDS:
            self.kinds[filled[self.is_text(first, kind)]] = kind
        is_unknown = self.kinds[filled] == b""
        is_comment = self.data[self.starts[first]] == ord("#")
        self.ledger.set_aside(np.flatnonzero(self.counts == 0))
        self.ledger.set_aside(filled[is_unknown & is_comment])
        expected = ", ".join(kind.decode() for kind in _KINDS)
        self.ledger.reject(filled[is_unknown], f"expected a line of {expected} or a comment")

    def read(self) -> Benchmark:
        """Read all tables and link them to each other."""
        seeds, rollouts = self._seeds(), self._rollouts()
        decisions, plays = self._decisions(seeds)
        rolled_out = self._next_decisions(rollouts.lines, decisions.lines)
        keys = zip(rolled_out.tolist(), map(bytes, rollouts.boards), strict=True)
        indexes = {key: index for index, key in enumerate(keys)}
        wanted = zip(plays.decisions.tolist(), map(bytes, plays.boards), strict=True)
        rollout_indexes = [indexes.get(key, -1) for key in wanted]
        return Benchmark(
            self.ledger,
            settings=self._settings(),
            comments=self._texts(self.ledger.comments[self.counts[self.ledger.comments] > 0]),
            seeds=seeds,
            decisions=decisions,
            plays=replace(plays, rollouts=np.array(rollout_indexes, np.int64)),
            rollouts=replace(rollouts, decisions=rolled_out),
            evaluations=self._evaluations(seeds),
            cube_rollouts=self._cube_rollouts(seeds),
            best_plays=self._best_plays(),
        )

    def _places(self, *kinds: bytes) -> tuple[Places, Places]:
        """Find the lines of these kinds. Returns their rows, and the field indexes [row, field]. Lines with another
        number of fields are quarantined."""
        return self.with_fields(np.flatnonzero(np.isin(self.kinds, kinds)), _FIELD_COUNTS[kinds[0]])

    def _dice(self, rows: Places, places: Places) -> NDArray[np.int8]:
        """Parse the dice in these rows, as int8[rows, 2]. Rows whose dice are not two numbers from 1 to 6 are
        quarantined."""
        dice = self.letters(places.ravel(), 1).reshape(-1, 2) - np.uint8(ord("0"))
        is_die = (dice >= 1) & (dice <= 6) & (self.widths(places) == 1)
        self.ledger.reject(rows[~is_die.all(axis=1)], "expected dice from 1 to 6")
        return dice.astype(np.int8)

    def _seeds(self) -> Seeds:
        rows, places = self._places(b"r")
        values, forms = self.values(places[:, 1])
        seeds = np.where(forms == 0, values, 0).astype(np.int64)
        for row in np.flatnonzero(forms == PLAIN).tolist():  # too many digits for a double
            text = self.lines[rows[row]].split()[1]
            value = int(text) if text.lstrip(b"+-").isdigit() and len(text) <= 20 else NO_SEED
            seeds[row], forms[row] = (value, 0) if abs(value) < -NO_SEED else (0, NO_NUMBER)
        self.ledger.reject(rows[forms != 0], "expected an integer of at most 64 bits as seed")
        return Seeds(rows + 1, seeds).select(self.ledger.is_row(rows))

    def _rollouts(self) -> Rollouts:
        rows, places = self._places(b"#R")
        boards = self.boards(rows, places[:, 1])
        chances, forms = self.chances(rows, places[:, 2:], boards, NOISY)
        return Rollouts(rows + 1, boards, chances, forms, np.full(len(rows), -1)).select(self.ledger.is_row(rows))

    def _evaluations(self, seeds: Seeds) -> BenchmarkEvaluations:
        rows, places = self._places(b"o", b"e", b"O")
        boards = self.boards(rows, places[:, 1])
        chances, forms = self.chances(rows, places[:, 2:], boards, NOISY)
        kinds, lines = self.kinds[rows].astype("S1"), rows + 1
        table = BenchmarkEvaluations(lines, kinds, boards, chances, forms, self._seeds_of(lines, seeds))
        return table.select(self.ledger.is_row(rows))

    def _cube_rollouts(self, seeds: Seeds) -> CubeRollouts:
        rows, places = self._places(b"c")
        boards = self.boards(rows, places[:, 1])
        values, forms = self.numbers(rows, places[:, 2:4], ("no-double percentage", "double-take percentage"))
        self.ledger.reject(rows[((values < 0) | (values > 100)).any(axis=1)], "expected percentages from 0 to 100")
        is_action = np.any([self.is_text(places[:, 4], action) for action in _ACTIONS], axis=0)
        self.ledger.reject(rows[~is_action], "expected one of TG, D/T, D/D, ND as cube action")
        actions, lines = self.letters(places[:, 4], 3).view("S3").reshape(-1), rows + 1
        table = CubeRollouts(lines, boards, values, forms, actions, self._seeds_of(lines, seeds))
        return table.select(self.ledger.is_row(rows))

    def _best_plays(self) -> BestPlays:
        rows, places = self._places(b"b")
        boards, dice = self.boards(rows, places[:, 1]), self._dice(rows, places[:, 2:4])
        play_boards = self.boards(rows, places[:, 4])
        chances, forms = self.chances(rows, places[:, 5:], play_boards, NOISY)
        return BestPlays(rows + 1, boards, dice, play_boards, chances, forms).select(self.ledger.is_row(rows))

    def _decisions(self, seeds: Seeds) -> tuple[BenchmarkDecisions, BenchmarkPlays]:
        """Read the tables of decisions and of plays, without the rollouts of plays."""
        rows = np.flatnonzero(self.kinds == b"m")
        counts = self.counts[rows]
        is_good = (counts >= 6) & (counts % 2 == 0)
        for count in np.unique(counts[~is_good]).tolist():
            self.ledger.reject(rows[counts == count], f"expected 4 fields and two for each play, got {count}")
        rows = rows[is_good]
        first = self.first[rows]
        boards = self.boards(rows, first + 1)
        dice = self._dice(rows, first[:, np.newaxis] + np.arange(2, 4))
        n_plays = (self.counts[rows] - 4) // 2
        first_plays = np.cumsum(n_plays) - n_plays
        plays = self._plays(rows, first, n_plays, first_plays)
        lines, keep = rows + 1, self.ledger.is_row(rows)
        decisions = BenchmarkDecisions(lines, boards, dice, self._seeds_of(lines, seeds), first_plays, n_plays)
        decisions, plays = decisions.select(keep), plays.select(keep[plays.decisions])
        decisions = replace(decisions, first_plays=np.cumsum(decisions.n_plays) - decisions.n_plays)
        return decisions, replace(plays, decisions=np.repeat(np.arange(len(decisions)), decisions.n_plays))

    def _plays(self, rows: Places, first: Places, n_plays: Places, first_plays: Places) -> BenchmarkPlays:
        """Read and check the plays of the decisions in `rows`."""
        owners = np.repeat(np.arange(len(rows)), n_plays)
        lines, ranks = rows[owners], np.arange(len(owners)) - first_plays[owners]
        places = first[owners] + 4 + 2 * ranks
        boards = self.boards(lines, places)
        numbers, forms = self.values(places + 1)
        losses = np.where(ranks == 0, 0, numbers)
        equities = numbers[first_plays][owners] - losses if len(rows) else numbers
        self.ledger.reject(lines[(forms == NO_NUMBER) & (ranks == 0)], "expected a number as equity")
        self.ledger.reject(lines[(forms == NO_NUMBER) & (ranks > 0)], "expected a number as loss")
        self.ledger.reject(lines[losses < 0], "expected losses of at least 0")
        self.ledger.reject(lines[np.diff(losses, prepend=0) * (ranks > 0) < 0], "expected ascending losses")
        self.ledger.reject(lines[abs(equities) > _MAX_EQUITY], "expected equities from -3 to 3")
        self.ledger.reject(lines[_is_repeated(owners, boards)], "expected every play once")
        return BenchmarkPlays(owners, ranks, boards, equities, losses, forms, np.full(len(owners), -1))

    def _seeds_of(self, lines: Places, seeds: Seeds) -> Places:
        """Find the seed for the row at each of these lines: the seed in the last `r` line before it, unless another row
        has used that seed."""
        users = np.flatnonzero(np.isin(self.kinds, _USES_SEED)) + 1
        seed_lines, values = np.append(0, seeds.lines), np.append(NO_SEED, seeds.seeds)
        latest = np.searchsorted(seeds.lines, lines)
        user_before = np.append(0, users)[np.searchsorted(users, lines)]
        is_user = np.isin(self.kinds[lines - 1], _USES_SEED)
        return np.where(is_user & (seed_lines[latest] > user_before), values[latest], NO_SEED)

    def _next_decisions(self, lines: Places, kept: Places) -> Places:
        """Find the decision in the first `m` line after each of `lines`. Returns its index among the lines `kept`, or
        -1 if it is not one of them."""
        all_lines = np.append(np.flatnonzero(self.kinds == b"m") + 1, -1)
        following = all_lines[np.searchsorted(all_lines[:-1], lines)]
        index = np.searchsorted(kept, following)
        found = np.append(kept, -1)[index] == following
        return np.where(found & (following > 0), index, -1)

    def _settings(self) -> tuple[Text, ...]:
        rows = np.flatnonzero(self.kinds == b"s")
        self.ledger.reject(rows[self.counts[rows] % 2 == 0], "expected pairs of a name and a value")
        return self._texts(rows[self.ledger.is_row(rows)])

    def _texts(self, rows: Places) -> tuple[Text, ...]:
        return tuple(Text(row + 1, comment_text(self.lines[row])) for row in rows.tolist())


def _is_repeated(owners: Places, boards: Boards) -> NDArray[np.bool_]:
    """Return whether an earlier play of the same decision leads to the same board, as bool[plays]. `owners` contains
    the decision of each play."""
    keys = np.column_stack([owners, boards]).astype(np.int64)
    order = np.lexsort(keys.T[::-1])
    is_repeated = np.zeros(len(owners), np.bool_)
    is_repeated[order[1:]] = (keys[order[1:]] == keys[order[:-1]]).all(axis=1)
    return is_repeated


def format_gnubg_benchmark(benchmark: Benchmark) -> Iterator[bytes]:
    """Yield the lines of a benchmark file. The `lines` of each table must be ascending. Raises InvalidPositionError for
    an illegal board."""
    decisions, plays, best = benchmark.decisions, benchmark.plays, benchmark.best_plays
    rollouts, evaluations, cubes = benchmark.rollouts, benchmark.evaluations, benchmark.cube_rollouts
    numbers = map(
        format_number, np.where(plays.ranks == 0, plays.equities, plays.losses).tolist(), plays.forms.tolist()
    )
    choices = [f"{key} {number}" for key, number in zip(_keys(plays.boards), numbers, strict=True)]
    ends = (decisions.first_plays + decisions.n_plays).tolist()
    choices_of = [" ".join(choices[first:end]) for first, end in zip(decisions.first_plays.tolist(), ends, strict=True)]
    tables: list[tuple[Any, list[Any]]] = [  # each table with the columns of its lines
        (benchmark.seeds, [repeat("r"), benchmark.seeds.seeds.tolist()]),
        (decisions, [repeat("m"), _keys(decisions.boards), *decisions.dice.T.tolist(), choices_of]),
        (rollouts, [repeat("#R"), _keys(rollouts.boards), _numbers(rollouts.chances, rollouts.forms)]),
        (evaluations, [
            map(bytes.decode, evaluations.kinds.tolist()), _keys(evaluations.boards),
            _numbers(evaluations.chances, evaluations.forms),
        ]),
        (cubes, [
            repeat("c"), _keys(cubes.boards), _numbers(cubes.mwc_percents, cubes.forms),
            map(bytes.decode, cubes.actions.tolist()),
        ]),
        (best, [
            repeat("b"), _keys(best.boards), *best.dice.T.tolist(), _keys(best.play_boards),
            _numbers(best.chances, best.forms),
        ]),
    ]  # fmt: skip
    rows = [zip(table.lines.tolist(), zip(*columns, strict=False), strict=True) for table, columns in tables]
    texts = [((line, " ".join(map(str, words))) for line, words in table_rows) for table_rows in rows]
    for _, text in merge(benchmark.settings, benchmark.comments, *texts, key=lambda row: row[0]):
        yield f"{text}\n".encode()


def _keys(boards: Boards) -> list[str]:
    return [key.decode() for key in format_key20s(boards).tolist()]


def _numbers(values: Numbers, forms: NDArray[np.int8]) -> list[str]:
    """Write each row of numbers, in their forms, as a text with spaces between them."""
    rows = zip(values.tolist(), forms.tolist(), strict=True)
    return [" ".join(map(format_number, row, row_forms)) for row, row_forms in rows]

"""Read gnubg's benchmark files: `contact.bm`, `crashed.bm`, `race.bm`, decisions with rolled-out answers.

The first field of a line says what it is: `m` a decision with its plays, `#R` the rollout of one play of the next `m`
line, `r` the seed of the next rollout, `o`, `e`, `O` evaluations, `c` a cube rollout, `b` a best play, `s` settings,
`#` a comment. Anything else is quarantined. `gnubg_benchmark_tables` has the tables that come out.
Source: rows of the published files and their description; no program text was used.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bgdata.formats.chance_rules import CHANCE_NAMES, NOISY, reject_chance_flaws
from bgdata.formats.fields import (
    NO_NUMBER,
    PLAIN,
    Fields,
    Places,
    reject_flaws,
    reject_non_numbers,
    split_fields,
)
from bgdata.formats.gnubg_benchmark_tables import (
    NO_SEED,
    Benchmark,
    BenchmarkDecisions,
    BenchmarkEvaluations,
    BenchmarkPlays,
    BestPlays,
    CubeRollouts,
    Numbers,
    Rollouts,
    Seeds,
    Text,
)
from bgdata.formats.lines import Ledger, comment_text, read_bytes, split_lines
from bgdata.game.codec import Boards, parse_key20s

_ACTIONS = (b"TG", b"D/T", b"D/D", b"ND")
_MOST_EQUITY = 3 + NOISY.range
_FIELD_COUNTS = {b"#R": 7, b"o": 7, b"e": 7, b"O": 7, b"c": 5, b"b": 10, b"r": 2}
_KINDS = (b"m", b"s", *_FIELD_COUNTS)
_USES_SEED = (b"m", b"o", b"c")


def read_gnubg_benchmark(path: str | os.PathLike[str]) -> Benchmark:
    """Read a benchmark file, plain, .gz or .bz2; bad lines are quarantined. Errors as in `lines.read_bytes`."""
    return parse_gnubg_benchmark(read_bytes(path))


def parse_gnubg_benchmark(data: bytes) -> Benchmark:
    """The tables of a benchmark file's content; bad lines are quarantined.

    Quarantined are: an unknown kind of line, a wrong number of fields, a key that is no legal position, a die outside 1
    to 6, a text that is no finite number, losses that are negative or not ascending, equities outside -3 to 3, the same
    play twice in a line, chances far outside their range or order (they are noisy), and an unknown cube action.
    """
    return _Reader(data).benchmark()


class _Reader:
    """Ledger, fields and kinds of all lines; one method for each kind of line, which checks and returns its table."""

    def __init__(self, data: bytes) -> None:
        self.lines = split_lines(data)
        self.ledger = Ledger(self.lines)
        self.fields = split_fields(self.lines)
        self.kinds = _kinds(self.fields)
        self._set_aside()

    def benchmark(self) -> Benchmark:
        """All tables, and the links between them."""
        seeds, rollouts = self._seeds(), self._rollouts()
        decisions, plays = self._decisions(seeds)
        rolled_out = self._next_decisions(rollouts.lines, decisions.lines)
        return Benchmark(
            self.ledger,
            settings=self._settings(),
            comments=self._comments(),
            seeds=seeds,
            decisions=decisions,
            plays=replace(plays, rollouts=_rollouts_of(plays, rollouts, rolled_out)),
            rollouts=replace(rollouts, decisions=rolled_out),
            evaluations=self._evaluations(seeds),
            cube_rollouts=self._cube_rollouts(seeds),
            best_plays=self._best_plays(),
        )

    def _set_aside(self) -> None:
        """Comments and blank lines, and what is of no known kind."""
        is_blank, first = self.fields.counts == 0, self.fields.first[:-1]
        self.ledger.set_aside(np.flatnonzero(is_blank))
        unknown = np.flatnonzero((self.kinds == b"") & ~is_blank)
        self.ledger.set_aside(unknown[self.fields.data[self.fields.starts[first[unknown]]] == ord("#")])
        self.ledger.reject(unknown, f"expected a line of {', '.join(kind.decode() for kind in _KINDS)} or a comment")

    def _places(self, *kinds: bytes) -> tuple[Places, Places]:
        """(rows, places[row, field]) of the lines of these kinds with as many fields as they have; rejects others."""
        rows = np.flatnonzero(np.isin(self.kinds, kinds))
        expected, counts = _FIELD_COUNTS[kinds[0]], self.fields.counts[rows]
        for count in np.unique(counts[counts != expected]).tolist():
            self.ledger.reject(rows[counts == count], f"expected {expected} fields, got {count}")
        rows = rows[counts == expected]
        return rows, self.fields.first[rows, np.newaxis] + np.arange(expected)

    def _boards(self, rows: Places, places: Places) -> Boards:
        """int8[rows, 26] of 20-letter keys; rejects rows without."""
        self.ledger.reject(rows[self.fields.widths(places) != 20], "expected a key of 20 letters")
        boards, flaws = parse_key20s(self.fields.letters(places, 20))
        reject_flaws(self.ledger, rows, flaws, "20-letter key")
        return boards

    def _dice(self, rows: Places, places: Places) -> NDArray[np.int8]:
        """int8[rows, 2]; rejects rows with other than two dice from 1 to 6."""
        dice = self.fields.letters(places.ravel(), 1).reshape(-1, 2) - np.uint8(ord("0"))
        is_die = (dice >= 1) & (dice <= 6) & (self.fields.widths(places) == 1)
        self.ledger.reject(rows[~is_die.all(axis=1)], "expected dice from 1 to 6")
        return dice.astype(np.int8)

    def _chances(self, rows: Places, places: Places, boards: Boards) -> tuple[Numbers, NDArray[np.int8]]:
        """(values, forms), [rows, 5]; rejects rows with texts that are no chances."""
        values, forms = self.fields.numbers(places)
        reject_non_numbers(self.ledger, rows, forms, CHANCE_NAMES)
        reject_chance_flaws(self.ledger, rows, boards, values, NOISY)
        return values, forms

    def _seeds(self) -> Seeds:
        rows, places = self._places(b"r")
        values, forms = self.fields.numbers(places[:, 1])
        seeds = np.where(forms == 0, values, 0).astype(np.int64)
        for row in np.flatnonzero(forms == PLAIN).tolist():  # too many digits for a double
            text = self.lines[rows[row]].split()[1]
            seeds[row], forms[row] = _integer(text)
        self.ledger.reject(rows[forms != 0], "expected an integer of at most 64 bits as seed")
        return Seeds(rows + 1, seeds).select(self.ledger.is_row(rows))

    def _rollouts(self) -> Rollouts:
        rows, places = self._places(b"#R")
        boards = self._boards(rows, places[:, 1])
        chances, forms = self._chances(rows, places[:, 2:], boards)
        return Rollouts(rows + 1, boards, chances, forms, np.full(len(rows), -1)).select(self.ledger.is_row(rows))

    def _evaluations(self, seeds: Seeds) -> BenchmarkEvaluations:
        rows, places = self._places(b"o", b"e", b"O")
        boards = self._boards(rows, places[:, 1])
        chances, forms = self._chances(rows, places[:, 2:], boards)
        kinds, lines = self.kinds[rows].astype("S1"), rows + 1
        table = BenchmarkEvaluations(lines, kinds, boards, chances, forms, self._seeds_of(lines, seeds))
        return table.select(self.ledger.is_row(rows))

    def _cube_rollouts(self, seeds: Seeds) -> CubeRollouts:
        rows, places = self._places(b"c")
        boards = self._boards(rows, places[:, 1])
        values, forms = self.fields.numbers(places[:, 2:4])
        reject_non_numbers(self.ledger, rows, forms, ("no-double percentage", "double-take percentage"))
        self.ledger.reject(rows[((values < 0) | (values > 100)).any(axis=1)], "expected percentages from 0 to 100")
        is_action = np.any([self.fields.is_text(places[:, 4], action) for action in _ACTIONS], axis=0)
        self.ledger.reject(rows[~is_action], "expected one of TG, D/T, D/D, ND as cube action")
        actions, lines = self.fields.letters(places[:, 4], 3).view("S3").reshape(-1), rows + 1
        table = CubeRollouts(lines, boards, values, forms, actions, self._seeds_of(lines, seeds))
        return table.select(self.ledger.is_row(rows))

    def _best_plays(self) -> BestPlays:
        rows, places = self._places(b"b")
        boards, dice = self._boards(rows, places[:, 1]), self._dice(rows, places[:, 2:4])
        play_boards = self._boards(rows, places[:, 4])
        chances, forms = self._chances(rows, places[:, 5:], play_boards)
        return BestPlays(rows + 1, boards, dice, play_boards, chances, forms).select(self.ledger.is_row(rows))

    def _decisions(self, seeds: Seeds) -> tuple[BenchmarkDecisions, BenchmarkPlays]:
        """Both tables; the links of plays to rollouts are not there yet."""
        rows = self._decision_rows()
        first = self.fields.first[rows]
        boards = self._boards(rows, first + 1)
        dice = self._dice(rows, first[:, np.newaxis] + np.arange(2, 4))
        n_plays = (self.fields.counts[rows] - 4) // 2
        first_plays = np.cumsum(n_plays) - n_plays
        plays = self._plays(rows, first, n_plays, first_plays)
        lines, keep = rows + 1, self.ledger.is_row(rows)
        decisions = BenchmarkDecisions(lines, boards, dice, self._seeds_of(lines, seeds), first_plays, n_plays)
        decisions, plays = decisions.select(keep), plays.select(keep[plays.decisions])
        decisions = replace(decisions, first_plays=np.cumsum(decisions.n_plays) - decisions.n_plays)
        return decisions, replace(plays, decisions=np.repeat(np.arange(len(decisions)), decisions.n_plays))

    def _decision_rows(self) -> Places:
        rows = np.flatnonzero(self.kinds == b"m")
        counts = self.fields.counts[rows]
        is_good = (counts >= 6) & (counts % 2 == 0)
        for count in np.unique(counts[~is_good]).tolist():
            self.ledger.reject(rows[counts == count], f"expected 4 fields and two for each play, got {count}")
        return np.asarray(rows[is_good])

    def _plays(self, rows: Places, first: Places, n_plays: Places, first_plays: Places) -> BenchmarkPlays:
        """The plays of the decisions at `rows`, checked."""
        owners = np.repeat(np.arange(len(rows)), n_plays)
        lines, ranks = rows[owners], np.arange(len(owners)) - first_plays[owners]
        places = first[owners] + 4 + 2 * ranks
        boards = self._boards(lines, places)
        numbers, forms = self.fields.numbers(places + 1)
        losses = np.where(ranks == 0, 0, numbers)
        equities = numbers[first_plays][owners] - losses if len(rows) else numbers
        self.ledger.reject(lines[(forms == NO_NUMBER) & (ranks == 0)], "expected a number as equity")
        self.ledger.reject(lines[(forms == NO_NUMBER) & (ranks > 0)], "expected a number as loss")
        self.ledger.reject(lines[losses < 0], "expected losses of at least 0")
        self.ledger.reject(lines[np.diff(losses, prepend=0) * (ranks > 0) < 0], "expected ascending losses")
        self.ledger.reject(lines[abs(equities) > _MOST_EQUITY], "expected equities from -3 to 3")
        self.ledger.reject(lines[_is_repeated(owners, boards)], "expected every play once")
        return BenchmarkPlays(owners, ranks, boards, equities, losses, forms, np.full(len(owners), -1))

    def _seeds_of(self, lines: Places, seeds: Seeds) -> Places:
        """The seed in force for rows at these lines: of the `r` line above, unless another line has used it."""
        users = np.flatnonzero(np.isin(self.kinds, _USES_SEED)) + 1
        seed_lines, values = np.append(0, seeds.lines), np.append(NO_SEED, seeds.seeds)
        latest = np.searchsorted(seeds.lines, lines)
        user_before = np.append(0, users)[np.searchsorted(users, lines)]
        is_user = np.isin(self.kinds[lines - 1], _USES_SEED)
        return np.where(is_user & (seed_lines[latest] > user_before), values[latest], NO_SEED)

    def _next_decisions(self, lines: Places, kept: Places) -> Places:
        """Index of the decision at the next `m` line below each of `lines`; -1 if it is not among those `kept`."""
        all_lines = np.append(np.flatnonzero(self.kinds == b"m") + 1, -1)
        following = all_lines[np.searchsorted(all_lines[:-1], lines)]
        index = np.searchsorted(kept, following)
        found = np.append(kept, -1)[index] == following
        return np.where(found & (following > 0), index, -1)

    def _settings(self) -> tuple[Text, ...]:
        rows = np.flatnonzero(self.kinds == b"s")
        self.ledger.reject(rows[self.fields.counts[rows] % 2 == 0], "expected pairs of a name and a value")
        return self._texts(rows[self.ledger.is_row(rows)])

    def _comments(self) -> tuple[Text, ...]:
        rows = self.ledger.comments
        return self._texts(rows[self.fields.counts[rows] > 0])

    def _texts(self, rows: Places) -> tuple[Text, ...]:
        return tuple(Text(row + 1, comment_text(self.lines[row])) for row in rows.tolist())


def _kinds(fields: Fields) -> NDArray[np.bytes_]:
    """S2[lines]: the first field where it is a known kind of line, else empty."""
    kinds = np.zeros(len(fields.counts), "S2")
    filled = np.flatnonzero(fields.counts)
    first = fields.first[filled]
    for kind in _KINDS:
        kinds[filled[fields.is_text(first, kind)]] = kind
    return kinds


def _integer(text: bytes) -> tuple[int, int]:
    """(value, form) of a long number: form 0 if it is an integer of 64 bits."""
    value = int(text) if text.lstrip(b"+-").isdigit() and len(text) <= 20 else NO_SEED
    return (value, 0) if abs(value) < -NO_SEED else (0, NO_NUMBER)


def _is_repeated(owners: Places, boards: Boards) -> NDArray[np.bool_]:
    """bool[plays]: whether the same owner has the same board elsewhere too, but for one of them."""
    keys = np.column_stack([owners, boards]).astype(np.int64)
    order = np.lexsort(keys.T[::-1])
    is_repeated = np.zeros(len(owners), np.bool_)
    is_repeated[order[1:]] = (keys[order[1:]] == keys[order[:-1]]).all(axis=1)
    return is_repeated


def _rollouts_of(plays: BenchmarkPlays, rollouts: Rollouts, decisions: Places) -> Places:
    """int64[plays]: index of the rollout of the same decision with the same board, -1 for none."""
    keys = zip(decisions.tolist(), map(bytes, rollouts.boards), strict=True)
    places = {key: index for index, key in enumerate(keys)}
    wanted = zip(plays.decisions.tolist(), map(bytes, plays.boards), strict=True)
    return np.array([places.get(key, -1) for key in wanted], np.int64)

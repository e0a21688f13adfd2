"""Scores rules of thumb against an exact table, and searches for a better one on half of its positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.equity.cube_life import margins
from bgdata.evaluation.bearoff_kernels import layout_indexes
from bgdata.game.dice import PIPS_PER_ROLL
from bgdata.game.random import GAMMA, mix_bits
from bgdata.kernel import kernel, prange
from bgdata.kinds.column_values import select_texts, text_arrays, text_column
from bgdata.kinds.rechecking import check_arrays
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Recheck
from bgdata.store.table import Table
from bgdata.studies.kinds.cube_life_compute import TABLE_ORDER
from bgdata.studies.kinds.race_rules import DECISIONS, LONGER_CHECKERS, PARTS, WEIGHTINGS, RaceRuleParameters
from bgdata.studies.race_rules import FOUND, NAMES, RULES, penalized_pips, side_counts
from bgdata.studies.race_scores import N_DECISIONS, STEPS, SUMS, is_tested, merge_sums, pair_sums
from bgdata.studies.race_search import FoundRule, Pairs, found_rule

BLOCK_PAIRS = 2_000_000  # pairs that are scored at a time
SEARCH_PAIRS = 4_000_000  # pairs of the table that are sampled for the search, which learns from the untested half


class RaceRulesComputation(Computation[RaceRuleParameters]):
    """Computes `race_rules`: scores rules of thumb against an exact table, and searches for better rules."""

    def compute(self, build: Build[RaceRuleParameters]) -> None:
        races = Races.of(build.inputs)
        count = len(races.layouts)
        build.job.progress.start(build.job.title, count**2, "pairs")
        for name, values in score_rules(races, build.job.progress.advance).items():
            build.job.save(name, values)

    def batches(self, computed: Computed[RaceRuleParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        kinds, places = (np.asarray(arrays[name]) for name in ("kinds", "places"))
        positions, occurrences, loss, errors, largest = np.asarray(arrays["sums"]).T
        names = (DECISIONS, WEIGHTINGS, PARTS)
        texts = [select_texts(pa.array(each), kinds[:, n].astype(np.int32)) for n, each in enumerate(names)]
        means = [each / np.maximum(occurrences, 1) for each in (loss / STEPS, errors)]
        shares = [pa.array(each, mask=occurrences == 0) for each in means]
        yield pa.record_batch(
            {
                "rule": text_column(arrays, "rules"),
                **dict(zip(("cube_decision", "weighting", "part"), texts, strict=True)),
                "positions": positions,
                "occurrences": occurrences,
                **dict(zip(("mean_loss_per_cube", "error_share"), shares, strict=True)),
                "largest_loss": pa.array(largest / STEPS, mask=occurrences == 0),
                **{
                    f"{side}_index": pa.array(places[:, n], mask=places[:, n] < 0)
                    for n, side in enumerate(("on_roll", "opponent"))
                },
                "source": text_column(arrays, "sources"),
            }
        )

    def statistics(self, computed: Computed[RaceRuleParameters]) -> Mapping[str, float]:
        parameters = computed.parameters
        kinds, sums = (np.asarray(computed.arrays[name]) for name in ("kinds", "sums"))
        whole = [sums[(kinds == [0, n, 0]).all(axis=1)][0].tolist() for n in range(len(WEIGHTINGS))]
        return {
            "pairs": whole[0][0],
            "played_pairs": whole[1][0],
            "played_positions": whole[1][1],
            "longer_positions": whole[2][1],
            "margin_error_bound": margin_bound(parameters.points, parameters.checkers),
        }

    def check_sample(self, recheck: Recheck[RaceRuleParameters]) -> str:
        """Compute all arrays again and compare them, because sums cannot be checked in part."""
        check_arrays(recheck.table, score_rules(Races.of(recheck.inputs)))
        return f"all {recheck.table.manifest.rows:,} rows"


class Races(NamedTuple):
    """Solved races: an exact table, the counts of its layouts that rules need (without the empty layout 0), and the
    pairs of layouts that occur in a corpus."""

    exact: TwoSidedTable
    layouts: Array  # int8[n, points]
    sides: Array  # float64[n, N_COUNTS]
    played: Array  # int64[k, (on roll, opponent)] position indexes of distinct pairs
    occurrences: Array  # int64[k] number of turns in which the pair occurs

    @classmethod
    def of(cls, inputs: Mapping[str, Table]) -> Races:
        """Open the races from the inputs of a version, by role."""
        exact = TwoSidedTable(inputs["two_sided"])
        layouts = all_layouts(exact.points, exact.checkers)[1:]
        rolls = RaceTable(inputs["one_sided"]).table.array("mean_rolls")[1 : len(layouts) + 1]
        sides = side_counts(layouts, rolls * PIPS_PER_ROLL)
        return cls(exact, layouts, sides, *played_pairs(inputs["games"], exact))

    @property
    def longer(self) -> Races:
        """The same races, with only those pairs of the corpus in which both sides have at least LONGER_CHECKERS
        checkers."""
        checkers = self.layouts.sum(axis=1)[self.played - 1]
        chosen = checkers.min(axis=1, initial=len(self.layouts)) >= LONGER_CHECKERS
        return self._replace(played=self.played[chosen], occurrences=self.occurrences[chosen])

    def margins(self, on_roll: Array, opponents: Array) -> Array:
        """Return how much a double, a redouble and a take gain, as float64[n, 3], for n pairs of position indexes."""
        return margins(self.exact.probe_many(on_roll, opponents)[:, TABLE_ORDER])

    def margins_of_rows(self, on_roll: Array) -> Array:
        """Return the `margins` of consecutive position indexes on roll against all others, in table order, as
        float64[n, opponents, 3]."""
        rows = self.exact.stored[on_roll[0] : on_roll[-1] + 1, 1:]
        found = self.exact.decode(rows)[..., TABLE_ORDER].reshape(-1, len(TABLE_ORDER))
        return margins(found).reshape(*rows.shape[:2], N_DECISIONS)


def played_pairs(corpus: Table, exact: TwoSidedTable) -> tuple[Array, Array]:
    """Return the distinct pairs of layouts of a table that occur in a corpus, ascending, as int64[k, 2], and in how
    many turns each occurs, as int64[k]."""
    boards = np.asarray(corpus.array("turn_boards"))
    indexes = np.empty((len(boards), 2), np.int64)
    fill_covered(boards, exact.points, exact.checkers, indexes)
    found, counts = np.unique(indexes[indexes[:, 0] > 0], axis=0, return_counts=True)
    return found, counts.astype(np.int64)


@kernel(parallel=True)
def fill_covered(boards: Array, points: int, checkers: int, indexes: Array) -> None:
    """Fill indexes[row, (on roll, opponent)] with the position indexes of both layouts in boards[row, slot]; -1 unless
    both sides have 1 to `checkers` checkers, all on their first `points` points."""
    for row in prange(len(boards)):
        own, other, is_inside = 0, 0, boards[row, 0] == 0 and boards[row, 25] == 0
        for point in range(1, 25):
            own += max(int(boards[row, point]), 0)
            other += max(-int(boards[row, point]), 0)
            is_inside &= boards[row, point] <= 0 or point <= points
            is_inside &= boards[row, point] >= 0 or point >= 25 - points
        indexes[row] = -1
        if is_inside and 1 <= own <= checkers and 1 <= other <= checkers:
            indexes[row, 0], indexes[row, 1] = layout_indexes(boards[row], points)


def score_rules(races: Races, advance: Callable[[int], object] = lambda _: None) -> dict[str, Array]:
    """Score all rules, and search for better ones. Returns all arrays of a version. `advance` is called with the number
    of pairs that were scored, for a progress bar."""
    found = found_rules(races)
    limits = np.array([rule.limits for rule in found], np.int64)
    sides = races.sides.copy()
    for n, rule in enumerate(found):
        sides[:, FOUND + n] = penalized_pips(races.layouts, rule.penalties)

    tolerance = margin_bound(races.exact.points, races.exact.checkers)

    def sums_of(on_roll: Array, opponents: Array, margin: Array, occurrences: Array) -> Array:
        return pair_sums(sides, on_roll, opponents, margin, occurrences, limits, tolerance)

    everybody, blocks = np.arange(1, len(races.layouts) + 1), []
    for on_roll in np.array_split(everybody, -(-(len(everybody) ** 2) // BLOCK_PAIRS)):
        opponents = np.broadcast_to(everybody, (len(on_roll), len(everybody)))
        blocks.append(sums_of(on_roll, opponents, races.margins_of_rows(on_roll), np.ones(1, np.int64)))
        advance(opponents.size)
    played = [
        sums_of(each.played[:, 0], each.played[:, 1:], each.margins(*each.played.T)[:, None], each.occurrences[:, None])
        for each in (races, races.longer)
    ]
    return arrays_of(np.stack([merge_sums(np.stack(blocks)), *played], axis=2), found)


def found_rules(races: Races) -> list[FoundRule]:
    """Return the rule that the search finds for each weighting of positions, on the half of the pairs that is not
    tested."""
    on_roll, opponent = searched_pairs(len(races.layouts))
    equal = (on_roll, opponent, np.ones(len(on_roll), np.int64))
    played = [(*each.played.T, each.occurrences) for each in (races, races.longer)]
    return [found_rule(races.layouts, training_pairs(races, *each)) for each in (equal, *played)]


def searched_pairs(layouts: int) -> tuple[Array, Array]:
    """Return the pairs of layouts for the search, as position indexes, int64[n] for each side. They are all pairs, or
    SEARCH_PAIRS pairs chosen by a hash."""
    numbers = np.arange(min(layouts**2, SEARCH_PAIRS), dtype=np.uint64)
    if layouts**2 > SEARCH_PAIRS:
        numbers = mix_bits(numbers + GAMMA) % np.uint64(layouts**2)
    own, other = np.divmod(numbers.astype(np.int64), layouts)
    return own + 1, other + 1


def training_pairs(races: Races, on_roll: Array, opponent: Array, occurrences: Array) -> Pairs:
    """Return the given pairs of position indexes without those on which rules are tested, for the search. `occurrences`
    are their weights."""
    chosen = ~is_tested(on_roll, opponent)
    own, other = on_roll[chosen], opponent[chosen]
    steps = np.rint(races.margins(own, other) * STEPS).astype(np.int32)
    return Pairs(own - 1, other - 1, steps, occurrences[chosen])


def arrays_of(sums: Array, found: Sequence[FoundRule]) -> dict[str, Array]:
    """Return all arrays of a version, in key order. `sums` is int64[rules, decisions, weightings, halves, SUMS];
    `found` are the rules that the search found."""
    parts = np.stack([merge_sums(sums, axis=3), sums[..., 1, :]], axis=3)
    shape = parts.shape[:-1]
    sources = [*(rule.source for rule in RULES.values()), *map(formula_text, found)]
    kinds = list(np.ndindex(shape))
    texts = (NAMES, DECISIONS, WEIGHTINGS, PARTS)
    order = sorted(range(len(kinds)), key=lambda row: [each[n] for each, n in zip(texts, kinds[row], strict=True)])
    rules = [kinds[row][0] for row in order]
    rows = parts.reshape(-1, len(SUMS))[order]
    return {
        **text_arrays("rules", [NAMES[rule] for rule in rules]),
        **text_arrays("sources", [sources[rule] for rule in rules]),
        "kinds": np.array([kinds[row][1:] for row in order], np.int8),
        "sums": np.ascontiguousarray(rows[:, :5]),
        "places": rows[:, 5:].astype(np.int32),
    }


PENALTY_WORDS = {
    "ace": "each checker{} on the ace point",
    "deuce": "each checker{} on the deuce point",
    "three": "each checker{} on the three point",
    "gap": "each gap on points 4, 5 and 6",
    "checker": "each checker",
    "odd": "an odd number of checkers",
    "point": "each home point held",
}


def formula_text(rule: FoundRule) -> str:
    """Return the formula of a found rule, in words."""
    penalties, (part, double, redouble, take) = rule
    added = [
        f"{weight:+d} for {words.format(beyond_text(getattr(penalties, f'{name}_spare', 0)))}"
        for name, words in PENALTY_WORDS.items()
        if (weight := getattr(penalties, name) * (-1 if name == "point" else 1))
    ]
    adds = f"the player on roll adds 1/{part}, rounded down" if part else "the player on roll adds nothing"
    limits = f"double if the opponent then has {double:+d} or more, redouble from {redouble:+d}, take up to {take:+d}"
    return f"pips, {', '.join(added)}; {adds}; {limits}" if added else f"pips; {adds}; {limits}"


def beyond_text(spare: int) -> str:
    """Return words such as " beyond 2" for checkers that are counted only above the first `spare`; empty if all are
    counted."""
    return f" beyond {spare}" if spare else ""


def margin_bound(points: int, checkers: int) -> float:
    """Return the error bound of a margin, which is a sum of at most three rounded equities."""
    return 3 * error_bound(points, checkers)


COMPUTATION = RaceRulesComputation

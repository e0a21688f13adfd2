"""Labels of self-play: rows against the corpus and the tables, luck against its reference, and damage."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CorruptFileError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.evaluation.chances import cubeless_equities
from bgdata.game.position import Position
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.selfplay_labels import DATASET, SelfPlayLabelParameters
from bgdata.selfplay.kinds.selfplay_labels_compute import (
    SOURCES,
    Labels,
    check_corpus,
    luck_adjusted_equities,
    rescoring_figures,
)
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.table import Table
from tests.conftest import LUCKY
from tests.contract.kinds import Corrupted
from tests.rechecking import check_sample, inputs_of
from tests.reference.luck import Board, luck_adjusted, rescored
from tests.reference.networks import Chances

SMALLEST = DATASET.smallest
EXACT_ONLY = replace(SMALLEST, one_sided_points=0)


def small(root: Path) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, DATASET.slug(SMALLEST))


def games_of(corpus: Table) -> list[tuple[slice, list[Board], float]]:
    """For each game of a corpus: its rows, its boards, and the points of the player on roll at its last turn."""
    first_turns = corpus.array("first_turns").tolist()
    games = []
    for game, (begin, end) in enumerate(pairwise(first_turns)):
        last = (int(corpus.array("begins")[game]) + end - begin - 1) % 2
        points = int(corpus.array("outcomes")[game]) * (1 - 2 * last)
        games.append((slice(begin, end), corpus.array("turn_boards")[begin:end].tolist(), points))
    return games


def test_rows_equal_turns_of_the_corpus(small_root: Path) -> None:
    """Each row is a turn of the corpus, with the outcome of its game for the player on roll and the split of its
    game."""
    table = small(small_root)
    assert table.folder.parent.name == "pubeval-20-seed-3-6x6-combined-6"
    with bgdata.open_warehouse(small_root).connect() as connection:
        found = connection.sql(
            "select l.position_id = t.position_id and l.board = t.board and l.class = t.class, "
            "l.outcome = if(g.winner = t.player, g.points_won, -g.points_won), l.hedged_equity is null, "
            "l.position_id, l.board, l.game, l.split "
            "from selfplay_labels l join turns t using (game, turn) join games g using (game) "
            "where t.dataset = 'selfplay' and g.dataset = 'selfplay' order by l.game, l.turn"
        ).fetchall()
    assert (
        len(found)
        == table.manifest.rows
        == len(inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)["games"].array("turn_boards"))
    )
    assert all(all(row[:3]) for row in found)
    assert [Position(row[4]).id for row in found] == [row[3] for row in found]
    assert [row[6] for row in found] == [SPLITS[split] for split in splits_of_games(3, np.array([r[5] for r in found]))]


@pytest.mark.parametrize("parameters", [SMALLEST, EXACT_ONLY])
def test_labels_match_the_reference(small_root: Path, memory_path: Path, parameters: SelfPlayLabelParameters) -> None:
    """Labels, their sources and the turns until a table covers the game equal those of a reference in plain Python."""
    table = bgdata.open_warehouse(memory_path).build(DATASET.name, parameters)
    inputs = inputs_of(bgdata.open_warehouse(memory_path), DATASET, parameters)
    bearoff = BearoffEvaluator(**{role: found for role, found in inputs.items() if role != "games"})
    assert (table.folder.name == small(small_root).folder.name) == (parameters == SMALLEST)

    def source_of(board: Board) -> int:
        return int(bearoff.evaluate_many(np.array([board], np.int8)).sources[0])

    def solve(board: Board) -> Chances | None:
        chances, sources = bearoff.evaluate_many(np.array([board], np.int8))
        return chances[0].tolist() if sources[0] != BearoffSource.NONE else None

    seen = set()
    for rows, boards, points in games_of(inputs["games"]):
        outcome = [float(points > 0), *(float(points > n) for n in (1, 2)), *(float(-points > n) for n in (1, 2))]
        assert table.array("chances")[rows] == pytest.approx(np.array(rescored(solve, boards, outcome)), abs=1e-6)
        assert table.array("outcomes")[rows].tolist() == [points * (-1) ** n for n in range(len(boards))][::-1]
        covered = [turn for turn, board in enumerate(boards) if solve(board)]
        for turn, row in enumerate(range(rows.start, rows.stop)):
            later = [place for place in covered if place >= turn]
            assert table.array("turns_later")[row] == (later[0] - turn if later else -1)
            source = SOURCES[table.array("sources")[row]]
            assert source == (BearoffSource(source_of(boards[later[0]])).name.lower() if later else "outcome")
            seen.add(source)
    assert seen == ({"outcome", "exact", "combined"} if parameters == SMALLEST else {"outcome", "exact"})


def test_luck_adjusted_labels_match_the_reference(network_root: Path) -> None:
    """Luck-adjusted labels have the same mean as the labels, and less noise."""
    warehouse = bgdata.open_warehouse(network_root)
    games = replace(LUCKY, games=16)  # some of them reach the table
    parameters = SelfPlayLabelParameters(**vars(games), points=6, checkers=6)
    table = warehouse.build(DATASET.name, parameters)
    corpus = inputs_of(bgdata.open_warehouse(network_root), DATASET, parameters)["games"]
    equities = cubeless_equities(table.array("chances")).tolist()
    later = table.array("turns_later")
    for rows, _, points in games_of(corpus):
        known = [equities[row] if later[row] == 0 else None for row in range(rows.start, rows.stop)]
        expected = luck_adjusted(known, corpus.array("lucks")[rows].tolist(), points)
        assert table.array("hedged_equities")[rows] == pytest.approx(np.array(expected), abs=1e-5)
    assert (later == 0).any()
    statistics = table.manifest.statistics
    assert statistics["variance_hedged"] < 0.8 * statistics["variance_after"]
    with warehouse.connect() as connection:
        query = f"from selfplay_labels where variant = '{DATASET.slug(parameters)}' and hedged_equity is null"
        assert connection.sql(query).fetchall() == []
        query = f"from selfplay_labels_summary where variant = '{DATASET.slug(parameters)}' and hedged_variance is null"
        assert connection.sql(query).fetchall() == []
    check_sample(
        DATASET, table, inputs_of(bgdata.open_warehouse(network_root), DATASET, parameters), 3, np.random.default_rng(2)
    )


def test_summary_equals_the_manifest(small_root: Path) -> None:
    """The view `selfplay_labels_summary`, in all and by class, equals the manifest's statistics."""
    table = small(small_root)
    found = table.manifest.statistics
    outcomes = table.array("outcomes").astype(np.float64)
    equities = cubeless_equities(table.array("chances")).astype(np.float64)
    later = table.array("turns_later")
    assert (found["positions"], found["rescored"]) == (len(later), (later >= 0).sum())
    assert found["covered"] == (later == 0).sum()
    assert 0 < found["covered"] < found["rescored"]
    assert found["variance_before"] == pytest.approx(outcomes.var())
    assert found["variance_after"] == pytest.approx(equities.var())
    assert found["removed_share"] == pytest.approx(1 - equities.var() / outcomes.var())
    assert found["mean_square_change"] == pytest.approx(((equities - outcomes) ** 2).mean())
    assert "variance_hedged" not in found
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql("from selfplay_labels_summary")
        classes = [dict(zip(rows.columns, row, strict=True)) for row in rows.fetchall()]
    for name in ("positions", "rescored", "covered"):
        assert sum(row[name] for row in classes) == found[name]
    square = sum(row["positions"] * row["mean_square_change"] for row in classes) / len(later)
    assert square == pytest.approx(found["mean_square_change"])
    (race,) = [row for row in classes if row["class"] == "race"]
    is_race = table.array("classes") < 9
    assert race["covered"] == found["covered"]
    assert race["outcome_variance"] == pytest.approx(outcomes[is_race].var())
    assert race["label_variance"] == pytest.approx(equities[is_race].var())
    assert race["removed_share"] == pytest.approx(1 - equities[is_race].var() / outcomes[is_race].var())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("first_turns", lambda values: values + 1),
        ("first_turns", lambda values: values[:-1]),
        ("first_turns", lambda values: np.where(values == values[3], values[5], values)),
        ("first_turns", lambda values: np.where(values == values[-1], values + 100_000, values)),
        ("outcomes", lambda values: values[:-1]),
        ("begins", lambda values: values[:5]),
        ("turn_boards", lambda values: values[:-1]),
        ("turn_classes", lambda values: values[:-1]),
        ("lucks", lambda values: values[1:]),
    ],
)
def test_inconsistent_corpus_is_refused(small_root: Path, name: str, change: Any) -> None:
    corpus = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)["games"]
    check_corpus(corpus)
    changed = Corrupted(corpus, name, change(np.array(corpus.array(name))))
    with pytest.raises(CorruptFileError, match=f"expected whole games in {corpus.name}, found .*; try: bgdata verify"):
        check_corpus(changed)


def test_rescoring_figures_match_two_positions_by_hand() -> None:
    """Of two positions, the second is solved with an equity of -0.5 for its player, who then won."""
    chances = np.array([[0.75, 0, 0, 0, 0], [0.25, 0, 0, 0, 0]], np.float32)
    found = rescoring_figures(np.array([-1.0, 1.0]), chances, np.array([1, 0]))
    assert found == {
        "positions": 2, "rescored": 2, "covered": 1, "variance_before": 1, "variance_after": 0.25,
        "mean_square_change": 2.25, "mean_square_change_covered": 2.25, "removed_share": 0.75,
    }  # fmt: skip
    plain = rescoring_figures(np.ones(2), np.eye(5, dtype=np.float32)[[0, 0]], np.array([-1, -1]))
    assert (plain["mean_square_change"], plain["removed_share"]) == (0, 0)
    assert "mean_square_change_covered" not in plain


def test_luck_adjusted_equities_match_two_games_by_hand() -> None:
    """One game was lost by bad luck at the last roll but one; a table covers the other game from the middle on."""
    chances = np.zeros((5, 5), np.float32)
    chances[2:, 0] = 0.5, 0.5, 0.25
    labels = Labels(np.array([-2, 2, -1, 1, -1], np.int8), chances, np.array([-1, -1, 3, 3, 4]))
    lucks = np.array([-1.5, 0.25, 0.125, 9, 9], np.float32)
    # the second player won a gammon with a lucky roll of 0.25; the first had lost 1.5 by a roll of its own
    assert luck_adjusted_equities(labels, np.array([0, 2, 5]), lucks).tolist() == [
        -1.75 + 1.5, 1.75,
        -0.0 - 0.125, 0, -0.5,  # luck after a covered position does not count
    ]  # fmt: skip
    assert np.isnan(luck_adjusted_equities(labels, np.array([0, 2, 5]), np.full(5, np.nan, np.float32))).all()


def test_luck_adjusted_equities_match_the_reference() -> None:
    """Random games of all lengths, covered by a table from some turn on, here and there, or never, match the
    reference."""
    generator = np.random.default_rng(8)
    lengths = generator.integers(1, 60, 200)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    covered = generator.random(n) < np.repeat(generator.choice([0, 0.02, 0.5], 200), lengths)
    chances = np.ascontiguousarray(np.sort(generator.random((n, 5)).astype(np.float32))[:, ::-1] / 2, np.float32)
    solved = np.full(n, -1)
    points = np.zeros(n, np.int8)
    lucks = generator.normal(0, 0.3, n).astype(np.float32)
    expected: list[float] = []
    for begin, end in pairwise(offsets):
        won = int(generator.integers(2))
        for row in range(begin, end):
            later = [place for place in range(row, end) if covered[place]]
            solved[row] = later[0] if later else -1
            points[row] = 2 * (won ^ (end - 1 - row) % 2) - 1
        known = cubeless_equities(chances[begin:end]).tolist()
        table = [known[row] if covered[begin + row] else None for row in range(end - begin)]
        expected += luck_adjusted(table, lucks[begin:end].tolist(), 2 * won - 1)
    found = luck_adjusted_equities(Labels(points, chances, solved), offsets, lucks)
    assert found.dtype == np.float32
    assert found == pytest.approx(np.array(expected), abs=1e-5)
    some = slice(offsets[7], offsets[9])  # two games alone: to the last bit
    part = Labels(points[some], chances[some], np.where(solved[some] < 0, -1, solved[some] - offsets[7]))
    assert np.array_equal(luck_adjusted_equities(part, offsets[7:10] - offsets[7], lucks[some]), found[some])


def test_defaults_use_default_corpora_and_tables() -> None:
    kinds = bgdata.all_kinds()
    assert [DATASET.inputs(each)["games"][1] for each in DATASET.defaults] == list(SELFPLAY.defaults)
    assert DATASET.inputs(SelfPlayLabelParameters())["two_sided"][1] in kinds["bearoff_two_sided"].defaults
    slugs = {DATASET.slug(each) for each in (SMALLEST, EXACT_ONLY, *DATASET.defaults, replace(SMALLEST, luck=True))}
    assert len(slugs) == 3 + len(DATASET.defaults)

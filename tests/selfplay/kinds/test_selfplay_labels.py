"""Labels of self-play: rows against the corpus and the tables, luck against its reference, and damage."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

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
from tests.contract.kinds import Corrupted, smallest_version
from tests.rechecking import check_sample, inputs_of
from tests.reference.luck import Board, luck_adjusted, rescored
from tests.reference.networks import Chances

SMALLEST = DATASET.smallest
EXACT_ONLY = replace(SMALLEST, one_sided_points=0)


@pytest.fixture(scope="module")
def labels(small_root: Path) -> Table:
    """The smallest version of `selfplay_labels`."""
    return smallest_version(small_root, DATASET)


def games_of(corpus: Table) -> list[tuple[slice, list[Board], float]]:
    """For each game of a corpus: its rows, its boards, and the points of the player on roll at its last turn."""
    first_turns = corpus.array("first_turns").tolist()
    games = []
    for game, (begin, end) in enumerate(pairwise(first_turns)):
        last = (int(corpus.array("begins")[game]) + end - begin - 1) % 2
        points = int(corpus.array("outcomes")[game]) * (1 - 2 * last)
        games.append((slice(begin, end), corpus.array("turn_boards")[begin:end].tolist(), points))
    return games


def test_rows_equal_turns_of_the_corpus(small_root: Path, labels: Table) -> None:
    """Each row is a turn of the corpus, with the outcome of its game for the player on roll and the split of its
    game."""
    assert labels.folder.parent.name == "pubeval-20-seed-3-6x6-combined-6"
    corpus = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)["games"]
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql(
            "select l.position_id = t.position_id and l.board = t.board and l.class = t.class as is_turn, "
            "l.outcome = if(g.winner = t.player, g.points_won, -g.points_won) as is_outcome, l.hedged_equity, "
            "l.position_id, l.board, l.game, l.split "
            "from selfplay_labels l join turns t using (game, turn) join games g using (game) "
            "where t.dataset = 'selfplay' and g.dataset = 'selfplay' order by l.game, l.turn"
        ).fetchnumpy()
    assert len(rows["game"]) == labels.manifest.rows == len(corpus.array("turn_boards"))
    assert rows["is_turn"].all()
    assert rows["is_outcome"].all()
    assert np.ma.getmaskarray(rows["hedged_equity"]).all()  # null, because the corpus has no luck
    assert [Position(board.tolist()).id for board in rows["board"]] == rows["position_id"].tolist()
    assert rows["split"].tolist() == [SPLITS[split] for split in splits_of_games(3, rows["game"])]


@pytest.mark.parametrize(
    ("parameters", "expected_sources"),
    [(SMALLEST, {"outcome", "exact", "combined"}), (EXACT_ONLY, {"outcome", "exact"})],
    ids=["combined", "exact only"],
)
def test_labels_match_the_reference(
    memory_path: Path, parameters: SelfPlayLabelParameters, expected_sources: set[str]
) -> None:
    """Labels, their sources and the turns until a table covers the game equal those of a reference in plain Python."""
    warehouse = bgdata.open_warehouse(memory_path)
    table = warehouse.build(DATASET.name, parameters)
    tables = inputs_of(warehouse, DATASET, parameters)
    corpus = tables.pop("games")
    bearoff = BearoffEvaluator(**tables)

    def solve(board: Board) -> tuple[Chances | None, str]:
        """The chances by the tables, and their source."""
        chances, sources = bearoff.evaluate_many(np.array([board], np.int8))
        source = BearoffSource(int(sources[0]))
        return (None if source == BearoffSource.NONE else chances[0].tolist()), source.name.lower()

    sources = np.array(SOURCES)[table.array("sources")]
    assert set(sources.tolist()) == expected_sources
    for rows, boards, points in games_of(corpus):
        solutions = [solve(board) for board in boards]
        end = [float(points >= 1), float(points >= 2), float(points >= 3), float(points <= -2), float(points <= -3)]
        expected = rescored(lambda board: solve(board)[0], boards, end)
        assert table.array("chances")[rows] == pytest.approx(np.array(expected), abs=1e-6)
        outcomes = [points if (len(boards) - turn) % 2 == 1 else -points for turn in range(len(boards))]
        assert table.array("outcomes")[rows].tolist() == outcomes
        for turn in range(len(boards)):
            covered = [later for later in range(turn, len(boards)) if solutions[later][0]]
            row = rows.start + turn
            assert table.array("turns_later")[row] == (covered[0] - turn if covered else -1)
            assert sources[row] == (solutions[covered[0]][1] if covered else "outcome")


def test_luck_adjusted_labels_match_the_reference(network_root: Path) -> None:
    """Luck-adjusted labels have less noise than the labels."""
    warehouse = bgdata.open_warehouse(network_root)
    games = replace(LUCKY, games=16)  # some of them reach the table
    parameters = SelfPlayLabelParameters(**vars(games), points=6, checkers=6)
    table = warehouse.build(DATASET.name, parameters)
    inputs = inputs_of(warehouse, DATASET, parameters)
    equities = cubeless_equities(table.array("chances")).tolist()
    is_covered = table.array("turns_later") == 0
    assert is_covered.any()
    for rows, _, points in games_of(inputs["games"]):
        solved = [equities[row] if is_covered[row] else None for row in range(rows.start, rows.stop)]
        expected = luck_adjusted(solved, inputs["games"].array("lucks")[rows].tolist(), points)
        assert table.array("hedged_equities")[rows] == pytest.approx(np.array(expected), abs=1e-5)
    statistics = table.manifest.statistics
    assert statistics["variance_hedged"] < 0.8 * statistics["variance_after"]
    with warehouse.connect() as connection:
        for view, column in (("selfplay_labels", "hedged_equity"), ("selfplay_labels_summary", "hedged_variance")):
            query = f"from {view} where variant = '{DATASET.slug(parameters)}' and {column} is null"
            assert connection.sql(query).fetchall() == []
    check_sample(DATASET, table, inputs, 3, np.random.default_rng(2))


def test_statistics_equal_the_rows(labels: Table) -> None:
    statistics = labels.manifest.statistics
    outcomes = labels.array("outcomes").astype(np.float64)
    equities = cubeless_equities(labels.array("chances")).astype(np.float64)
    turns_later = labels.array("turns_later")
    assert statistics["positions"] == len(turns_later)
    assert statistics["rescored"] == (turns_later >= 0).sum()
    assert statistics["covered"] == (turns_later == 0).sum()
    assert 0 < statistics["covered"] < statistics["rescored"]
    assert statistics["variance_before"] == pytest.approx(outcomes.var())
    assert statistics["variance_after"] == pytest.approx(equities.var())
    assert statistics["removed_share"] == pytest.approx(1 - equities.var() / outcomes.var())
    assert statistics["mean_square_change"] == pytest.approx(((equities - outcomes) ** 2).mean())
    assert "variance_hedged" not in statistics


def test_summary_by_class_equals_the_manifest(small_root: Path, labels: Table) -> None:
    """The classes of the view `selfplay_labels_summary` add up to the manifest's statistics."""
    statistics = labels.manifest.statistics
    outcomes = labels.array("outcomes").astype(np.float64)
    equities = cubeless_equities(labels.array("chances")).astype(np.float64)
    with bgdata.open_warehouse(small_root).connect() as connection:
        result = connection.sql("from selfplay_labels_summary")
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]
    for name in ("positions", "rescored", "covered"):
        assert sum(row[name] for row in rows) == statistics[name]
    square = sum(row["positions"] * row["mean_square_change"] for row in rows) / len(outcomes)
    assert square == pytest.approx(statistics["mean_square_change"])
    (race,) = [row for row in rows if row["class"] == "race"]
    is_race = labels.array("classes") < 9
    assert race["covered"] == statistics["covered"]
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
    inconsistent = Corrupted(corpus, name, change(np.array(corpus.array(name))))
    with pytest.raises(CorruptFileError, match=f"expected whole games in {corpus.name}, found .*; try: bgdata verify"):
        check_corpus(inconsistent)


def test_rescoring_figures_match_two_positions_by_hand() -> None:
    """Of two positions, the second is solved with an equity of -0.5 for its player, who then won."""
    chances = np.array([[0.75, 0, 0, 0, 0], [0.25, 0, 0, 0, 0]], np.float32)
    assert rescoring_figures(np.array([-1.0, 1.0]), chances, turns_later=np.array([1, 0])) == {
        "positions": 2,
        "rescored": 2,
        "covered": 1,
        "variance_before": 1,
        "variance_after": 0.25,
        "mean_square_change": 2.25,
        "mean_square_change_covered": 2.25,
        "removed_share": 0.75,
    }


def test_rescoring_without_solved_positions_changes_nothing() -> None:
    won = np.array([[1, 0, 0, 0, 0], [1, 0, 0, 0, 0]], np.float32)
    figures = rescoring_figures(np.ones(2), won, np.array([-1, -1]))
    assert figures["mean_square_change"] == 0
    assert figures["removed_share"] == 0
    assert "mean_square_change_covered" not in figures


def test_luck_adjusted_equities_match_two_games_by_hand() -> None:
    """One game was lost by bad luck at the last roll but one; a table covers the other game from the middle on."""
    chances = np.zeros((5, 5), np.float32)
    chances[2:, 0] = 0.5, 0.5, 0.25
    labels = Labels(np.array([-2, 2, -1, 1, -1], np.int8), chances, np.array([-1, -1, 3, 3, 4]))
    offsets = np.array([0, 2, 5])
    lucks = np.array([-1.5, 0.25, 0.125, 9, 9], np.float32)
    assert luck_adjusted_equities(labels, offsets, lucks).tolist() == [
        -2 + 1.5 + 0.25,  # lost a gammon, after a roll of -1.5 and the opponent's of 0.25
        2 - 0.25,
        -0.0 - 0.125,
        0.0,  # luck after a covered position does not count
        -0.5,
    ]
    unknown = np.full(5, np.nan, np.float32)
    assert np.isnan(luck_adjusted_equities(labels, offsets, unknown)).all()


class SolvedGames(NamedTuple):
    """Games with made-up luck and chances, of which a table covers some turns."""

    offsets: NDArray[np.int64]
    covered: NDArray[np.bool_]
    labels: Labels
    lucks: NDArray[np.float32]


def random_solved_games(count: int) -> SolvedGames:
    """Games of 1 to 59 turns, each covered by a table never, in few turns or in half of them."""
    generator = np.random.default_rng(8)
    lengths = generator.integers(1, 60, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n_turns = int(offsets[-1])
    covered = generator.random(n_turns) < np.repeat(generator.choice([0, 0.02, 0.5], count), lengths)
    falling = np.sort(generator.random((n_turns, 5)).astype(np.float32))[:, ::-1]
    lucks = generator.normal(0, 0.3, n_turns).astype(np.float32)
    solved_at = np.full(n_turns, -1)
    points = np.zeros(n_turns, np.int8)
    for begin, end in pairwise(offsets.tolist()):
        points_of_last_turn = 2 * int(generator.integers(2)) - 1
        for turn in range(begin, end):
            later = np.flatnonzero(covered[turn:end])
            solved_at[turn] = turn + later[0] if len(later) else -1
            points[turn] = points_of_last_turn if (end - 1 - turn) % 2 == 0 else -points_of_last_turn
    labels = Labels(points, np.ascontiguousarray(falling / 2), solved_at)
    return SolvedGames(offsets, covered, labels, lucks)


def test_luck_adjusted_equities_match_the_reference() -> None:
    games = random_solved_games(200)
    expected: list[float] = []
    for begin, end in pairwise(games.offsets.tolist()):
        equities = cubeless_equities(games.labels.chances[begin:end]).tolist()
        by_table = [
            equity if is_covered else None
            for equity, is_covered in zip(equities, games.covered[begin:end], strict=True)
        ]
        points_of_last_turn = int(games.labels.points[end - 1])
        expected += luck_adjusted(by_table, games.lucks[begin:end].tolist(), points_of_last_turn)
    adjusted = luck_adjusted_equities(games.labels, games.offsets, games.lucks)
    assert adjusted.dtype == np.float32
    assert adjusted == pytest.approx(np.array(expected), abs=1e-5)


def test_luck_adjusted_equities_do_not_depend_on_other_games() -> None:
    games = random_solved_games(200)
    adjusted = luck_adjusted_equities(games.labels, games.offsets, games.lucks)
    first, last = games.offsets[7], games.offsets[9]
    points, chances, solved_at = (values[first:last] for values in games.labels)
    two_games = Labels(points, chances, np.where(solved_at < 0, -1, solved_at - first))
    alone = luck_adjusted_equities(two_games, games.offsets[7:10] - first, games.lucks[first:last])
    assert np.array_equal(alone, adjusted[first:last])


def test_defaults_use_default_corpora_and_tables() -> None:
    assert [DATASET.inputs(parameters)["games"][1] for parameters in DATASET.defaults] == list(SELFPLAY.defaults)
    two_sided = DATASET.inputs(SelfPlayLabelParameters())["two_sided"][1]
    assert two_sided in bgdata.all_kinds()["bearoff_two_sided"].defaults


def test_slugs_differ_by_tables_and_luck() -> None:
    variants = [SMALLEST, EXACT_ONLY, replace(SMALLEST, luck=True), *DATASET.defaults]
    assert len({DATASET.slug(parameters) for parameters in variants}) == len(variants)

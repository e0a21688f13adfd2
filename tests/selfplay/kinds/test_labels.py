"""Labels by a network at 1-ply, by programs and by tables: rows against references, sources, splits, and damage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.errors import (
    CheckFailedError,
    CheckSkippedError,
    InvalidParameterError,
    MissingTableError,
    UnknownPlayerError,
)
from bgdata.evaluation.chances import AnswerSource, Chances, Evaluations, cubeless_equities
from bgdata.evaluation.gnubg import gnubg_version
from bgdata.evaluation.player import open_named_player
from bgdata.game.codec import Boards
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.game.position_hash import position_hashes
from bgdata.selfplay.kinds.bearoff_labels import DATASET as BEAROFFS
from bgdata.selfplay.kinds.engine_labels import DATASET as ENGINES
from bgdata.selfplay.kinds.engine_labels import EngineParameters
from bgdata.selfplay.kinds.labels_compute import LABEL_SOURCES, TABLE_SOURCES, chances_by, open_engine
from bgdata.selfplay.kinds.lookahead_labels import DATASET as LOOKAHEADS
from bgdata.selfplay.kinds.lookahead_labels import LookaheadParameters
from bgdata.selfplay.kinds.position_sample import DATASET as SAMPLE
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.shared.games_compute import distinct_places
from bgdata.selfplay.kinds.shared.rollouts import find_source, position_count, source_input
from bgdata.selfplay.splits import SPLITS, splits_of_games, splits_of_hashes
from bgdata.store.dataset import Context
from bgdata.store.parameters import Given, VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted, smallest_version
from tests.oracles import needs_gnubg_tool
from tests.rechecking import check_sample, inputs_of
from tests.reference.bearoff_chances import Rolls, combined_chances

LOOKAHEAD, ENGINE, BEAROFF = LOOKAHEADS.smallest, ENGINES.smallest, BEAROFFS.smallest
CORPUS = f"{SELFPLAY.name}/{SELFPLAY.slug(SELFPLAY.smallest)}"


@pytest.fixture(scope="module")
def lookahead_table(small_root: Path) -> Table:
    """The smallest version of `lookahead_labels`, of a sample of positions."""
    return smallest_version(small_root, LOOKAHEADS)


def test_lookahead_rows_equal_the_source_and_the_arrays(small_root: Path, lookahead_table: Table) -> None:
    """Rows have the columns of their source's positions, and the chances and equities of the arrays."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        sample = connection.sql("select * exclude variant from position_sample")
        of_source = connection.sql(f"select {', '.join(sample.columns)} from lookahead_labels order by row")
        assert of_source.fetchall() == sample.fetchall()
        columns = connection.sql("from lookahead_labels order by row").fetchnumpy()
    assert columns["row"].tolist() == list(range(len(lookahead_table.array("rows"))))
    network_version = bgdata.open_warehouse(small_root).open("network", "tiny").folder.name
    assert set(columns["network"]) == {f"network/tiny/{network_version}"}
    chances = lookahead_table.array("chances")
    for number, name in enumerate(("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")):
        assert columns[name].tolist() == chances[:, number].tolist(), name
    equities = cubeless_equities(chances)
    static_equities = cubeless_equities(lookahead_table.array("static_chances"))
    assert columns["cubeless_equity"] == pytest.approx(equities)
    assert columns["static_equity"] == pytest.approx(static_equities)
    assert columns["change"] == pytest.approx(equities - static_equities)
    sources = [LABEL_SOURCES[source] for source in lookahead_table.array("sources")]
    assert columns["label_source"].tolist() == sources


def test_lookahead_statistics_equal_the_arrays(lookahead_table: Table) -> None:
    statistics = lookahead_table.manifest.statistics
    sources = lookahead_table.array("sources")
    for number, name in enumerate(LABEL_SOURCES):
        assert statistics[name] == (sources == number).sum(), name
    changes = lookahead_table.array("changes")[sources == LABEL_SOURCES.index("lookahead")]
    assert statistics["mean_change"] == pytest.approx(changes.mean())
    assert statistics["mean_absolute_change"] == pytest.approx(np.abs(changes).mean())
    assert statistics["largest_absolute_change"] == pytest.approx(np.abs(changes).max())


def test_bearoff_tables_answer_covered_positions(warehouse: Warehouse) -> None:
    """Only positions that no table covers are looked into, and only their equity changes."""
    table = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, table_points=6, table_checkers=6))
    with warehouse.connect() as connection:
        rows = connection.sql(
            "select label_source, count(*), max(abs(change)) from lookahead_labels "
            f"where variant = '{table.folder.parent.name}' group by all"
        ).fetchall()
    counts = {source: count for source, count, _ in rows}
    largest_changes = {source: change for source, _, change in rows}
    assert set(counts) == {"lookahead", "exact", "combined"}
    assert counts["exact"] == table.manifest.statistics["exact"]
    assert largest_changes["exact"] == 0
    assert largest_changes["combined"] == 0
    assert largest_changes["lookahead"] > 0


def test_positions_with_small_changes_are_left_out(warehouse: Warehouse, lookahead_table: Table) -> None:
    is_large = np.abs(lookahead_table.array("changes")) >= np.float32(0.05)
    assert 5 < is_large.sum() < len(is_large) - 5
    table = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, least_change=0.05))
    assert table.folder.parent.name == LOOKAHEADS.slug(LOOKAHEAD) + "-change-0-05"
    for array in LOOKAHEADS.arrays:
        expected = lookahead_table.array(array.name)
        assert np.array_equal(table.array(array.name), expected if array.name == "network" else expected[is_large])


def test_distinct_positions_keep_their_first_row_game_and_split(warehouse: Warehouse) -> None:
    """Each distinct position of a corpus is listed at its first row, with the game, turn and split of that row."""
    source = warehouse.open(*CORPUS.split("/"))
    places = distinct_places(source, range(position_count(source)))
    boards = source.array("turn_boards")
    first_rows: dict[tuple[int, ...], int] = {}
    for row, board in enumerate(boards.tolist()):
        first_rows.setdefault(tuple(board), row)
    assert places.rows.tolist() == sorted(first_rows.values())
    assert np.array_equal(places.boards, boards[places.rows])
    assert np.array_equal(source.array("first_turns")[places.games] + places.turns, places.rows)
    assert np.array_equal(places.splits, splits_of_games(SELFPLAY.smallest.seed, places.games))
    assert len(set(places.splits.tolist())) == len(SPLITS)


def test_positions_without_games_are_split_by_position(warehouse: Warehouse) -> None:
    source = warehouse.open("positions", "sample")
    places = distinct_places(source, range(position_count(source)))
    assert places.games.tolist() == [-1, -1]
    assert places.turns.tolist() == [-1, -1]
    assert np.array_equal(places.splits, splits_of_hashes(position_hashes(source.array("boards"))))


def test_match_positions_are_split_by_game(warehouse: Warehouse) -> None:
    source = next(warehouse.versions("matches"))
    places = distinct_places(source, range(position_count(source)))
    assert np.array_equal(places.splits, splits_of_games(0, places.games))
    assert np.array_equal(source.array("turn_boards")[places.rows], places.boards)


def test_source_is_found_with_its_parameters(warehouse: Warehouse) -> None:
    """A source that is no default variant is found with its parameters, also if it is a table of labels."""
    parameters = replace(SAMPLE.smallest, most=3)
    sample = warehouse.build(SAMPLE.name, parameters)
    sample_variant = VersionRef(SAMPLE.name, SAMPLE.slug(parameters))
    source, recipe = find_source(warehouse, str(sample_variant))
    assert source == sample_variant
    assert source_input(source, recipe) == (SAMPLE.name, parameters)

    labels = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, source=source, source_recipe=recipe))
    assert np.array_equal(labels.array("boards"), sample.array("boards"))
    labels_variant = VersionRef(LOOKAHEADS.name, labels.folder.parent.name)
    source, recipe = find_source(warehouse, str(labels_variant))
    assert source == labels_variant
    label_parameters = LOOKAHEADS.parameters.from_manifest(labels.manifest.parameters)
    assert source_input(source, recipe) == (LOOKAHEADS.name, label_parameters)


@pytest.mark.parametrize("source", [LOOKAHEAD.source, VersionRef("positions", "sample")], ids=str)
def test_default_variant_and_import_need_no_recipe(warehouse: Warehouse, source: VersionRef) -> None:
    assert find_source(warehouse, str(source)) == (source, Given())


def test_missing_sources_are_refused(warehouse: Warehouse) -> None:
    with pytest.raises(MissingTableError, match="no positions/none in"):
        find_source(warehouse, "positions/none")
    for name in ("positions", "nothing/x", "positions/../x"):
        with pytest.raises(InvalidParameterError, match="expected a table of positions, such as positions/NAME, got "):
            find_source(warehouse, name)


def test_source_without_a_recipe_is_named_by_version(warehouse: Warehouse) -> None:
    """A source whose own inputs are missing is found by its version, and can still be labelled."""
    source = warehouse.build(SAMPLE.name, replace(SAMPLE.smallest, most=3))
    for corpus_folder in (warehouse.root / "selfplay").glob("*/r*"):
        corpus_folder.rename(corpus_folder.with_name("aside"))
    version = VersionRef.parse(source.name)
    assert version.version == source.folder.name
    assert find_source(warehouse, version.title) == (version, Given())
    assert find_source(warehouse, source.name) == (version, Given())
    table = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, source=version))
    assert warehouse.made_from(table)["source"].folder == source.folder
    assert np.array_equal(table.array("boards"), source.array("boards"))


@pytest.mark.parametrize(
    "parameters",
    [
        replace(LOOKAHEAD, source=VersionRef(SELFPLAY.name, SELFPLAY.slug(SELFPLAY.smallest))),
        replace(LOOKAHEAD, least_change=0.05),
        replace(LOOKAHEAD, least_change=6.0),  # more than any position changes
    ],
    ids=["turns of games", "large changes", "no rows"],
)
def test_verify_accepts_good_labels(warehouse: Warehouse, parameters: LookaheadParameters) -> None:
    table = warehouse.build(LOOKAHEADS.name, parameters)
    assert (table.manifest.rows == 0) == (parameters.least_change == 6)
    inputs = inputs_of(warehouse, LOOKAHEADS, parameters)
    assert "positions" in check_sample(LOOKAHEADS, table, inputs, 20, np.random.default_rng(0))


def test_verify_finds_missing_rows(warehouse: Warehouse, lookahead_table: Table) -> None:
    rows = np.array(lookahead_table.array("rows"))
    rows[5] = rows[4]
    damaged = Corrupted(lookahead_table, "rows", rows)
    inputs = inputs_of(warehouse, LOOKAHEADS, LOOKAHEAD)
    with pytest.raises(CheckFailedError, match=r"expected rows of 5 in row 5 of|expected \d+ of \d+ positions in"):
        check_sample(LOOKAHEADS, damaged, inputs, 1000, np.random.default_rng(0))


def test_feed_reads_the_rows_of_a_split(warehouse: Warehouse) -> None:
    """The feed divides labels by the games of their corpus, or by position where there are no games."""
    from_games = smallest_version(warehouse.root, LOOKAHEADS)
    from_positions = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, source=VersionRef("positions", "sample")))
    from_bearoffs = smallest_version(warehouse.root, BEAROFFS)
    with warehouse.connect() as connection:
        query = f"select game, turn from lookahead_labels where variant = '{from_positions.folder.parent.name}'"
        assert connection.sql(query).fetchall() == [(None, None)] * 2
    for table in (from_games, from_positions, from_bearoffs):
        variant = "/".join(table.folder.parts[-3:-1])
        for number, split in enumerate(SPLITS):
            expected = np.flatnonzero(table.array("splits") == number).tolist()
            if expected:
                feed = warehouse.batches(variant, split=split, guard=False, batch_size=1)
                assert sorted(row for batch in feed for row in batch.rows.tolist()) == expected


SAMPLED = VersionRef(SAMPLE.name, SAMPLE.slug(SAMPLE.smallest))
BY_PROGRAM = EngineParameters(SAMPLED, "gnubg", 1, "9.9")


class Program:
    """A stand-in for an installed program. Its chances follow from the number of checkers; it records how many
    positions it is asked."""

    label, version = "program", "9.9"
    accuracy: Mapping[AnswerSource, str] = {}

    def __init__(self) -> None:
        self.asked: list[int] = []

    def evaluate_many(self, boards: Boards) -> Evaluations:
        self.asked.append(len(boards))
        return Evaluations(unordered_chances(boards), np.full(len(boards), AnswerSource.PROGRAM, np.int8))


def unordered_chances(boards: Boards) -> Chances:
    """float32[n, 5]: chances by the number of checkers on the points, slightly out of order, as after rounding."""
    win = (1 + np.abs(boards).sum(axis=1) % 7).astype(np.float32) / 8
    return np.stack([win, win + np.float32(1e-7), win / 2, 1 - win + np.float32(1e-7), win * 0], axis=1)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    """Replace every installed program by a stand-in."""
    program = Program()
    monkeypatch.setattr("bgdata.evaluation.player.open_named_player", lambda *_, **__: program)
    return program


def test_program_answers_become_labels(warehouse: Warehouse, program: Program) -> None:
    """The program is asked once about all positions; its chances, put in order, are the labels."""
    table = warehouse.build(ENGINES.name, BY_PROGRAM)
    source = warehouse.open(SAMPLED.kind, SAMPLED.variant)
    boards = np.asarray(source.array("boards"))
    assert program.asked == [len(boards)]
    assert table.folder.parent.name == SAMPLED.title.replace("/", "-").replace("_", "-") + "-by-gnubg-1ply"
    chances = table.array("chances")
    assert chances == pytest.approx(unordered_chances(boards), abs=2e-7)
    win, win_gammon, _, lose_gammon, _ = chances.T
    assert (win_gammon <= win).all()
    assert (lose_gammon <= np.float32(1) - win).all()
    for name, values in distinct_places(source, range(position_count(source)))._asdict().items():
        assert np.array_equal(table.array(name), values)
    with warehouse.connect() as connection:
        columns = connection.sql(
            f"from engine_labels where variant = '{table.folder.parent.name}' order by row"
        ).fetchnumpy()
    assert set(columns["engine"]) == {"gnubg 9.9"}
    assert set(columns["ply"]) == {1}
    assert columns["row"].tolist() == list(range(len(boards)))
    assert np.array_equal(np.stack(columns["board"]), boards)
    assert columns["win"].tolist() == win.tolist()


def test_verify_evaluates_by_the_program_again(
    warehouse: Warehouse, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`verify` asks the program again and finds changed chances; another version of the program skips the check, but
    changed games are found without it."""
    table = warehouse.build(ENGINES.name, BY_PROGRAM)
    inputs = inputs_of(warehouse, ENGINES, BY_PROGRAM)
    check_sample(ENGINES, table, inputs, 500, np.random.default_rng(0))
    chances = np.array(table.array("chances"))
    chances[:, 0] += 0.01
    wrong_chances = Corrupted(table, "chances", chances)
    with pytest.raises(CheckFailedError, match=r"expected chances of .* in row \d+ of engine_labels/"):
        check_sample(ENGINES, wrong_chances, inputs, 10, np.random.default_rng(0))

    monkeypatch.setattr(program, "version", "10")
    with pytest.raises(
        CheckSkippedError, match=r"the engine cannot be asked: expected version 10 of gnubg, as it plays here"
    ):
        check_sample(ENGINES, wrong_chances, inputs, 10, np.random.default_rng(0))
    wrong_games = Corrupted(table, "games", table.array("games") + 1)
    with pytest.raises(CheckFailedError, match=r"expected games of .* in row 0 of engine_labels/"):
        check_sample(ENGINES, wrong_games, inputs, 10, np.random.default_rng(0))


def test_other_version_of_a_program_is_refused(warehouse: Warehouse, program: Program) -> None:
    with pytest.raises(InvalidParameterError, match=r"expected version 9\.9 of gnubg, as it plays here, got 9\.8"):
        warehouse.build(ENGINES.name, replace(BY_PROGRAM, version="9.8"))
    assert program.asked == []


def test_engine_labels_of_a_network_equal_lookahead_labels(warehouse: Warehouse, lookahead_table: Table) -> None:
    parameters = replace(ENGINE, source=SAMPLED, ply=1)
    table = warehouse.build(ENGINES.name, parameters)
    assert table.array("chances") == pytest.approx(np.asarray(lookahead_table.array("chances")), abs=1e-6)
    assert table.array("engine").tobytes() == lookahead_table.array("network").tobytes()
    check_sample(ENGINES, table, inputs_of(warehouse, ENGINES, parameters), 500, np.random.default_rng(0))


@needs_gnubg_tool("gnubg")
def test_gnubg_labels_positions(small_root: Path, memory_path: Path) -> None:
    boards = bgdata.open_warehouse(small_root).open("positions", "sample").array("boards")
    parameters = EngineParameters(VersionRef("positions", "sample"), "gnubg", 0, f"{gnubg_version()}-external")
    context = Context(parameters, {}, Warehouse(memory_path, {}))
    chances = chances_by(open_engine(context), parameters, boards)
    start_row = boards.tolist().index(list(START.board))
    assert chances[start_row, 0] == pytest.approx(0.52, abs=0.01)


def test_bgsage_agrees_with_gnubg() -> None:
    """Labels by bgsage and by gnubg differ no more than two good networks do."""
    try:
        bgsage, gnubg = open_named_player("bgsage"), open_named_player("gnubg")
    except UnknownPlayerError as error:
        pytest.skip(str(error))
    first_plays = [legal_plays(START, roll)[0] for roll in ("31", "65", "66", "21")]
    boards = np.array([START.board, *(play.next_position.board for play in first_plays)], np.int8)
    by_bgsage, by_gnubg = (player.evaluate_many(boards) for player in (bgsage, gnubg))  # type: ignore[attr-defined]
    assert by_bgsage.chances == pytest.approx(by_gnubg.chances, abs=0.06)
    assert (by_bgsage.sources == AnswerSource.PROGRAM).all()


LAYOUTS = 815  # layouts of up to 15 checkers on three points, without the empty one


def roll_chances(table: RaceTable, layout: list[int]) -> Rolls:
    """The chance of each number of rolls that a layout needs."""
    return {rolls: chance for rolls, chance in enumerate(table.probe_chances(layout).tolist()) if chance}


def test_bearoff_chances_equal_the_tables(small_root: Path) -> None:
    """The chances of each bearoff are exact within the two-sided table, combined from one-sided tables beyond it."""
    inputs = inputs_of(bgdata.open_warehouse(small_root), BEAROFFS, BEAROFF)
    one_sided, gammon = RaceTable(inputs["one_sided"]), RaceTable(inputs["gammon"])
    two_sided = TwoSidedTable(inputs["two_sided"])
    labels = smallest_version(small_root, BEAROFFS)
    chances = labels.array("chances")
    counts = Counter[str]()
    gammon_cases = set()
    for row, board in enumerate(labels.array("boards").tolist()):
        on_roll = board[1:4]
        opponent = [-count for count in board[24:21:-1]]
        source = TABLE_SOURCES[labels.array("sources")[row]]
        counts[source] += 1
        if max(sum(on_roll), sum(opponent)) <= 3:  # checkers that the two-sided table covers
            assert source == "exact"
            win = (1 + two_sided.probe(on_roll, opponent).cubeless) / 2
            win_gammon = 0.0
            lose_gammon = 0.0
        else:
            assert source == "combined"
            until_saved = roll_chances(gammon, on_roll) if sum(on_roll) == 15 else None
            opponent_until_saved = roll_chances(gammon, opponent) if sum(opponent) == 15 else None
            gammon_cases.add((until_saved is None, opponent_until_saved is None))
            win, win_gammon, lose_gammon = combined_chances(
                roll_chances(one_sided, on_roll), roll_chances(one_sided, opponent), until_saved, opponent_until_saved
            )
        expected = [win, win_gammon, 0.0, lose_gammon, 0.0]
        assert chances[row].tolist() == pytest.approx(expected, abs=1e-6), row
    assert len(gammon_cases) == 4
    statistics = labels.manifest.statistics
    assert statistics["exact"] == counts["exact"] > 0
    assert statistics["combined"] == counts["combined"]
    assert statistics["with_gammons"] == chances[:, [1, 3]].any(axis=1).sum()


def test_bearoff_rows_are_all_layouts_and_then_pairs(small_root: Path) -> None:
    """Every layout of the one-sided table is on roll once; pairs from the two-sided table follow."""
    n_layouts = 815  # of up to 15 checkers on three points, without the empty one
    table = smallest_version(small_root, BEAROFFS)
    boards = table.array("boards")
    with bgdata.open_warehouse(small_root).connect() as connection:
        columns = connection.sql("from bearoff_labels order by row").fetchnumpy()
    assert columns["row"].tolist() == list(range(table.manifest.rows))
    assert n_layouts + 80 < table.manifest.rows <= n_layouts + 100  # some of the 100 pairs may be equal
    assert len(np.unique(boards[:n_layouts, 1:4], axis=0)) == n_layouts
    assert set(columns["label_source"][n_layouts:]) == {"exact"}
    assert np.array_equal(np.stack(columns["board"]), boards)
    assert columns["position_id"].tolist() == [Position(board).id for board in boards.tolist()]
    splits = splits_of_hashes(position_hashes(boards))
    assert columns["split"].tolist() == [SPLITS[split] for split in splits]


def test_bearoffs_are_labelled_without_a_two_sided_table(warehouse: Warehouse) -> None:
    table = warehouse.build(BEAROFFS.name, replace(BEAROFF, table_points=0, table_checkers=0, pairs=50))
    assert table.folder.parent.name == "3x15-50-seed-1"
    assert table.manifest.rows == 50
    assert table.manifest.statistics["exact"] == 0


def test_verify_recomputes_combined_chances(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bgdata.selfplay.kinds.labels_compute.win_chance", lambda *_: 0.5)
    inputs = inputs_of(bgdata.open_warehouse(small_root), BEAROFFS, BEAROFF)
    with pytest.raises(CheckFailedError, match=r"expected a win chance of 0\.500000 in row \d+ of bearoff_labels/"):
        check_sample(BEAROFFS, smallest_version(small_root, BEAROFFS), inputs, 200, np.random.default_rng(0))


def test_verify_finds_missing_pairs(small_root: Path) -> None:
    table = smallest_version(small_root, BEAROFFS)
    damaged = Corrupted(table, "boards", table.array("boards")[:-1])
    inputs = inputs_of(bgdata.open_warehouse(small_root), BEAROFFS, BEAROFF)
    with pytest.raises(CheckFailedError, match=r"expected \d+ pairs in bearoff_labels/.*, found \d+"):
        check_sample(BEAROFFS, damaged, inputs, 2, np.random.default_rng(0))

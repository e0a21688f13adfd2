"""Labels by a network at 1-ply, by programs and by tables: rows against references, sources, splits, and damage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from bgdata.kernel import threads
from bgdata.selfplay.kinds.bearoff_labels import DATASET as BEAROFFS
from bgdata.selfplay.kinds.engine_labels import DATASET as ENGINES
from bgdata.selfplay.kinds.engine_labels import EngineParameters
from bgdata.selfplay.kinds.labels_compute import LABEL_SOURCES, TABLE_SOURCES, chances_by, open_engine
from bgdata.selfplay.kinds.lookahead_labels import DATASET as LOOKAHEADS
from bgdata.selfplay.kinds.position_sample import DATASET as SAMPLE
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.shared.games_compute import distinct_places
from bgdata.selfplay.kinds.shared.rollouts import find_source, position_count, source_input
from bgdata.selfplay.splits import SPLITS, splits_of_games, splits_of_hashes
from bgdata.store.dataset import Context
from bgdata.store.parameters import Given, VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.contract.kinds import smallest_version
from tests.kept import own
from tests.oracles import needs_gnubg_tool
from tests.rechecking import check_sample, inputs_of
from tests.reference.bearoff_chances import Rolls, combined_chances

LOOKAHEAD, ENGINE, BEAROFF = LOOKAHEADS.smallest, ENGINES.smallest, BEAROFFS.smallest
CORPUS = f"{SELFPLAY.name}/{SELFPLAY.slug(SELFPLAY.smallest)}"


def test_rows_equal_positions_of_the_source(small_root: Path) -> None:
    """Rows have the columns of their source's positions, and the chances, equities and statistics of the arrays."""
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(small_root, LOOKAHEADS)
    source = inputs_of(warehouse, LOOKAHEADS, LOOKAHEAD)["source"]
    with warehouse.connect() as connection:
        rows = connection.sql("select * exclude (variant, network) from lookahead_labels order by row").fetchall()
        shown = connection.sql("select distinct network from lookahead_labels").fetchall()
        sample = connection.sql("select * exclude variant from position_sample").fetchall()
    assert shown == [(f"network/tiny/{warehouse.open('network', 'tiny').folder.name}",)]
    assert [row[0] for row in rows] == list(range(position_count(source)))
    assert [(*row[1:9], row[-1]) for row in rows] == sample
    chances, static = table.array("chances"), table.array("static_chances")
    assert [row[9:14] for row in rows] == [tuple(row) for row in chances.tolist()]
    equities, static_equities = cubeless_equities(chances), cubeless_equities(static)
    assert [row[14:17] for row in rows] == [
        pytest.approx(values) for values in zip(equities, static_equities, equities - static_equities, strict=True)
    ]
    assert [row[17] for row in rows] == [LABEL_SOURCES[number] for number in table.array("sources")]
    found = table.manifest.statistics
    sources = table.array("sources")
    assert [found[name] for name in LABEL_SOURCES] == [(sources == number).sum() for number in range(4)]
    changes = table.array("changes")[sources == 3]
    assert found["mean_change"] == pytest.approx(changes.mean())
    assert found["mean_absolute_change"] == pytest.approx(np.abs(changes).mean())
    assert found["largest_absolute_change"] == pytest.approx(np.abs(changes).max())


def test_bearoff_tables_answer_covered_positions(warehouse: Warehouse) -> None:
    table = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, table_points=6, table_checkers=6))
    with warehouse.connect() as connection:
        query = f"from lookahead_labels where variant = '{table.folder.parent.name}'"
        found = connection.sql(f"select label_source, count(*), max(abs(change)) {query} group by all").fetchall()
    largest = {source: change for source, _, change in found}
    assert set(largest) == {"lookahead", "exact", "combined"}
    assert largest["exact"] == largest["combined"] == 0 < largest["lookahead"]
    assert {source: count for source, count, _ in found}["exact"] == table.manifest.statistics["exact"]


def test_positions_with_small_changes_are_left_out(warehouse: Warehouse) -> None:
    every = smallest_version(warehouse.root, LOOKAHEADS)
    is_large = np.abs(every.array("changes")) >= np.float32(0.05)
    assert 5 < is_large.sum() < len(is_large) - 5
    table = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, least_change=0.05))
    assert table.folder.parent.name == LOOKAHEADS.slug(LOOKAHEAD) + "-change-0-05"
    for array in LOOKAHEADS.arrays:
        expected = every.array(array.name)
        assert np.array_equal(table.array(array.name), expected if array.name == "network" else expected[is_large])
    none = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, least_change=6.0))
    assert none.manifest.rows == 0


def test_distinct_positions_keep_their_first_row_game_and_split(warehouse: Warehouse) -> None:
    """Each distinct position of a corpus is listed at its first row, with the game, turn and split of that row."""
    source = warehouse.open(*CORPUS.split("/"))
    places = distinct_places(source, range(position_count(source)))
    boards = source.array("turn_boards")
    assert np.array_equal(boards[places.rows], places.boards)
    first: dict[Any, Any] = {}
    for row, board in enumerate(boards.tolist()):
        first.setdefault(tuple(board), row)
    assert sorted(first.values()) == places.rows.tolist()
    first_turns = source.array("first_turns")
    assert np.array_equal(first_turns[places.games] + places.turns, places.rows)
    assert np.array_equal(places.splits, splits_of_games(SELFPLAY.smallest.seed, places.games))
    assert len(set(places.splits.tolist())) == len(SPLITS)


def test_positions_without_games_are_split_by_position(warehouse: Warehouse) -> None:
    source = warehouse.open("positions", "sample")
    places = distinct_places(source, range(position_count(source)))
    assert places.games.tolist() == places.turns.tolist() == [-1, -1]
    assert np.array_equal(places.splits, splits_of_hashes(position_hashes(source.array("boards"))))
    table = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, source=VersionRef("positions", "sample")))
    with warehouse.connect() as connection:
        query = f"select game, turn from lookahead_labels where variant = '{table.folder.parent.name}'"
        assert connection.sql(query).fetchall() == [(None, None)] * 2


def test_match_positions_are_split_by_game(warehouse: Warehouse) -> None:
    source = next(warehouse.versions("matches"))
    places = distinct_places(source, range(position_count(source)))
    assert np.array_equal(places.splits, splits_of_games(0, places.games))
    assert np.array_equal(source.array("turn_boards")[places.rows], places.boards)


def test_other_variants_pass_their_parameters(warehouse: Warehouse) -> None:
    """A source that is no default variant is found with its parameters, also if it is a table of labels."""
    parameters = replace(SAMPLE.smallest, most=3)
    source = warehouse.build(SAMPLE.name, parameters)
    reference = VersionRef(SAMPLE.name, SAMPLE.slug(parameters))
    place, recipe = find_source(warehouse, str(reference))
    assert (place, source_input(place, recipe)) == (reference, (SAMPLE.name, parameters))
    table = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, source=place, source_recipe=recipe))
    assert np.array_equal(table.array("boards"), source.array("boards"))
    again = VersionRef(LOOKAHEADS.name, table.folder.parent.name)  # labels of labels
    place, nested = find_source(warehouse, str(again))
    assert place == again
    assert source_input(place, nested) == (
        LOOKAHEADS.name,
        LOOKAHEADS.parameters.from_manifest(table.manifest.parameters),
    )
    for known in (LOOKAHEAD.source, VersionRef("positions", "sample")):
        assert find_source(warehouse, str(known)) == (known, Given())


def test_missing_sources_are_refused(warehouse: Warehouse) -> None:
    with pytest.raises(MissingTableError, match="no positions/none in"):
        find_source(warehouse, "positions/none")
    for name in ("positions", "nothing/x", "positions/../x"):
        with pytest.raises(InvalidParameterError, match="expected a table of positions, such as positions/NAME, got "):
            find_source(warehouse, name)


def test_source_without_a_recipe_is_named_by_version(warehouse: Warehouse) -> None:
    """A source whose own inputs are missing is found by its version, and can still be labelled."""
    parameters = replace(SAMPLE.smallest, most=3)
    source = warehouse.build(SAMPLE.name, parameters)
    for path in (warehouse.root / "selfplay").glob("*/r*"):
        path.rename(path.with_name("aside"))
    version = VersionRef.parse(source.name)
    assert version.version == source.folder.name
    for name in (version.title, source.name):
        assert find_source(warehouse, name) == (version, Given())
    table = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, source=version))
    assert warehouse.made_from(table)["source"].folder == source.folder
    assert np.array_equal(table.array("boards"), source.array("boards"))


def test_verify_accepts_turns_and_empty_labels(warehouse: Warehouse) -> None:
    """`verify` evaluates turns of games again too, and accepts a version without rows, because no position changed
    enough."""
    corpus = replace(LOOKAHEAD, source=VersionRef(SELFPLAY.name, SELFPLAY.slug(SELFPLAY.smallest)))
    for parameters in (corpus, *(replace(LOOKAHEAD, least_change=least) for least in (0.05, 2.0))):
        table = warehouse.build(LOOKAHEADS.name, parameters)
        message = check_sample(
            LOOKAHEADS, table, inputs_of(warehouse, LOOKAHEADS, parameters), 20, np.random.default_rng(0)
        )
        assert "positions" in message


def test_verify_finds_missing_rows(warehouse: Warehouse) -> None:
    table = smallest_version(warehouse.root, LOOKAHEADS)
    rows = np.load(table.folder / "rows.npy")
    rows[5] = rows[4]
    np.save(own(table.folder / "rows.npy"), rows)
    with pytest.raises(CheckFailedError, match=r"expected rows of 5 in row 5 of|expected \d+ of \d+ positions in"):
        check_sample(
            LOOKAHEADS, Table(table.folder), inputs_of(warehouse, LOOKAHEADS, LOOKAHEAD), 1000, np.random.default_rng(0)
        )


def test_feed_reads_the_rows_of_a_split(warehouse: Warehouse) -> None:
    """The feed divides labels by the games of their corpus, or by position where there are no games."""
    of_list = warehouse.build(LOOKAHEADS.name, replace(LOOKAHEAD, source=VersionRef("positions", "sample")))
    for table in (smallest_version(warehouse.root, LOOKAHEADS), of_list, smallest_version(warehouse.root, BEAROFFS)):
        name = "/".join(table.folder.parts[-3:-1])
        for number, split in enumerate(SPLITS):
            expected = np.flatnonzero(table.array("splits") == number).tolist()
            if expected:
                feed = bgdata.open_warehouse(warehouse.root).batches(name, split=split, guard=False, batch_size=1)
                assert sorted(row for batch in feed for row in batch.rows.tolist()) == expected


SAMPLED = VersionRef(SAMPLE.name, SAMPLE.slug(SAMPLE.smallest))
PROGRAM = EngineParameters(SAMPLED, "gnubg", 1, "9.9")


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
    found = Program()
    monkeypatch.setattr("bgdata.evaluation.player.open_named_player", lambda *_, **__: found)
    return found


def test_program_answers_become_labels(warehouse: Warehouse, program: Program) -> None:
    """The program is asked once about all positions; its chances, put in order, are the labels."""
    table = warehouse.build(ENGINES.name, PROGRAM)
    source = warehouse.open(SAMPLED.kind, SAMPLED.variant)
    assert program.asked == [len(source.array("boards"))]
    assert table.folder.parent.name == SAMPLED.title.replace("/", "-").replace("_", "-") + "-by-gnubg-1ply"
    boards = np.asarray(source.array("boards"))
    chances = table.array("chances")
    assert chances == pytest.approx(unordered_chances(boards), abs=2e-7)
    win, win_gammon, _, lose_gammon, _ = chances.T
    assert (win_gammon <= win).all()
    assert (lose_gammon <= np.float32(1) - win).all()
    for name, values in distinct_places(source, range(position_count(source)))._asdict().items():
        assert np.array_equal(table.array(name), values)
    with warehouse.connect() as connection:
        query = f"from engine_labels where variant = '{table.folder.parent.name}'"
        assert connection.sql(f"select distinct engine, ply {query}").fetchall() == [("gnubg 9.9", 1)]
        rows = connection.sql(f"select row, board, win, split {query} order by row").fetchall()
    assert [row[0] for row in rows] == list(range(len(boards)))
    assert [row[1] for row in rows] == boards.tolist()
    assert [row[2] for row in rows] == win.tolist()


def test_verify_evaluates_by_the_program_again(
    warehouse: Warehouse, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`verify` asks the program again and finds changed chances and changed games; another version of the program skips
    the check."""
    table = warehouse.build(ENGINES.name, PROGRAM)
    inputs = inputs_of(warehouse, ENGINES, PROGRAM)
    table.folder.chmod(0o755)
    check_sample(ENGINES, table, inputs, 500, np.random.default_rng(0))
    wrong = np.array(table.array("chances"))
    wrong[:, 0] += 0.01
    (table.folder / "chances.npy").chmod(0o644)
    np.save(own(table.folder / "chances.npy"), wrong)
    with pytest.raises(CheckFailedError, match=r"expected chances of .* in row \d+ of engine_labels/"):
        check_sample(ENGINES, Table(table.folder), inputs, 10, np.random.default_rng(0))
    monkeypatch.setattr(program, "version", "10")  # no program can check the labels
    with pytest.raises(
        CheckSkippedError, match=r"the engine cannot be asked: expected version 10 of gnubg, as it plays here"
    ):
        check_sample(ENGINES, Table(table.folder), inputs, 10, np.random.default_rng(0))
    (table.folder / "games.npy").chmod(0o644)
    np.save(own(table.folder / "games.npy"), table.array("games") + 1)
    with pytest.raises(CheckFailedError, match=r"expected games of .* in row 0 of engine_labels/"):
        check_sample(ENGINES, Table(table.folder), inputs, 10, np.random.default_rng(0))


def test_other_version_of_a_program_is_refused(warehouse: Warehouse, program: Program) -> None:
    with pytest.raises(InvalidParameterError, match=r"expected version 9\.9 of gnubg, as it plays here, got 9\.8"):
        warehouse.build(ENGINES.name, replace(PROGRAM, version="9.8"))
    assert program.asked == []


def test_engine_labels_of_a_network_equal_lookahead_labels(warehouse: Warehouse) -> None:
    """A network as engine at 1-ply gives the labels of `lookahead_labels`, on any number of threads."""
    parameters = replace(ENGINE, source=SAMPLED, ply=1)
    table = warehouse.build(ENGINES.name, parameters)
    expected = smallest_version(warehouse.root, LOOKAHEADS)
    assert table.array("chances") == pytest.approx(np.asarray(expected.array("chances")), abs=1e-6)
    assert table.array("engine").tobytes() == expected.array("network").tobytes()
    digest = smallest_version(warehouse.root, ENGINES).manifest.digest
    with threads(1):
        assert warehouse.build(ENGINES.name, ENGINE, force=True).manifest.digest == digest
    check_sample(ENGINES, table, inputs_of(warehouse, ENGINES, parameters), 500, np.random.default_rng(0))


@needs_gnubg_tool("gnubg")
def test_gnubg_labels_positions(small_root: Path, memory_path: Path) -> None:
    source = bgdata.open_warehouse(small_root).open("positions", "sample").array("boards")
    parameters = EngineParameters(VersionRef("positions", "sample"), "gnubg", 0, f"{gnubg_version()}-external")
    context = Context(parameters, {}, Warehouse(memory_path, {}))
    found = chances_by(open_engine(context), parameters, source)
    assert found[source.tolist().index(list(START.board)), 0] == pytest.approx(0.52, abs=0.01)


def test_bgsage_agrees_with_gnubg() -> None:
    """Labels by bgsage and by gnubg differ no more than two good networks do."""
    try:
        bgsage, gnubg = open_named_player("bgsage"), open_named_player("gnubg")
    except UnknownPlayerError as error:
        pytest.skip(str(error))
    opened = [legal_plays(START, roll)[0].next_position.board for roll in ("31", "65", "66", "21")]
    boards = np.array([START.board, *opened], np.int8)  # the opponent on roll: not symmetric
    found, expected = (player.evaluate_many(boards) for player in (bgsage, gnubg))  # type: ignore[attr-defined]
    assert found.chances == pytest.approx(expected.chances, abs=0.06)
    assert (found.sources == AnswerSource.PROGRAM).all()


LAYOUTS = 815  # layouts of up to 15 checkers on three points, without the empty one


def rolls_of(table: RaceTable, layout: list[int]) -> Rolls:
    return {rolls: chance for rolls, chance in enumerate(table.probe_chances(layout).tolist()) if chance}


def test_chances_equal_the_tables(small_root: Path) -> None:
    """The chances of each bearoff are exact within the two-sided table, combined from one-sided tables beyond it."""
    inputs = inputs_of(bgdata.open_warehouse(small_root), BEAROFFS, BEAROFF)
    one_sided, gammon = RaceTable(inputs["one_sided"]), RaceTable(inputs["gammon"])
    exact = TwoSidedTable(inputs["two_sided"])
    table = smallest_version(small_root, BEAROFFS)
    seen = []
    for row, board in enumerate(table.array("boards").tolist()):
        on_roll = board[1:4]
        opponent = [-count for count in board[24:21:-1]]
        saved, opponent_saved = (rolls_of(gammon, side) if sum(side) == 15 else None for side in (on_roll, opponent))
        if max(sum(on_roll), sum(opponent)) <= 3:
            win = (1 + exact.probe(on_roll, opponent).cubeless) / 2
            win_gammon = 0.0
            lose_gammon = 0.0
        else:
            sides = rolls_of(one_sided, on_roll), rolls_of(one_sided, opponent)
            win, win_gammon, lose_gammon = combined_chances(*sides, saved, opponent_saved)
        expected = [win, win_gammon, 0.0, lose_gammon, 0.0]
        assert table.array("chances")[row].tolist() == pytest.approx(expected, abs=1e-6), row
        seen.append((TABLE_SOURCES[table.array("sources")[row]], bool(saved), bool(opponent_saved)))
        assert (seen[-1][0] == "exact") == (max(sum(on_roll), sum(opponent)) <= 3)
    assert set(seen) == {("exact", False, False), *(("combined", a, b) for a in (False, True) for b in (False, True))}
    found = table.manifest.statistics
    assert [found[name] for name in TABLE_SOURCES] == [sum(row[0] == name for row in seen) for name in TABLE_SOURCES]
    assert found["with_gammons"] == table.array("chances")[:, [1, 3]].any(axis=1).sum()


def test_bearoff_rows_are_all_layouts_and_then_pairs(small_root: Path) -> None:
    """Every layout of the one-sided table is on roll once; pairs from the two-sided table follow."""
    table = smallest_version(small_root, BEAROFFS)
    with bgdata.open_warehouse(small_root).connect() as connection:
        rows = connection.sql(
            "select row, position_id, board, label_source, split, board[2:4] from bearoff_labels order by row"
        ).fetchall()
    assert [row[0] for row in rows] == list(range(table.manifest.rows))
    assert LAYOUTS + 80 < len(rows) <= LAYOUTS + 100
    assert len({tuple(row[5]) for row in rows[:LAYOUTS]}) == LAYOUTS
    assert {row[3] for row in rows[LAYOUTS:]} == {"exact"}
    boards = table.array("boards")
    assert [row[2] for row in rows] == boards.tolist()
    assert [row[1] for row in rows] == [Position(board).id for board in boards.tolist()]
    assert [row[4] for row in rows] == [SPLITS[split] for split in splits_of_hashes(position_hashes(boards))]


def test_labels_without_a_two_sided_table(warehouse: Warehouse) -> None:
    table = warehouse.build(BEAROFFS.name, replace(BEAROFF, table_points=0, table_checkers=0, pairs=50))
    assert table.folder.parent.name == "3x15-50-seed-1"
    assert (table.manifest.rows, table.manifest.statistics["exact"]) == (50, 0)


def test_verify_recomputes_combined_chances(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bgdata.selfplay.kinds.labels_compute.win_chance", lambda *_: 0.5)
    table = smallest_version(warehouse.root, BEAROFFS)
    with pytest.raises(CheckFailedError, match=r"expected a win chance of 0\.500000 in row \d+ of bearoff_labels/"):
        check_sample(BEAROFFS, table, inputs_of(warehouse, BEAROFFS, BEAROFF), 200, np.random.default_rng(0))


def test_verify_finds_missing_pairs(warehouse: Warehouse) -> None:
    table = smallest_version(warehouse.root, BEAROFFS)
    np.save(own(table.folder / "boards.npy"), np.load(table.folder / "boards.npy")[:-1])
    with pytest.raises(CheckFailedError, match=r"expected \d+ pairs in bearoff_labels/.*, found \d+"):
        check_sample(
            BEAROFFS, Table(table.folder), inputs_of(warehouse, BEAROFFS, BEAROFF), 2, np.random.default_rng(0)
        )

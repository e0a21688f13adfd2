"""Labels by programs: rows, provenance, what is asked again, and what is said where a program is not installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, CheckSkippedError, InvalidParameterError, UnknownPlayerError
from bgdata.evaluation.chances import AnswerSource, Chances, Evaluations
from bgdata.evaluation.gnubg import gnubg_version
from bgdata.evaluation.player import open_named_player
from bgdata.game.codec import Boards
from bgdata.game.plays import legal_plays
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.selfplay.kinds.engine_labels import DATASET, EngineParameters
from bgdata.selfplay.kinds.labels_compute import chances_by, open_engine
from bgdata.selfplay.kinds.lookahead_labels import DATASET as LOOKAHEADS
from bgdata.selfplay.kinds.position_sample import DATASET as SAMPLE
from bgdata.selfplay.kinds.shared.games_compute import places_of
from bgdata.store.dataset import Context
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.kept import own
from tests.oracles import needs_gnubg_tool
from tests.rechecking import check_sample, inputs_of

SMALL = DATASET.smallest
SAMPLED = VersionRef(SAMPLE.name, SAMPLE.slug(SAMPLE.smallest))
PROGRAM = EngineParameters(SAMPLED, "gnubg", 1, "9.9")


class Program:
    """Somebody who answers by the number of checkers on the points, and counts what he is asked."""

    label, version = "program", "9.9"
    accuracy: Mapping[AnswerSource, str] = {}

    def __init__(self) -> None:
        self.asked: list[int] = []

    def evaluate_many(self, boards: Boards) -> Evaluations:
        self.asked.append(len(boards))
        return Evaluations(answers(boards), np.full(len(boards), AnswerSource.PROGRAM, np.int8))


def answers(boards: Boards) -> Chances:
    """Chances a little out of order: what rounding does."""
    win = (1 + np.abs(boards).sum(axis=1) % 7).astype(np.float32) / 8
    return np.stack([win, win + np.float32(1e-7), win / 2, 1 - win + np.float32(1e-7), win * 0], axis=1)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Program:
    """In the place of every program that is installed."""
    found = Program()
    monkeypatch.setattr("bgdata.evaluation.player.open_named_player", lambda *_, **__: found)
    return found


def test_answers_of_a_program(warehouse: Warehouse, program: Program) -> None:
    table, source = warehouse.build(DATASET.name, PROGRAM), warehouse.open(SAMPLED.kind, SAMPLED.variant)
    assert program.asked == [len(source.array("boards"))]
    assert table.folder.parent.name == SAMPLED.title.replace("/", "-").replace("_", "-") + "-by-gnubg-1ply"
    boards, chances = np.asarray(source.array("boards")), table.array("chances")
    assert chances == pytest.approx(answers(boards), abs=2e-7)
    win, win_gammon, _, lose_gammon, _ = chances.T
    assert (win_gammon <= win).all()
    assert (lose_gammon <= np.float32(1) - win).all()
    for name, values in places_of(source)._asdict().items():
        assert np.array_equal(table.array(name), values)
    with warehouse.connect() as connection:
        query = f"from engine_labels where variant = '{table.folder.parent.name}'"
        assert connection.sql(f"select distinct engine, ply {query}").fetchall() == [("gnubg 9.9", 1)]
        rows = connection.sql(f"select row, board, win, split {query} order by row").fetchall()
    assert [row[0] for row in rows] == list(range(len(boards)))
    assert [row[1] for row in rows] == boards.tolist()
    assert [row[2] for row in rows] == win.tolist()


def test_verify_asks_again(warehouse: Warehouse, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    table, inputs = warehouse.build(DATASET.name, PROGRAM), inputs_of(warehouse, DATASET, PROGRAM)
    table.folder.chmod(0o755)
    check_sample(DATASET, table, inputs, 500, np.random.default_rng(0))
    wrong = np.array(table.array("chances"))
    wrong[:, 0] += 0.01
    (table.folder / "chances.npy").chmod(0o644)
    np.save(own(table.folder / "chances.npy"), wrong)
    with pytest.raises(CheckFailedError, match=r"expected chances of .* in row \d+ of engine_labels/"):
        check_sample(DATASET, Table(table.folder), inputs, 10, np.random.default_rng(0))
    monkeypatch.setattr(program, "version", "10")  # nobody is left who could tell
    with pytest.raises(
        CheckSkippedError, match=r"the engine cannot be asked: expected version 10 of gnubg, as it plays here"
    ):
        check_sample(DATASET, Table(table.folder), inputs, 10, np.random.default_rng(0))
    (table.folder / "games.npy").chmod(0o644)
    np.save(own(table.folder / "games.npy"), table.array("games") + 1)
    with pytest.raises(CheckFailedError, match=r"expected games of .* in row 0 of engine_labels/"):
        check_sample(DATASET, Table(table.folder), inputs, 10, np.random.default_rng(0))


def test_other_version_of_a_program_is_refused(warehouse: Warehouse, program: Program) -> None:
    with pytest.raises(InvalidParameterError, match=r"expected version 9\.9 of gnubg, as it plays here, got 9\.8"):
        warehouse.build(DATASET.name, replace(PROGRAM, version="9.8"))
    assert program.asked == []


def test_a_network_is_an_engine_too(warehouse: Warehouse) -> None:
    """At ply 1 as `lookahead_labels` have it, on any number of threads."""
    parameters = replace(SMALL, source=SAMPLED, ply=1)
    table = warehouse.build(DATASET.name, parameters)
    expected = warehouse.open(LOOKAHEADS.name, LOOKAHEADS.slug(LOOKAHEADS.smallest))
    assert table.array("chances") == pytest.approx(np.asarray(expected.array("chances")), abs=1e-6)
    assert table.array("engine").tobytes() == expected.array("network").tobytes()
    small = warehouse.open(DATASET.name, DATASET.slug(SMALL)).manifest.digest
    with threads(1):
        assert warehouse.build(DATASET.name, SMALL, force=True).manifest.digest == small
    check_sample(DATASET, table, inputs_of(warehouse, DATASET, parameters), 500, np.random.default_rng(0))


@needs_gnubg_tool("gnubg")
def test_gnubg_answers(small_root: Path, memory_path: Path) -> None:
    source = bgdata.open_warehouse(small_root).open("positions", "sample").array("boards")
    parameters = EngineParameters(VersionRef("positions", "sample"), "gnubg", 0, f"{gnubg_version()}-external")
    context = Context(parameters, {}, Warehouse(memory_path, {}))
    found = chances_by(open_engine(context), parameters, source)
    assert found[source.tolist().index(list(START.board)), 0] == pytest.approx(0.52, abs=0.01)


def test_bgsage_answers() -> None:
    """As gnubg does, within what two networks differ by, where both are installed."""
    try:
        bgsage, gnubg = open_named_player("bgsage"), open_named_player("gnubg")
    except UnknownPlayerError as error:
        pytest.skip(str(error))
    boards = np.array([START.board, *places_of_opening()], np.int8)
    found, expected = (player.evaluate_many(boards) for player in (bgsage, gnubg))  # type: ignore[attr-defined]
    assert found.chances == pytest.approx(expected.chances, abs=0.06)
    assert (found.sources == AnswerSource.PROGRAM).all()


def places_of_opening() -> list[tuple[int, ...]]:
    """Positions after an opening play, the opponent on roll: of another shape than their flips."""
    return [legal_plays(START, roll)[0].next_position.board for roll in ("31", "65", "66", "21")]

"""`bgdata eval` and `bgdata hint`: what they print, and one line for what they refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.commands.positions import describe_evaluation, describe_plays, describe_source
from bgdata.evaluation.lookahead_player import Evaluation
from bgdata.evaluation.rows import ranked_rows
from bgdata.game.dice import parse_roll
from bgdata.game.position import START, Position
from tests.command_line import error_of, run, succeeds
from tests.evaluation.network_versions import random_networks, write_network

START_ID = "4HPwATDgc/ABMA"
BEAROFF_ID = "CgAAEAEAAAAAAA"
RANDOM = ("--network", "random")
LIKE_START = [START_ID, "OAHDPAABDAOAHDPAABDA", "4HPwATDgc/ABMA:cAkAAAAAAAAE", ",".join(map(str, START.board)),
              "XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10"]  # fmt: skip


@pytest.mark.parametrize("text", LIKE_START)
def test_eval_says_what_the_player_says(player_root: Path, text: str) -> None:
    found = bgdata.open_player(player_root, "random").evaluate(START)
    shown = succeeds(player_root, "eval", text, *RANDOM)
    board, words, source = shown.split("\n\n")
    assert board.startswith(f"Position ID: {START_ID}\n+-13-")
    assert "X on roll" in board
    win, lose, equity = words.splitlines()
    numbers = [float(number) / 100 for number in re.findall(r"\d+\.\d\d", win + lose)]
    expected = [
        found.win,
        found.win_gammon,
        found.win_backgammon,
        1 - found.win,
        found.lose_gammon,
        found.lose_backgammon,
    ]
    assert numbers == pytest.approx(expected, abs=6e-5)
    assert equity == f"cubeless equity {found.cubeless_equity:+.4f}"
    assert " ".join(source.split()) == f"contact network, static: {found.accuracy}"


def test_eval_looks_ahead(player_root: Path) -> None:
    found = bgdata.open_player(player_root, "random", ply=1).evaluate(START)
    shown = succeeds(player_root, "eval", START_ID, *RANDOM, "--ply", "1")
    assert f"cubeless equity {found.cubeless_equity:+.4f}\n\ncontact network, 1 ply: " in shown
    assert found.cubeless_equity != bgdata.open_player(player_root, "random").evaluate(START).cubeless_equity


def test_eval_of_tables_and_finished_games(player_root: Path) -> None:
    shown = succeeds(player_root, "eval", BEAROFF_ID, *RANDOM, "--ply", "2")
    assert "win   67.11 %   with a gammon   0.00 %   backgammon  0.00 %\n" in shown
    assert "cubeless equity +0.3422" in shown
    assert "\ntwo-sided table: exact, bearoff_two_sided/6x3/r" in shown
    over = Position([0] * 18 + [-15] + [0] * 7)
    assert succeeds(player_root, "eval", over.id, *RANDOM).endswith(
        "cubeless equity +2.0000\n\nthe rules: the game is over\n"
    )


def test_eval_as_json(player_root: Path) -> None:
    found = bgdata.open_player(player_root, "random").evaluate(START)
    (printed,) = json.loads(succeeds(player_root, "eval", START_ID, *RANDOM, "--format", "json"))
    assert printed == {"position_id": START_ID} | vars(found) | {"source": "contact_network"}


@pytest.mark.parametrize("ply", ["0", "1"])
def test_hint_ranks_plays(player_root: Path, ply: str) -> None:
    ranked = bgdata.open_player(player_root, "random", ply=int(ply)).rank_plays(START, "31")
    shown = succeeds(player_root, "hint", START_ID, "31", *RANDOM, "--ply", ply, "--plays", "3")
    board, table, source = shown.split("\n\n")
    assert "X to play 31" in board
    head, *lines, more = table.splitlines()
    assert head.split()[:4] == ["ply", "play", "equity", "loss"]
    assert [line.split()[0] for line in lines] == ["1", "2", "3"]
    for line, row in zip(lines, ranked, strict=False):
        assert f" {row.evaluation.ply}  {row.play!s:<26}{row.evaluation.cubeless_equity:+8.4f}" in line
        assert f"{100 * row.evaluation.win:.1f} " in line
        assert (f"  {row.loss:.4f}   " in line) == (row is not ranked[0])
        assert row.loss >= 0
    assert more.split() == ["and", "13", "more"]
    assert source.startswith("contact network, ")


def test_hint_takes_the_roll_of_an_xgid(player_root: Path) -> None:
    xgid = "XGID=-b----E-C---eE---c-e----B-:0:0:1:31:0:0:0:0:10"
    given = succeeds(player_root, "hint", xgid, *RANDOM)
    assert "X to play 31" in given
    same = succeeds(player_root, "hint", START_ID, "13", "--no-jacoby", *RANDOM)
    assert given.partition("\n\n")[2] == same.partition("\n\n")[2]
    assert "X to play 66" in succeeds(player_root, "hint", xgid, "66", *RANDOM)


def test_hint_as_json(player_root: Path) -> None:
    ranked = bgdata.open_player(player_root, "random").rank_plays(START, "31")
    printed = json.loads(succeeds(player_root, "hint", START_ID, "31", *RANDOM, "--format", "json", "--plays", "99"))
    assert [(row["play"], row["loss"], row["win"]) for row in printed] == [
        (str(row.play), row.loss, row.evaluation.win) for row in ranked
    ]
    assert {row["source"] for row in printed} == {"contact_network"}


def test_hint_without_a_legal_play(player_root: Path) -> None:
    closed_out = Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1])
    shown = succeeds(player_root, "hint", closed_out.id, "65", *RANDOM, "--ply", "1")
    assert re.search(r"\n  1   1  no play  ", shown)
    assert "more" not in shown


def evaluation(source: AnswerSource, ply: int, accuracy: str = "") -> Evaluation:
    return Evaluation(0.5, 0.25, 0.125, 0.0625, 0.03125, 0.28125, source, ply, accuracy)


@pytest.mark.parametrize(
    ("source", "ply", "text"),
    [
        (AnswerSource.OVER, 0, "the rules"),
        (AnswerSource.EXACT, 0, "two-sided table"),
        (AnswerSource.COMBINED, 0, "one-sided tables combined"),
        (AnswerSource.RACE_NETWORK, 0, "race network, static"),
        (AnswerSource.CRASHED_NETWORK, 1, "crashed network, 1 ply"),
        (AnswerSource.CONTACT_NETWORK, 2, "contact network, 2 plies"),
        (AnswerSource.PROGRAM, 0, "another program, static"),
    ],
)
def test_source_of_an_answer(source: AnswerSource, ply: int, text: str) -> None:
    assert describe_source(evaluation(source, ply)) == text
    assert describe_source(evaluation(source, ply, "roughly")) == f"{text}: roughly"


def test_long_statements_are_lines_of_text() -> None:
    said = describe_source(evaluation(AnswerSource.COMBINED, 0, "within -0.0279 to +0.0236 " * 12))
    lines = said.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 118
    assert " ".join(said.split()).count("within -0.0279 to +0.0236") == 12


def test_chances_in_words() -> None:
    assert describe_evaluation(evaluation(AnswerSource.RACE_NETWORK, 0)).splitlines()[:3] == [
        "win   50.00 %   with a gammon  25.00 %   backgammon 12.50 %",
        "lose  50.00 %   with a gammon   6.25 %   backgammon  3.12 %",
        "cubeless equity +0.2812",
    ]


def test_columns_of_plays(player_root: Path) -> None:
    ranked = bgdata.open_player(player_root, "random").rank_plays(START, "66")
    lines = describe_plays([*ranked_rows(START, parse_roll("66"), ranked[:11])], len(ranked) - 11).splitlines()
    assert len(lines) == 12
    assert len(set(map(len, lines))) == 1


FAILURES: list[tuple[list[str], int, str]] = [
    (["eval", "nope", *RANDOM], 2, "expected one of position id, gnubg id, 20-letter key, xgid, 26 integers, start; "),
    (["eval", "4HPwATDgc/ABM!", *RANDOM], 2, "expected one of .*; as position id: expected letters of a position id"),
    (["eval", START_ID, "--network", "none"], 1, r"no network/none in .* \(have: cut, other, random\)"),
    (["eval", START_ID, "--network", "cut"], 1, "expected networks that bgdata can read in network/cut/.*, found w"),
    (["eval", START_ID, "--network", "other"], 1, "expected .*, found other inputs of the race network: 196 of "),
    (["hint", START_ID, *RANDOM], 2, f"expected a roll after the position, such as 31, got none with '{START_ID}'"),
    (["hint", START_ID, "70", *RANDOM], 2, "expected two dice such as '31', got '70'"),
    (["hint", "nope", "31", *RANDOM], 2, "expected one of position id, "),
    (["play", "--network", "none", "--seed", "1"], 1, "no network/none in "),
    (["play", *RANDOM, "--watch", "nobody"], 2, "expected a player among random, pubeval, .*, got nobody"),
]  # fmt: skip


@pytest.fixture(scope="module")
def corrupted_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with network/random as it should be, one that is cut, and one for other inputs."""
    root = tmp_path_factory.mktemp("corrupted")
    good = random_networks(7)
    write_network(root, "random", good)
    write_network(root, "cut", good._replace(weights=good.weights[:-1]))
    shapes = good.shapes.copy()
    shapes[0, 1] = 196
    write_network(root, "other", good._replace(shapes=shapes))
    return root


@pytest.mark.parametrize(("arguments", "code", "message"), FAILURES, ids=[" ".join(words) for words, _, _ in FAILURES])
def test_failures(corrupted_root: Path, arguments: list[str], code: int, message: str) -> None:
    assert re.match(f".*{message}", error_of(run(corrupted_root, *arguments), code))


@pytest.mark.parametrize(
    "arguments", [["eval", START_ID], ["hint", START_ID, "31"], ["play", "--seed", "1"]], ids=" ".join
)
def test_no_warehouse(tmp_path: Path, arguments: list[str]) -> None:
    message = error_of(run(tmp_path / "none", *arguments, "--network", "random"), 1)
    assert re.match("expected a warehouse in .*none, found no such folder; try: bgdata build", message)


@pytest.mark.parametrize(
    "arguments",
    [["eval"], ["eval", START_ID, "--ply", "4"], ["eval", START_ID, "--format", "xml"], ["hint"],
     ["play", "--seed", "-1"], ["hint", START_ID, "31", "--plays", "0"], ["play", "--ply", "x"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_words_on_the_line(corrupted_root: Path, arguments: list[str]) -> None:
    result = run(corrupted_root, *arguments)
    assert result.exit_code == 2
    assert re.fullmatch(r"error: (invalid value|missing argument) .*; see: bgdata \w+ --help\n", result.stderr)


def test_answers_are_single_precision(player_root: Path) -> None:
    """What JSON prints reads back as the float32 that was answered."""
    (printed,) = json.loads(succeeds(player_root, "eval", START_ID, *RANDOM, "--format", "json"))
    assert all(float(np.float32(value)) == value for value in printed.values() if isinstance(value, float))

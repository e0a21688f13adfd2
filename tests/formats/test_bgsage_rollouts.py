"""bgsage's boards, rollouts and JSON lines: the published row, every rule, round trips."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import UsageError
from bgdata.formats import bgsage_rollouts as bgsage
from bgdata.formats.lines import LineCounts
from bgdata.game.position import START
from tests.formats.samples import BGSAGE_ROW
from tests.game.strategies import boards
from tests.together import each

START_TEXT = " ".join(map(str, START.board))


def test_the_published_row() -> None:
    data = bgsage.parse_bgsage_rollouts(BGSAGE_ROW)
    assert data.counts == LineCounts(1, 1, 0, 0)
    assert data.boards[0, 1:6].tolist() == [-2, 5, 3, -2, 5]
    assert data.chances.tolist() == [[0.7823, 0.4430, 0.0480, 0.0025, -0.0002]]
    assert bgsage.clip_chances(data.chances).tolist() == [[0.7823, 0.4430, 0.0480, 0.0025, 0]]
    assert b"".join(bgsage.format_bgsage_rollouts(data.boards, data.chances)) == BGSAGE_ROW


@each(
    ("line", "reason"),
    [
        (START_TEXT, "expected 31 fields (a board and five chances), got 26"),
        (f"{START_TEXT} 0.5 0 0 0 0 0", "expected 31 fields (a board and five chances), got 32"),
        (f"{START_TEXT[:-1]}x 0.5 0 0 0 0", "expected integers from -15 to 15 as a board"),
        (f"{START_TEXT[:-1]}0.0 0.5 0 0 0 0", "expected integers from -15 to 15 as a board"),
        (f"{START_TEXT[:-1]}16 0.5 0 0 0 0", "expected integers from -15 to 15 as a board"),
        (f"{START_TEXT[:-1]}1 0.5 0 0 0 0", "expected at most 15 checkers of the player on roll in the board"),
        (f"{START_TEXT[:-1]}-1 0.5 0 0 0 0", "expected no negative count on a bar in the board"),
        (f"{START_TEXT} 0.5 0 0 nan 0", "expected a number as lose_gammon"),
        (f"{START_TEXT} 1.0501 0 0 0 0", "expected chances from 0 to 1"),
        (f"{START_TEXT} 0.5 0.56 0 0 0", "expected win_gammon at most win"),
    ],
)
def test_each_rule(line: str, reason: str) -> None:
    data = bgsage.parse_bgsage_rollouts(BGSAGE_ROW + line.encode())
    assert [(bad.line, bad.reason) for bad in data.quarantined] == [(2, reason)]
    assert len(data) == 1


ENTRY = {"board": list(START.board), "equity": 0.0625, "se": 0.0039, "probs": [0.5, 0.15, 0.01, 0.12, 0.01]}


def test_json_lines() -> None:
    text = f"{json.dumps(ENTRY)}\n\n{json.dumps(ENTRY | {'kind': 'cube', 'equity': 1})}\n"
    data = bgsage.parse_bgsage_entries(text.encode())
    assert data.counts == LineCounts(3, 2, 1, 0)
    assert data.equities.tolist() == [0.0625, 1]
    assert data.standard_errors.tolist() == [0.0039, 0.0039]
    assert data.chances.tolist() == [ENTRY["probs"]] * 2
    rest = data.quarantine(np.array([True, False]), "expected a cube decision")
    assert (rest.equities.tolist(), rest.lines.tolist()) == ([1], [3])


PLAIN = "expected cubeless values that were rolled out to the end, as {} would say"
OBJECT = "expected a JSON object with board, equity, se, probs"
BOARD = "expected integers from -15 to 15 as a board"
NUMBERS = "expected finite numbers as equity, se and five probs"


@each(
    ("line", "reason"),
    [
        ("{", OBJECT),
        ("[1]", OBJECT),
        ("null", OBJECT),
        ("# comment", OBJECT),
        ("\xff", OBJECT),
        ("[" * 100_000, OBJECT),
        ("1" * 5000, OBJECT),
        (json.dumps({key: ENTRY[key] for key in ("board", "equity", "probs")}), OBJECT),
        (json.dumps(ENTRY | {"board": [0] * 25}), BOARD),
        (json.dumps(ENTRY | {"board": [0.0] * 26}), BOARD),
        (json.dumps(ENTRY | {"board": [True] * 26}), BOARD),
        (json.dumps(ENTRY | {"board": [10**400] * 26}), BOARD),
        (json.dumps(ENTRY | {"board": "x" * 26}), BOARD),
        (json.dumps(ENTRY | {"board": [2] * 26}), "expected at most 15 checkers of the player on roll in the board"),
        (json.dumps(ENTRY | {"equity": float("nan")}), NUMBERS),
        (json.dumps(ENTRY | {"equity": "0.1"}), NUMBERS),
        (json.dumps(ENTRY | {"equity": 10**400}), NUMBERS),
        (json.dumps(ENTRY | {"probs": [0.5] * 4}), NUMBERS),
        (json.dumps(ENTRY | {"probs": [0.5, 0.1, None, 0, 0]}), NUMBERS),
        (json.dumps(ENTRY | {"probs": [2, 0, 0, 0, 0]}), "expected chances from 0 to 1"),
        (json.dumps(ENTRY | {"se": -0.1}), "expected se of at least 0"),
        (json.dumps(ENTRY | {"eval_level": "3-ply", "tier": "3P"}), PLAIN.format("eval_level rollout")),
        (json.dumps(ENTRY | {"eval_level": "Rollout", "tier": "3T"}), PLAIN.format("tier rollout")),
        (json.dumps(ENTRY | {"cube_owner": "player"}), PLAIN.format("cube_owner none")),
        (json.dumps(ENTRY | {"jacoby": True}), PLAIN.format("jacoby false")),
        (json.dumps(ENTRY | {"tier": ["rollout"]}), PLAIN.format("tier rollout")),
    ],
)
def test_each_rule_of_json_lines(line: str, reason: str) -> None:
    data = bgsage.parse_bgsage_entries(f"{json.dumps(ENTRY)}\n".encode() + line.encode("latin-1"))
    assert [(bad.line, bad.reason) for bad in data.quarantined] == [(2, reason)]
    assert len(data) == 1


def test_full_rollouts_may_say_so() -> None:
    names = {"eval_level": "Rollout", "tier": "rollout", "cube_owner": None, "jacoby": False, "seed": 7}
    data = bgsage.parse_bgsage_entries(json.dumps(ENTRY | names).encode())
    assert (len(data), data.quarantined) == (1, [])


@given(st.lists(st.tuples(boards(), st.floats(-0.04, 1.04), st.floats(-2, 2), st.floats(0, 1)), max_size=12))
def test_round_trips(rows: list[tuple[list[int], float, float, float]]) -> None:
    board_array = np.array([row[0] for row in rows], np.int8).reshape(-1, 26)
    chances = np.array([[row[1], 0, -0.0, 0, 0] for row in rows]).reshape(-1, 5)
    text = b"".join(bgsage.format_bgsage_rollouts(board_array, chances))
    data = bgsage.parse_bgsage_rollouts(text)
    assert (data.boards == board_array).all()
    assert data.chances.tobytes() == chances.tobytes()
    assert b"".join(bgsage.format_bgsage_rollouts(data.boards, data.chances)) == text
    equities, errors = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    lines = entry_lines(bgsage.BgsageEntries(data.ledger, data.lines, board_array, chances, equities, errors))
    again = bgsage.parse_bgsage_entries(lines)
    assert entry_lines(again) == lines
    assert again.equities.tobytes() == equities.tobytes()
    with pytest.raises(UsageError, match=f"expected chances for {len(rows)} boards"):
        bgsage.format_bgsage_rollouts(board_array, chances[:, :4])


def entry_lines(entries: bgsage.BgsageEntries) -> bytes:
    columns = (entries.boards, entries.equities, entries.standard_errors, entries.chances)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return b"".join(f"{json.dumps(dict(zip(ENTRY, row, strict=True)))}\n".encode() for row in rows)

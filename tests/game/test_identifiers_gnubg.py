"""Match IDs and XGIDs against gnubg: random states both ways, and every state of games that gnubg plays."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bgdata.game.dice import ROLLS
from bgdata.game.match_state import GameState, MatchState, Offer, Side, format_gnubg_id, format_match_id, parse_gnubg_id
from bgdata.game.position import Position
from bgdata.game.xgid import Xgid
from tests.oracles import ask_gnubg, needs_gnubg_tool
from tests.random_games import random_game_positions

COUNT = 400

PREAMBLE = """
import gnubg, json
for command in [
    "set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
    "set automatic move off", "set automatic bearoff off", "set display off", "new session",
]:
    gnubg.command(command)
"""
MATCH_IDS = """
cube, place = gnubg.cubeinfo(), gnubg.posinfo()
for cube_change, place_change in json.load(open("questions.json")):
    cube_change["score"] = tuple(cube_change["score"])
    place_change["dice"] = tuple(place_change["dice"])
    tell(gnubg.matchid(dict(cube, **cube_change), dict(place, **place_change)))
"""
STATES = """
for text in json.load(open("questions.json")):
    gnubg.command("new session")
    gnubg.command("set turn 1")
    gnubg.command(COMMAND + " " + text)
    cube, place = gnubg.cubeinfo(), gnubg.posinfo()
    tell(json.dumps([gnubg.gnubgid(), cube, place, gnubg.board()]))
"""
GAMES = """
for player in (0, 1):
    gnubg.command("set player %d gnubg" % player)
    for part in ("chequerplay", "cubedecision"):
        gnubg.command("set player %d %s evaluation plies 0" % (player, part))
for automatic in ("game", "roll", "move", "bearoff"):
    gnubg.command("set automatic %s on" % automatic)
gnubg.command("set rng mersenne")
for length in (1, 3, 5):
    gnubg.command("set seed %d" % length)
    gnubg.command("new match %d" % length)
    gnubg.command("play")
    for game in range(len(gnubg.match(0, 0, 0, 0)["games"])):
        gnubg.navigate()
        if game:
            gnubg.navigate(game=game)
        while gnubg.navigate(next=1) is None:
            tell(gnubg.gnubgid())
"""


def random_states(seed: int, offers: bool) -> list[MatchState]:
    """Random states of games in progress, with or without an unanswered offer."""
    random = np.random.default_rng(seed)
    states: list[MatchState] = []
    while len(states) < COUNT:
        side = Side(int(random.integers(2)))
        length = max(int(random.integers(-8, 16)), 0)
        scores = tuple(map(int, random.integers(0, max(length, 1), 2)))
        away = [length - score for score in scores]
        is_crawford = bool(length and (away[0] == 1) != (away[1] == 1) and random.integers(2))
        owner = None if is_crawford or random.integers(2) else Side(int(random.integers(2)))
        fields: dict[str, Any] = {"length": length, "scores": scores, "is_crawford": is_crawford, "cube_owner": owner}
        fields |= {"cube_value": 1 if owner is None else 2 ** int(random.integers(1, 7)), "on_roll": side}
        fields |= {"is_jacoby": not length and bool(random.integers(2)), "to_decide": side}
        if not offers:
            roll = ROLLS[random.integers(21)] if random.integers(3) else None
            states.append(MatchState(roll=roll, **fields))
        elif not is_crawford and not (length and owner == side.other):
            is_beaver = owner == side.other and (fields["cube_value"] == 2 or bool(random.integers(2)))
            doubled = MatchState(**fields | {"is_double_offered": True, "to_decide": side if is_beaver else side.other})
            resigned = {"resigned": int(random.integers(1, 4)), "to_decide": side.other}
            states += [doubled, MatchState(roll=ROLLS[random.integers(21)], **fields | resigned)]
    return states


def random_positions(seed: int) -> list[Position]:
    games = random_game_positions(100, seed=seed)
    chosen = np.random.default_rng(seed).choice(len(games.boards), COUNT, replace=False)
    return [Position(board) for board in games.boards[chosen].tolist()]


def gnubg_states(command: str, texts: Sequence[str], folder: Path) -> list[Any]:
    (folder / "questions.json").write_text(json.dumps(texts))
    return [json.loads(answer) for answer in ask_gnubg(PREAMBLE + f"COMMAND = {command!r}" + STATES, folder)]


def gnubg_match(match: MatchState) -> tuple[dict[str, Any], dict[str, Any]]:
    """A match as the dictionaries of gnubg's Python module."""
    cube: dict[str, Any] = {
        "cube": match.cube_value,
        "cubeowner": -1 if match.cube_owner is None else int(match.cube_owner),
    }
    cube |= {"move": int(match.on_roll), "matchto": match.length, "score": list(match.scores)}
    cube |= {"crawford": int(match.is_crawford), "jacoby": int(match.is_jacoby)}
    place = {"dice": [match.roll.high, match.roll.low] if match.roll else [0, 0], "turn": int(match.to_decide)}
    place |= {"resigned": match.resigned, "doubled": int(match.is_double_offered), "gamestate": int(match.game_state)}
    return cube, place


@needs_gnubg_tool("gnubg")
def test_match_ids_match_gnubg(tmp_path: Path) -> None:
    states = random_states(1, offers=False) + random_states(2, offers=True)
    assert {state.offer for state in states} == set(Offer)
    (tmp_path / "questions.json").write_text(json.dumps(list(map(gnubg_match, states))))
    assert ask_gnubg(PREAMBLE + MATCH_IDS, tmp_path) == list(map(format_match_id, states))


@needs_gnubg_tool("gnubg")
def test_gnubg_reads_our_gnubg_ids(tmp_path: Path) -> None:
    states = random_states(3, offers=False)
    positions = random_positions(3)
    texts = list(map(format_gnubg_id, positions, states))
    answers = gnubg_states("set gnubgid", texts, tmp_path)
    for text, state, position, (back, cube, place, board) in zip(texts, states, positions, answers, strict=True):
        our_cube, our_place = gnubg_match(state)
        assert back == text
        assert {name: cube[name] for name in our_cube} == our_cube
        assert {name: place[name] for name in our_place} == our_place
        assert Position.from_rows(*board) == position


@needs_gnubg_tool("gnubg")
def test_gnubg_reads_our_xgids(tmp_path: Path) -> None:
    states = random_states(4, offers=False)
    positions = random_positions(4)
    answers = gnubg_states("set xgid", [str(Xgid(p, s)) for p, s in zip(positions, states, strict=True)], tmp_path)
    for state, position, (back, *_) in zip(states, positions, answers, strict=True):
        their_position, theirs = parse_gnubg_id(back)
        assert their_position == position
        assert (theirs.stakes, theirs.roll) == (state.stakes, state.roll)
        if state.on_roll == Side.BOTTOM:
            assert theirs == state
        else:  # gnubg asks whether to turn the board, and gets no answer
            assert (theirs.on_roll, theirs.scores) == (Side.BOTTOM, state.scores[::-1])


@needs_gnubg_tool("gnubg")
def test_states_of_gnubg_games_are_parsed_back(tmp_path: Path) -> None:
    texts = ask_gnubg(PREAMBLE + GAMES, tmp_path)
    states = [parse_gnubg_id(text) for text in texts]
    assert [format_gnubg_id(*state) for state in states] == texts
    matches = [match for _, match in states]
    assert len(texts) > 300
    assert {match.game_state for match in matches} >= {GameState.PLAYING, GameState.OVER, GameState.DROPPED}
    assert any(match.offer == Offer.DOUBLE for match in matches)
    assert any(match.is_crawford for match in matches)

"""Match IDs and XGIDs against gnubg: random states both ways, and every state of games that gnubg plays."""

import json
import random
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

COUNT = 400  # states that gnubg is asked about

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


def random_states(seed: int, *, with_offers: bool) -> list[MatchState]:
    """Random states of games in progress, with or without an unanswered offer."""
    generator = random.Random(seed)
    states: list[MatchState] = []
    while len(states) < COUNT:
        on_roll = generator.choice(list(Side))
        length = max(generator.randrange(-8, 16), 0)  # a third are money games
        scores = (generator.randrange(max(length, 1)), generator.randrange(max(length, 1)))
        one_side_is_1_away = (scores[0] == length - 1) != (scores[1] == length - 1)
        is_crawford = length > 0 and one_side_is_1_away and generator.random() < 0.5
        owner = None if is_crawford else generator.choice([None, None, *Side])
        fields: dict[str, Any] = {
            "on_roll": on_roll,
            "to_decide": on_roll,
            "length": length,
            "scores": scores,
            "is_crawford": is_crawford,
            "is_jacoby": not length and generator.random() < 0.5,
            "cube_owner": owner,
            "cube_value": 1 if owner is None else 2 ** generator.randrange(1, 7),
        }
        if not with_offers:
            states.append(MatchState(roll=generator.choice([None, *ROLLS]), **fields))
        elif not is_crawford and not (length and owner == on_roll.other):
            may_be_raccoon = fields["cube_value"] > 2
            is_beaver = owner == on_roll.other and not (may_be_raccoon and generator.random() < 0.5)
            answering = on_roll if is_beaver else on_roll.other
            states.append(MatchState(**fields | {"is_double_offered": True, "to_decide": answering}))
            resigned = fields | {"resigned": generator.randrange(1, 4), "to_decide": on_roll.other}
            states.append(MatchState(roll=generator.choice(ROLLS), **resigned))
    return states


def random_positions(seed: int) -> list[Position]:
    games = random_game_positions(100, seed=seed)
    chosen = np.random.default_rng(seed).choice(len(games.boards), COUNT, replace=False)
    return [Position(board) for board in games.boards[chosen].tolist()]


def gnubg_states(command: str, texts: Sequence[str], folder: Path) -> list[Any]:
    (folder / "questions.json").write_text(json.dumps(texts))
    return [json.loads(answer) for answer in ask_gnubg(PREAMBLE + f"COMMAND = {command!r}" + STATES, folder)]


def gnubg_match(match: MatchState) -> tuple[dict[str, Any], dict[str, Any]]:
    """A match as the dictionaries of gnubg's Python module: of the cube, and of the position."""
    cube = {
        "cube": match.cube_value,
        "cubeowner": -1 if match.cube_owner is None else int(match.cube_owner),
        "move": int(match.on_roll),
        "matchto": match.length,
        "score": list(match.scores),
        "crawford": int(match.is_crawford),
        "jacoby": int(match.is_jacoby),
    }
    position = {
        "dice": [match.roll.high, match.roll.low] if match.roll else [0, 0],
        "turn": int(match.to_decide),
        "resigned": match.resigned,
        "doubled": int(match.is_double_offered),
        "gamestate": int(match.game_state),
    }
    return cube, position


@needs_gnubg_tool("gnubg")
def test_match_ids_match_gnubg(tmp_path: Path) -> None:
    states = random_states(1, with_offers=False) + random_states(2, with_offers=True)
    assert {state.offer for state in states} == set(Offer)
    (tmp_path / "questions.json").write_text(json.dumps(list(map(gnubg_match, states))))
    assert ask_gnubg(PREAMBLE + MATCH_IDS, tmp_path) == list(map(format_match_id, states))


@needs_gnubg_tool("gnubg")
def test_gnubg_reads_our_gnubg_ids(tmp_path: Path) -> None:
    states = random_states(3, with_offers=False)
    positions = random_positions(3)
    answers = gnubg_states("set gnubgid", list(map(format_gnubg_id, positions, states)), tmp_path)
    for state, position, answer in zip(states, positions, answers, strict=True):
        gnubg_id, gnubg_cube, gnubg_position, rows = answer
        cube, fields = gnubg_match(state)
        assert gnubg_id == format_gnubg_id(position, state)
        assert gnubg_cube | cube == gnubg_cube
        assert gnubg_position | fields == gnubg_position
        assert Position.from_rows(*rows) == position


@needs_gnubg_tool("gnubg")
def test_gnubg_reads_our_xgids(tmp_path: Path) -> None:
    states = random_states(4, with_offers=False)
    positions = random_positions(4)
    answers = gnubg_states("set xgid", [str(xgid) for xgid in map(Xgid, positions, states)], tmp_path)
    for state, position, (gnubg_id, *_) in zip(states, positions, answers, strict=True):
        gnubg_position, gnubg_state = parse_gnubg_id(gnubg_id)
        assert gnubg_position == position
        assert gnubg_state.stakes == state.stakes
        assert gnubg_state.roll == state.roll
        if state.on_roll == Side.BOTTOM:
            assert gnubg_state == state
        else:  # gnubg asks whether to turn the board, and gets no answer
            assert (gnubg_state.on_roll, gnubg_state.scores) == (Side.BOTTOM, state.scores[::-1])


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

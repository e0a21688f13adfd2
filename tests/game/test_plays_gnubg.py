"""Legal plays against gnubg: the same positions."""

from pathlib import Path

import numpy as np

from bgdata.game.dice import ROLLS, roll_of
from bgdata.game.plays import find_play, legal_plays
from bgdata.game.position import START, Position
from tests.game.gnubg_rules import gnubg_plays
from tests.game.test_plays import PLAYS_FROM_START
from tests.oracles import needs_gnubg_tool
from tests.random_games import random_game_positions

COMPARED_POSITIONS = 2000


@needs_gnubg_tool("gnubg")
def test_plays_match_gnubg(tmp_path: Path) -> None:
    games = random_game_positions(400, seed=20)
    chosen = np.random.default_rng(20).choice(len(games.boards), COMPARED_POSITIONS, replace=False)
    positions = [Position(board) for board in games.boards[chosen].tolist()]
    dice = games.rolls[chosen].tolist()
    questions = [(position.id, *roll) for position, roll in zip(positions, dice, strict=True)]
    answers = gnubg_plays(questions, tmp_path)
    for position, roll, texts in zip(positions, dice, answers, strict=True):
        plays = legal_plays(position, roll_of(*roll))
        theirs = [find_play(text, plays) for text in texts or ["no play"]]
        assert len(theirs) == len(plays), (position, roll)
        assert set(theirs) == set(plays), (position, roll)


@needs_gnubg_tool("gnubg")
def test_number_of_plays_from_the_start_matches_gnubg(tmp_path: Path) -> None:
    answers = gnubg_plays([(START.id, roll.high, roll.low) for roll in ROLLS], tmp_path)
    assert [len(texts) for texts in answers] == PLAYS_FROM_START

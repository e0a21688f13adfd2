"""Games with the cube, for tests of their analysis."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from bgdata.equity.cube import CubeRules
from bgdata.equity.doubling import janowski
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.matches.acts import Act, ActKind, JudgedGame, RecordedGame
from bgdata.matches.judging import Analyst, judge_game, whole_game
from bgdata.selfplay.series import CubefulCorpus, CubefulRules, CubeSide, cubeful_self_play
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import pips_player, random_player

KINDS = (ActKind.ROLL, ActKind.DOUBLE, ActKind.TAKE, ActKind.PASS)
OWNERS = (CubeOwner.CENTERED, CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
MONEY = Stakes(Money(is_jacoby=False))


def analyst(ply: int = 0, rules: CubeRules | None = None) -> Analyst:
    """An analyst with a small network."""
    return Analyst(LookaheadPlayer(pips_player(), ply), CubeRules(met=published_met()) if rules is None else rules)


def judge_whole_game(by: Analyst, game: RecordedGame) -> JudgedGame:
    """Judge a whole game."""
    return whole_game(by, game, list(judge_game(by, game)))


@lru_cache
def play_games(length: int, count: int = 3, *, is_jacoby: bool = False) -> tuple[RecordedGame, ...]:
    """Games of matches, or money games if `length` is 0, that a weak network plays with the cube."""
    rules = CubefulRules(length, is_jacoby, published_met() if length else None)
    sides = CubeSide(janowski(0.0)), CubeSide(janowski(1.0), as_money=True)
    corpus = cubeful_self_play(random_player(0).chooser, sides, rules, count, 5)
    return tuple(game_of(corpus, number, rules) for number in range(len(corpus.results.games)))


def game_of(corpus: CubefulCorpus, number: int, rules: CubefulRules) -> RecordedGame:
    """One game of a corpus as acts, ready to be judged."""
    score_0, score_1, is_crawford, winner, points, *_ = corpus.results.games[number].tolist()
    rows = slice(*corpus.first_turns[number : number + 2].tolist())

    def stakes(player: int, cube: Cube) -> Stakes:
        away = rules.length - score_0, rules.length - score_1
        own, other = away if player == 0 else away[::-1]
        return Stakes(MatchScore(own, other, bool(is_crawford)) if rules.length else Money(rules.is_jacoby), cube)

    acts = []
    turns = zip(corpus.boards[rows], corpus.after_play[rows], corpus.records[rows].tolist(), strict=True)
    for board, after, (player, action, on_roll, die, other, value, owner) in turns:
        dice = (die, other) if die else None
        stakes_before = stakes(on_roll, Cube(value, OWNERS[owner]))
        acts.append(Act(KINDS[action], player, on_roll, board, stakes_before, dice, after if dice else None))
    return RecordedGame(stakes(0, Cube()), acts, points * (1 - 2 * winner))


def bearoff_board(own: list[int], other: list[int]) -> np.ndarray:
    """A board with the checkers of each side on its points 1, 2, ..."""
    board = np.zeros(26, np.int8)
    board[1 : 1 + len(own)] = own
    board[24 - np.arange(len(other))] = -np.array(other)
    return board

"""Slow reference implementation of games with the cube: one turn after the other, in plain Python, directly from the
rules."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bgdata.game.dice import Roll, roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from tests.reference.cube import MatchReference, janowski_equity, mean_points
from tests.reference.games import points_lost, stream_bits
from tests.reference.self_play import Evaluator, flipped

Board = list[int]
Chances = Sequence[float]
MAX_CUBE = 64
TURNED = {"centered": "centered", "on_roll": "opponent", "opponent": "on_roll"}


class Score(NamedTuple):
    """Points that the player on roll and the opponent need; 0 in money play."""

    away: int
    opponent_away: int
    is_crawford: bool


# (chances, cube, owner for the player on roll, score) -> values of no double, a take and a pass to that player
Model = Callable[[Chances, int, str, Score], tuple[float, float, float]]
# (board, chances, cube, owner for the player on roll, score) -> worth to that player before the roll
Value = Callable[[Board, Chances, int, str, Score], float]
# (player, board, roll, cube, owner and score as the player sees them) -> board after the play, still for the player
Chooser = Callable[[int, Board, Roll, int, str, Score], Board]


class Turn(NamedTuple):
    """A play or a cube action, and the state before it."""

    player: int
    action: str
    on_roll: int
    dice: tuple[int, int]
    cube: int
    owner: str
    board: Board
    after_play: Board


class Game(NamedTuple):
    """A game of a match."""

    scores: tuple[int, int]
    is_crawford: bool
    winner: int
    points: int
    cube: int
    way: int  # 0: a pass
    turns: list[Turn]


def janowski(index: float, *, is_jacoby: bool = False) -> Model:
    """The money model for any score."""

    def model(chances: Chances, _cube: int, owner: str, _score: Score) -> tuple[float, float, float]:
        situation = mean_points(chances)
        now = janowski_equity(*situation, owner, (index, index), is_jacoby)
        return now, 2 * janowski_equity(*situation, "opponent", (index, index)), 1.0

    return model


def match_janowski(index: float, mwc: Callable[[int, int, bool], float]) -> Model:
    """The match model; mwc before a game by (away, opponent_away, whether it is after the Crawford game)."""

    def model(chances: Chances, cube: int, owner: str, score: Score) -> tuple[float, float, float]:
        win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
        won, lost = max(win, 1e-12), max(1 - win, 1e-12)
        shares = [
            min(share, 1.0)
            for share in (win_gammon / won, win_backgammon / won, lose_gammon / lost, lose_backgammon / lost)
        ]
        reference = MatchReference(mwc, score.away, score.opponent_away, shares)

        def mixed(value: int, whose: str) -> float:
            return index * reference.live(value, whose, win) + (1 - index) * reference.dead(value, win)

        if score.away <= cube:  # a higher cube could only cost the player more
            return mixed(cube, owner), -1.0, 1.0
        return mixed(cube, owner), mixed(2 * cube, "opponent"), reference.after(cube)

    return model


def cubeless(_board: Board, chances: Chances, _cube: int, _owner: str, _score: Score) -> float:
    """Value for a player who ignores the cube when choosing plays."""
    win, mean_win, mean_loss = mean_points(chances)
    return win * mean_win - (1 - win) * mean_loss


def cubeful(model: Model, dead: Model | None = None) -> Value:
    """Value by a model with the best cube actions of both sides. In the Crawford game, where nobody doubles, the dead
    cube is used if given, else none."""

    def value(board: Board, chances: Chances, cube: int, owner: str, score: Score) -> float:
        if score.is_crawford:
            return dead(chances, cube, owner, score)[0] if dead else cubeless(board, chances, cube, owner, score)
        now, taken, passed = model(chances, cube, owner, score)
        return now if owner == "opponent" else max(now, min(taken, passed))

    return value


def play_match(
    evaluate: Evaluator,
    models: tuple[Model, Model],
    length: int,
    seed: int,
    match: int,
    *,
    is_jacoby: bool = False,
    values: tuple[Value | None, Value | None] = (None, None),
    choose: Chooser | None = None,
) -> list[Game]:
    """The games of a match, or one money game. Each player has a model and a value for choosing plays (None: cubeless
    equity). A chooser, if given, chooses the plays instead."""
    games: list[Game] = []
    scores = [0, 0]
    while True:
        away = length - scores[0], length - scores[1]
        is_crawford = bool(length) and sorted(away)[0] == 1 < max(away) and not any(game.is_crawford for game in games)
        place = seed, match, len(games)
        game = play_game(
            evaluate, models, (*away, is_crawford), place, is_jacoby=is_jacoby, values=values, choose=choose
        )
        games.append(game._replace(scores=(scores[0], scores[1])))
        scores[game.winner] += game.points
        if max(scores) >= length:
            return games


def play_game(
    evaluate: Evaluator,
    models: tuple[Model, Model],
    score: tuple[int, int, bool],
    place: tuple[int, int, int],
    *,
    is_jacoby: bool,
    values: tuple[Value | None, Value | None],
    choose: Chooser | None,
) -> Game:
    """One game; `score` as player 0 sees it; `place` is (seed, match, number in the match)."""
    seed, match, number = place
    board, cube, owner, turns = list(START.board), 1, -1, list[Turn]()
    player, rolls = 0, 0
    is_money = score[0] == score[1] == 0
    while True:
        bits = stream_bits(seed, match, number * 2**20 + rolls) >> 32
        possible = [(a, b) for a in range(1, 7) for b in range(1, 7) if rolls or a != b]
        dice = possible[bits * len(possible) >> 32]
        if rolls == 0:
            player = 0 if dice[0] > dice[1] else 1
        elif owner != 1 - player and cube < MAX_CUBE and not score[2]:
            (chances,), _ = evaluate([board])
            seen = Score(*(score[:2] if player == 0 else score[1::-1]), score[2])
            whose = "centered" if owner < 0 else "on_roll"
            now, taken, passed = models[player](chances, cube, whose, seen)
            if min(taken, passed) >= now:
                turns.append(Turn(player, "double", player, (0, 0), cube, whose, board, board))
                _, taken, passed = models[1 - player](chances, cube, whose, seen)
                is_taken = taken < passed
                turns.append(turns[-1]._replace(player=1 - player, action="take" if is_taken else "pass"))
                if not is_taken:
                    return Game((0, 0), score[2], player, cube, cube, 0, turns)
                cube, owner = 2 * cube, 1 - player
        whose = "centered" if owner < 0 else ("on_roll" if owner == player else "opponent")
        mine = Score(*(score[:2] if player == 0 else score[1::-1]), score[2])
        if choose:
            after = choose(player, board, roll_of(*dice), cube, whose, mine)
        else:
            after = best_play(evaluate, values[player], board, roll_of(*dice), (cube, TURNED[whose]), mine)
        turns.append(Turn(player, "play", player, dice, cube, whose, board, after))
        if not any(count > 0 for count in after[1:]):
            way = 1 if is_money and is_jacoby and owner < 0 else points_lost(after)
            return Game((0, 0), score[2], player, way * cube, cube, way, turns)
        board, player, rolls = flipped(after), 1 - player, rolls + 1


def best_play(
    evaluate: Evaluator, value: Value | None, board: Board, roll: Roll, cube: tuple[int, str], score: Score
) -> Board:
    """The board after the play with the lowest worth for the opponent; ties go to the lowest equity. The owner of the
    cube is as the opponent sees it, the score as the player does."""
    plays = [list(play.after_play.board) for play in legal_plays(Position(board), roll)]
    replies = [flipped(play) for play in plays]
    found, equities = evaluate(replies)
    worth, theirs = equities, Score(score.opponent_away, score.away, score.is_crawford)
    if value is not None:
        worth = [value(*reply, *cube, theirs) for reply in zip(replies, found, strict=True)]
    return plays[min(range(len(plays)), key=lambda place: (worth[place], equities[place]))]

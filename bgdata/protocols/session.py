"""Sessions of games between two sides, without the cube, for money, or in a match; and records of what is played.

Side 0, our own side in games against others, is the left column of a .mat file. A session knows the rules and the dice;
its callers make the decisions. The dice depend on the seed, the game and the number of rolls before, not on cube
actions or undo. They equal the dice of match 0 with the same seed in `selfplay.cubeful_games`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from bgdata.errors import InvalidScoreError
from bgdata.formats.matches import JACOBY, Game, Match, RecordedMove, Turn, TurnKind
from bgdata.game.classes import game_outcome
from bgdata.game.dice import Roll, roll_of
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import Play
from bgdata.game.position import START, Position

ELSEWHERE = ("Note", "begun elsewhere: the first turns of game {number} are not here")


class State(NamedTuple):
    """A position before any action, for the player on roll, who is 0 (ourselves) or 1 (the other side)."""

    player: int
    position: Position


def rules_info(score: MatchScore | Money | None) -> list[tuple[str, str]]:
    """Return pairs (name, value) that state the rules in a match file, such as the Jacoby rule."""
    return [JACOBY] if isinstance(score, Money) and score.is_jacoby else []


@dataclass
class Record:
    """The part of a match that was observed. A `length` of 0 means an unlimited match."""

    players: tuple[str, str]
    length: int
    games: list[Game] = field(default_factory=list)
    info: list[tuple[str, str]] = field(default_factory=list)
    is_open: bool = False  # the last game is unfinished
    _states: list[State | None] = field(
        default_factory=list
    )  # state after each turn of the last game; None while a double is unanswered

    @property
    def match(self) -> Match:
        """The record in the form that `formats` writes to files."""
        return Match(self.players, self.length, tuple(self.games), tuple(self.info))

    @property
    def last_act(self) -> tuple[int, TurnKind] | None:
        """The player and the kind of the last turn in the last game; None before its first turn."""
        turns = self.games[-1].turns if self.games else ()
        return (turns[-1].player, turns[-1].kind) if turns else None

    def begin_game(self, score: tuple[int, int]) -> None:
        """Begin a new game that is observed from its first roll."""
        self.games.append(Game(len(self.games) + 1, score))
        self._states, self.is_open = [], True

    def add_play(self, player: int, dice: tuple[int, int], play: Play) -> None:
        """Add a roll and its play to the current game. The play may have no moves."""
        moves = tuple(RecordedMove(*move) for move in play.moves)
        self._add(Turn(player, TurnKind.PLAY, dice, moves), State(1 - player, play.next_position))

    def add_cube(self, player: int, kind: TurnKind, cube_value: int | None = None) -> None:
        """Add a double, or an answer to one, to the current game."""
        self._add(Turn(player, kind, cube_value=cube_value), None)

    def finish(self, winner: int, points: int, *, is_certain: bool = False) -> None:
        """Finish the current game. A game that is already finished keeps its result unless `is_certain` is true."""
        if self.is_open or is_certain:
            self.games[-1] = replace(self.games[-1], winner=winner, points=points)
            self.is_open = False

    def resume(self, state: State, score: tuple[int, int], *, is_doubled: bool) -> None:
        """Continue a game from `state`. Turns that the other side did not receive are dropped; a game that began
        elsewhere is recorded without its beginning."""
        begun = [State(0, START), State(1, START)]
        known: list[State | None] = [*self._states]
        if self.is_open and self.games[-1].score == score:
            while known and known[-1] not in (state, None):
                known.pop()
            while known and known[-1] is None and not is_doubled:  # drop an unanswered double
                if self.games[-1].turns[len(known) - 1].kind is not TurnKind.DOUBLE:
                    break
                known.pop()
            if known or state in begun:
                self.take_back(len(known))
                return
        self.begin_game(score)
        if state not in begun:
            self.note_missing_start()

    def has_been_in(self, state: State) -> bool:
        """Return whether the last game has been in `state`."""
        return state in self._states

    def go_back(self, state: State) -> bool:
        """Drop the turns since the last game was in `state`. Returns False if the game was never in this state."""
        if not self.has_been_in(state):
            return False
        self.take_back(len(self._states) - self._states[::-1].index(state))
        return True

    def take_back(self, count: int) -> None:
        """Keep only the first `count` turns of the last game, which is then unfinished."""
        self.games[-1] = replace(self.games[-1], turns=self.games[-1].turns[:count], winner=None, points=None)
        self._states, self.is_open = self._states[:count], True

    def note_missing_start(self) -> None:
        """Note that the first turns of the last game are missing."""
        self.info.append((ELSEWHERE[0], ELSEWHERE[1].format(number=len(self.games))))

    def _add(self, turn: Turn, state: State | None) -> None:
        if self.is_open:
            self.games[-1] = replace(self.games[-1], turns=(*self.games[-1].turns, turn))
            self._states.append(state)


class DecisionKind(StrEnum):
    """The kinds of decisions that a side makes."""

    TURN = "turn"  # whether to double before the roll
    ANSWER = "answer"  # answer to a double
    BEAVER = "beaver"  # whether to take a beaver
    PLAY = "play"  # play of the roll


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a game before a decision. Position and stakes are from the point of view of the side on roll. During
    a beaver the opponent owns the doubled cube."""

    position: Position
    on_roll: int
    stakes: Stakes | None = None  # None without the cube
    kind: DecisionKind = DecisionKind.PLAY
    rolls: int = 0  # number of rolls played before, in this game
    acts: int = 0  # number of acts of this game in the record

    @property
    def side(self) -> int:
        """The number of the side that decides."""
        return 1 - self.on_roll if self.kind is DecisionKind.ANSWER else self.on_roll


class Ending(NamedTuple):
    """How a game ended: who won, and how many points."""

    winner: int
    size: int  # 1 to 3: single game, gammon, backgammon; 0 for a passed double
    points: int


@dataclass
class Session:
    """Games between two sides with the dice of a seed. `score` is the score before the first game, from side 0's point
    of view. If it is None, one game is played without the cube; if it is Money, one game with the cube. Raises
    InvalidScoreError for a match with unequal scores, because a record has only one length."""

    seed: int
    players: tuple[str, str]
    score: MatchScore | Money | None = None
    has_beavers: bool = False
    points: tuple[int, int] = field(init=False, default=(0, 0))  # points of each side
    is_left: bool = field(init=False, default=False)  # whether a side left the session
    ending: Ending | None = field(init=False)  # how this game ended
    record: Record = field(init=False)
    now: Moment = field(init=False)
    decisions: list[Moment] = field(init=False)  # decisions of this game, for `undo`

    def __post_init__(self) -> None:
        if isinstance(self.score, MatchScore) and self.score.away != self.score.opponent_away:
            raise InvalidScoreError(f"expected a match from its beginning, got {self.score}")
        length = self.score.away if isinstance(self.score, MatchScore) else 0
        self.record = Record(self.players, length, info=rules_info(self.score))
        self._begin_game()

    @property
    def game(self) -> int:
        """The number of the current game, from 1."""
        return len(self.record.games)

    @property
    def is_over(self) -> bool:
        """Whether all games of the session have been played."""
        return self.ending is not None and (not self.record.length or max(self.points) >= self.record.length)

    def dice(self) -> tuple[int, int]:
        """Return the next dice, as rolled. The first dice of a game are one die of each side, side 0 first, and
        differ."""
        from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
        from bgdata.selfplay.cubeful_games import GAME_TURNS

        stream = np.uint64(random_stream(self.seed, 0))
        bits = np.uint64(random_bits(stream, GAME_TURNS * (self.game - 1) + self.now.rolls))
        return dice_of(bits) if self.now.rolls else opening_dice_of(bits)

    @property
    def roll(self) -> Roll:
        """The next dice as a roll."""
        return roll_of(*self.dice())

    @property
    def may_beaver(self) -> bool:
        """Whether the side that answers a double may beaver."""
        from bgdata.selfplay.cubeful_games import MAX_CUBE

        stakes = self.now.stakes
        if stakes is None or not self.has_beavers or not isinstance(stakes.score, Money):
            return False
        return 4 * stakes.cube.value <= MAX_CUBE

    @property
    def why_no_double(self) -> str:
        """The reason why the side on roll may not double now; empty if it may double."""
        if self.now.kind is DecisionKind.TURN or self.now.stakes is None:
            return ""
        if not self.now.rolls:
            return "the first roll of a game decides who begins"
        return _why_no_turn(self.now.stakes) or "the dice are rolled"

    # decisions

    def keep(self) -> None:
        """Remember the current state, so that `undo` can go back to it."""
        self.decisions.append(self.now)

    def undo(self) -> bool:
        """Go back to the last state that `keep` remembered. Returns False if there is none."""
        if not self.decisions:
            return False
        self.now = self.decisions.pop()
        self.record.take_back(self.now.acts)
        return True

    def roll_dice(self) -> None:
        """Roll the dice, without offering a double first."""
        self.now = replace(self.now, kind=DecisionKind.PLAY)

    def make(self, play: Play) -> None:
        """Make a play of the roll, and turn the board to the other side."""
        now, position = self.now, play.next_position
        self.record.add_play(now.on_roll, self.dice(), play)
        stakes = now.stakes.flip() if now.stakes else None
        kind = DecisionKind.PLAY if stakes is None or _why_no_turn(stakes) else DecisionKind.TURN
        self.now = Moment(position, 1 - now.on_roll, stakes, kind, now.rolls + 1, now.acts + 1)
        if outcome := game_outcome(position):
            self._end(now.on_roll, -outcome)

    def double(self) -> None:
        """Offer the doubled cube to the other side."""
        self._add(TurnKind.DOUBLE, 2)
        self.now = replace(self.now, kind=DecisionKind.ANSWER)

    def take(self) -> None:
        """Take a double or a beaver. Match files do not contain the take of a beaver."""
        stakes = _stakes(self.now)
        if self.now.kind is DecisionKind.BEAVER:
            stakes = replace(stakes, cube=Cube(2 * stakes.cube.value, CubeOwner.OPPONENT))
        else:
            self._add(TurnKind.TAKE)
            stakes = stakes.after_take()
        self.now = replace(self.now, stakes=stakes, kind=DecisionKind.PLAY)

    def beaver(self) -> None:
        """Redouble at once after being doubled, and keep the cube."""
        self._add(TurnKind.BEAVER, 4)
        self.now = replace(self.now, stakes=_stakes(self.now).after_take(), kind=DecisionKind.BEAVER)

    def pass_double(self) -> None:
        """Pass a double or a beaver, which ends the game."""
        winner = 1 - self.now.side
        self._add(TurnKind.PASS)
        self._end(winner, 0)

    def resign(self, size: int) -> None:
        """End the game by an accepted resignation of a single game, gammon or backgammon (1 to 3)."""
        self._end(1 - self.now.side, size)

    def begin_next(self) -> None:
        """Begin the next game of the match."""
        assert self.ending
        assert isinstance(self.score, MatchScore)
        won = self.ending.points if self.ending.winner == 0 else -self.ending.points
        self.score = self.score.after_game(won)
        self._begin_game()

    def _begin_game(self) -> None:
        self.record.begin_game(self.points)
        self.ending, self.decisions, self.now = None, [], Moment(START, 0)
        first, second = self.dice()
        side = int(first < second)
        stakes = Stakes(self.score) if self.score else None
        self.now = Moment(START, side, stakes.flip() if stakes and side else stakes)

    def _add(self, kind: TurnKind, factor: int = 0) -> None:
        """Add a cube action to the record. A double or beaver offers the cube at `factor` times its value."""
        value = factor * _stakes(self.now).cube.value or None
        self.record.add_cube(self.now.side, kind, value)
        self.now = replace(self.now, acts=self.now.acts + 1)

    def _end(self, winner: int, size: int) -> None:
        stakes = self.now.stakes
        points = size if stakes is None else stakes.points(size) if size else stakes.cube.value
        self.ending = Ending(winner, size, points)
        self.record.finish(winner, points)
        own, other = self.points
        self.points = (own, other + points) if winner else (own + points, other)


def _stakes(now: Moment) -> Stakes:
    assert now.stakes is not None  # cube decisions have stakes
    return now.stakes


def _why_no_turn(stakes: Stakes) -> str:
    """Return the reason why the player on roll cannot double before the roll; empty if it can double."""
    from bgdata.equity.cube import why_no_double
    from bgdata.selfplay.cubeful_games import MAX_CUBE

    value = stakes.cube.value
    return why_no_double(stakes) or ("" if 2 * value <= MAX_CUBE else f"the cube shows {value}")

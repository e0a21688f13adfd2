"""Matches with others, recorded turn by turn for a .mat file; the player itself is the left column."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bgdata.formats.matches import JACOBY, Game, Match, RecordedMove, Turn, TurnKind
from bgdata.game.match import MatchScore, Money
from bgdata.game.plays import Play
from bgdata.game.position import START, Position

ELSEWHERE = ("Note", "begun elsewhere: the first turns of game {number} are not here")


class State(NamedTuple):
    """A position seen by the player on roll, who is 0 (itself) or 1, before it does anything."""

    player: int
    position: Position


def info_of(score: MatchScore | Money | None) -> list[tuple[str, str]]:
    """Info lines of a record about the rules: the Jacoby rule."""
    return [JACOBY] if isinstance(score, Money) and score.is_jacoby else []


@dataclass
class Record:
    """A match as far as it was seen; `length` 0 is an unlimited one."""

    players: tuple[str, str]
    length: int
    games: list[Game] = field(default_factory=list)
    info: list[tuple[str, str]] = field(default_factory=list)
    is_open: bool = False  # the last game is going on
    _states: list[State | None] = field(default_factory=list)  # after each turn of it; None: somebody is asked

    @property
    def match(self) -> Match:
        """The match, as formats take it."""
        return Match(self.players, self.length, tuple(self.games), tuple(self.info))

    @property
    def last_act(self) -> tuple[int, TurnKind] | None:
        """Who did what last in the last game; None before its first turn."""
        turns = self.games[-1].turns if self.games else ()
        return (turns[-1].player, turns[-1].kind) if turns else None

    def begin_game(self, score: tuple[int, int]) -> None:
        """A game from its first roll."""
        self.games.append(Game(len(self.games) + 1, score))
        self._states, self.is_open = [], True

    def add_play(self, player: int, dice: tuple[int, int], play: Play) -> None:
        """A roll and its play, which may be none."""
        moves = tuple(RecordedMove(*move) for move in play.moves)
        self._add(Turn(player, TurnKind.PLAY, dice, moves), State(1 - player, play.next_position))

    def add_cube(self, player: int, kind: TurnKind, cube_value: int | None = None) -> None:
        """A double, or an answer to one."""
        self._add(Turn(player, kind, cube_value=cube_value), None)

    def finish(self, winner: int, points: int, *, is_certain: bool = False) -> None:
        """The end of the game that is going on; nothing if it has ended already, unless this is certain."""
        if self.is_open or is_certain:
            self.games[-1] = replace(self.games[-1], winner=winner, points=points)
            self.is_open = False

    def go_on(self, state: State, score: tuple[int, int], *, is_doubled: bool) -> None:
        """Continue a game from this state. Turns that the other side did not get are dropped; a game that was begun
        elsewhere is recorded without its beginning."""
        begun = [State(0, START), State(1, START)]
        known: list[State | None] = [*self._states]
        if self.is_open and self.games[-1].score == score:
            while known and known[-1] not in (state, None):
                known.pop()
            while known and known[-1] is None and not is_doubled:  # an offer that nobody has answered
                if self.games[-1].turns[len(known) - 1].kind is not TurnKind.DOUBLE:
                    break
                known.pop()
            if known or state in begun:
                self.take_back(len(known))
                return
        self.begin_game(score)
        if state not in begun:
            self.note_elsewhere()

    def has(self, state: State) -> bool:
        """Whether the last game has been there."""
        return state in self._states

    def go_back(self, state: State) -> bool:
        """Take back what was done since the last game was there; False if it never was."""
        if not self.has(state):
            return False
        self.take_back(len(self._states) - self._states[::-1].index(state))
        return True

    def take_back(self, count: int) -> None:
        """Leave so many turns of the last game, which goes on."""
        self.games[-1] = replace(self.games[-1], turns=self.games[-1].turns[:count], winner=None, points=None)
        self._states, self.is_open = self._states[:count], True

    def note_elsewhere(self) -> None:
        """Note that the first turns of the last game are missing."""
        self.info.append((ELSEWHERE[0], ELSEWHERE[1].format(number=len(self.games))))

    def _add(self, turn: Turn, state: State | None) -> None:
        if self.is_open:
            self.games[-1] = replace(self.games[-1], turns=(*self.games[-1].turns, turn))
            self._states.append(state)

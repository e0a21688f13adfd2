"""Matches against gnubg, recorded from its questions for a .mat file; the player itself is the left column.

gnubg sends its board where it asks, and no more. What it has rolled and played in between is read from the boards: its
plays are certain, as are rolls, but where several lead to the same board the likeliest is written, and a note counts
them. How a game has ended is told by the score of the next one, so the end of the last is missing unless it was ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from bgdata.formats.matches import Match, TurnKind
from bgdata.game.classes import game_outcome, is_over
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.match import CubeOwner
from bgdata.game.plays import NO_PLAY, Play, legal_plays, parse_play
from bgdata.game.position import START, Position
from bgdata.protocols.external import Exchange, Question, QuestionKind
from bgdata.protocols.record import Record, State, info_of

_FIRST = State(0, START)  # of a game that the player itself begins
_MOST_LETTERS = 40  # of a name, so that two of them fit a line of a .mat file
_NOTE = "game {game}: {open} of {rolls} rolls of {name} may have been others that lead to the same board"


class ExternalRecord:
    """Takes every exchange in turn, over any number of connections."""

    def __init__(self) -> None:
        self._records: list[_MatchRecord] = []

    @property
    def matches(self) -> list[Match]:
        """What was played so far; a match is another one where the players, its length or a lower score tell so."""
        return [record.match for record in self._records]

    def add(self, exchange: Exchange) -> bool:
        """Take an exchange; whether it shows that a game is over."""
        question = exchange.question
        if question is None:
            return False
        record = self._records[-1] if self._records else None
        if record is None or not record.goes_on(question):
            self._records.append(_MatchRecord(question))
            is_over = record is not None
        else:
            is_over = record.begin_next(question)
        self._records[-1].add(question, exchange.reply)
        return is_over or not self._records[-1].is_open


class _MatchRecord:
    """One match or session: turns, where it stands, and which rolls are open."""

    def __init__(self, question: Question) -> None:
        own, other = map(_name, question.players)
        info = info_of(question.stakes.score)
        self._names, self._record = question.players, Record((own, other), question.length, info=info)
        self._rolls: dict[int, list[bool]] = {}  # by game, of each roll of gnubg whether others fit
        self._state: State | None = None  # of the last game; None before its first roll
        self._last: Question | None = None
        self._turns_before = 0  # what the last question was answered by
        self._begin(question.scores)

    @property
    def is_open(self) -> bool:
        """Whether the last game goes on."""
        return self._record.is_open

    @property
    def match(self) -> Match:
        """The match, with notes on rolls that are not certain."""
        match, name = self._record.match, self._record.players[1]
        notes = [
            ("Note", _NOTE.format(game=game, open=sum(rolls), rolls=len(rolls), name=name))
            for game, rolls in self._rolls.items()
            if any(rolls)
        ]
        return replace(match, info=(*match.info, *notes))

    def goes_on(self, question: Question) -> bool:
        """Whether a question can be of this match: the points of either side never fall, and no game has none."""
        score = self._record.games[-1].score
        if question == self._last:
            return True
        if (question.players, question.length) != (self._names, self._record.length):
            return False
        if question.scores == score:
            if score != (0, 0) or not self.is_open:
                return self.is_open
            wanted = _state_of(question)  # the board of a game that begins, or of the one that goes on
            if self._state is None or wanted == self._state or self._reached(wanted) or self._record.has(wanted):
                return True
            return wanted != _FIRST and not _beginnings(wanted)
        return all(now >= before for now, before in zip(question.scores, score, strict=True))

    def begin_next(self, question: Question) -> bool:
        """End the game and begin the next one, if the score shows that."""
        before = self._record.games[-1].score
        gains = [now - then for now, then in zip(question.scores, before, strict=True)]
        if not any(gains):
            return False
        if not all(gains):  # else games were played elsewhere
            self._finish(int(gains[1] > 0), max(gains))
        self._begin(question.scores)
        return True

    def add(self, question: Question, reply: str) -> None:
        """What gnubg has done before it asked this, and what it was answered."""
        if question == self._last and not self._reached(
            _state_of(question)
        ):  # it has not understood, or its user went back to it
            self._record.take_back(self._turns_before)
            self._state = _state_of(question)
        else:
            self._add_theirs(question)
        self._last, self._turns_before = question, len(self._record.games[-1].turns)
        self._add_ours(question, reply)

    def _begin(self, scores: tuple[int, int]) -> None:
        self._record.begin_game(scores)
        self._state = None
        self._rolls[len(self._record.games)] = []

    def _finish(self, winner: int, points: int) -> None:
        """The end of a game as the score tells it: gnubg has passed, if that is what it comes to."""
        turns = self._record.games[-1].turns
        if turns and turns[-1].kind in (TurnKind.DOUBLE, TurnKind.BEAVER) and (turns[-1].player, winner) == (0, 0):
            is_passed = points == (turns[-1].cube_value or 0) // 2
            if is_passed or turns[-1].kind is TurnKind.DOUBLE:
                self._record.add_cube(1, TurnKind.PASS if is_passed else TurnKind.TAKE)
        self._record.finish(winner, points, is_certain=True)

    # what gnubg has done

    def _add_theirs(self, question: Question) -> None:
        wanted = _state_of(question)
        plays = self._reached(wanted)
        if plays:
            self._add_play(plays)
        elif wanted != self._state and (self._state is not None or wanted != _FIRST):
            self._go_elsewhere(wanted, question)
        elif self._record.last_act == (0, TurnKind.DOUBLE) and question.kind is not QuestionKind.ANSWER:
            self._record.add_cube(1, TurnKind.TAKE)
        self._state = wanted
        if question.kind is QuestionKind.ANSWER:
            is_beaver = question.is_beaver or question.stakes.cube.owner == CubeOwner.OPPONENT
            self._record.add_cube(1, TurnKind.BEAVER if is_beaver else TurnKind.DOUBLE, 2 * question.stakes.cube.value)

    def _reached(self, wanted: State) -> list[tuple[Roll, Play]]:
        """The rolls and plays of gnubg that lead to this state, likeliest first."""
        if self._state is None:
            return _beginnings(wanted)
        return (
            list(_ways(self._state.position, wanted.position)) if (self._state.player, wanted.player) == (1, 0) else []
        )

    def _add_play(self, plays: list[tuple[Roll, Play]]) -> None:
        roll, play = plays[0]
        self._record.add_play(1, (roll.high, roll.low), play)
        self._rolls[len(self._record.games)].append(len(plays) > 1)

    def _go_elsewhere(self, wanted: State, question: Question) -> None:
        """Its user went back to a board of this game, or made another one."""
        if not self._record.go_back(wanted):
            if self._record.last_act:
                self._begin(question.scores)
            if plays := _beginnings(wanted):
                self._add_play(plays)
            elif wanted != _FIRST:
                self._record.note_elsewhere()

    # what it was answered

    def _add_ours(self, question: Question, reply: str) -> None:
        value = question.stakes.cube.value
        if question.kind is QuestionKind.ANSWER:  # gnubg does not write the take of a beaver
            if reply == "beaver":
                self._record.add_cube(0, TurnKind.BEAVER, 4 * value)
            elif reply == "drop":
                self._record.add_cube(0, TurnKind.PASS)
                self._record.finish(1, value)
            elif self._record.last_act == (1, TurnKind.DOUBLE):
                self._record.add_cube(0, TurnKind.TAKE)
        elif question.roll is not None:
            play = parse_play(reply or NO_PLAY, question.position, question.roll)
            self._record.add_play(0, (question.roll.high, question.roll.low), play)
            self._state = State(1, play.next_position)
            if is_over(play.next_position):
                self._record.finish(0, question.stakes.points(-game_outcome(play.next_position)))
        elif reply == "double":
            self._record.add_cube(0, TurnKind.DOUBLE, 2 * value)


def _state_of(question: Question) -> State:
    """Who is on roll, and the position: gnubg has doubled, unless it answers with a beaver."""
    return State(int(question.kind is QuestionKind.ANSWER and not question.is_beaver), question.position)


def _beginnings(wanted: State) -> list[tuple[Roll, Play]]:
    """The first rolls of a game, and their plays, that lead to where the other side is on roll."""
    return [] if wanted.player else [way for way in _ways(START, wanted.position) if not way[0].is_double]


def _ways(before: Position, after: Position) -> Iterator[tuple[Roll, Play]]:
    """Rolls with a play that leads from one position to the next, likeliest first."""
    used_pips = before.pip_count - after.opponent_pip_count
    for roll in sorted(ROLLS, key=lambda each: each.is_double):
        if sum(roll.dice) >= used_pips >= 0:
            found = next((play for play in legal_plays(before, roll) if play.next_position == after), None)
            if found:
                yield roll, found


def _name(text: str) -> str:
    """A name that a .mat file can hold."""
    return re.sub(r"[^\w.-]+", "_", text)[:_MOST_LETTERS] or "_"

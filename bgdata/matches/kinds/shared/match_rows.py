"""The rows of one replayed match, and how the same match is recognised in another file."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from bgdata.formats.lines import Intake
from bgdata.formats.matches import BAR_POINT, SUBJECTS, Choice, Game, Match, Note, RecordedMove, TurnKind, missing_parts
from bgdata.formats.replay import ReplayedFile, ReplayedTurn
from bgdata.game.dice import roll_of
from bgdata.game.plays import Play, legal_plays
from bgdata.selfplay.kinds.shared.games import ACTIONS
from bgdata.selfplay.kinds.shared.games_compute import OWNERS
from bgdata.store.arrays import Array

MAX_MOVES = 4
BOARD_LENGTH = 26
NO_MOVE = (-1, -1, -1)
FEW_ROLLS = 10  # matches with fewer rolls are the same only if the names of players are
PLAYED = (TurnKind.PLAY, TurnKind.DOUBLE)  # kinds of turns that every format records in the same way
NAN = math.nan


class ForeignAnalysis(NamedTuple):
    """One row of the analysis that a file contains for a turn. `turn` is the index of the turn in its match; `values`
    are the value and five chances, NaN if unknown."""

    turn: int
    subject: int
    analyst: str
    level: str
    choice: int
    text: str
    is_made: bool | None
    values: tuple[float, ...]
    is_mwc: bool


class Step(NamedTuple):
    """A play or double in a game, by which games are compared. It contains the player, and the sorted dice and the
    board after it as bytes."""

    player: int
    content: bytes


@dataclass
class MatchRows:
    """The rows of one match. `match` contains its games without turns; `games` do not contain the number of their match
    yet; `steps` are the plays and doubles of each game."""

    match: Match
    played: str
    steps: list[list[Step]] = field(default_factory=list)
    games: list[tuple[int, ...]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # turns up to the end of each game
    boards: Array = field(default_factory=lambda: np.zeros((0, 26), np.int8))
    turns: Array = field(default_factory=lambda: np.zeros((0, 7), np.int32))
    moves: Array = field(default_factory=lambda: np.zeros((0, MAX_MOVES, 3), np.int8))
    plays: list[str] = field(default_factory=list)
    notes: list[tuple[int, Note]] = field(default_factory=list)  # (game, note)
    analyses: list[ForeignAnalysis] = field(default_factory=list)
    files: int = 1  # number of files that contain the match

    def add(self, other: MatchRows, source: str) -> None:
        """Add the analyses that another file, `source`, contains of the same match."""
        self.files += 1
        self.notes.append((0, Note(1, f"the same match is in {source}")))
        if not other.analyses:
            return
        places = {key: turn for turn, key in enumerate(self.turn_keys())}
        moved = [places.get(key) for key in other.turn_keys()]
        known = {(each.turn, each.subject, each.analyst, each.choice) for each in self.analyses}
        for each in other.analyses:
            turn = moved[each.turn]
            if turn is not None and (turn, each.subject, each.analyst, each.choice) not in known:
                self.analyses.append(each._replace(turn=turn))

    def turn_keys(self) -> Iterator[tuple[object, ...]]:
        """Yield a key for each turn of the match, which is the same whatever the file's format."""
        begin = 0
        for game, end in enumerate(self.ends):
            for turn in range(begin, end):
                _, action, _, *dice, _, _ = self.turns[turn].tolist()
                yield game, action, self.boards[turn].tobytes(), tuple(sorted(dice))
            begin = end


@dataclass(frozen=True)
class MatchRowsFile(Intake):
    """The rows of all matches in one file."""

    name: str
    matches: tuple[MatchRows, ...]


def file_rows(file: ReplayedFile, name: str) -> MatchRowsFile:
    """Return the rows of all matches in a replayed file, without matches that have no games."""
    found = (
        match_rows(match, [file.replays[game.units.start] for game in match.games])
        for match in file.matches
        if match.games
    )
    return MatchRowsFile(file.ledger, name, tuple(found))


def match_rows(match: Match, replays: Sequence[Sequence[ReplayedTurn]]) -> MatchRows:
    """Return the rows of a match, from the replayed turns of its games."""
    steps = [played_steps(replayed) for replayed in replays]
    bare = tuple(replace(game, turns=()) for game in match.games)
    found = MatchRows(replace(match, games=bare), played_hash(match, steps), steps)
    entries = [entry for replayed in replays for entry in replayed]
    for number, (game, missing, replayed) in enumerate(zip(match.games, missing_parts(match), replays, strict=True)):
        found.games.append(_game_row(match, game))
        found.ends.append((found.ends[-1] if found.ends else 0) + len(replayed))
        found.notes += [(number, note) for note in (*game.notes, *missing)]
    found.boards = np.array([entry.position.board for entry in entries], np.int8).reshape(-1, 26)
    found.turns = np.array([_turn_row(entry) for entry in entries], np.int32).reshape(-1, 7)
    moves = [moves_of(entry) for entry in entries]
    padded = [[*each, *[NO_MOVE] * (MAX_MOVES - len(each))] for each in moves]
    found.moves = np.array(padded, np.int8).reshape(-1, MAX_MOVES, 3)
    found.plays = [sys.intern(str(entry.play)) if entry.play else "" for entry in entries]
    found.analyses = [each for turn, entry in enumerate(entries) for each in foreign_analyses_of(turn, entry)]
    return found


def _game_row(match: Match, game: Game) -> tuple[int, ...]:
    winner = None if game.points is None else game.winner  # a winner is stored only together with points
    unknown = [-1 if value is None else int(value) for value in (game.is_crawford, winner, game.points)]
    return (game.number, match.length, *game.score, *unknown)


def _turn_row(entry: ReplayedTurn) -> tuple[int, ...]:
    die1, die2 = entry.turn.dice or (0, 0)
    action, owner = ACTIONS.index(entry.turn.kind), OWNERS.index(entry.cube.owner)
    return (entry.turn.player, action, entry.on_roll, die1, die2, entry.cube.value, owner)


def moves_of(entry: ReplayedTurn) -> list[tuple[int, int, int]]:
    """Return the checker moves of a turn in the file's order. If the format does not record hits, they follow from the
    board."""
    unhit = set(entry.play.hit_points if entry.play else ())
    moves = []
    for move in entry.turn.checker_moves:
        is_hit = move.to_point in unhit if move.is_hit is None else move.is_hit
        unhit.discard(move.to_point)
        moves.append((move.from_point, move.to_point, int(is_hit)))
    return moves


def played_steps(replayed: Sequence[ReplayedTurn]) -> list[Step]:
    """Return the plays and doubles among the turns of a game."""
    found = []
    for entry in replayed:
        turn = entry.turn
        if turn.kind not in PLAYED or (turn.kind is TurnKind.PLAY and entry.play is None):
            continue
        after = entry.play.after_play if entry.play else entry.position
        found.append(Step(turn.player, bytes(sorted(turn.dice or ())) + np.array(after.board, np.int8).tobytes()))
    return found


def played_hash(match: Match, games: Iterable[Sequence[Step]]) -> str:
    """Return 32 hexadecimal digits that identify what was played: the rolls with their plays, the doubles and the match
    length. Names, columns, and facts that only some formats record, such as resignations, do not count. If there are
    few rolls, the digits depend on names too."""
    found, rolls, first = hashlib.sha256(str(match.length).encode()), 0, None
    for steps in games:
        found.update(b"game")
        for step in steps:
            first = step.player if first is None else first
            rolls += len(step.content) > BOARD_LENGTH
            found.update(bytes([step.player ^ first]) + step.content)
    if rolls < FEW_ROLLS:
        found.update("\0".join(sorted(match.players)).encode(errors="replace"))
    return found.hexdigest()[:32]


def foreign_analyses_of(turn: int, entry: ReplayedTurn) -> Iterator[ForeignAnalysis]:
    """Yield the rows of a file's analysis of a turn, with plays in the usual notation. `turn` is its index in the
    match."""
    for analysis in entry.turn.analyses:
        texts = [choice.text for choice in analysis.choices]
        if analysis.subject == "play" and entry.turn.dice:
            texts = play_texts(entry, analysis.choices)
        for number, (text, choice) in enumerate(zip(texts, analysis.choices, strict=True)):
            found = (choice.equity, *(choice.chances or (None,) * 5))
            values = tuple(NAN if value is None else value for value in found)
            by = (SUBJECTS.index(analysis.subject), analysis.analyst, choice.level or analysis.level)
            yield ForeignAnalysis(turn, *by, number, text, choice.is_made, values, analysis.is_mwc)


def play_texts(entry: ReplayedTurn, choices: Sequence[Choice]) -> list[str]:
    """Return the plays of an analysis in the usual notation. An illegal play is returned as the file writes it."""
    by_change: dict[tuple[tuple[int, int], ...], list[Play]] = {}
    for play in legal_plays(entry.position, roll_of(*entry.turn.dice or (1, 1))):
        by_change.setdefault(_change((move.start, move.end) for move in play.moves), []).append(play)
    texts = []
    for choice in choices:
        moves = choice.moves or ()
        fitting = by_change.get(_change((move.from_point, move.to_point) for move in moves), [])
        landings = {move.to_point for move in moves}
        best = max(fitting, key=partial(_agreement, landings), default=None)
        texts.append(str(best) if best and choice.moves is not None else choice.text or moves_text(moves))
    return texts


def _agreement(landings: set[int], play: Play) -> int:
    """Return the number of hits of a play on points that its recorded moves land on, minus the number of other hits."""
    return len(play.hit_points & landings) - len(play.hit_points - landings)


def _change(moves: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    counts: dict[int, int] = {}
    for start, end in moves:
        counts[start] = counts.get(start, 0) - 1
        counts[end] = counts.get(end, 0) + 1
    return tuple(sorted((point, count) for point, count in counts.items() if count))


def moves_text(moves: Sequence[RecordedMove]) -> str:
    """Return checker moves as text, for plays that are not legal."""
    names = {BAR_POINT: "bar", 0: "off"}
    return " ".join("/".join(names.get(point, str(point)) for point in move[:2]) for move in moves)

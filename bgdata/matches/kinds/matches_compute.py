"""Replays recorded matches, and quarantines games that break a rule."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CorruptFileError
from bgdata.formats.lines import check_is_text, plain_text, read_bytes
from bgdata.formats.mat import parse_mat
from bgdata.formats.matches import Game, Match, MatchFile, Note, RecordedMove, Turn, TurnKind, breaks
from bgdata.formats.replay import ReplayedFile, ReplayedTurn, replay_file
from bgdata.formats.sgf import parse_sgf
from bgdata.game.board_kernels import position_classes
from bgdata.imports.kinds.shared.imports import QUARANTINE, ImportParameters
from bgdata.imports.kinds.shared.imports_compute import WholeFilesComputation
from bgdata.kinds.column_values import chosen_texts, text_arrays, text_column
from bgdata.matches.kinds.matches import GAME_NOTES
from bgdata.selfplay.kinds.shared.games import ACTIONS
from bgdata.selfplay.kinds.shared.games_compute import OWNERS, corpus_column, game_columns, turn_columns, turn_places
from bgdata.store.arrays import Array
from bgdata.store.dataset import Computed
from bgdata.store.manifest import Source, unpacked_name

MAX_MOVES = 4
OFFERED = {"double": 2, "beaver": 4}  # factor of the cube before the turn
NO_MOVE = (-1, -1, -1)
NOTES = "notes"  # the statistic that counts them
CUBE_COLUMN = 5  # column of the array `turns`: the cube before the turn
SAMPLE = """ 1 point match

 Game 1
 left : 0                   right : 0
  1) 31: 8/5 6/5                 65: 24/18 18/13
      Wins 1 point and the match
"""


@dataclass
class Collected:
    """The rows of all games, in lists."""

    players: list[tuple[str, str]] = field(default_factory=list)
    games: list[tuple[int, ...]] = field(default_factory=list)
    first_turns: list[int] = field(default_factory=lambda: [0])
    boards: list[tuple[int, ...]] = field(default_factory=list)
    turns: list[tuple[int, ...]] = field(default_factory=list)
    moves: list[list[tuple[int, int, int]]] = field(default_factory=list)  # as written
    plays: list[str] = field(default_factory=list)
    notes: list[tuple[int, int, Note]] = field(default_factory=list)  # (game, file, note)

    def add_notes(self, source: int, notes: Sequence[Note]) -> None:
        """Append the notes on the game that was added last."""
        self.notes += [(len(self.games) - 1, source, note) for note in notes]

    def add(self, number: int, match: Match, game: Game, replayed: list[ReplayedTurn]) -> None:
        """Append the rows of one game."""
        for entry in replayed:
            die1, die2 = entry.turn.dice or (0, 0)
            action, owner = ACTIONS.index(entry.turn.kind), OWNERS.index(entry.cube.owner)
            self.boards.append(entry.position.board)
            moves = moves_of(entry)
            self.moves.append([*moves, *[NO_MOVE] * (MAX_MOVES - len(moves))])
            self.turns.append((entry.turn.player, action, entry.on_roll, die1, die2, entry.cube.value, owner))
            self.plays.append(str(entry.play) if entry.play else "")
        winner = None if game.points is None else game.winner  # a winner is stored only with its points
        unknown = [-1 if value is None else int(value) for value in (game.is_crawford, winner, game.points)]
        self.games.append((number, game.number, match.length, *game.score, *unknown))
        self.players.append(match.players)
        self.first_turns.append(len(self.turns))


def moves_of(entry: ReplayedTurn) -> list[tuple[int, int, int]]:
    """The checker moves of a turn as written, with hits from the board if the format lacks them."""
    unhit = set(entry.play.hit_points if entry.play else ())
    moves = []
    for move in entry.turn.checker_moves:
        is_hit = move.to_point in unhit if move.is_hit is None else move.is_hit
        unhit.discard(move.to_point)
        moves.append((move.from_point, move.to_point, int(is_hit)))
    return moves


class MatchesComputation(WholeFilesComputation):
    """Computation of `matches`."""

    sample = ("sample.mat", SAMPLE)

    def parse(self, source: Source) -> ReplayedFile:
        return replay_file(parse_matches(source.file.name, source.content))

    def has_rows(self, intake: Any) -> bool:
        return any(match.games for match in intake.matches)

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        rows = Collected()
        matches = [(source, match) for source, intake in enumerate(intakes) for match in intake.matches]
        for number, (source, match) in enumerate(matches):
            for game, missing in zip(match.games, breaks(match), strict=True):
                rows.add(number, match, game, intakes[source].replays[game.units.start])
                rows.add_notes(source, (*game.notes, *missing))
        boards = np.array(rows.boards, np.int8).reshape(-1, 26)
        return {
            "games": np.array(rows.games, np.int32).reshape(-1, 8),
            "first_turns": np.array(rows.first_turns, np.int64),
            "turn_boards": boards,
            "turn_classes": position_classes(boards).astype(np.uint8),
            "turn_moves": np.array(rows.moves, np.int8).reshape(-1, MAX_MOVES, 3),
            "turns": np.array(rows.turns, np.int32).reshape(-1, 7),
            **text_arrays("players", [name for names in rows.players for name in names]),
            **text_arrays("plays", rows.plays),
            **text_arrays("infos", [json.dumps(match.info) for _, match in matches]),
            "note_games": np.array([game for game, _, _ in rows.notes], np.int32),
            "note_sources": np.array([source for _, source, _ in rows.notes], np.uint16),
            "note_lines": np.array([note.line for _, _, note in rows.notes], np.int32),
            **text_arrays("notes", [note.text for _, _, note in rows.notes]),
        }

    def batches(self, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        names = text_column(arrays, "players").to_pylist()
        players = pa.array(names[::2], pa.string()), pa.array(names[1::2], pa.string())
        n_turns = np.diff(arrays["first_turns"])
        found = game_columns(0, np.asarray(arrays["games"]), n_turns, players)
        yield pa.record_batch(found | corpus_column(self.kind, computed.parameters, len(n_turns)))

    def side_batches(self, name: str, computed: Computed[ImportParameters]) -> Iterator[pa.RecordBatch]:
        if name == QUARANTINE.name:
            return super().side_batches(name, computed)
        if name == GAME_NOTES.name:
            return note_rows(computed.arrays)
        corpus = corpus_column(self.kind, computed.parameters, len(computed.arrays["turns"]))
        return iter([pa.record_batch(turn_rows(computed.arrays) | corpus)])

    def statistics(self, computed: Computed[ImportParameters]) -> Mapping[str, float]:
        return {**super().statistics(computed), NOTES: len(computed.arrays["note_games"])}


def read_matches(path: Path) -> MatchFile:
    """The matches of a .mat or .sgf file as written, not replayed. Raises the errors of `lines.read_bytes`, and
    CorruptFileError for a binary file of another program."""
    return parse_matches(path.name, read_bytes(path))


def parse_matches(name: str, content: bytes) -> MatchFile:
    """The matches in the content of a file, as written. Content is .sgf if it begins like it, or has such a name and a
    game tree; else .mat. Raises CorruptFileError for a binary file of another program."""
    check_is_text(content, name)
    is_called_sgf = unpacked_name(name.lower()).endswith(".sgf")
    text = plain_text(content)
    is_sgf = _SGF.match(text) or (is_called_sgf and _TREE.search(text))
    return parse_sgf(text) if is_sgf else parse_mat(text)


_TREE = re.compile(rb"\(\s*;")
_SGF = re.compile(rb"(?:\xef\xbb\xbf)?\s*" + _TREE.pattern)


def note_texts(arrays: Mapping[str, Array]) -> list[str]:
    """The notes of a version, each with its file and line."""
    names, texts = text_column(arrays, "sources").to_pylist(), text_column(arrays, "notes").to_pylist()
    places = zip(arrays["note_sources"].tolist(), arrays["note_lines"].tolist(), texts, strict=True)
    return [f"{names[source]}, line {line}: {text}" for source, line, text in places]


def note_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """The rows of the table `game_notes`."""
    columns = {
        "game": pa.array(arrays["note_games"]),
        "note": pa.array(np.arange(len(arrays["note_games"]), dtype=np.int32)),
        "source": chosen_texts(text_column(arrays, "sources"), arrays["note_sources"].astype(np.int32)),
        "line": pa.array(arrays["note_lines"]),
        "text": text_column(arrays, "notes"),
    }
    yield pa.record_batch(columns)


def turn_rows(arrays: Mapping[str, Array]) -> dict[str, pa.Array]:
    """The columns of the table `turns`, but `corpus`."""
    games, turns = turn_places(arrays["first_turns"], slice(0, len(arrays["turns"])))
    records, boards, classes = (np.asarray(arrays[name]) for name in ("turns", "turn_boards", "turn_classes"))
    plays = text_column(arrays, "plays")
    return turn_columns(games, turns, records, boards, classes, plays)


def matches_of(arrays: Mapping[str, Array]) -> Iterator[Match]:
    """The matches, to be written as files."""
    names = text_column(arrays, "players").to_pylist()
    infos = match_infos(arrays)
    rows = arrays["games"].tolist()
    for number, games in groupby(range(len(rows)), key=lambda index: rows[index][0]):
        indexes = list(games)
        players = (names[2 * indexes[0]], names[2 * indexes[0] + 1])
        found = tuple(game_of(arrays, index) for index in indexes)
        yield Match(players, rows[indexes[0]][2], found, infos[number])


def match_infos(arrays: Mapping[str, Array]) -> list[tuple[tuple[str, str], ...]]:
    """What else the file says about each match, as (name, value) pairs. Raises CorruptFileError."""
    try:
        return [tuple(map(tuple, json.loads(text))) for text in text_column(arrays, "infos").to_pylist()]
    except (TypeError, ValueError) as error:
        raise CorruptFileError(f"expected pairs in JSON in infos.npy, found others: {error}") from None


def game_of(arrays: Mapping[str, Array], index: int) -> Game:
    """One game, from the arrays."""
    _, number, _, score_0, score_1, *unknown = arrays["games"][index].tolist()
    crawford, winner, points = (None if value < 0 else value for value in unknown)
    is_crawford = None if crawford is None else bool(crawford)
    turns, cube_value = turns_of(arrays, index), first_cube(arrays, index)
    return Game(number, (score_0, score_1), turns, winner, points, is_crawford, cube_value=cube_value)


def first_cube(arrays: Mapping[str, Array], game: int) -> int:
    """The cube before the first turn of a game: above 1 after automatic doubles, 1 without turns."""
    start, end = arrays["first_turns"][game : game + 2].tolist()
    return int(arrays["turns"][start, CUBE_COLUMN]) if start < end else 1


def turns_of(arrays: Mapping[str, Array], game: int) -> tuple[Turn, ...]:
    """The turns of one game, from the arrays."""
    found = []
    start, end = arrays["first_turns"][game : game + 2].tolist()
    for row, moves in zip(arrays["turns"][start:end].tolist(), arrays["turn_moves"][start:end].tolist(), strict=True):
        player, action, _, die1, die2, cube, _ = row
        kind = TurnKind(ACTIONS[action])
        offered = cube * OFFERED[kind] if kind in OFFERED else None
        written = [RecordedMove(a, b, None if hits < 0 else bool(hits)) for a, b, hits in moves if a >= 0]
        found.append(Turn(player, kind, (die1, die2) if die1 else None, tuple(written), offered))
    return tuple(found)


COMPUTATION = MatchesComputation

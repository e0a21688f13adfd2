"""Replays recorded matches, quarantines games that break a rule, and keeps every match once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CorruptFileError, TooLargeError
from bgdata.formats.lines import Ledger, split_lines
from bgdata.formats.match_files import LONGEST_NAME, holds_matches, parse_matches
from bgdata.formats.matches import SUBJECTS, Game, Match, MatchFile, RecordedMove, Turn, TurnKind
from bgdata.formats.replay import replay_file
from bgdata.formats.unpacking import packed_facts, packing_error, read_content
from bgdata.game.board_kernels import position_classes
from bgdata.imports.kinds.shared.imports import QUARANTINE, ImportParameters
from bgdata.imports.kinds.shared.imports_compute import WholeFilesComputation
from bgdata.kinds.column_values import CHANCES, numbers_or_null, select_texts, text_arrays, text_column
from bgdata.matches.kinds.matches import FOREIGN_ANALYSIS, GAME_NOTES, IMPORTED_MATCHES, MatchesParameters
from bgdata.matches.kinds.shared.joined_games import join_games
from bgdata.matches.kinds.shared.match_rows import ForeignAnalysis, MatchRows, MatchRowsFile, file_rows
from bgdata.selfplay.kinds.shared.games import ACTIONS
from bgdata.selfplay.kinds.shared.games_compute import corpus_column, game_columns, turn_columns, turn_places
from bgdata.store.arrays import Array
from bgdata.store.dataset import Computed
from bgdata.store.manifest import Source, unpacked_name

OFFERED = {"double": 2, "beaver": 4}  # factor of the offered cube to the cube before the turn
NOTES, MATCHES, DUPLICATES = "notes", "matches", "duplicates"  # statistics that count notes, matches and duplicates
UNITS = ("points", "mwc")
DATES, EVENTS, PLACES = ("eventdate", "dt", "date"), ("event", "ev"), ("site", "place", "pc", "city")  # names in files
CUBE_COLUMN = 5  # column of the array `turns`: the cube before the turn
SAMPLE = """ 1 point match

 Game 1
 left : 0                   right : 0
  1) 31: 8/5 6/5                 65: 24/18 18/13
      Wins 1 point and the match
"""


class MatchesComputation(WholeFilesComputation):
    """Computes `matches`: reads files of matches, and replays every game."""

    sample = ("sample.mat", SAMPLE)

    def holds(self, path: Path) -> bool:
        """Return whether the name of a file in a folder says that the file contains matches."""
        return holds_matches(path) or packing_error(path) is not None

    def read_file(self, path: Path) -> Source:
        """Read a file once. The content of a file that cannot be unpacked is a `MatchFile` that says why. Raises the
        errors of `read_content` for a pipe, and StorageError for a file that cannot be read."""
        try:
            content, facts = read_content(path)
        except (CorruptFileError, TooLargeError) as error:
            if not path.is_file():
                raise
            reason = str(packing_error(path) or error).replace(str(path), path.name)
            return Source(self.raw_file(path, packed_facts(path)), set_aside(b"", reason))
        return Source(self.raw_file(path, facts), content)

    def parse(self, source: Source, parameters: ImportParameters) -> MatchRowsFile:
        assert isinstance(parameters, MatchesParameters)
        file = source.content
        if not isinstance(file, MatchFile):
            try:
                file = parse_matches(source.file.name, source.content, parameters.encoding)
            except CorruptFileError as error:  # the file is binary; other files may be good
                file = set_aside(source.content[:16], str(error))
        return file_rows(replay_file(file), unpacked_name(source.file.name))

    def has_rows(self, intake: Any) -> bool:
        return bool(intake.matches)

    def arrays_of(self, intakes: Sequence[Any]) -> dict[str, Array]:
        return match_arrays(distinct_matches(join_games(intakes)))

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
        rows = {
            GAME_NOTES.name: note_rows,
            IMPORTED_MATCHES.name: imported_rows,
            FOREIGN_ANALYSIS.name: foreign_analysis_rows,
        }
        if name in rows:
            return rows[name](computed.arrays)
        corpus = corpus_column(self.kind, computed.parameters, len(computed.arrays["turns"]))
        return iter([pa.record_batch(turn_rows(computed.arrays) | corpus)])

    def statistics(self, computed: Computed[ImportParameters]) -> Mapping[str, float]:
        files = computed.arrays["match_sources"][:, 1]
        counts = {MATCHES: len(files), DUPLICATES: int((files - 1).sum()), NOTES: len(computed.arrays["note_games"])}
        return {**super().statistics(computed), **counts}


def set_aside(head: bytes, reason: str) -> MatchFile:
    """Return a file without matches, whose first bytes are one line that is quarantined for the reason."""
    ledger = Ledger(split_lines(head.replace(b"\n", b" ") or b" "))
    ledger.reject([0], reason)
    return MatchFile(ledger, ())


def distinct_matches(intakes: Sequence[MatchRowsFile]) -> list[tuple[int, MatchRows]]:
    """Return each different match once, with the index of the first file that contains it. What other files say about
    the match is added."""
    found: dict[str, tuple[int, MatchRows]] = {}
    for source, intake in enumerate(intakes):
        for match in intake.matches:
            if match.played in found:
                found[match.played][1].add(match, intake.name)
            else:
                found[match.played] = source, match
    return list(found.values())


def match_arrays(found: Sequence[tuple[int, MatchRows]]) -> dict[str, Array]:
    """Return the arrays of these matches, each given with the index of its file."""
    matches = [match for _, match in found]
    games = [(number, *game) for number, match in enumerate(matches) for game in match.games]
    n_turns = [n for match in matches for n in np.diff([0, *match.ends])]
    first_game = np.cumsum([0, *(len(match.games) for match in matches)])
    notes = [
        (first_game[number] + game, source, note)
        for number, (source, match) in enumerate(found)
        for game, note in match.notes
    ]
    boards = np.concatenate([np.zeros((0, 26), np.int8), *(match.boards for match in matches)])
    return {
        "games": np.array(games, np.int32).reshape(-1, 8),
        "first_turns": np.cumsum([0, *n_turns]).astype(np.int64),
        "turn_boards": boards,
        "turn_classes": position_classes(boards).astype(np.uint8),
        "turn_moves": np.concatenate([np.zeros((0, 4, 3), np.int8), *(match.moves for match in matches)]),
        "turns": np.concatenate([np.zeros((0, 7), np.int32), *(match.turns for match in matches)]),
        **text_arrays("players", [name for match in matches for _ in match.games for name in match.match.players]),
        **text_arrays("plays", [play for match in matches for play in match.plays]),
        **text_arrays("infos", [json.dumps(match.match.info) for match in matches]),
        **text_arrays("forms", [match.match.form for match in matches]),
        **text_arrays("played", [match.played for match in matches]),
        "match_sources": np.array([(source, match.files) for source, match in found], np.int32).reshape(-1, 2),
        "note_games": np.array([game for game, _, _ in notes], np.int32),
        "note_sources": np.array([source for _, source, _ in notes], np.uint16),
        "note_lines": np.array([note.line for _, _, note in notes], np.int32),
        **text_arrays("notes", [note.text for _, _, note in notes]),
        **foreign_analysis_arrays(matches),
    }


def foreign_analysis_arrays(matches: Sequence[MatchRows]) -> dict[str, Array]:
    """Return the arrays of the analyses that files contain, in order of turns."""
    first, found = 0, list[tuple[int, ForeignAnalysis]]()
    for match in matches:
        found += sorted((first + each.turn, each) for each in match.analyses)
        first += len(match.turns)
    analysts: dict[str, int] = {}
    rows = [
        (
            turn, each.subject, analysts.setdefault(json.dumps([each.analyst, each.level]), len(analysts)), each.choice,
            -1 if each.is_made is None else int(each.is_made), int(each.is_mwc),
        )
        for turn, each in found
    ]  # fmt: skip
    return {
        "said": np.array(rows, np.int32).reshape(-1, 6),
        "said_values": np.array([each.values for _, each in found], np.float32).reshape(-1, 6),
        **text_arrays("said_texts", [each.text for _, each in found]),
        **text_arrays("analysts", list(analysts)),
    }


def note_texts(arrays: Mapping[str, Array]) -> list[str]:
    """Return the notes on an import's games, each with its file and line."""
    names, texts = text_column(arrays, "sources").to_pylist(), text_column(arrays, "notes").to_pylist()
    places = zip(arrays["note_sources"].tolist(), arrays["note_lines"].tolist(), texts, strict=True)
    return [f"{names[source]}, line {line}: {text}" for source, line, text in places]


def note_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `game_notes`."""
    columns = {
        "game": pa.array(arrays["note_games"]),
        "note": pa.array(np.arange(len(arrays["note_games"]), dtype=np.int32)),
        "source": select_texts(text_column(arrays, "sources"), arrays["note_sources"].astype(np.int32)),
        "line": pa.array(arrays["note_lines"]),
        "text": text_column(arrays, "notes"),
    }
    yield pa.record_batch(columns)


def imported_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `imported_matches`."""
    infos = match_infos(arrays)
    games = np.asarray(arrays["games"])
    first = np.searchsorted(games[:, 0], np.arange(len(infos)))
    names = text_column(arrays, "players").to_pylist()
    said = [{name.lower(): value for name, value in reversed(info)} for info in infos]
    columns = {
        "match": pa.array(np.arange(len(infos), dtype=np.int32)),
        "source": select_texts(text_column(arrays, "sources"), np.asarray(arrays["match_sources"])[:, 0]),
        "format": text_column(arrays, "forms"),
        "player_0": pa.array([names[2 * game] for game in first], pa.string()),
        "player_1": pa.array([names[2 * game + 1] for game in first], pa.string()),
        "match_length": pa.array(games[first, 2].astype(np.int16)),
        "n_games": pa.array(np.bincount(games[:, 0], minlength=len(infos)).astype(np.int32)),
        "date": pa.array([_first_of(each, DATES) for each in said], pa.string()),
        "event": pa.array([_first_of(each, EVENTS) for each in said], pa.string()),
        "place": pa.array([_first_of(each, PLACES) for each in said], pa.string()),
        "info": text_column(arrays, "infos"),
        "played": text_column(arrays, "played"),
        "n_files": pa.array(np.ascontiguousarray(np.asarray(arrays["match_sources"])[:, 1])),
    }
    yield pa.record_batch(columns)


def _first_of(said: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((said[name][:LONGEST_NAME] for name in names if said.get(name)), None)


def foreign_analysis_rows(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the table `foreign_analysis`."""
    turns, subjects, analysts, choices, made, is_mwc = np.asarray(arrays["said"]).T
    games = np.searchsorted(arrays["first_turns"], turns, side="right") - 1
    try:
        by = [tuple(map(str, json.loads(text))) for text in text_column(arrays, "analysts").to_pylist()]
        named = pa.array([name for name, _ in by], pa.string()), pa.array([level for _, level in by], pa.string())
    except (TypeError, ValueError) as error:
        raise CorruptFileError(f"expected pairs in JSON in analysts.npy, found others: {error}") from None
    values = np.asarray(arrays["said_values"])
    units = np.where(subjects == SUBJECTS.index("comment"), 2, is_mwc)
    columns = {
        "game": pa.array(games.astype(np.int32)),
        "turn": pa.array((turns - np.asarray(arrays["first_turns"])[games]).astype(np.int32)),
        "subject": select_texts(pa.array(SUBJECTS), subjects),
        "analyst": select_texts(named[0], analysts),
        "choice": pa.array(choices.astype(np.int16)),
        "level": select_texts(named[1], analysts),
        "text": text_column(arrays, "said_texts"),
        "is_made": pa.array(made == 1, mask=made < 0),
        "value": numbers_or_null(values[:, 0].astype(np.float64)),
        "unit": select_texts(pa.array([*UNITS, ""]), units),
        **{name: numbers_or_null(values[:, number]) for number, name in enumerate(CHANCES, 1)},
    }
    yield pa.record_batch(columns)


def turn_rows(arrays: Mapping[str, Array]) -> dict[str, pa.Array]:
    """Return the columns of the table `turns` except `corpus`."""
    games, turns = turn_places(arrays["first_turns"], slice(0, len(arrays["turns"])))
    records, boards, classes = (np.asarray(arrays[name]) for name in ("turns", "turn_boards", "turn_classes"))
    plays = text_column(arrays, "plays")
    return turn_columns(games, turns, records, boards, classes, plays)


def matches_of(arrays: Mapping[str, Array], numbers: Iterable[int] | None = None) -> Iterator[Match]:
    """Yield the matches with these numbers, or all, in the form in which they are written as files."""
    column = np.asarray(arrays["games"])[:, 0]
    for number in dict.fromkeys(column.tolist()) if numbers is None else numbers:
        begin, end = np.searchsorted(column, [number, number + 1]).tolist()
        first, second = text_column(arrays, "players", slice(2 * begin, 2 * begin + 2)).to_pylist()
        (info,) = match_infos(arrays, slice(number, number + 1))
        games = tuple(game_of(arrays, index) for index in range(begin, end))
        yield Match((first, second), int(arrays["games"][begin, 2]), games, info)


def match_infos(arrays: Mapping[str, Array], rows: slice = slice(None)) -> list[tuple[tuple[str, str], ...]]:
    """Return further facts about each match, as (name, value) pairs from its file. `rows` limits the matches. Raises
    CorruptFileError if the arrays are invalid."""
    try:
        return [tuple(map(tuple, json.loads(text))) for text in text_column(arrays, "infos", rows).to_pylist()]
    except (TypeError, ValueError) as error:
        raise CorruptFileError(f"expected pairs in JSON in infos.npy, found others: {error}") from None


def game_of(arrays: Mapping[str, Array], index: int) -> Game:
    """Return the game with index `index` in the arrays of an import."""
    _, number, _, score_0, score_1, *unknown = arrays["games"][index].tolist()
    crawford, winner, points = (None if value < 0 else value for value in unknown)
    is_crawford = None if crawford is None else bool(crawford)
    turns, cube_value = turns_of(arrays, index), first_cube(arrays, index)
    return Game(number, (score_0, score_1), turns, winner, points, is_crawford, cube_value=cube_value)


def first_cube(arrays: Mapping[str, Array], game: int) -> int:
    """Return the cube value before the first turn of a game: above 1 after automatic doubles, 1 if the game has no
    turns."""
    start, end = arrays["first_turns"][game : game + 2].tolist()
    return int(arrays["turns"][start, CUBE_COLUMN]) if start < end else 1


def turns_of(arrays: Mapping[str, Array], game: int) -> tuple[Turn, ...]:
    """Return the turns of the game with index `game` in the arrays of an import."""
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

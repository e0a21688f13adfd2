"""Joins the games of a match that gnubg exports into files of their own: `final.txt`, `final_002.txt`, and so on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bgdata.formats.match_files import ONE_GAME
from bgdata.formats.matches import Note, missing_parts
from bgdata.matches.kinds.shared.match_rows import MatchRows, MatchRowsFile, played_hash

_STEM = re.compile(r"(.*?)(?:_\d{3,})?(\.\w+)?", re.DOTALL)


def join_games(files: Sequence[MatchRowsFile]) -> list[MatchRowsFile]:
    """Join the games of a match that is spread over several files: they move to the file of its first game. Files
    belong together if their names differ only by a number, and players and length are the same."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for place, file in enumerate(files):
        if len(file.matches) == 1 and file.matches[0].match.form in ONE_GAME:
            match = file.matches[0].match
            stem = _STEM.fullmatch(file.name)
            key = (stem[1] if stem else file.name, match.form, match.players, match.length)
            groups.setdefault(key, []).append(place)
    joined = list(files)
    for places in groups.values():
        places.sort(key=lambda place: files[place].matches[0].match.games[0].number)
        numbers = [files[place].matches[0].match.games[0].number for place in places]
        if len(places) < 2 or len(set(numbers)) < len(numbers):
            continue
        whole = join_rows([(files[place].name, files[place].matches[0]) for place in places])
        for place in places:
            joined[place] = replace(files[place], matches=(whole,) if place == places[0] else ())
    return joined


def join_rows(parts: Sequence[tuple[str, MatchRows]]) -> MatchRows:
    """Join the rows of the games of one match. Each part comes with the name of its file."""
    rows = [part for _, part in parts]
    games = tuple(part.match.games[0] for part in rows)
    match = replace(rows[0].match, games=games)
    steps = [steps for part in rows for steps in part.steps]
    found = MatchRows(match, played_hash(match, steps), steps)
    found.games = [game for part in rows for game in part.games]
    found.ends = np.cumsum([part.ends[-1] for part in rows]).tolist()
    found.boards, found.turns, found.moves = (
        np.concatenate([getattr(part, name) for part in rows]) for name in ("boards", "turns", "moves")
    )
    found.plays = [play for part in rows for play in part.plays]
    first = [0, *found.ends]
    found.analyses = [
        each._replace(turn=first[number] + each.turn) for number, part in enumerate(rows) for each in part.analyses
    ]
    for number, ((name, _), game, missing) in enumerate(zip(parts, games, missing_parts(match), strict=True)):
        where = f", in {name}" if number else ""
        found.notes += [(number, Note(note.line, f"{note.text}{where}")) for note in (*game.notes, *missing)]
    return found

"""The games of imported matches, for kinds that judge them. Only games that are needed are read and replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

import numpy as np

from bgdata.matches.kinds.matches_compute import matches_of
from bgdata.matches.situations import Situation, replayed_situation, with_crawford
from bgdata.store.arrays import Array
from bgdata.store.table import Table


def situations_of(source: Table, games: Iterable[int]) -> Iterator[Situation]:
    """Replay the games of an import that have these numbers, and yield them as acts. Neighbouring games of one match
    are read together. Raises InvalidGameError if a game breaks a rule."""
    arrays = source.arrays()
    column = np.asarray(arrays["games"])[:, 0]
    for number, chosen in groupby(games, key=lambda game: int(column[game])):
        (match,) = matches_of(arrays, [number])
        whole, first = with_crawford(match), int(np.searchsorted(column, number))
        for game in chosen:
            yield replayed_situation(match, whole.games[game - first], source.name, is_jacoby=match.is_jacoby)


def key_of(found: Situation) -> bytes:
    """Return 16 bytes that identify everything in a game on which its judgement depends."""
    digest = hashlib.sha256(repr((found.match.length, found.record.stakes, found.has_beavers)).encode())
    for act in found.record.acts:
        after = b"" if act.after_play is None else act.after_play.tobytes()
        digest.update(repr((act.kind, act.player, act.on_roll, act.stakes, act.dice)).encode())
        digest.update(act.board.tobytes() + b"/" + after)
    return digest.digest()[:16]


def keys_of_games(source: Table, known: Mapping[bytes, Sequence[bytes]]) -> list[bytes]:
    """Return the key of each game of an import. For matches whose `match_digests` are in `known`, keys come from there;
    the other games are replayed. Raises InvalidGameError if a game breaks a rule."""
    matches = match_digests(source.arrays())
    missing = (game for digest, games in matches for game in games if digest not in known)
    replayed = map(key_of, situations_of(source, missing))
    return [
        key
        for digest, games in matches
        for key in (known[digest] if digest in known else [next(replayed) for _ in games])
    ]


def keys_by_match(source: Table, keys: Array) -> dict[bytes, list[bytes]]:
    """Return the keys of the games of each match in an import, by the digest of the match. `keys`, uint8[game, 16], are
    the keys of all games."""
    texts = [key.tobytes() for key in np.asarray(keys)]
    return {digest: texts[games.start : games.stop] for digest, games in match_digests(source.arrays())}


def match_digests(arrays: Mapping[str, Array]) -> list[tuple[bytes, range]]:
    """Return, for each match, a hash of everything in it that `matches_of` reads, except names, and the range of its
    games."""
    games, turns, moves, first = (np.asarray(arrays[name]) for name in ("games", "turns", "turn_moves", "first_turns"))
    infos, ends = np.asarray(arrays["infos"]), [0, *arrays["infos_ends"].tolist()]
    begins = np.flatnonzero(np.diff(games[:, 0], prepend=-1)).tolist()
    found = []
    for begin, end in pairwise([*begins, len(games)]):
        number, turn, last = int(games[begin, 0]), int(first[begin]), int(first[end])
        digest, rows = hashlib.sha256(), slice(turn, last)
        info = infos[ends[number] : ends[number + 1]]
        for part in (games[begin:end, 1:], first[begin : end + 1] - turn, info, turns[rows], moves[rows]):
            digest.update(len(part).to_bytes(8, "big") + part.tobytes())
        found.append((digest.digest(), range(begin, end)))
    return found

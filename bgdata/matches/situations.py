"""Recorded games as acts with their stakes, before they are judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bgdata.errors import InvalidGameError, InvalidScoreError
from bgdata.formats.matches import Game, Match, TurnKind
from bgdata.formats.replay import ReplayedTurn, replay_game
from bgdata.game.match import Cube, MatchScore, Money, Stakes
from bgdata.matches.acts import Act, ActKind, RecordedGame

_KINDS = {
    TurnKind.PLAY: ActKind.ROLL,
    TurnKind.ROLL: ActKind.ROLL,
    TurnKind.DOUBLE: ActKind.DOUBLE,
    TurnKind.BEAVER: ActKind.BEAVER,
    TurnKind.TAKE: ActKind.TAKE,
    TurnKind.PASS: ActKind.PASS,
}


@dataclass(frozen=True)
class Situation:
    """A recorded game as acts, before it is judged. `record` contains the acts; `game` is as in the file, with the
    points won."""

    match: Match
    game: Game
    record: RecordedGame

    @property
    def has_beavers(self) -> bool:
        """Whether somebody beavers in the match or session."""
        return any(turn.kind is TurnKind.BEAVER for game in self.match.games for turn in game.turns)


def replayed_situations(matches: Sequence[Match], source: str, *, is_jacoby: bool | None = None) -> list[Situation]:
    """Replay the games of matches, and return them as acts. `is_jacoby` sets the Jacoby rule of money games; None takes
    it from each record. Raises InvalidGameError if a game breaks a rule or has an invalid score, or if there are no
    games; the message names the game and `source`."""
    found = [
        replayed_situation(match, game, source, is_jacoby=match.is_jacoby if is_jacoby is None else is_jacoby)
        for match in matches
        for game in with_crawford(match).games
    ]
    if not found:
        raise InvalidGameError(f"expected recorded games in {source}, found none")
    return found


def replayed_situation(match: Match, game: Game, source: str, *, is_jacoby: bool) -> Situation:
    """Replay one game, and return it as acts. Raises InvalidGameError if the game breaks a rule or has an invalid
    score; the message names the game and `source`."""
    try:
        replayed = replay_game(match, game)
        game = replayed.game
        stakes = stakes_of(match, game, Cube(game.cube_value), 0, is_jacoby=is_jacoby)
        acts = list(acts_of(match, game, replayed.turns, is_jacoby=is_jacoby))
    except (InvalidGameError, InvalidScoreError) as error:
        raise InvalidGameError(f"{error} (game {game.number} of {source})") from error
    result = None
    if game.winner is not None and game.points is not None:
        result = (1 - 2 * game.winner) * game.points
    return Situation(match, game, RecordedGame(stakes, acts, result))


def with_crawford(match: Match) -> Match:
    """Return the match with its Crawford game marked, if the record does not mark it. The Crawford game is the first
    game in which only one side needs one point, unless a player doubles in it: then the record begins after the
    Crawford game."""
    games, is_past = [], False
    for game in match.games:
        is_at_one = bool(match.length) and (match.length - game.score[0] == 1) != (match.length - game.score[1] == 1)
        may_be_crawford = is_at_one and not is_past and all(turn.kind is not TurnKind.DOUBLE for turn in game.turns)
        is_crawford = may_be_crawford if game.is_crawford is None else game.is_crawford
        games.append(replace(game, is_crawford=is_crawford))
        is_past = is_past or is_at_one
    return replace(match, games=tuple(games))


def stakes_of(match: Match, game: Game, cube: Cube, player: int, *, is_jacoby: bool) -> Stakes:
    """Return the stakes of a game with `cube`, both from the point of view of `player`. Raises InvalidScoreError if the
    score cannot occur."""
    if not match.length:
        return Stakes(Money(is_jacoby), cube)
    own, other = game.score[player], game.score[1 - player]
    return Stakes(MatchScore(match.length - own, match.length - other, bool(game.is_crawford)), cube)


def acts_of(match: Match, game: Game, turns: Sequence[ReplayedTurn], *, is_jacoby: bool) -> Iterator[Act]:
    """Yield the acts among the replayed turns of a game, without resignations. Raises InvalidScoreError if a score
    cannot occur."""
    offered = None
    for replayed in turns:
        turn, play = replayed.turn, replayed.play
        if turn.kind not in _KINDS:
            continue
        kind = _KINDS[turn.kind]
        stakes = stakes_of(match, game, replayed.cube, replayed.on_roll, is_jacoby=is_jacoby)
        if kind in (ActKind.ROLL, ActKind.DOUBLE):
            offered = stakes  # answers have the stakes before the double, even after beavers
        after = np.array(play.after_play.board, np.int8) if play else None
        board = np.array(replayed.position.board, np.int8)
        yield Act(kind, turn.player, replayed.on_roll, board, offered or stakes, turn.dice, after)

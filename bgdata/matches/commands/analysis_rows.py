"""What `bgdata analyze` found as rows: turns, games and players of each match, with plays and cube actions in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from bgdata.game.dice import to_roll
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.game.plays import Play, legal_plays
from bgdata.game.position import Position
from bgdata.matches.analysis.acts import NO_DOUBLE, ActKind, Judged
from bgdata.matches.analysis.totals import Totals, error_mark, luck_mark, totals_of

if TYPE_CHECKING:
    from bgdata.matches.steps import AnalysedGame

SCORE_COLUMNS = (
    *("rolls", "unforced_plays", "cube_decisions", "doubles", "takes", "passes", "luck", "play_loss", "cube_loss"),
    *("normalised_luck", "normalised_play_loss", "normalised_cube_loss"),
    *("play_rating", "cube_rating", "performance_rating"),
)


@dataclass(frozen=True)
class Turn:
    """One judged act; `number` counts from 0 in its game."""

    game: AnalysedGame
    number: int
    judged: Judged

    @property
    def player(self) -> str:
        """The name of the player who acts."""
        return self.game.match.players[self.judged.act.player]

    @property
    def position(self) -> Position:
        """The position before the act, seen by the player on roll."""
        return Position(self.judged.act.board.tolist())

    @cached_property
    def plays(self) -> dict[tuple[int, ...], Play]:
        """The legal plays of the roll by the board after them."""
        dice = self.judged.act.dice
        assert dice is not None
        return {play.after_play.board: play for play in legal_plays(self.position, to_roll(dice))}

    @property
    def play(self) -> Play | None:
        """The play that was made, if one was."""
        act = self.judged.act
        return None if act.dice is None or act.after_play is None else self.plays.get(tuple(act.after_play.tolist()))

    @property
    def best_play(self) -> Play | None:
        """The best play found."""
        roll = self.judged.roll
        return self.plays[tuple(roll.candidates[0].after_play.tolist())] if roll and roll.candidates else None

    @property
    def best_cube_action(self) -> str:
        """What was best with the cube: for the player on roll, with the answer, or for the one who answers."""
        cube = self.judged.cube
        if cube is None:
            return ""
        if self.judged.best_answer:
            return str(self.judged.best_answer)
        return cube.best_action

    @property
    def made_cube_action(self) -> str:
        """What was done with the cube."""
        return NO_DOUBLE if self.judged.act.kind is ActKind.ROLL else str(self.judged.act.kind)


@dataclass(frozen=True)
class Loss:
    """What one decision lost, in normalised points."""

    turn: Turn
    is_cube: bool
    size: float

    @property
    def made(self) -> str:
        """What was done: a play, or a cube action."""
        return self.turn.made_cube_action if self.is_cube else str(self.turn.play)

    @property
    def best(self) -> str:
        """What was best."""
        return self.turn.best_cube_action if self.is_cube else str(self.turn.best_play)


@dataclass(frozen=True)
class MatchAnalysis:
    """A match, or the games of a money session, judged by an analyst of this label."""

    number: int  # in its file, from 1
    games: Sequence[AnalysedGame]
    analyst: str

    @property
    def players(self) -> tuple[str, str]:
        """The names of both players."""
        return self.games[0].match.players

    @property
    def length(self) -> int:
        """Points that win the match; 0 for money play."""
        return self.games[0].match.length

    @property
    def is_jacoby(self) -> bool:
        """Whether it was judged by the Jacoby rule."""
        return any(turn.judged.act.stakes.score == Money(is_jacoby=True) for turn in self.turns)

    @cached_property
    def notes(self) -> list[list[str]]:
        """For each game, what was repaired or read leniently, and what is missing of the match: see
        `match_analysis.notes_on`."""
        from bgdata.matches.steps import notes_on

        return notes_on(self.games[0].match, [game.game for game in self.games])

    def notes_of(self, game: AnalysedGame) -> str:
        """The notes on one game as one text, empty without any."""
        (found,) = (notes for each, notes in zip(self.games, self.notes, strict=True) if each is game)
        return "; ".join(found)

    @cached_property
    def turns(self) -> list[Turn]:
        """All turns."""
        return [Turn(game, number, act) for game in self.games for number, act in enumerate(game.judged.acts)]

    @cached_property
    def totals(self) -> Totals:
        """The sums over all games."""
        return totals_of([game.judged for game in self.games])

    @cached_property
    def losses(self) -> list[Loss]:
        """The marked errors, the worst first."""
        found = [
            Loss(turn, is_cube, size / turn.judged.point)
            for turn in self.turns
            for is_cube, size in ((True, turn.judged.cube_loss), (False, turn.judged.play_loss))
        ]
        return sorted((loss for loss in found if error_mark(loss.size)), key=lambda loss: -loss.size)


def analysed_matches(games: Sequence[AnalysedGame], analyst: str) -> list[MatchAnalysis]:
    """The games by match."""
    found = [list(group) for _, group in groupby(games, key=lambda game: id(game.match))]
    return [MatchAnalysis(number, group, analyst) for number, group in enumerate(found)]


def stakes_columns(stakes: Stakes) -> dict[str, Any]:
    """What is played for, seen by the player on roll before the act; no points to go for money."""
    score = stakes.score
    away, opponent_away = (score.away, score.opponent_away) if isinstance(score, MatchScore) else (None, None)
    return {
        "away": away,
        "opponent_away": opponent_away,
        "is_crawford": stakes.is_crawford,
        "is_jacoby": score.is_jacoby if isinstance(score, Money) else None,
        "cube_value": stakes.cube.value,
        "cube_owner": str(stakes.cube.owner),
    }


def turn_row(analysis: MatchAnalysis, turn: Turn) -> dict[str, Any]:
    """One act, in mwc or points of the player who acts; the cube actions are worth that to the player on roll."""
    judged, cube = turn.judged, turn.judged.cube
    luck, play_loss, cube_loss = (value / judged.point for value in (judged.luck, judged.play_loss, judged.cube_loss))
    return {
        "match": analysis.number,
        "game_number": turn.game.game.number,
        "turn": turn.number,
        "player_number": judged.act.player,
        "player": turn.player,
        "act": str(judged.act.kind),
        "position_id": turn.position.id,
        **stakes_columns(judged.act.stakes),
        "roll": "".join(map(str, judged.act.dice or ())),
        "play": str(turn.play or ""),
        "best_play": str(turn.best_play or ""),
        "best_cube_action": turn.best_cube_action,
        "unit": "mwc" if analysis.length else "points",
        "worth_before": judged.start,
        "worth_after": judged.end,
        "luck": judged.luck,
        "play_loss": judged.play_loss,
        "cube_loss": judged.cube_loss,
        "drift": judged.drift + judged.found,
        "no_double": cube.no_double if cube else None,
        "double_take": cube.double_take if cube else None,
        "double_pass": cube.double_pass if cube else None,
        "normalised_luck": luck,
        "normalised_play_loss": play_loss,
        "normalised_cube_loss": cube_loss,
        "is_play_decision": judged.is_play_decision,
        "is_cube_decision": judged.is_cube_decision,
        "play_mark": error_mark(play_loss),
        "cube_mark": error_mark(cube_loss),
        "luck_mark": luck_mark(luck),
    }


def game_row(analysis: MatchAnalysis, game: AnalysedGame) -> dict[str, Any]:
    """One game, in mwc or points of player 0; None where it was not finished."""
    found = totals_of([game.judged])
    return {
        "match": analysis.number,
        "game_number": game.game.number,
        "player_0": analysis.players[0],
        "player_1": analysis.players[1],
        "score_0": game.game.score[0],
        "score_1": game.game.score[1],
        "turns": len(game.judged.acts),
        "unit": "mwc" if analysis.length else "points",
        "initial": game.judged.initial,
        "result": found.result,
        "net_luck": found.net_luck,
        "net_skill": found.net_skill,
        "net_drift": found.net_drift,
        "luck_adjusted": found.luck_adjusted,
        "performance_rating_0": found.scores[0].performance_rating,
        "performance_rating_1": found.scores[1].performance_rating,
        "notes": analysis.notes_of(game),
    }


def player_rows(analysis: MatchAnalysis) -> Iterator[dict[str, Any]]:
    """Both players of a match; results are seen by each."""
    found = analysis.totals
    for player, score in enumerate(found.scores):
        sign = 1 - 2 * player
        marked = {mark.replace(" ", "_"): count for mark, count in score.marked.items()}
        yield {
            "match": analysis.number,
            "player_number": player,
            "player": analysis.players[player],
            "match_length": analysis.length,
            "unit": "mwc" if analysis.length else "points",
            "result": None if found.result is None else sign * found.result,
            "luck_adjusted": None if found.luck_adjusted is None else sign * found.luck_adjusted,
            **{name: getattr(score, name) for name in SCORE_COLUMNS},
            **marked,
            "notes": "; ".join(note for notes in analysis.notes for note in notes),
        }

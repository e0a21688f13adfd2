"""Games replayed from their record: the position before every turn, and proof that every play was legal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bgdata.errors import IllegalPlayError, InvalidGameError, InvalidScoreError
from bgdata.formats.matches import BAR_POINT, OFF_POINT, Game, Match, Turn, TurnKind
from bgdata.game.dice import roll_of
from bgdata.game.match import Cube, CubeOwner
from bgdata.game.outcome import game_outcome
from bgdata.game.plays import Play, find_play, legal_plays
from bgdata.game.position import START, Position


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A turn with what it was made in: `position` and `cube` are seen by the player on roll, before the turn.

    For a take or pass the player on roll is still the one who doubled; for a resignation it is whoever is to act.
    """

    turn: Turn
    on_roll: int
    position: Position
    cube: Cube
    play: Play | None = None


def replay(match: Match, game: Game) -> list[ReplayedTurn]:
    """All turns of a game from the start position. Raises InvalidGameError, which names the line, for a broken rule."""
    if game.bad_lines:
        raise InvalidGameError(f"expected a whole game, got one with {game.bad_lines} lines that are not understood")
    state = _State(match, game)
    turns = [replayed for turn in game.turns for replayed in state.after(turn)]
    state.check_result()
    return turns


class _State:
    """The game up to some turn."""

    def __init__(self, match: Match, game: Game) -> None:
        self.match, self.game = match, game
        self.position = START
        self.on_roll: int | None = None  # known with the first turn
        self.cube = Cube()
        self.is_doubled = False
        self.ending: Turn | None = None  # a pass, a resignation or a roll without a play
        self.waits_for_end: Turn | None = None  # a roll without checker moves although there were legal ones

    def after(self, turn: Turn) -> Iterator[ReplayedTurn]:
        """The turn with what it was made in; the state moves on."""
        if self.on_roll is None:
            self.on_roll = turn.player
        if self.ending is not None or (self.waits_for_end and turn.kind is not TurnKind.RESIGN):
            raise self.error(turn, "expected no turn after the end of the game")
        handlers = {
            TurnKind.PLAY: self.played,
            TurnKind.ROLL: self.ended,
            TurnKind.DOUBLE: self.doubled,
            TurnKind.BEAVER: self.beavered,
            TurnKind.TAKE: self.taken,
            TurnKind.PASS: self.ended,
            TurnKind.RESIGN: self.ended,
        }
        if turn.kind not in handlers:
            raise self.error(turn, "expected a game from the start position without changes by hand")
        before = (self.on_roll, self.position, self.cube)
        yield ReplayedTurn(turn, *before, play=handlers[turn.kind](turn))

    def played(self, turn: Turn) -> Play:
        """A roll and its checker moves."""
        if turn.player != self.on_roll or self.is_doubled or turn.dice is None:
            raise self.error(turn, "expected the play of the player on roll")
        plays = legal_plays(self.position, roll_of(*turn.dice))
        if not turn.checker_moves and plays[0].moves:
            self.waits_for_end = turn
            return Play((), self.position)
        try:
            play = find_play(moves_text(turn), plays)
        except IllegalPlayError as error:
            raise self.error(turn, str(error)) from error
        self.position = play.next_position
        self.on_roll = 1 - turn.player
        self.cube = self.cube.flip()
        return play

    def doubled(self, turn: Turn) -> None:
        """The player on roll offers the cube."""
        if turn.player != self.on_roll or self.is_doubled or self.cube.owner == CubeOwner.OPPONENT:
            raise self.error(turn, "expected a double of the player on roll who may turn the cube")
        if turn.cube_value not in (None, 2 * self.cube.value):
            raise self.error(turn, f"expected a double to {2 * self.cube.value}, got {turn.cube_value}")
        self.is_doubled = True

    def beavered(self, turn: Turn) -> None:
        """The other side turns the cube back at once and keeps it: money play only."""
        if not self.is_doubled or self.match.length:
            raise self.error(turn, "expected a beaver in answer to a double in money play")
        self.cube = Cube(2 * self.cube.value, self.cube.owner if self.cube.value > 1 else CubeOwner.ON_ROLL)

    def taken(self, turn: Turn) -> None:
        """The double is taken: the cube goes to the other side."""
        if not self.is_doubled or turn.player == self.on_roll:
            raise self.error(turn, "expected a take of a double")
        try:
            self.cube = self.cube.doubled()
        except InvalidScoreError as error:
            raise self.error(turn, str(error)) from error
        self.is_doubled = False

    def ended(self, turn: Turn) -> None:
        """A pass, a resignation, or a roll after which nobody plays on."""
        if turn.kind is TurnKind.PASS and (not self.is_doubled or turn.player == self.on_roll):
            raise self.error(turn, "expected a pass of a double")
        self.ending = turn

    def check_result(self) -> None:
        """The points that the record gives can be those of this end. Raises InvalidGameError."""
        if self.game.winner is None or self.game.points is None:
            return
        outcome = game_outcome(self.position)
        if outcome and self.ending is None:
            winner = self.on_roll if outcome > 0 else 1 - (self.on_roll or 0)
            sizes = {abs(outcome), 1} if not self.match.length else {abs(outcome)}  # 1: the Jacoby rule
        elif self.ending is not None and self.ending.kind is TurnKind.PASS:
            winner, sizes = 1 - self.ending.player, {1}
        else:
            winner, sizes = self.game.winner, {1, 2, 3}  # resigned, or the record stops
        if winner != self.game.winner or self.game.points not in {size * self.cube.value for size in sizes}:
            raise InvalidGameError(
                f"expected a result that follows from the last position and a cube of {self.cube.value}, "
                f"got {self.game.points} points for {self.match.players[self.game.winner]}"
            )

    def error(self, turn: Turn, reason: str) -> InvalidGameError:
        """A broken rule at a turn."""
        return InvalidGameError(f"{reason}, in line {turn.line}: {self.match.players[turn.player]} {turn.kind}")


def moves_text(turn: Turn) -> str:
    """The checker moves of a turn in the usual notation."""
    names = {BAR_POINT: "bar", OFF_POINT: "off"}
    steps = [
        f"{names.get(move.from_point, move.from_point)}/{names.get(move.to_point, move.to_point)}"
        + ("*" if move.is_hit else "")
        for move in turn.checker_moves
    ]
    return " ".join(steps) or "no play"

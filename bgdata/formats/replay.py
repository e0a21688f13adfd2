"""Games replayed from their record: the position before every turn, with a check that every play was legal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bgdata.errors import IllegalPlayError, InvalidGameError, InvalidScoreError
from bgdata.formats.matches import BAR_POINT, OFF_POINT, Game, Match, MatchFile, Turn, TurnKind
from bgdata.game.dice import Roll, roll_of
from bgdata.game.match import Cube, CubeOwner
from bgdata.game.outcome import game_outcome, is_over
from bgdata.game.plays import Play, find_play, legal_plays
from bgdata.game.position import START, Position

MOST_CUBE = 1 << 20  # nobody plays for more
MOST_POINTS = (1 << 15) - 1  # nor longer


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A turn with its situation: `position` and `cube` are seen by the player on roll, before the turn.

    For a take or pass the player on roll is still the one who doubled; for a resignation it is the player who is to
    act.
    """

    turn: Turn
    on_roll: int
    position: Position
    cube: Cube
    play: Play | None = None


@dataclass(frozen=True)
class ReplayedGame:
    """A whole game: its turns, and the value of the cube after the last one. A double that was accepted counts, one
    that was passed or not answered does not."""

    turns: list[ReplayedTurn]
    cube_value: int


@dataclass(frozen=True)
class ReplayedFile(MatchFile):
    """Matches of games that can be replayed: `replays` has the turns of each by the first of its `units`."""

    replays: dict[int, list[ReplayedTurn]]


def replay_file(file: MatchFile) -> ReplayedFile:
    """The file without the games that break a rule, whose lines are quarantined."""
    replays: dict[int, list[ReplayedTurn]] = {}

    def flaw(match: Match, game: Game) -> str | None:
        try:
            replays[game.units.start] = replay(match, game)
        except InvalidGameError as error:
            return str(error)
        return None

    rest = file.quarantine_games(flaw)
    return ReplayedFile(rest.ledger, rest.matches, replays)


def replay(match: Match, game: Game) -> list[ReplayedTurn]:
    """All turns of a game from the start position. Raises InvalidGameError, which names the line, for a broken rule."""
    return replay_game(match, game).turns


def replay_game(match: Match, game: Game) -> ReplayedGame:
    """All turns of a game from the start position, and the cube at its end. Raises InvalidGameError as `replay`."""
    if max(game.number, match.length, *game.score, game.points or 0) > MOST_POINTS:
        raise InvalidGameError(f"expected numbers of games and points up to {MOST_POINTS:,}")
    if game.bad_lines:
        raise InvalidGameError(f"expected a whole game, got one with {game.bad_lines} lines that are not understood")
    state = _State(match, game)
    turns = [replayed for turn in game.turns for replayed in state.after(turn)]
    state.accept_last_beaver()
    state.check_result()
    return ReplayedGame(turns, state.cube.value)


class _State:
    """The game up to some turn."""

    def __init__(self, match: Match, game: Game) -> None:
        self.match, self.game = match, game
        self.position = START
        self.on_roll: int | None = None  # known with the first turn
        self.cube = self.first_cube()
        self.answers: int | None = None  # who is to answer a double or beaver
        self.is_beavered = False
        self.ending: Turn | None = None  # a pass or resignation
        self.waits_for_end = False  # after a roll without checker moves although there were several legal plays

    def after(self, turn: Turn) -> Iterator[ReplayedTurn]:
        """The turn with its situation; the state moves on."""
        if self.on_roll is None:
            self.on_roll = turn.player
        is_stopped = self.waits_for_end and turn.kind is not TurnKind.RESIGN
        if self.ending is not None or is_stopped or is_over(self.position):
            raise self.error(turn, "expected no turn after the end of the game")
        handlers = {
            TurnKind.PLAY: self.played,
            TurnKind.ROLL: self.rolled,
            TurnKind.DOUBLE: self.doubled,
            TurnKind.BEAVER: self.beavered,
            TurnKind.TAKE: self.taken,
            TurnKind.PASS: self.passed,
            TurnKind.RESIGN: self.ended,
        }
        if turn.kind not in handlers:
            raise self.error(turn, "expected a game from the start position without changes by hand")
        if self.is_beavered and turn.kind in (TurnKind.PLAY, TurnKind.ROLL):
            self.accept()  # the take behind a beaver is not written to .mat files
        before = (self.on_roll, self.position, self.cube)
        yield ReplayedTurn(turn, *before, play=handlers[turn.kind](turn))

    def first_cube(self) -> Cube:
        """The centered cube of the first turn: above 1 after automatic doubles, in money play."""
        value = self.game.cube_value
        try:
            cube = Cube(value)
        except InvalidScoreError as error:
            raise InvalidGameError(str(error)) from error
        if value > (1 if self.match.length else MOST_CUBE):
            raise InvalidGameError(f"expected a game that begins with a cube of 1, got {value}")
        return cube

    def played(self, turn: Turn) -> Play:
        """A roll and its checker moves; the only legal play need not be written."""
        plays = legal_plays(self.position, self.roll(turn))
        if not turn.checker_moves and len(plays) > 1:
            self.waits_for_end = True
            return Play((), self.position)
        try:
            play = find_play(moves_text(turn), plays) if turn.checker_moves else plays[0]
        except IllegalPlayError as error:
            raise self.error(turn, str(error)) from error
        self.position = play.next_position
        self.on_roll = 1 - turn.player
        self.cube = self.cube.flip()
        return play

    def rolled(self, turn: Turn) -> None:
        """A roll after which the game ends without a play."""
        self.roll(turn)
        self.waits_for_end = True

    def roll(self, turn: Turn) -> Roll:
        """The dice of the player on roll."""
        if turn.player != self.on_roll or self.answers is not None or turn.dice is None:
            raise self.error(turn, "expected the play of the player on roll")
        return roll_of(*turn.dice)

    def doubled(self, turn: Turn) -> None:
        """The player on roll offers the cube."""
        if turn.player != self.on_roll or self.answers is not None or self.cube.owner == CubeOwner.OPPONENT:
            raise self.error(turn, "expected a double of the player on roll who may turn the cube")
        if self.game.is_crawford:
            raise self.error(turn, "expected no double in the Crawford game")
        self.check_offer(turn, 2 * self.cube.value)

    def beavered(self, turn: Turn) -> None:
        """The other side turns the cube back at once and keeps it, or the first side turns it again: money only."""
        if turn.player != self.answers or self.match.length:
            raise self.error(turn, "expected a beaver in answer to a double in money play")
        self.check_offer(turn, 4 * self.cube.value)
        self.cube = Cube(2 * self.cube.value, self.cube.owner if self.cube.value > 1 else CubeOwner.ON_ROLL)
        self.is_beavered = True

    def check_offer(self, turn: Turn, stake: int) -> None:
        """The stake that is offered is the one written; the other side is to answer."""
        if turn.cube_value not in (None, stake):
            raise self.error(turn, f"expected a {turn.kind} to {stake}, got {turn.cube_value}")
        if stake > MOST_CUBE:
            raise self.error(turn, f"expected a cube of at most {MOST_CUBE}")
        self.answers = 1 - turn.player

    def taken(self, turn: Turn) -> None:
        """The double or beaver is taken."""
        if turn.player != self.answers:
            raise self.error(turn, "expected a take of a double")
        self.accept()

    def accept(self) -> None:
        """The cube goes to the side that did not double first."""
        self.cube = self.cube.doubled()
        self.answers, self.is_beavered = None, False

    def passed(self, turn: Turn) -> None:
        """The double or beaver is passed."""
        if turn.player != self.answers:
            raise self.error(turn, "expected a pass of a double")
        self.ending = turn

    def ended(self, turn: Turn) -> None:
        """A resignation, which either side may offer at any time."""
        self.ending = turn

    def accept_last_beaver(self) -> None:
        """Take the last beaver, which .mat files do not write, where somebody has won without a pass."""
        if self.is_beavered and self.ending is None and self.game.winner is not None:
            self.accept()

    def check_result(self) -> None:
        """The points that the record gives can be those of this end. Raises InvalidGameError."""
        if self.game.winner is None or self.game.points is None:
            return
        outcome = game_outcome(self.position)
        winner, sizes = self.game.winner, {1, 2, 3}  # the record stops: somebody has resigned
        if outcome:
            winner = (self.on_roll or 0) if outcome > 0 else 1 - (self.on_roll or 0)
            sizes = {abs(outcome), 1} if not self.match.length else {abs(outcome)}  # 1: the Jacoby rule
        elif self.ending is not None and self.ending.kind in (TurnKind.PASS, TurnKind.RESIGN):
            winner = 1 - self.ending.player
            sizes = {1} if self.ending.kind is TurnKind.PASS else sizes
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

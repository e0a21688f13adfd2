"""Replays recorded games: the position before every turn, and a check that every play is legal."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bgdata.errors import IllegalPlayError, InvalidGameError, InvalidScoreError, cite
from bgdata.formats.matches import (
    BAR_POINT,
    BY_HAND,
    OFF_POINT,
    Flaw,
    Game,
    Match,
    MatchFile,
    Note,
    RecordedMove,
    Turn,
    TurnKind,
    score_after,
)
from bgdata.game.classes import game_outcome, is_over
from bgdata.game.dice import Roll, roll_of
from bgdata.game.match import Cube, CubeOwner
from bgdata.game.plays import Play, after_move, checker_moves, find_play, legal_plays
from bgdata.game.position import START, Position

MAX_CUBE = 1 << 20  # larger cubes count as errors
MAX_POINTS = (1 << 15) - 1  # most points of a match; larger numbers count as errors


@dataclass(frozen=True, slots=True)
class ReplayedTurn:
    """A turn, with the `position` and `cube` before it as the player on roll sees them. In a take or pass the player on
    roll is the one who doubled, and in a resignation the player whose turn it is."""

    turn: Turn
    on_roll: int
    position: Position
    cube: Cube
    play: Play | None = None


@dataclass(frozen=True)
class ReplayedGame:
    """A game that was replayed: its turns, and the value of the cube after the last turn. Only accepted doubles count.
    `game` is the record, completed by the points won and by notes of repairs. `full_points` are the points that the
    game was worth, at least, if they are not limited by the match length."""

    turns: list[ReplayedTurn]
    cube_value: int
    game: Game
    full_points: int | None


@dataclass(frozen=True)
class ReplayedFile(MatchFile):
    """A file with matches whose games can be replayed. `replays` contains each replayed game by the first of its
    `units`."""

    replays: dict[int, list[ReplayedTurn]]


def replay_file(file: MatchFile) -> ReplayedFile:
    """Replay all games in a file. Returns a copy without the games that break a rule, whose lines are quarantined."""
    replays: dict[int, list[ReplayedTurn]] = {}

    def check(match: Match, game: Game) -> Game | Flaw:
        found = _replay(match, game)
        if isinstance(found, Flaw):
            return found
        replays[game.units.start] = found.turns
        return found.game

    rest = file.quarantine_games(check)
    return ReplayedFile(rest.ledger, rest.matches, replays)


def replay_game(match: Match, game: Game) -> ReplayedGame:
    """Replay all turns of a game from the starting position. Raises InvalidGameError, which names the line of the
    broken rule."""
    found = _replay(match, game)
    if isinstance(found, Flaw):
        raise InvalidGameError(found.reason if found != game.flaw else f"{found.reason}, in line {found.line}")
    return found


def _replay(match: Match, game: Game) -> ReplayedGame | Flaw:
    """Replay a game, or return the flaw that prevents it."""
    if game.flaw:
        return game.flaw
    if reason := _record_flaw(match, game):
        return Flaw(0, reason)
    state = _State(match, game)
    try:
        turns = [state.play_turn(turn) for turn in game.turns]
        if state.is_beavered and state.ending is None and game.winner is not None:
            state.accept()  # .mat files leave out the take after a beaver
        points = state.points_won()
    except InvalidGameError as error:
        return Flaw(state.line, str(error))
    settled = replace(game, points=points, notes=(*game.notes, *state.notes))
    return ReplayedGame(turns, state.cube.value, settled, state.full_points(points))


def _record_flaw(match: Match, game: Game) -> str | None:
    """Return what is wrong with the record of a game before any turn is replayed, None if nothing is."""
    if match.variation:
        return f"expected backgammon, got a record of {cite(match.variation)}"
    if max(game.number, match.length, *game.score, game.points or 0) > MAX_POINTS:
        return f"expected numbers of games and points up to {MAX_POINTS:,}"
    if match.length and max(game.score) >= match.length:
        return f"expected scores below the {match.length} points of the match, got {game.score[0]}-{game.score[1]}"
    value, most = game.cube_value, 1 if match.length else MAX_CUBE
    try:
        Cube(value)
    except InvalidScoreError as error:
        return str(error)
    return f"expected a game that begins with a cube of 1, got {value}" if value > most else None


class _State:
    """The state of a game while it is replayed."""

    def __init__(self, match: Match, game: Game) -> None:
        self.match, self.game = match, game
        self.position = START
        self.on_roll: int | None = None  # the player on roll, known from the first turn on
        self.cube = Cube(game.cube_value)
        self.line = 0  # line of the last error
        self.notes: list[Note] = []
        self.answers: int | None = None  # the player who answers a double or beaver
        self.is_beavered = False
        self.ending: Turn | None = None  # a pass or resignation
        self.unplayed: Turn | None = None  # a roll without checker moves although there are several legal plays

    def play_turn(self, turn: Turn) -> ReplayedTurn:
        """Apply a turn. Raises InvalidGameError if it breaks a rule."""
        if self.on_roll is None:
            self.on_roll = turn.player
        if turn.kind is TurnKind.SETUP:
            raise self.error(turn, BY_HAND)
        if self.unplayed and turn.kind is not TurnKind.RESIGN:
            first, second = self.unplayed.dice or (0, 0)
            raise self.error(
                self.unplayed, f"expected a play of {first}{second}, which has several, before the next turn"
            )
        if self.ending is not None or is_over(self.position):
            raise self.error(turn, "expected no turn after the end of the game")
        if self.is_beavered and turn.kind in (TurnKind.PLAY, TurnKind.ROLL):
            self.accept()  # .mat files leave out the take after a beaver
        before = (self.on_roll, self.position, self.cube)
        play = None
        match turn.kind:
            case TurnKind.PLAY:
                play = self.play(turn)
            case TurnKind.ROLL:
                self.roll(turn)
                self.unplayed = turn
            case TurnKind.DOUBLE:
                if turn.player != self.on_roll or self.answers is not None or self.cube.owner == CubeOwner.OPPONENT:
                    raise self.error(turn, "expected a double of the player on roll who may turn the cube")
                if self.game.is_crawford:
                    raise self.error(turn, "expected no double in the Crawford game")
                self.offer(turn, 2 * self.cube.value)
            case TurnKind.BEAVER:  # the other side beavers, or the first side answers with a raccoon
                if turn.player != self.answers or self.match.length:
                    raise self.error(turn, "expected a beaver in answer to a double in money play")
                self.offer(turn, 4 * self.cube.value)
                owner = self.cube.owner if self.cube.value > 1 else CubeOwner.ON_ROLL
                self.cube, self.is_beavered = Cube(2 * self.cube.value, owner), True
            case TurnKind.TAKE:
                if turn.player != self.answers:
                    raise self.error(turn, "expected a take of a double")
                self.accept()
            case TurnKind.PASS:
                if turn.player != self.answers:
                    raise self.error(turn, "expected a pass of a double")
                self.ending = turn
            case TurnKind.RESIGN:  # either side may resign at any time
                self.ending = turn
        if turn is self.unplayed:
            turn = replace(turn, kind=TurnKind.ROLL)
        return ReplayedTurn(turn, *before, play=play)

    def play(self, turn: Turn) -> Play | None:
        """Make the checker moves of a roll. The record may leave out the play if only one is legal. If the record has
        no play although several are legal, the result is None, and the game must end there."""
        roll = self.roll(turn)
        if (direct := _direct_play(self.position, roll, turn.checker_moves)) and not turn.text:
            return self.after(turn, direct)
        plays = legal_plays(self.position, roll)
        says_no_move = any(letter.isalpha() for letter in turn.text)  # but not `????`
        if not turn.checker_moves and len(plays) > 1:
            self.unplayed = turn
            if says_no_move:
                self.note(turn, f"says {cite(turn.text)}, but the roll has plays: it is kept as not played any more")
            return None
        if not turn.checker_moves and plays[0].moves and says_no_move:
            raise self.error(turn, f"expected {plays[0]}, the only legal play, got {cite(turn.text)}")
        try:
            play = find_play(_moves_text(turn), plays) if turn.checker_moves else plays[0]
        except IllegalPlayError as error:
            raise self.error(turn, str(error)) from error
        if turn.text and turn.checker_moves:
            self.note(turn, f"says {cite(turn.text)}, but the play is legal")
        return self.after(turn, play)

    def after(self, turn: Turn, play: Play) -> Play:
        """Make a legal play on the board, and return it."""
        self.position = play.next_position
        self.on_roll = 1 - turn.player
        self.cube = self.cube.flip()
        return play

    def roll(self, turn: Turn) -> Roll:
        """The roll of a turn. Raises InvalidGameError unless its player is on roll."""
        if turn.player != self.on_roll or self.answers is not None or turn.dice is None:
            raise self.error(turn, "expected the play of the player on roll")
        return roll_of(*turn.dice)

    def offer(self, turn: Turn, stake: int) -> None:
        """Check the offered stake, and let the other side answer next."""
        if turn.cube_value not in (None, stake):
            raise self.error(turn, f"expected a {turn.kind} to {stake}, got {turn.cube_value}")
        if stake > MAX_CUBE:
            raise self.error(turn, f"expected a cube of at most {MAX_CUBE}")
        self.answers = 1 - turn.player

    def accept(self) -> None:
        """Give the cube to the side that did not double first."""
        self.cube = self.cube.after_double()
        self.answers, self.is_beavered = None, False

    def points_won(self) -> int | None:
        """Return the points won, None if the record does not contain them. Raises InvalidGameError if the recorded
        points are impossible."""
        game, winner = self.game, self.game.winner
        if winner is None or game.points is None:
            return game.points
        right_winner, sizes = self.possible_ends(winner)
        full = {size * self.cube.value for size in sizes}
        counted = set(map(self.count_points, full))
        if winner == right_winner and game.points in full | counted:
            if game.points not in full:
                text = f"{game.points} points are what the match lacked: the game was worth more"
                self.notes.append(Note(game.result_line, text))
            return game.points
        proven = self.proven_points(counted) if winner == right_winner and len(sizes) > 1 else None
        if proven is None:
            self.line = game.result_line
            raise InvalidGameError(
                f"expected a result that follows from the last position and a cube of {self.cube.value}, "
                f"got {game.points} points for {self.match.players[winner]}"
            )
        points, why = proven
        text = f"says {game.points} points, which no game is worth here: {points} by {why}"
        self.notes.append(Note(game.result_line, text))
        return points

    def count_points(self, points: int) -> int:
        """Return how many of these points count in the match: no more than the winner needs."""
        return min(points, self.match.length - self.game.score[self.game.winner or 0]) if self.match.length else points

    def full_points(self, points: int | None) -> int | None:
        """Return the smallest value that a game can have had if so many points counted in the match."""
        if points is None or self.game.winner is None:
            return None
        _, sizes = self.possible_ends(self.game.winner)
        full = [size * self.cube.value for size in sorted(sizes)]
        return points if points in full else next(each for each in full if self.count_points(each) == points)

    def possible_ends(self, winner: int) -> tuple[int, set[int]]:
        """Return who won, and the possible sizes of the win, 1 to 3, according to the last position. `winner` is the
        winner in the record, which is used if the position does not show one."""
        outcome = game_outcome(self.position)
        if outcome:
            sizes = {abs(outcome), 1} if not self.match.length else {abs(outcome)}  # 1: the Jacoby rule
            return ((self.on_roll or 0) if outcome > 0 else 1 - (self.on_roll or 0)), sizes
        if self.ending is None:  # the record stops: one side has resigned
            return winner, {1, 2, 3}
        return 1 - self.ending.player, {1} if self.ending.kind is TurnKind.PASS else {1, 2, 3}

    def proven_points(self, possible: set[int]) -> tuple[int, str] | None:
        """Return the points of a resignation whose recorded size is impossible, and what proves them, or None if
        nothing proves them. `possible` are the points to choose from."""
        game, match = self.game, self.match
        following = next((other for other in match.games if other.number == game.number + 1), None)
        for points in sorted(possible):
            settled = replace(game, points=points)
            if following and score_after(settled) == following.score:
                return points, "the next score"
            if game.wins_match and max(score_after(settled)) == match.length:
                return points, "the end of the match"
        return None

    def note(self, turn: Turn, text: str) -> None:
        """Add a note on a turn."""
        self.notes.append(Note(turn.line, text))

    def error(self, turn: Turn, reason: str) -> InvalidGameError:
        """Make the error for a turn that breaks a rule."""
        self.line = turn.line
        return InvalidGameError(f"{reason}, in line {turn.line}: {self.match.players[turn.player]} {turn.kind}")


def _direct_play(position: Position, roll: Roll, moves: tuple[RecordedMove, ...]) -> Play | None:
    """Return the play that consists of these moves, if they use every die once, from the highest point down, because
    such a play is legal. Returns None for other moves, for which all legal plays must be compared."""
    dice = list(roll.dice)
    if len(moves) != len(dice):
        return None
    board, made = position.board, []
    for move in sorted(moves, reverse=True):
        for die in dict.fromkeys(dice):
            found = [each for each in checker_moves(board, die) if each[:2] == move[:2]]
            if found and move.is_hit in (None, found[0].is_hit):
                break
        else:
            return None
        dice.remove(die)
        board = after_move(board, found[0])
        made.append(found[0])
    return Play(tuple(made), position.with_board(board))


def _moves_text(turn: Turn) -> str:
    names = {BAR_POINT: "bar", OFF_POINT: "off"}
    steps = [
        f"{names.get(move.from_point, move.from_point)}/{names.get(move.to_point, move.to_point)}"
        + ("*" if move.is_hit else "")
        for move in turn.checker_moves
    ]
    return " ".join(steps) or "no play"

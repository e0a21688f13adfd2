"""Replayed games: position and cube before every turn, and a reason for every broken rule."""

import sys
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import pytest

from bgdata.errors import InvalidGameError
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import Game, Match, Note, RecordedMove, Turn, TurnKind
from bgdata.formats.replay import ReplayedGame, ReplayedTurn, replay_file, replay_game
from bgdata.formats.sgf import parse_sgf
from bgdata.game.classes import game_outcome, is_over
from bgdata.game.dice import roll_of
from bgdata.game.plays import Play, legal_plays
from bgdata.game.position import START, Position, parse_key20
from tests.formats import sessions
from tests.random_games import random_game_positions
from tests.subtests import each

ROOT = "FF[4]GM[6]PW[ann]PB[bob]"
MONEY = f"{ROOT}MI[length:0][game:0][ws:0][bs:0]"
MATCH = f"{ROOT}MI[length:7][game:0][ws:0][bs:0]"


def replay_sgf(nodes: str, root: str = MATCH) -> ReplayedGame:
    """Replay a game with nodes such as `W[31hefe]B[double]` after the properties `root`."""
    tree = nodes.replace("W[", ";W[").replace("B[", ";B[")
    file = parse_sgf(f"(;{root}{tree})".encode())
    assert file.rejects == []
    (match,) = file.matches
    return replay_game(match, match.games[0])


def replay_mat(rows: str, length: int = 0, next_game: str = "") -> ReplayedGame:
    """Replay the first game of a .mat file with these rows; a length of 0 is a money session."""
    head = f" {length} point match\n Game 1\n ann : 0                        bob : 0\n"
    (match,) = parse_mat(f"{head}{rows}{next_game}".encode()).matches
    return replay_game(match, match.games[0])


def cube_texts(turns: list[ReplayedTurn]) -> list[str]:
    """Before each turn: player on roll, cube value, and owner as that player sees it."""
    return [f"{turn.on_roll} {turn.cube.value} {turn.cube.owner}" for turn in turns]


def test_replay_gives_the_position_before_each_turn() -> None:
    turns = replay_sgf("W[42hdfd]B[double]W[take]B[31qtst]W[66]").turns
    assert [turn.on_roll for turn in turns] == [0, 1, 1, 1, 0]
    after_42 = parse_key20("JIGHPAABDAOAHDPAABDA")  # published, after 8/4 6/4
    assert [turn.position for turn in turns[:4]] == [START, after_42, after_42, after_42]
    assert turns[4].position.flip() == Position(
        [0, -2, 0, 0, 0, 2, 4, 0, 2, 0, 0, 0, -5, 5, 0, 0, 0, -2, 0, -4, 0, -2, 0, 0, 2, 0]
    )
    assert [str(turn.play or "") for turn in turns] == ["8/4 6/4", "", "", "8/5 6/5", ""]
    assert turns[4].turn.kind is TurnKind.ROLL, "66 has legal plays, but none was recorded"
    assert turns[0].turn == Turn(0, TurnKind.PLAY, (4, 2), (RecordedMove(8, 4), RecordedMove(6, 4)))


class RandomMatch(NamedTuple):
    """A session of random games with all plays written, and the boards before each turn of each game."""

    match: Match
    boards: list[list[list[int]]]

    def plays(self, game: Game, row: int) -> list[Play]:
        """The legal plays of a turn."""
        return legal_plays(Position(self.boards[game.number - 1][row]), roll_of(*game.turns[row].dice or (0, 0)))


@pytest.fixture(scope="module")
def session() -> RandomMatch:
    positions = random_game_positions(14, seed=21)
    boards_by_game = [positions.boards[begin:end].tolist() for begin, end in pairwise(positions.offsets)]
    rolls_by_game = [positions.rolls[begin:end].tolist() for begin, end in pairwise(positions.offsets)]
    games = []
    for number, (boards, rolls) in enumerate(zip(boards_by_game, rolls_by_game, strict=True), start=1):
        turns = []
        for row, (board, dice) in enumerate(zip(boards, rolls, strict=True)):
            plays = legal_plays(Position(board), roll_of(*dice))
            if row + 1 < len(boards):
                play = next(play for play in plays if list(play.next_position.board) == boards[row + 1])
            else:
                play = next(play for play in plays if is_over(play.after_play))
            moves = tuple(RecordedMove(*move) for move in play.moves)
            turns.append(Turn(row % 2, TurnKind.PLAY, tuple(dice), moves))
        points = int(game_outcome(play.after_play))
        winner = turns[-1].player if points > 0 else 1 - turns[-1].player
        games.append(Game(number, (0, 0), tuple(turns), winner, abs(points)))
    return RandomMatch(Match(("ann", "bob"), 0, tuple(games)), boards_by_game)


def boards_before_turns(match: Match, game: Game) -> list[list[int]]:
    return [list(turn.position.board) for turn in replay_game(match, game).turns]


def test_random_games_round_trip(session: RandomMatch) -> None:
    (match,) = parse_mat(b"".join(format_mat(session.match))).matches
    assert sum(not turn.checker_moves for game in match.games for turn in game.turns) > 50, "dances"
    for game, boards in zip(match.games, session.boards, strict=True):
        assert boards_before_turns(match, game) == boards


def test_only_legal_play_may_be_left_out(session: RandomMatch) -> None:
    left_out = 0
    for game in session.match.games[:5]:
        turns = list(game.turns)
        for row, turn in enumerate(turns):
            if turn.checker_moves and len(session.plays(game, row)) == 1:
                turns[row] = replace(turn, checker_moves=())
                left_out += 1
        shortened = replace(game, turns=tuple(turns))
        assert boards_before_turns(session.match, shortened) == session.boards[game.number - 1]
    assert left_out > 10


def has_valid_result(match: Match, game: Game) -> bool:
    try:
        replay_game(match, game)
    except InvalidGameError as error:
        return "expected a result that follows from the last position" not in str(error)
    return True


@pytest.mark.parametrize("points", [1, 2, 3])
def test_result_of_a_finished_game_follows_from_its_last_position(session: RandomMatch, points: int) -> None:
    game = min((game for game in session.match.games if game.points == points), key=lambda game: len(game.turns))
    assert game.winner is not None
    match = replace(session.match, length=5)
    assert has_valid_result(match, game)
    assert not has_valid_result(match, replace(game, points=points % 3 + 1))
    assert not has_valid_result(match, replace(game, winner=1 - game.winner))
    assert not has_valid_result(session.match, replace(game, winner=1 - game.winner))  # for money
    assert has_valid_result(match, replace(game, winner=None, points=None))


@pytest.mark.parametrize("points", [1, 2, 3])
def test_gammon_for_money_may_count_as_a_single_game(session: RandomMatch, points: int) -> None:
    """The Jacoby rule says so, and .mat files may leave it out."""
    game = min((game for game in session.match.games if game.points == points), key=lambda game: len(game.turns))
    for claimed in {1, 2, 3, 4} - {points}:
        assert has_valid_result(session.match, replace(game, points=claimed)) == (claimed == 1)


@pytest.mark.parametrize("kind", [TurnKind.PLAY, TurnKind.ROLL, TurnKind.DOUBLE, TurnKind.RESIGN])
def test_turn_after_the_last_checker_is_refused(session: RandomMatch, kind: TurnKind) -> None:
    game = session.match.games[0]
    dice = (3, 1) if kind in (TurnKind.PLAY, TurnKind.ROLL) else None
    longer = replace(game, turns=(*game.turns, Turn(1 - game.turns[-1].player, kind, dice)))
    with pytest.raises(InvalidGameError, match="expected no turn after the end of the game, in line 0: "):
        replay_game(session.match, longer)


def test_doubles_and_redoubles_change_the_cube() -> None:
    game = replay_sgf("W[double]B[take]W[31hefe]B[double]W[take]B[31qtst]W[double]B[drop]", MATCH + "RE[W+4]")
    assert cube_texts(game.turns) == [
        *("0 1 centered", "0 1 centered", "0 2 opponent", "1 2 on_roll"),
        *("1 2 on_roll", "1 4 opponent", "0 4 on_roll", "0 4 on_roll"),
    ]


def test_cube_may_begin_higher_after_automatic_doubles() -> None:
    game = replay_sgf("W[double]B[take]", f"{MONEY}CV[2]RE[B+4R]")
    assert cube_texts(game.turns) == ["0 2 centered", "0 2 centered", "0 4 opponent"]


# cubes before each turn of a session from the double on
SGF_CUBES = [
    "0 1 centered, 0 1 centered, 0 2 on_roll, 0 4 opponent, 1 4 on_roll, 0 4 opponent, 1 4 on_roll",
    "1 1 centered, 1 1 centered, 1 2 on_roll, 1 4 on_roll, 1 8 opponent, 0 8 on_roll, 1 8 opponent, 0 8 on_roll",
    "0 1 centered, 0 1 centered, 0 2 on_roll",
    "0 1 centered, 0 1 centered, 0 2 on_roll, 0 4 on_roll",
    "0 1 centered, 0 1 centered, 0 2 opponent, 1 2 on_roll, 1 2 on_roll, 1 4 on_roll, 1 8 opponent, 0 8 on_roll, "
    "1 8 opponent",
    "1 1 centered, 1 1 centered",
]
MAT_CUBES = [  # .mat files leave out the take after a beaver, and the resignation at the end
    "0 1 centered, 0 1 centered, 0 4 opponent, 1 4 on_roll, 0 4 opponent",
    "1 1 centered, 1 1 centered, 1 2 on_roll, 1 8 opponent, 0 8 on_roll, 1 8 opponent",
    "0 1 centered, 0 1 centered, 0 2 on_roll",
    "0 1 centered, 0 1 centered, 0 2 on_roll, 0 4 on_roll",
    "0 1 centered, 0 1 centered, 0 2 opponent, 1 2 on_roll, 1 2 on_roll, 1 8 opponent, 0 8 on_roll",
    "1 1 centered, 1 1 centered",
]
SESSION_FILES = {"mat": parse_mat(sessions.MAT.encode()), "sgf": parse_sgf(sessions.SGF.encode())}


@pytest.mark.parametrize(("form", "expected"), [("mat", MAT_CUBES), ("sgf", SGF_CUBES)])
def test_every_answer_to_a_double_has_the_cube_before_it(form: str, expected: list[str]) -> None:
    (match,) = SESSION_FILES[form].matches
    for game, cubes in zip(match.games[:6], expected, strict=True):
        turns = replay_game(match, game).turns
        double = [turn.turn.kind for turn in turns].index(TurnKind.DOUBLE)
        assert ", ".join(cube_texts(turns[double:])) == cubes


@pytest.mark.parametrize("form", ["mat", "sgf"])
def test_side_that_passes_or_resigns_loses_the_cube(form: str) -> None:
    """A .mat file does not say which side resigned."""
    (match,) = SESSION_FILES[form].matches
    for game in match.games:
        assert game.points is not None
        assert has_valid_result(match, game)
        without_next_score = replace(match, games=(game,))
        assert not has_valid_result(without_next_score, replace(game, points=4 * game.points))
        says_who_lost = game.turns[-1].kind in (TurnKind.PASS, TurnKind.RESIGN)
        assert has_valid_result(match, replace(game, winner=1 - (game.winner or 0))) != says_who_lost


@each(
    ("nodes", "cube_value"),
    [
        ("", 2),
        ("W[31hefe]", 2),
        ("W[double]", 2),
        ("W[double]B[drop]", 2),
        ("W[double]B[take]", 4),
        ("W[double]B[double]", 4),
        ("W[double]B[double]W[drop]", 4),
        ("W[double]B[double]W[take]", 8),
    ],
)
def test_cube_after_the_last_turn_counts_accepted_doubles(nodes: str, cube_value: int) -> None:
    assert replay_sgf(nodes, f"{MONEY}CV[2]").cube_value == cube_value


@pytest.mark.parametrize(("result", "cube_value"), [("      Wins 4 points\n", 4), ("", 2)])
def test_result_tells_whether_a_beaver_was_taken(result: str, cube_value: int) -> None:
    """.mat files leave out the take of a beaver."""
    assert replay_mat(f"  1)  Doubles => 2                Beavers => 4\n{result}").cube_value == cube_value


@pytest.mark.parametrize("points", [1, 2, 3])
def test_resignation_is_the_last_turn(points: int) -> None:
    assert len(replay_sgf("W[31hefe]", f"{MATCH}RE[W+{points}R]").turns) == 2
    assert len(replay_sgf("W[double]B[take]", f"{MATCH}RE[B+{2 * points}R]").turns) == 3


@pytest.mark.parametrize("winner", ["W", "B"])
def test_either_side_may_resign_after_a_roll(winner: str) -> None:
    turns = replay_sgf("W[31hefe];PL[B]DI[63]", f"{MATCH}RE[{winner}+1R]").turns
    assert [turn.turn.kind for turn in turns] == [TurnKind.PLAY, TurnKind.ROLL, TurnKind.RESIGN]
    assert [turn.on_roll for turn in turns] == [0, 1, 1]


def test_game_may_be_unfinished() -> None:
    assert replay_sgf("").turns == []
    assert len(replay_sgf("W[31hefe]B[double]").turns) == 2
    turns = replay_sgf("W[31hefe];PL[B]DI[63]").turns
    assert [turn.turn.kind for turn in turns] == [TurnKind.PLAY, TurnKind.ROLL]


def test_crawford_rule_forbids_doubles_in_one_game_only() -> None:
    assert len(replay_sgf("W[31hefe]B[42qusu]", f"{MATCH}RU[Crawford:CrawfordGame]").turns) == 2
    assert len(replay_sgf("W[double]", f"{MATCH}RU[Crawford]").turns) == 1


PLAY = "expected the play of the player on roll"
END = "expected no turn after the end of the game"
UNPLAYED = "expected a play of {}, which has several, before the next turn"
BY_HAND = "expected a game from the start position without changes by hand"
DOUBLE = "expected a double of the player on roll who may turn the cube"
BEAVER = "expected a beaver in answer to a double in money play"
PLACE = r", in line 1: (ann|bob) \w+"
BAD_GAMES = [
    ("W[31hefe]W[42hdfd]", PLAY),
    ("W[31hefe]B[double]B[42qusu]", PLAY),
    ("W[31hefe]B[double]W[42hdfd]", PLAY),
    ("W[31hefe];PL[W]DI[42]", PLAY),
    ("W[double];PL[W]DI[42]", PLAY),
    ("W[31hegf]", r"expected a legal play \(24/23 24/21 or .* or \.\.\.\), got '8/5 7/6'"),
    ("W[31he]", "expected a legal play"),
    ("W[31hefehe]", "expected a legal play"),
    ("W[66mgmgmgmg]B[21al]", "expected a legal play"),
    ("W[31hefe]B[66]W[31]B[42qusu]", UNPLAYED.format(66)),
    ("W[31]B[42qusu]", UNPLAYED.format(31)),
    ("W[31]B[double]", UNPLAYED.format(31)),
    ("W[31hefe];PL[B]DI[42];B[42qusu]", UNPLAYED.format(42)),
    (";PL[W]DI[51];PL[W]AE[a:y];W[51]", BY_HAND),
    ("W[double]B[drop]W[31hefe]", END),
    ("W[31hefe]W[double]", DOUBLE),
    ("W[double]B[take]W[31hefe]B[42qusu]W[double]", DOUBLE),
    ("W[double]W[double]", BEAVER),
    ("W[double]B[double]", BEAVER),
    ("W[take]", "expected a take of a double"),
    ("W[double]W[take]", "expected a take of a double"),
    ("W[double]B[take]B[take]", "expected a take of a double"),
    ("B[drop]", "expected a pass of a double"),
    ("W[double]W[drop]", "expected a pass of a double"),
    ("W[31hefe];AE[a:y]", "expected a game from the start position without changes by hand"),
    (";CP[b]", "expected a game from the start position without changes by hand"),
]


RESULT = r"expected a result that follows from the last position and a cube of {}, got {} points for {}"
BAD_RECORDS = [
    ("W[double]B[double]B[take]", MONEY, f"expected a take of a double{PLACE}"),
    ("W[double]B[double]B[drop]", MONEY, f"expected a pass of a double{PLACE}"),
    ("W[double]B[double]B[double]", MONEY, f"{BEAVER}{PLACE}"),
    ("W[double]B[double]W[take]W[double]", MONEY, f"{DOUBLE}{PLACE}"),
    ("W[double]B[double]B[42qusu]", MONEY, f"{PLAY}{PLACE}"),
    ("W[double]B[drop]", f"{MATCH}RE[B+1]", RESULT.format(1, 1, "bob")),
    ("W[double]B[drop]", f"{MATCH}RE[W+2]", RESULT.format(1, 2, "ann")),
    ("W[double]B[take]", f"{MATCH}RE[W+3R]", RESULT.format(2, 3, "ann")),
    ("W[31hefe]", f"{MATCH}RE[W+4R]", RESULT.format(1, 4, "ann")),
    ("W[31hefe]", f"{MATCH}RE[W+0R]", RESULT.format(1, 0, "ann")),
    ("W[double]", f"{MATCH}CV[2]", "expected a game that begins with a cube of 1, got 2"),
    ("W[double]", f"{MONEY}CV[0]", "expected a power of two as cube value, got 0"),
    ("W[double]", f"{MONEY}CV[3]", "expected a power of two as cube value, got 3"),
    ("W[double]", f"{MONEY}CV[{1 << 21}]", "expected a game that begins with a cube of 1, got 2097152"),
    ("W[double]", f"{MONEY}CV[{1 << 20}]", "expected a cube of at most 1048576, in line 1: ann double"),
    ("W[31hefe]", f"{MATCH}RU[Crawford:Nackgammon]", "expected backgammon, got a record of 'Nackgammon'"),
    ("W[31hefe]", f"{MATCH}RU[Crawford:Hypergammon3]", "expected backgammon, got a record of 'Hypergammon3'"),
    ("", MATCH.replace("ws:0", "ws:7"), "expected scores below the 7 points of the match, got 7-0"),
    ("W[double]", f"{MATCH}RU[Crawford:CrawfordGame]", f"expected no double in the Crawford game{PLACE}"),
]


@each(
    ("nodes", "root", "reason"), [*((nodes, MATCH, f"{reason}.*{PLACE}") for nodes, reason in BAD_GAMES), *BAD_RECORDS]
)
def test_invalid_game_is_refused_with_its_reason(nodes: str, root: str, reason: str) -> None:
    with pytest.raises(InvalidGameError, match=f"^{reason}$"):
        replay_sgf(nodes, root)


def test_resigning_side_loses() -> None:
    rows = "  1) 31: 8/5 6/5                  Resigns\n"
    assert replay_mat(f"{rows}      Wins 1 point\n", length=5).game.winner == 0
    with pytest.raises(InvalidGameError, match=RESULT.format(1, 1, "bob")):
        replay_mat(f"{rows}{'':34}Wins 1 point\n", length=5)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ("  1)  Doubles => 4", "expected a double to 2, got 4, in line 4: ann double"),
        ("  1)  Doubles => 2                Beavers => 8", "expected a beaver to 4, got 8, in line 4: bob beaver"),
        ("  1) 31: 8/5 6/5*", r"expected a legal play \(.*\), got '8/5 6/5\*', in line 4: ann play"),
        (
            "  1) 31: 8/5 6/5\n  2) nonsense",
            "expected a roll with checker moves, or Doubles => N, Takes, Drops, Beavers => N in a column, in line 5",
        ),
        ("  1) 31: 8/5 6/5                 64:\n  2) 52: 13/8 13/11", f"{UNPLAYED.format(64)}, in line 4: bob play"),
    ],
)
def test_mat_games_that_break_a_rule_are_refused(rows: str, reason: str) -> None:
    with pytest.raises(InvalidGameError, match=f"^{reason}$"):
        replay_mat(f"{rows}\n")


DOUBLED_TWICE = "  1)  Doubles => 2                Takes\n  2) 31: 8/5 6/5                  Doubles => 4\n  3)  Takes\n"


def test_points_are_limited_by_the_match() -> None:
    game = replay_mat(f"{DOUBLED_TWICE}      Wins 3 points and the match\n", length=3).game
    assert (game.winner, game.points) == (0, 3)
    assert game.notes == (Note(7, "3 points are what the match lacked: the game was worth more"),)
    assert replay_mat(f"{DOUBLED_TWICE}      Wins 4 points\n", length=3).game.notes == ()
    with pytest.raises(InvalidGameError, match=RESULT.format(4, 3, "ann")):
        replay_mat(f"{DOUBLED_TWICE}      Wins 3 points\n", length=5)


@pytest.mark.parametrize(
    ("result", "length", "full_points"),
    [
        ("Wins 3 points and the match", 3, 4),
        ("Wins 4 points", 3, 4),
        ("Wins 8 points", 9, 8),
        ("Wins 5 points and the match", 5, 8),
        ("", 3, None),
    ],
)
def test_full_points_may_exceed_those_the_match_needs(result: str, length: int, full_points: int | None) -> None:
    """Full points are the least value of the game that the record allows."""
    assert replay_mat(f"{DOUBLED_TWICE}      {result}\n", length).full_points == full_points


def second_game(score: int, opponent_score: int) -> str:
    return f" Game 2\n ann : {score}                        bob : {opponent_score}\n  1) 31: 8/5 6/5\n"


@pytest.mark.parametrize(
    ("length", "result", "next_game", "note"),
    [
        (7, "Wins 4002 points", second_game(2, 0), "which no game is worth here: 2 by the next score"),
        (3, "Wins 4002 points and the match", "", "which no game is worth here: 3 by the end of the match"),
    ],
)
def test_resignation_of_impossible_size_is_kept_if_a_score_decides(
    length: int, result: str, next_game: str, note: str
) -> None:
    game = replay_mat(f"  1) 31: 8/5 6/5\n      {result}\n", length, next_game).game
    assert game.notes == (Note(5, f"says 4002 points, {note}"),)
    assert f": {game.points} by" in note


@pytest.mark.parametrize(
    ("result", "next_game"),
    [("Wins 4002 points", ""), ("Wins 4002 points", second_game(0, 2)), ("Wins 4002 points and the match", "")],
)
def test_resignation_of_impossible_size_is_refused_otherwise(result: str, next_game: str) -> None:
    with pytest.raises(InvalidGameError, match=RESULT.format(1, 4002, "ann")):
        replay_mat(f"  1) 31: 8/5 6/5\n      {result}\n", 7, next_game)


@pytest.mark.parametrize("play", ["", " ????"])
def test_roll_without_a_play_ends_the_game(play: str) -> None:
    (turn,) = replay_mat(f"  1) 66:{play}\n{'':34}Wins 1 point\n").turns
    assert (turn.turn.kind, turn.turn.dice, turn.play) == (TurnKind.ROLL, (6, 6), None)


def test_wrong_cannot_move_is_noted() -> None:
    game = replay_mat("  1) 31: 8/5 6/5                 64: Can't Move\n      Wins 1 point\n").game
    assert [note.line for note in game.notes] == [4]
    assert "Can't Move" in game.notes[0].text


def test_wrong_cannot_move_with_an_only_play_is_refused(session: RandomMatch) -> None:
    game, row = next(
        (game, row)
        for game in session.match.games
        for row, turn in enumerate(game.turns)
        if turn.checker_moves and len(session.plays(game, row)) == 1
    )
    turns = list(game.turns)
    turns[row] = replace(turns[row], checker_moves=(), text="Cannot Move")
    with pytest.raises(InvalidGameError, match="the only legal play, got 'Cannot Move', in line 0"):
        replay_game(session.match, replace(game, turns=tuple(turns)))


def test_legal_plays_marked_illegal_are_kept() -> None:
    game = replay_mat("  1) 31: Illegal play (8/5 6/5)\n").game
    assert game.notes == (Note(4, "says 'Illegal play (8/5 6/5)', but the play is legal"),)
    with pytest.raises(InvalidGameError, match=r"^expected a legal play"):
        replay_mat("  1) 31: Illegal play (8/4 6/5)\n")


MAT_HEAD = " 0 point match\n Game 1\n ann : 0                        bob : 0\n"


def test_line_of_the_cause_has_the_reason() -> None:
    rows = "  1) 31: 8/5 6/5                 52:\n  2) 65: 24/18 13/8\n      Wins 1 point\n"
    file = replay_file(parse_mat(f"{MAT_HEAD}{rows}".encode()))
    reasons = {bad.line: bad.reason for bad in file.rejects}
    assert reasons.pop(4) == f"{UNPLAYED.format(52)}, in line 4: bob play"
    assert reasons == dict.fromkeys((2, 3, 5, 6), "expected a whole game, see line 4")


def game_of_turns(turns: int) -> bytes:
    """A game in which the last checkers hit each other for so many turns."""
    opening = ["63: 24/18 8/5", "51: 8/7* 8/3", "21: bar/23 8/7", "53: 7/2* 6/3", "52: bar/23* 8/3"]
    plays = (opening + ["32: bar/20*", "55: bar/5*"] * turns)[:turns]
    rows = [f"{row:6}) {plays[2 * row]:<27} {plays[2 * row + 1]}\n" for row in range(turns // 2)]
    return f"{MAT_HEAD}{''.join(rows)}".encode()


def count_calls(data: bytes) -> int:
    """Count the calls of Python and C functions while a game is read, replayed and written."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event.endswith("call")

    profiler = sys.getprofile()
    sys.setprofile(count)
    try:
        list(format_mat(replay_file(parse_mat(data)).matches[0]))
    finally:
        sys.setprofile(profiler)
    return calls


def test_work_grows_linearly_with_turns() -> None:
    (match,) = replay_file(parse_mat(game_of_turns(1000))).matches
    assert len(match.games[0].turns) == 1000
    count_calls(game_of_turns(100))  # fills the caches
    assert count_calls(game_of_turns(2000)) < 2.01 * count_calls(game_of_turns(1000))

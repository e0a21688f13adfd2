"""Replayed games: position and cube before every turn, and a reason for every broken rule."""

import functools
import re
import sys
from dataclasses import replace
from itertools import pairwise

import pytest

from bgdata.errors import InvalidGameError
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import Game, Match, Note, RecordedMove, Turn, TurnKind
from bgdata.formats.replay import ReplayedTurn, replay_file, replay_game
from bgdata.formats.sgf import parse_sgf
from bgdata.game.classes import game_outcome, is_over
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position, parse_key20
from tests.formats import sessions
from tests.random_games import random_game_positions
from tests.subtests import each

ROOT = "FF[4]GM[6]PW[ann]PB[bob]"
MONEY = f"{ROOT}MI[length:0][game:0][ws:0][bs:0]"
MATCH = f"{ROOT}MI[length:7][game:0][ws:0][bs:0]"


def turns_of(text: str, root: str = MATCH) -> list[ReplayedTurn]:
    """The replayed turns of one game, whose nodes are `W[31hefe]B[double]...` after the properties `root`."""
    nodes = text.replace("W[", ";W[").replace("B[", ";B[")
    file = parse_sgf(f"(;{root}{nodes})".encode())
    assert file.rejects == []
    (match,) = file.matches
    return replay_game(match, match.games[0]).turns


def cubes(turns: list[ReplayedTurn]) -> list[str]:
    """Before each turn: player on roll, cube value, and owner as that player sees it."""
    return [f"{turn.on_roll} {turn.cube.value} {turn.cube.owner}" for turn in turns]


def test_replay_gives_the_position_before_each_turn() -> None:
    """Each turn has the position before it; the board after 42: 8/4 6/4 equals the published one."""
    turns = turns_of("W[42hdfd]B[double]W[take]B[31qtst]W[66]")
    assert [turn.on_roll for turn in turns] == [0, 1, 1, 1, 0]
    after_42 = parse_key20("JIGHPAABDAOAHDPAABDA")
    assert [turn.position for turn in turns[:4]] == [START, after_42, after_42, after_42]
    assert turns[4].position.flip() == Position(
        [0, -2, 0, 0, 0, 2, 4, 0, 2, 0, 0, 0, -5, 5, 0, 0, 0, -2, 0, -4, 0, -2, 0, 0, 2, 0]
    )
    assert [str(turn.play or "") for turn in turns] == ["8/4 6/4", "", "", "8/5 6/5", ""]
    assert turns[4].turn.kind is TurnKind.ROLL, "66 has legal plays, but none was recorded"
    assert turns[0].turn == Turn(0, TurnKind.PLAY, (4, 2), (RecordedMove(8, 4), RecordedMove(6, 4)))


@functools.cache
def random_match() -> tuple[Match, list[list[list[int]]]]:
    """A session of random games with all plays written, and the boards before each turn."""
    positions = random_game_positions(14, seed=21)
    rolls = [tuple(roll) for roll in positions.rolls.tolist()]
    boards = positions.boards.tolist()
    games = []
    offsets = positions.offsets.tolist()
    for number, (begin, end) in enumerate(pairwise(offsets), start=1):
        turns = []
        for row in range(begin, end):
            plays = legal_plays(Position(boards[row]), roll_of(*rolls[row]))
            following = tuple(boards[row + 1]) if row + 1 < end else None
            play = next(
                p for p in plays if p.next_position.board == following or (not following and is_over(p.after_play))
            )
            moves = tuple(RecordedMove(*move) for move in play.moves)
            turns.append(Turn((row - begin) % 2, TurnKind.PLAY, rolls[row], moves))
        points = int(game_outcome(play.after_play))
        winner = turns[-1].player if points > 0 else 1 - turns[-1].player
        games.append(Game(number, (0, 0), tuple(turns), winner, abs(points)))
    return Match(("ann", "bob"), 0, tuple(games)), [boards[begin:end] for begin, end in pairwise(offsets)]


def boards_of(turns: list[ReplayedTurn]) -> list[list[int]]:
    return [list(turn.position.board) for turn in turns]


def test_random_games_round_trip() -> None:
    match, boards = random_match()
    (again,) = parse_mat(b"".join(format_mat(match))).matches
    assert sum(not turn.checker_moves for game in again.games for turn in game.turns) > 50, "dances"
    for game, before in zip(again.games, boards, strict=True):
        assert boards_of(replay_game(again, game).turns) == before


def test_only_legal_play_may_be_left_out() -> None:
    match, boards = random_match()
    shortened = 0
    for game, before in zip(match.games[:5], boards, strict=False):
        turns = list(game.turns)
        for row, turn in enumerate(turns):
            plays = legal_plays(Position(before[row]), roll_of(*turn.dice or (0, 0)))
            if turn.checker_moves and len(plays) == 1:
                turns[row] = replace(turn, checker_moves=())
                shortened += 1
        assert boards_of(replay_game(match, replace(game, turns=tuple(turns))).turns) == before
    assert shortened > 10


@pytest.mark.parametrize("points", [1, 2, 3])
def test_finished_games_have_a_result(points: int) -> None:
    """The points of a finished game follow from its last position; other points are refused, except a single game for
    money by the Jacoby rule."""
    match, _ = random_match()
    game = min((game for game in match.games if game.points == points), key=lambda game: len(game.turns))
    assert game.winner is not None
    other = replace(game, winner=1 - game.winner)
    for claimed in {1, 2, 3, 4} - {points}:
        # for money a gammon may count as a single game, by the Jacoby rule
        assert can_be_replayed(match, replace(game, points=claimed)) == (claimed == 1)
    assert not can_be_replayed(match, other)
    of_five = replace(match, length=5)
    assert can_be_replayed(of_five, game)
    assert not can_be_replayed(of_five, replace(game, points=points % 3 + 1))
    assert can_be_replayed(match, replace(other, winner=None, points=None))


def can_be_replayed(match: Match, game: Game) -> bool:
    """Whether the game can be replayed, apart from its result."""
    try:
        replay_game(match, game)
    except InvalidGameError as error:
        return "expected a result that follows from the last position" not in str(error)
    return True


@pytest.mark.parametrize("kind", [TurnKind.PLAY, TurnKind.ROLL, TurnKind.DOUBLE, TurnKind.RESIGN])
def test_turn_after_the_last_checker_is_refused(kind: TurnKind) -> None:
    match, _ = random_match()
    game = match.games[0]
    dice = (3, 1) if kind in (TurnKind.PLAY, TurnKind.ROLL) else None
    more = replace(game, turns=(*game.turns, Turn(1 - game.turns[-1].player, kind, dice)))
    with pytest.raises(InvalidGameError, match="expected no turn after the end of the game, in line 0: "):
        replay_game(match, more)


def test_doubles_and_redoubles_change_the_cube() -> None:
    turns = turns_of("W[double]B[take]W[31hefe]B[double]W[take]B[31qtst]W[double]B[drop]", MATCH + "RE[W+4]")
    expected = (
        "0 1 centered, 0 1 centered, 0 2 opponent, 1 2 on_roll, 1 2 on_roll, 1 4 opponent, 0 4 on_roll, 0 4 on_roll"
    )
    assert ", ".join(cubes(turns)) == expected
    automatic = turns_of("W[double]B[take]", f"{MONEY}CV[2]RE[B+4R]")
    assert cubes(automatic) == ["0 2 centered", "0 2 centered", "0 4 opponent"]


# before each turn from the double on; .mat files leave out the take after a beaver (in parentheses)
BEAVERS = [
    "0 1 centered, 0 1 centered, (0 2 on_roll), 0 4 opponent, 1 4 on_roll, 0 4 opponent, 1 4 on_roll",
    "1 1 centered, 1 1 centered, 1 2 on_roll, (1 4 on_roll), 1 8 opponent, 0 8 on_roll, 1 8 opponent, 0 8 on_roll",
    "0 1 centered, 0 1 centered, 0 2 on_roll",
    "0 1 centered, 0 1 centered, 0 2 on_roll, 0 4 on_roll",
    "0 1 centered, 0 1 centered, 0 2 opponent, 1 2 on_roll, 1 2 on_roll, (1 4 on_roll), 1 8 opponent, 0 8 on_roll, "
    "1 8 opponent",
    "1 1 centered, 1 1 centered",
]


def test_session_with_every_answer_to_a_double() -> None:
    """Takes, passes, beavers and raccoons have the cube before them, which shows what a pass costs."""
    (mat,), (sgf,) = parse_mat(sessions.MAT.encode()).matches, parse_sgf(sessions.SGF.encode()).matches
    for game, other, expected in zip(mat.games, sgf.games, BEAVERS, strict=False):
        turns = replay_game(sgf, other).turns
        double = [turn.turn.kind for turn in turns].index(TurnKind.DOUBLE)
        assert cubes(turns)[double:] == re.sub("[()]", "", expected).split(", ")
        is_resigned = turns[-1].turn.kind is TurnKind.RESIGN
        written = re.sub(r"\([^)]*\), ", "", expected).split(", ")
        assert cubes(replay_game(mat, game).turns)[double:] == written[: len(written) - is_resigned]


def test_results_of_a_session_are_read() -> None:
    """The side that passes or resigns loses the value of the cube, also in a .mat file, which does not say which side
    resigned."""
    for text, parse in ((sessions.MAT, parse_mat), (sessions.SGF, parse_sgf)):
        (match,) = parse(text.encode()).matches
        for game in match.games:
            assert game.points is not None
            assert can_be_replayed(match, game)
            alone = replace(match, games=(game,))  # without a next score that gives the points
            assert not can_be_replayed(alone, replace(game, points=4 * game.points))
            other = replace(game, winner=1 - (game.winner or 0))
            is_told = game.turns[-1].kind in (TurnKind.PASS, TurnKind.RESIGN)
            assert can_be_replayed(match, other) != is_told


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
def test_cube_after_the_last_turn_is_kept(nodes: str, cube_value: int) -> None:
    """The cube after the last turn counts accepted doubles, also the take of a beaver, which .mat files leave out."""
    tree = f"(;{MONEY}CV[2]{nodes.replace('W[', ';W[').replace('B[', ';B[')})"
    (match,) = parse_sgf(tree.encode()).matches
    assert replay_game(match, match.games[0]).cube_value == cube_value
    for result, value in (("      Wins 4 points\n", 4), ("", 2)):
        (match,) = parse_mat(f"{MAT_HEAD}  1)  Doubles => 2                Beavers => 4\n{result}".encode()).matches
        assert replay_game(match, match.games[0]).cube_value == value


def test_resignation_ends_the_game() -> None:
    for points in (1, 2, 3):
        assert len(turns_of("W[31hefe]", f"{MATCH}RE[W+{points}R]")) == 2
        assert len(turns_of("W[double]B[take]", f"{MATCH}RE[B+{2 * points}R]")) == 3
    # a resignation of either side after a roll
    for winner in "WB":
        turns = turns_of("W[31hefe];PL[B]DI[63]", f"{MATCH}RE[{winner}+1R]")
        assert [turn.turn.kind for turn in turns] == [TurnKind.PLAY, TurnKind.ROLL, TurnKind.RESIGN]
        assert [turn.on_roll for turn in turns] == [0, 1, 1]
    # unfinished games
    assert turns_of("") == []
    assert len(turns_of("W[31hefe]B[double]")) == 2
    assert [turn.turn.kind for turn in turns_of("W[31hefe];PL[B]DI[63]")] == [TurnKind.PLAY, TurnKind.ROLL]


def test_crawford_game_has_no_doubles() -> None:
    assert len(turns_of("W[31hefe]B[42qusu]", f"{MATCH}RU[Crawford:CrawfordGame]")) == 2
    assert len(turns_of("W[double]", f"{MATCH}RU[Crawford]")) == 1


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


@each(("text", "root", "reason"), [*((text, MATCH, f"{reason}.*{PLACE}") for text, reason in BAD_GAMES), *BAD_RECORDS])
def test_invalid_game_is_refused_with_its_reason(text: str, root: str, reason: str) -> None:
    with pytest.raises(InvalidGameError, match=f"^{reason}$"):
        turns_of(text, root)


def test_resigning_side_loses() -> None:
    text = " 5 point match\n Game 1\n ann : 0      bob : 0\n  1) 31: 8/5 6/5                  Resigns\n{}Wins 1 point\n"
    for blanks, is_right in (("      ", True), (" " * 34, False)):
        (match,) = parse_mat(text.format(blanks).encode()).matches
        assert can_be_replayed(match, match.games[0]) == is_right


MAT_HEAD = " 0 point match\n Game 1\n ann : 0                        bob : 0\n"


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
    (match,) = parse_mat(f"{MAT_HEAD}{rows}\n".encode()).matches
    with pytest.raises(InvalidGameError, match=f"^{reason}$"):
        replay_game(match, match.games[0])


def replayed_game(rows: str, length: int = 3, following: str = "") -> Game:
    """The first game of a .mat file with these rows, after replaying."""
    head = f" {length} point match\n Game 1\n ann : 0                        bob : 0\n"
    (match,) = parse_mat(f"{head}{rows}{following}".encode()).matches
    return replay_game(match, match.games[0]).game


DOUBLED_TWICE = "  1)  Doubles => 2                Takes\n  2) 31: 8/5 6/5                  Doubles => 4\n  3)  Takes\n"


def test_points_are_limited_by_the_match() -> None:
    game = replayed_game(f"{DOUBLED_TWICE}      Wins 3 points and the match\n")
    assert (game.winner, game.points) == (0, 3)
    assert game.notes == (Note(7, "3 points are what the match lacked: the game was worth more"),)
    assert replayed_game(f"{DOUBLED_TWICE}      Wins 4 points\n").notes == ()
    with pytest.raises(InvalidGameError, match=RESULT.format(4, 3, "ann")):
        replayed_game(f"{DOUBLED_TWICE}      Wins 3 points\n", length=5)


def test_full_points_may_exceed_those_the_match_needs() -> None:
    """Full points are the least value of a game that the record allows, even if the match needs fewer; luck in units of
    the cube needs them."""
    for result, length, full in (
        ("Wins 3 points and the match", 3, 4),
        ("Wins 4 points", 3, 4),
        ("Wins 8 points", 9, 8),
        ("Wins 5 points and the match", 5, 8),
        ("", 3, None),
    ):
        head = f" {length} point match\n Game 1\n ann : 0                        bob : 0\n{DOUBLED_TWICE}"
        (match,) = parse_mat(f"{head}      {result}\n".encode()).matches
        assert replay_game(match, match.games[0]).full_points == full


NEXT = " Game 2\n ann : {}                        bob : {}\n  1) 31: 8/5 6/5\n"


def test_resignations_of_impossible_size_are_kept_if_a_score_decides() -> None:
    """The points of a resignation of impossible size are those that the next score, or the end of the match, proves."""
    rows = "  1) 31: 8/5 6/5\n      Wins 4002 points{}\n"
    for length, end, following, points, why in (
        (7, "", NEXT.format(2, 0), 2, "the next score"),
        (3, " and the match", "", 3, "the end of the match"),
    ):
        game = replayed_game(rows.format(end), length, following)
        assert game.points == points
        assert game.notes == (Note(5, f"says 4002 points, which no game is worth here: {points} by {why}"),)
    for length, end, following in ((7, "", ""), (7, "", NEXT.format(0, 2)), (7, " and the match", "")):
        with pytest.raises(InvalidGameError, match=RESULT.format(1, 4002, "ann")):
            replayed_game(rows.format(end), length, following)


def test_roll_without_a_play_ends_the_game() -> None:
    for rest in ("", " ????"):
        (match,) = parse_mat(f"{MAT_HEAD}  1) 66:{rest}\n{'':34}Wins 1 point\n".encode()).matches
        (turn,) = replay_game(match, match.games[0]).turns
        assert (turn.turn.kind, turn.turn.dice, turn.play) == (TurnKind.ROLL, (6, 6), None)


def test_wrong_cannot_move_is_noted() -> None:
    game = replayed_game("  1) 31: 8/5 6/5                 64: Can't Move\n      Wins 1 point\n")
    assert [note.line for note in game.notes] == [4]
    assert "Can't Move" in game.notes[0].text


def test_wrong_cannot_move_with_an_only_play_is_refused() -> None:
    match, boards = random_match()
    game, row = next(
        (game, row)
        for game, before in zip(match.games, boards, strict=True)
        for row, turn in enumerate(game.turns)
        if turn.checker_moves and len(legal_plays(Position(before[row]), roll_of(*turn.dice or (0, 0)))) == 1
    )
    turns = list(game.turns)
    turns[row] = replace(turns[row], checker_moves=(), text="Cannot Move")
    with pytest.raises(InvalidGameError, match="the only legal play, got 'Cannot Move', in line 0"):
        replay_game(match, replace(game, turns=tuple(turns)))


def test_legal_plays_marked_illegal_are_kept() -> None:
    game = replayed_game("  1) 31: Illegal play (8/5 6/5)\n")
    assert game.notes == (Note(4, "says 'Illegal play (8/5 6/5)', but the play is legal"),)
    with pytest.raises(InvalidGameError, match=r"^expected a legal play"):
        replayed_game("  1) 31: Illegal play (8/4 6/5)\n")


def test_line_of_the_cause_has_the_reason() -> None:
    rows = "  1) 31: 8/5 6/5                 52:\n  2) 65: 24/18 13/8\n      Wins 1 point\n"
    file = replay_file(parse_mat(f"{MAT_HEAD}{rows}".encode()))
    reasons = {bad.line: bad.reason for bad in file.rejects}
    assert reasons.pop(4) == f"{UNPLAYED.format(52)}, in line 4: bob play"
    assert reasons == dict.fromkeys((2, 3, 5, 6), "expected a whole game, see line 4")


def test_work_grows_linearly_with_turns() -> None:
    """Reading, replaying and writing a game of twice as many turns takes about twice as many calls of Python and C
    functions."""
    counts = []
    for turns in (100, 1000, 2000):  # the first run fills the caches
        begin = ["63: 24/18 8/5", "51: 8/7* 8/3", "21: bar/23 8/7", "53: 7/2* 6/3", "52: bar/23* 8/3"]
        plays = (begin + ["32: bar/20*", "55: bar/5*"] * turns)[:turns]
        rows = [f"{row:6}) {plays[2 * row]:<27} {plays[2 * row + 1]}\n" for row in range(turns // 2)]
        calls = [0]
        data = f"{MAT_HEAD}{''.join(rows)}".encode()

        def count(_frame: object, event: str, _argument: object, calls: list[int] = calls) -> None:
            calls[0] += event.endswith("call")

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            file = replay_file(parse_mat(data))
            text = b"".join(format_mat(file.matches[0]))
        finally:
            sys.setprofile(before)
        assert len(file.matches[0].games[0].turns) == text.count(b":") - 2 == turns
        counts.append(calls[0])
    assert counts[2] < 2.01 * counts[1]

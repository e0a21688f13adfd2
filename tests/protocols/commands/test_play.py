"""`bgdata play`: whole games, every command, cube actions; and games that depend only on the seed."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import bgdata
from bgdata.cli import main
from bgdata.cli.output import ask
from bgdata.equity.cube import CubeRules
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.match_equity import find_met
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.formats.mat import parse_mat
from bgdata.formats.matches import Match, TurnKind
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.protocols.commands import play as playing
from bgdata.protocols.commands.play import HELP, Dialogue
from bgdata.protocols.commands.watch import Program
from bgdata.protocols.decisions import Answer, Decisions
from bgdata.protocols.session import DecisionKind, Moment, Session
from tests.command_line import error_of, output_of, run
from tests.conftest import SharedFolder, build_for_player
from tests.protocols.test_external import WildDecisions
from tests.protocols.test_fibs import RandomEvaluator
from tests.protocols.test_session import check_replay
from tests.subtests import each

SEED = 3  # the program begins
MONEY, MET = Money(is_jacoby=False), "published-12"


@pytest.fixture(scope="module")
def player(player_root: Path) -> LookaheadPlayer:
    return bgdata.open_player(player_root, "random")


@pytest.fixture(scope="module")
def cube_root(shared_folder: SharedFolder) -> Path:
    """A warehouse with a network, small tables and a match equity table."""

    def fill(folder: Path) -> None:
        build_for_player(folder)
        bgdata.open_warehouse(folder / "warehouse").build(MATCH_EQUITY.name, MATCH_EQUITY.defaults[-1])

    return shared_folder("play", fill) / "warehouse"


def play_from_pipe(root: Path, *answers: str, seed: int = SEED, options: tuple[str, ...] = ()) -> str:
    """Play with these answers from a pipe, and return what is printed."""
    text = "".join(f"{answer}\n" for answer in answers)
    arguments = ["--warehouse", str(root), "play", "--network", "random", "--seed", str(seed), *options]
    result = CliRunner().invoke(main, arguments, input=text, catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


Ask = Callable[[str], str]


def dialogue(player: LookaheadPlayer, seed: int, ask: Ask = lambda _: "quit") -> Dialogue:
    """A dialogue without the cube, in which `ask` gives the user's answers."""
    return Dialogue(Session(seed, ("You", player.label)), Program(player), player, ask)


def your_plays(seed: int, player: LookaheadPlayer) -> list[str]:
    """The legal plays of the user's first decision."""
    session = Session(seed, ("You", player.label))
    if session.now.side:
        session.make(player.best_play(session.now.position, session.roll).play)
    return [str(play) for play in legal_plays(session.now.position, session.roll)]


def roll_of_turn(seed: int, turn: int) -> str:
    """The roll of a turn in the first game of a seed."""
    session = Session(seed, ("You", "it"))
    session.now = Moment(START, 0, rolls=turn)
    return str(session.roll)


def test_end_of_input_leaves_the_game(player_root: Path, player: LookaheadPlayer) -> None:
    shown = play_from_pipe(player_root)
    assert shown.startswith("You are X, random-0ply is O; the dice are those of seed 3.\n  8/5 6/5   your play;")
    rolled = roll_of_turn(SEED, 0)
    assert f"\nrandom-0ply rolls {rolled}: {player.best_play(START, rolled).play}\n" in shown
    assert shown.endswith(" quit\nleft after 1 roll; the same dice again: bgdata play --seed 3\n")
    assert "left after 0 rolls;" in play_from_pipe(
        player_root, "quit", seed=next(seed for seed in range(9) if Session(seed, ("You", "it")).now.side == 0)
    )


def test_every_command_is_answered(player_root: Path, player: LookaheadPlayer) -> None:
    """Hints, illegal plays, undo and the board are answered, and the program replies to a repeated play as before."""
    mine = your_plays(SEED, player)[0]
    roll = roll_of_turn(SEED, 1)
    shown = play_from_pipe(
        player_root, "hint", "nonsense", "1/25", "9/1", "", "BOARD", mine, "undo", "undo", mine, "exit"
    )
    assert re.search(rf"\nYou roll {roll}: hint\n +ply  play", shown)
    assert f"\nYou roll {roll}: nonsense\nillegal: expected checker moves such as 'bar/22* 6/5(2)', got" in shown
    assert f"\nYou roll {roll}: 1/25\nillegal: expected points that go down from 25 to 0, got '1/25'\n" in shown
    assert f"\nYou roll {roll}: 9/1\nillegal: no checker is on 9\n" in shown
    assert shown.count(f" legal plays of {roll}: {mine}") == 3
    assert f"\nYou roll {roll}: \n  8/5 6/5   your play; moves in any order" in shown
    assert f"\nYou roll {roll}: BOARD\nPosition ID: " in shown
    assert shown.count(f"\nYou roll {roll}: {mine}\n") == 2
    assert shown.count(": undo\n") == 2
    assert shown.count(": undo\nnothing to undo yet\n") == 1
    # the program answers the same play in the same way
    replies = re.findall(r"random-0ply rolls \d\d: .*", shown)
    assert len(replies) == 3
    assert replies[1] == replies[2]
    assert "left after 3 rolls; " in shown


def test_illegal_play_lists_all_legal_ones(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """After an illegal play, all legal ones are listed; a play in another form is accepted."""
    for seed in range(12):
        talked = dialogue(player, seed)
        session = talked.session
        talked.answer("24/23/22/21")
        verdict, *listed = capsys.readouterr().out.splitlines()
        assert verdict.startswith("illegal: "), verdict
        plays = legal_plays(START, session.roll)
        head, _, listing = " ".join(listed).partition(": ")
        assert head == f"{len(plays)} legal plays of {session.roll}"
        assert [" ".join(text.split()) for text in listing.split(",")] == [str(play) for play in plays]
        assert max(map(len, listed)) <= 100
        assert all(line.endswith(",") for line in listed[:-1])
        assert session.now.rolls == 0
        talked.answer(f" {plays[0]} ".replace(" ", ", ").upper().strip(", "))
        assert (session.now.position, session.now.rolls) == (plays[0].next_position, 1)


def test_whole_game_ends_with_its_result(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """A user who asks for hints, plays hinted plays and undoes every seventh one reaches the end, and the result is
    printed."""
    winners = set()
    for seed in range(5):
        asked = 0

        def person(_: str) -> str:
            nonlocal asked
            asked += 1
            shown = capsys.readouterr().out
            plays = re.findall(r"^ +\d +0  (.*?) +[+-]\d\.\d{4} ", shown, re.MULTILINE)
            return str(plays[asked % len(plays)]) if plays else "undo" if asked % 7 == 0 else "hint"

        dialogue(player, seed, person).run()
        last = capsys.readouterr().out.splitlines()[-1]
        assert re.fullmatch(r"(You win|random-0ply wins) a (single game, 1 point|(back)?gammon, [23] points)", last)
        winners.add(last.split()[0])
    assert winners == {"You", "random-0ply"}


def test_only_play_is_made_without_asking(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """If only one play is legal, or none because a checker is on the bar against a closed board, nothing is asked."""
    closed_out = Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1])
    forced = Position([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, *[0] * 10, -1, 0])
    for position, text in ((closed_out, "no play"), (forced, " is the only play")):
        talked = dialogue(player, 5)
        talked.session.now = Moment(position, 0, rolls=1)
        talked.take_turn()
        shown = capsys.readouterr().out
        assert f"You roll {roll_of_turn(5, 1)}: " in shown
        assert text in shown.splitlines()[-1]
        now = talked.session.now
        assert now.rolls == 2
        assert now.side == 1
        assert not talked.session.is_left
        assert talked.session.decisions == []


def test_interrupted_game_is_left(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    dialogue(player, SEED, interrupt).run()
    assert capsys.readouterr().out.endswith("\n\nleft after 1 roll; the same dice again: bgdata play --seed 3\n")


def test_answers_are_not_echoed_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a terminal, answers are not printed again, and the end of the input leaves the game."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: f"{prompt}8/5")
    assert ask("> ") == "> 8/5"
    assert capsys.readouterr().out == ""

    def end(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    assert ask("> ") == "quit"
    assert capsys.readouterr().out == "\n"


def test_seed_is_random_by_default(player_root: Path) -> None:
    heads = {
        output_of(player_root, "play", "--network", "random", "--watch", "random").splitlines()[0] for _ in range(2)
    }
    assert len(heads) == 2


# with the cube


class Scripted(Decisions):
    """A program that doubles always or never, answers with the next word of a list, and accepts gammons."""

    doubling = False
    words = ("take",)

    def doubles(self, position: Position, stakes: Stakes) -> bool:  # noqa: ARG002
        """Always or never, as the test says."""
        return self.doubling

    def answer(self, position: Position, stakes: Stakes, *, by_roller: bool = False) -> Answer:
        """The next word of the list."""
        super().answer(position, stakes, by_roller=by_roller)  # raises for stakes it cannot answer
        first = self.words[0]
        object.__setattr__(self, "words", (*self.words[1:], first))
        return Answer(first)

    def accepts(self, position: Position, stakes: Stakes, size: int, roll: object = None) -> bool:  # noqa: ARG002
        """Accepts gammons and backgammons only."""
        return size > 1


def cube_talk(
    player: LookaheadPlayer,
    *answers: str,
    doubling: bool = False,
    words: tuple[str, ...] = ("take",),
    seed: int = SEED,
    score: Money | MatchScore = MONEY,
    has_beavers: bool = False,
) -> Dialogue:
    """Play with a scripted program and these answers; then the user leaves. Returns the dialogue."""
    program = Scripted(player, CubeRules(has_beavers=has_beavers))
    object.__setattr__(program, "doubling", doubling)
    object.__setattr__(program, "words", words)
    left = iter(answers)
    session = Session(seed, ("You", player.label), score, has_beavers=has_beavers)
    talked = Dialogue(session, Program(player, program), player, echoed(lambda _: next(left, "quit")))
    talked.run()
    assert not list(left), "not all answers were asked for"
    return talked


def echoed(answer: Ask) -> Ask:
    """A function that answers like `answer`, and prints answers as they appear for a pipe."""

    def ask(prompt: str) -> str:
        typed = answer(prompt)
        print(prompt + typed)
        return typed

    return ask


def test_user_doubles_and_the_program_takes(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """The user may double before the roll only, and not again while the program owns the cube; undo takes the double
    back."""
    mine = your_plays(SEED, player)[0]
    talked = cube_talk(
        player, "hint", "13/7", "take", "double", "double", "undo", "undo", "ROLL", "double", mine, "undo", "undo", "d"
    )
    shown = capsys.readouterr().out
    roll = roll_of_turn(SEED, 1)
    assert "\n  double    offer the cube " in shown
    assert "beaver" not in shown
    assert shown.count("cube 1, money\n") == 3, "the board is shown once per turn, and after undo"
    assert re.search(r"\nEnter to roll, or double: hint\n[a-z, ]+\n\n +equity +change\nno double +[+-]\d\.\d{4}", shown)
    for text in ("13/7", "take"):
        assert f": {text}\nexpected roll or double, got '{text}'; help lists the commands\n" in shown
    assert "\nEnter to roll, or double: double\nrandom-0ply takes\n" in shown
    assert f"\nYou roll {roll}: double\nno double: the opponent owns the cube\n" in shown
    assert f"\nYou roll {roll}: undo\nEnter to roll, or double: undo\nnothing to undo yet\n" in shown
    assert f": ROLL\nYou roll {roll}: double\nno double: the dice are rolled\n" in shown
    assert shown.endswith("quit\nleft after 1 roll; the same dice again: bgdata play --money --seed 3\n")
    assert [turn.kind for turn in talked.session.record.games[0].turns] == [
        TurnKind.PLAY,
        TurnKind.DOUBLE,
        TurnKind.TAKE,
    ]
    assert talked.session.now.stakes == Stakes(MONEY, Cube(2, CubeOwner.OPPONENT))


def test_user_doubles_and_the_program_passes(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    talked = cube_talk(player, "double", words=("pass",))
    assert capsys.readouterr().out.endswith(": double\nrandom-0ply passes\n\nYou win 1 point\n")
    assert (talked.session.is_over, talked.session.points) == (True, (1, 0))


def test_user_answers_a_double_of_the_program(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """The user takes or passes a double; other commands are refused until then, and undo goes back before it."""
    mine = your_plays(SEED, player)[0]
    answers = ("", mine, "hint", "", "beaver", "resign", "board", "undo", mine, "take", "undo", "t", "board", "p")
    talked = cube_talk(player, *answers, doubling=True)
    shown = capsys.readouterr().out
    assert "\nrandom-0ply doubles to 2\n\n+-13-" in shown
    assert shown.count("  X to answer\n") == 4
    asked = "\nTake or pass: "
    assert f"{asked}hint\n" in shown
    assert f"{asked}\n{HELP}" in shown
    assert f"{asked}beaver\nexpected take or pass, got 'beaver'; help lists the commands\n" in shown
    assert f"{asked}resign\nexpected take or pass, got resign; pass gives the game up\n" in shown
    assert shown.count("random-0ply doubles to 2\n") == 2
    again = shown.index(f"{asked}take\nrandom-0ply rolls ")
    assert shown.index(f"{asked}t\n", again)
    board = shown[shown.rindex(": board\n") :]
    assert "  cube 2\n" in board
    assert "Enter to roll, or double: p\nexpected roll or double, got 'p'; help lists" in board
    assert talked.session.now.stakes == Stakes(MONEY, Cube(2, CubeOwner.ON_ROLL))

    talked = cube_talk(player, "", mine, "PASS", doubling=True)
    assert capsys.readouterr().out.endswith("Take or pass: PASS\n\nrandom-0ply wins 1 point\n")
    assert talked.session.points == (0, 1)


def test_both_sides_can_beaver(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """With beavers, either side may turn a double back; the other then takes or passes at the higher cube."""
    mine = your_plays(SEED, player)[0]
    talked = cube_talk(player, "double", "hint", "beaver", "pass", words=("beaver",), has_beavers=True)
    shown = capsys.readouterr().out
    assert "\n  beaver    turn a double back at once, and keep the cube\n" in shown
    assert re.search(
        r": double\nrandom-0ply beavers to 4\nTake or pass: hint\ntake [+-]\d\.\d{4}, pass -2\.0000", shown
    )
    assert "Take or pass: beaver\nexpected take or pass, got 'beaver'; help lists the commands\n" in shown
    assert shown.endswith("Take or pass: pass\n\nrandom-0ply wins 2 points\n")
    assert talked.session.points == (0, 2)

    talked = cube_talk(player, "double", "take", words=("beaver",), has_beavers=True)
    assert talked.session.now.stakes == Stakes(MONEY, Cube(4, CubeOwner.OPPONENT))
    capsys.readouterr()

    talked = cube_talk(player, "", mine, "beaver", doubling=True, has_beavers=True)
    assert "\nTake, pass or beaver: beaver\nrandom-0ply takes\nrandom-0ply rolls " in capsys.readouterr().out
    assert talked.session.now.stakes == Stakes(MONEY, Cube(4, CubeOwner.ON_ROLL))
    kinds = [turn.kind for turn in talked.session.record.games[0].turns]
    assert kinds[2:5] == [TurnKind.DOUBLE, TurnKind.BEAVER, TurnKind.PLAY]


def test_resignations_are_accepted_or_refused(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    talked = cube_talk(player, "resign", "resign me", "resign 2", "", "resign single", "Resign  Gammon")
    shown = capsys.readouterr().out
    for text in ("resign me", "resign 2"):
        assert f": {text}\nexpected resign, resign gammon or resign backgammon, got '{text}'\n" in shown
    assert "Enter to roll, or double: resign\nrandom-0ply refuses\nEnter to roll" in shown
    roll = roll_of_turn(SEED, 1)
    assert f"You roll {roll}: resign single\nrandom-0ply refuses\nYou roll {roll}: " in shown
    assert shown.endswith("random-0ply accepts\n\nrandom-0ply wins a gammon, 2 points\n")
    assert talked.session.points == (0, 2)


def test_program_decides_by_its_own_equity(player: LookaheadPlayer) -> None:
    """In money games, the program plays, doubles and answers as `Decisions` does."""
    rules = CubeRules()
    decisions = Decisions(player, rules)
    for seed in range(12):
        session = Session(seed, ("You", player.label), MONEY)
        program = Program.of(player, rules)
        for _ in range(30):
            now = session.now
            assert now.stakes
            if session.ending:
                break
            if now.kind is DecisionKind.PLAY:
                expected = decisions.play(now.position, session.roll, now.stakes)
                program.act(session)
                assert session.now.position == expected.next_position
            elif now.kind is DecisionKind.TURN:
                doubles = decisions.doubles(now.position, now.stakes)
                assert (program.act(session) != "") == doubles
            else:
                taken = {"takes": "take", "passes": "pass"}[program.act(session)]
                assert taken == decisions.answer(now.position, now.stakes)


def test_no_double_prompt_when_doubling_is_not_allowed(
    player: LookaheadPlayer, cube_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user is not asked to double in the Crawford game, with a dead cube, and before the first roll."""
    begins = next(seed for seed in range(9) if Session(seed, ("You", "it")).now.side == 0)
    shown = play_from_pipe(cube_root, "double", seed=begins, options=("--match-length", "3", "--met", MET))
    assert "game 1 to 3 points: You 0, random-0ply 0\n" in shown
    assert ": double\nno double: the first roll of a game decides who begins\n" in shown
    assert "  X to play " in shown
    assert shown.endswith(
        f"left game 1 after 0 rolls; the same dice again: bgdata play --match-length 3 --seed {begins}\n"
    )
    shown = play_from_pipe(cube_root, "double", options=("--match-length", "1", "--met", MET))
    assert ": double\nno double: at 1-away 1-away the cube is high enough to win the match\n" in shown

    session = Session(SEED, ("You", player.label), MatchScore(2, 2))
    session.now = Moment(START, 1, session.now.stakes)
    session.resign(1)
    session.begin_next()
    answers = iter(["double"] * 2)
    rules = CubeRules(met=find_met(bgdata.open_warehouse(cube_root), MET))
    Dialogue(session, Program.of(player, rules), player, echoed(lambda _: next(answers, "quit"))).run()
    shown = capsys.readouterr().out
    assert "game 2 to 2 points: You 1, random-0ply 0, Crawford game\n" in shown
    assert "crawford game" in shown
    assert "double: " not in shown.replace("no double: nobody doubles in the crawford game\n", "").replace(
        "You roll", ""
    )


def scripted_user(capsys: pytest.CaptureFixture[str], told: list[str]) -> Ask:
    """A user who asks for hints, plays one of them, sometimes doubles, and mostly takes. What is printed is added to
    `told`."""
    asked = 0

    def answer(prompt: str) -> str:
        nonlocal asked
        asked += 1
        shown = capsys.readouterr().out
        told.append(shown)
        if prompt.startswith("Enter"):
            return "double" if asked % 11 == 0 else "undo" if asked % 29 == 0 else "hint" if asked % 17 == 0 else ""
        if prompt.startswith("Take"):
            return "pass" if asked % 13 == 0 else "take"
        plays = re.findall(r"^ +\d +0  (.*?) +[+-]\d\.\d{4} ", shown, re.MULTILINE)
        return str(plays[asked % len(plays)]) if plays else "hint"

    return answer


@pytest.mark.parametrize("options", [("--match-length", "3"), ("--money", "--jacoby", "--beavers")], ids=" ".join)
def test_saved_matches_round_trip(
    cube_root: Path,
    player: LookaheadPlayer,
    options: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The saved file contains every act of matches and money games, and `analyze` and `luck` accept it."""
    kinds: set[TurnKind] = set()
    rules = CubeRules(met=find_met(bgdata.open_warehouse(cube_root), MET))
    for seed in range(3):
        is_match = options[0] == "--match-length"
        score = MatchScore(3, 3) if is_match else Money(is_jacoby=True)
        session = Session(seed, ("You", player.label), score, has_beavers=not is_match)
        path = tmp_path / f"{seed}.mat"
        told = list[str]()
        person = scripted_user(capsys, told)
        wild = Program(player, WildDecisions(player, rules if is_match else CubeRules(has_beavers=True)))
        with playing.save_at_end(session, path) as keep:
            Dialogue(session, wild, player, person).run(keep)
        told.append(capsys.readouterr().out)
        assert session.is_over
        match = read(path)
        kinds |= check_replay(match, session)
        text = "".join(told)
        assert text.count("random-0ply doubles to ") >= sum(
            turn.kind is TurnKind.DOUBLE and turn.player == 1 for game in match.games for turn in game.turns
        )
        if is_match:
            assert text.count("\ngame ") == len(match.games)
            assert f"the match {max(session.points)}-{min(session.points)}\n" in text
        rolls = sum(turn.dice is not None for game in match.games for turn in game.turns)
        table = output_of(cube_root, "luck", path, "--player", "network/random", "--format", "csv").splitlines()
        assert len(table) == rolls + 1
        network = ("--network", "random", "--ply", "0", "--format", "csv", "--by-game")
        judged = output_of(cube_root, "analyze", path, *network, *(["--met", MET] if is_match else []))
        assert len(judged.splitlines()) == len(match.games) + 1
    assert {TurnKind.DOUBLE, TurnKind.TAKE} <= kinds
    assert is_match or TurnKind.BEAVER in kinds


def read(path: Path) -> Match:
    """Read a file with a single match, and check that no line is left unparsed."""
    found = parse_mat(path.read_bytes())
    assert not found.rejects
    (match,) = found.matches
    return match


def test_turns_are_saved_however_the_session_ends(
    player: LookaheadPlayer, cube_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Turns are saved after every game, when the user leaves, at Ctrl-C, and at an exception."""
    rules = CubeRules(met=find_met(bgdata.open_warehouse(cube_root), MET))
    for error in (None, KeyboardInterrupt, RuntimeError):
        session = Session(SEED, ("You", player.label), MatchScore(5, 5))
        path = tmp_path / "left.mat"
        path.unlink(missing_ok=True)
        count = 0

        def person(_: str) -> str:
            nonlocal count
            count += 1
            if count == 1:
                return "resign backgammon"
            assert read(path).games[0].points == 3  # noqa: B023
            if count == 2:
                return "hint"
            if error:  # noqa: B023
                raise error  # noqa: B023
            return "quit"

        try:
            with playing.save_at_end(session, path) as keep:
                Dialogue(session, Program.of(player, rules), player, person).run(keep)
        except RuntimeError:
            assert error is RuntimeError
        shown = capsys.readouterr().out
        assert ("left game 2 after " in shown) == (error is not RuntimeError)
        match = read(path)
        check_replay(match, session)
        assert [game.winner for game in match.games] == [1, None]


@each(
    ("options", "code", "message"),
    [
        (("--match-length", "0"), 2, "invalid value for '--match-length': 0 is not in the range 1<=x<=64; see: .*"),
        (("--match-length", "20", "--met", MET), 2, "expected a match equity table to 20-away, got .*"),
        (("--match-length", "3", "--jacoby"), 2, "expected money play with --jacoby, got a match to 3"),
        (("--match-length", "3", "--beavers"), 2, "expected money play with --beavers, got a match to 3"),
        (("--match-length", "3", "--money"), 2, "expected one of --money and --match-length, got both"),
        (("--match-length", "3", "--met", "none"), 1, "no match equity table none in .*"),
        (("--jacoby",), 2, "expected --money with --jacoby, got none"),
        (("--beavers",), 2, "expected --money with --beavers, got none"),
        (("--money", "--met", "published-12"), 2, "expected --match-length with --met, got none"),
        (("--met", "published-12"), 2, "expected --match-length with --met, got none"),
        (
            ("--money", "--watch", "pubeval"),
            2,
            "expected a player that evaluates positions, got pubeval, which only chooses plays",
        ),
        (
            ("--match-length", "3", "--met", MET, "--watch", "random"),
            2,
            "expected a player that evaluates positions, got random, which only chooses plays",
        ),
        (("--money", "--save", "/nowhere/x.mat"), 1, "cannot write /nowhere/x.mat: no such file or directory"),
    ],
)
def test_invalid_options_are_refused(cube_root: Path, options: tuple[str, ...], code: int, message: str) -> None:
    assert re.fullmatch(message, error_of(run(cube_root, "play", "--network", "random", *options), code))


def test_match_needs_a_match_equity_table(player_root: Path) -> None:
    message = error_of(run(player_root, "play", "--network", "random", "--match-length", "3"), 1)
    assert message.startswith("no match equity table is built in ")


def test_watch_command_saves_a_match(cube_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`play --watch` saves a match with the cube between two programs."""
    monkeypatch.setattr("bgdata.evaluation.player.open_named_player", lambda _: LookaheadPlayer(RandomEvaluator()))
    path = tmp_path / "watched.mat"
    words = f"play --network random --seed 4 --watch any.onnx --match-length 3 --met {MET} --save {path}"
    shown = output_of(cube_root, *words.split())
    match = read(path)
    assert match.players == ("scrambled-0ply", "random-0ply")
    assert shown.count("mwc of random-0ply\n") == len(match.games)
    assert re.search(r"(scrambled|random)-0ply wins the match \d+-\d+\n$", shown)

"""`bgdata play`: whole games, every command, cube actions; and games that depend only on the seed."""

import re
from collections.abc import Callable
from contextlib import nullcontext
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
from bgdata.protocols.session import Moment, Session
from tests.command_line import error_of, output_of, run
from tests.conftest import SharedFolder, build_for_player
from tests.protocols.test_external import WildDecisions
from tests.protocols.test_fibs import RandomEvaluator
from tests.protocols.test_session import check_replay
from tests.subtests import each

SEED = 3  # the program begins
SEED_OF_USER = 1  # the user begins
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


def first_play(seed: int, player: LookaheadPlayer) -> str:
    """The first legal play of the user's first decision."""
    session = Session(seed, ("You", player.label))
    if session.now.side:
        session.make(player.best_play(session.now.position, session.roll).play)
    return str(legal_plays(session.now.position, session.roll)[0])


def roll_of_turn(seed: int, turn: int) -> str:
    """The roll of a turn in the first game of a seed."""
    session = Session(seed, ("You", "it"))
    session.now = Moment(START, 0, rolls=turn)
    return str(session.roll)


def test_end_of_input_leaves_the_game(player_root: Path, player: LookaheadPlayer) -> None:
    output = play_from_pipe(player_root)
    assert output.startswith("You are X, random-0ply is O; the dice are those of seed 3.\n  8/5 6/5   your play;")
    roll = roll_of_turn(SEED, 0)
    assert f"\nrandom-0ply rolls {roll}: {player.best_play(START, roll).play}\n" in output
    assert output.endswith(" quit\nleft after 1 roll; the same dice again: bgdata play --seed 3\n")
    assert "left after 0 rolls;" in play_from_pipe(player_root, "quit", seed=SEED_OF_USER)


def test_every_command_is_answered(player_root: Path, player: LookaheadPlayer) -> None:
    play = first_play(SEED, player)
    answers = ("hint", "nonsense", "1/25", "9/1", "", "BOARD", play, "undo", "undo", play, "exit")
    output = play_from_pipe(player_root, *answers)
    prompt = f"\nYou roll {roll_of_turn(SEED, 1)}: "
    assert re.search(rf"{prompt}hint\n +ply  play", output)
    assert f"{prompt}nonsense\nillegal: expected checker moves such as 'bar/22* 6/5(2)', got" in output
    assert f"{prompt}1/25\nillegal: expected points that go down from 25 to 0, got '1/25'\n" in output
    assert f"{prompt}9/1\nillegal: no checker is on 9\n" in output
    assert output.count(f" legal plays of {roll_of_turn(SEED, 1)}: {play}") == 3
    assert f"{prompt}\n  8/5 6/5   your play; moves in any order" in output
    assert f"{prompt}BOARD\nPosition ID: " in output
    assert output.count(f"{prompt}{play}\n") == 2
    assert output.count(": undo\n") == 2
    assert output.count(": undo\nnothing to undo yet\n") == 1
    _, reply, same_reply = re.findall(r"random-0ply rolls \d\d: .*", output)
    assert reply == same_reply
    assert "left after 3 rolls; " in output


@each("seed", range(12))
def test_illegal_play_lists_all_legal_ones(
    player: LookaheadPlayer, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    dialogue_of_seed = dialogue(player, seed)
    session = dialogue_of_seed.session
    dialogue_of_seed.answer("24/23/22/21")
    verdict, *lines = capsys.readouterr().out.splitlines()
    assert verdict.startswith("illegal: "), verdict
    plays = legal_plays(START, session.roll)
    heading, _, listing = " ".join(lines).partition(": ")
    assert heading == f"{len(plays)} legal plays of {session.roll}"
    assert [" ".join(text.split()) for text in listing.split(",")] == [str(play) for play in plays]
    assert max(map(len, lines)) <= 100
    assert all(line.endswith(",") for line in lines[:-1])
    assert session.now.rolls == 0


def test_play_in_another_form_is_accepted(player: LookaheadPlayer) -> None:
    """Moves may be separated by commas."""
    dialogue_of_seed = dialogue(player, SEED)
    play = legal_plays(START, dialogue_of_seed.session.roll)[0]
    dialogue_of_seed.answer(f"{play} ".replace(" ", ", ").strip(", "))
    assert dialogue_of_seed.session.now.position == play.next_position
    assert dialogue_of_seed.session.now.rolls == 1


def test_whole_game_ends_with_its_result(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """A user who asks for hints, plays hinted plays and undoes every seventh one reaches the end, and the result is
    printed."""
    winners = set()
    for seed in range(5):
        n_prompts = 0

        def user(_: str) -> str:
            nonlocal n_prompts
            n_prompts += 1
            plays = hinted_plays(capsys.readouterr().out)
            if plays:
                return plays[n_prompts % len(plays)]
            return "undo" if n_prompts % 7 == 0 else "hint"

        dialogue(player, seed, user).run()
        result = capsys.readouterr().out.splitlines()[-1]
        assert re.fullmatch(r"(You win|random-0ply wins) a (single game, 1 point|(back)?gammon, [23] points)", result)
        winners.add(result.split()[0])
    assert winners == {"You", "random-0ply"}


def hinted_plays(output: str) -> list[str]:
    """The plays that were listed after `hint`."""
    return [str(play) for play in re.findall(r"^ +\d +0  (.*?) +[+-]\d\.\d{4} ", output, re.MULTILINE)]


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1]), "no play"),
        (Position([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, *[0] * 10, -1, 0]), " is the only play"),
    ],
    ids=["closed out", "forced"],
)
def test_only_play_is_made_without_asking(
    player: LookaheadPlayer, capsys: pytest.CaptureFixture[str], position: Position, text: str
) -> None:
    dialogue_of_seed = dialogue(player, 5)
    session = dialogue_of_seed.session
    session.now = Moment(position, 0, rolls=1)
    dialogue_of_seed.take_turn()
    output = capsys.readouterr().out
    assert f"You roll {roll_of_turn(5, 1)}: " in output
    assert text in output.splitlines()[-1]
    assert (session.now.rolls, session.now.side) == (2, 1)
    assert not session.is_left
    assert session.decisions == []


def test_interrupted_game_is_left(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    dialogue(player, SEED, interrupt).run()
    assert capsys.readouterr().out.endswith("\n\nleft after 1 roll; the same dice again: bgdata play --seed 3\n")


def test_answers_are_not_echoed_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
    arguments = ("play", "--network", "random", "--watch", "random")
    first, second = (output_of(player_root, *arguments).splitlines()[0] for _ in range(2))
    assert first != second


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


def play_with_cube(
    player: LookaheadPlayer,
    *answers: str,
    doubling: bool = False,
    words: tuple[str, ...] = ("take",),
    has_beavers: bool = False,
) -> Session:
    """Play for money with a scripted program and these answers; then the user leaves. Returns the session."""
    program = Scripted(player, CubeRules(has_beavers=has_beavers))
    object.__setattr__(program, "doubling", doubling)
    object.__setattr__(program, "words", words)
    remaining = iter(answers)
    session = Session(SEED, ("You", player.label), MONEY, has_beavers=has_beavers)
    Dialogue(session, Program(player, program), player, echoed(lambda _: next(remaining, "quit"))).run()
    assert not list(remaining), "not all answers were asked for"
    return session


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
    play = first_play(SEED, player)
    answers = ("hint", "13/7", "take", "double", "double", "undo", "undo", "ROLL", "double", play, "undo", "undo", "d")
    session = play_with_cube(player, *answers)
    output = capsys.readouterr().out
    roll = roll_of_turn(SEED, 1)
    assert "\n  double    offer the cube " in output
    assert "beaver" not in output
    assert output.count("cube 1, money\n") == 3, "the board is shown once per turn, and after undo"
    assert re.search(
        r"\nEnter to roll, or double: hint\n[a-z, ]+\n\n +equity +change\nno double +[+-]\d\.\d{4}", output
    )
    for text in ("13/7", "take"):
        assert f": {text}\nexpected roll or double, got '{text}'; help lists the commands\n" in output
    assert "\nEnter to roll, or double: double\nrandom-0ply takes\n" in output
    assert f"\nYou roll {roll}: double\nno double: the opponent owns the cube\n" in output
    assert f"\nYou roll {roll}: undo\nEnter to roll, or double: undo\nnothing to undo yet\n" in output
    assert f": ROLL\nYou roll {roll}: double\nno double: the dice are rolled\n" in output
    assert output.endswith("quit\nleft after 1 roll; the same dice again: bgdata play --money --seed 3\n")
    kinds = [turn.kind for turn in session.record.games[0].turns]
    assert kinds == [TurnKind.PLAY, TurnKind.DOUBLE, TurnKind.TAKE]
    assert session.now.stakes == Stakes(MONEY, Cube(2, CubeOwner.OPPONENT))


def test_user_doubles_and_the_program_passes(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    session = play_with_cube(player, "double", words=("pass",))
    assert capsys.readouterr().out.endswith(": double\nrandom-0ply passes\n\nYou win 1 point\n")
    assert (session.is_over, session.points) == (True, (1, 0))


def test_user_takes_a_double_of_the_program(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """Other commands are refused until the user takes, and undo goes back before the double."""
    play = first_play(SEED, player)
    answers = ("", play, "hint", "", "beaver", "resign", "board", "undo", play, "take", "undo", "t", "board", "p")
    session = play_with_cube(player, *answers, doubling=True)
    output = capsys.readouterr().out
    prompt = "\nTake or pass: "
    assert "\nrandom-0ply doubles to 2\n\n+-13-" in output
    assert output.count("  X to answer\n") == 4
    assert f"{prompt}hint\n" in output
    assert f"{prompt}\n{HELP}" in output
    assert f"{prompt}beaver\nexpected take or pass, got 'beaver'; help lists the commands\n" in output
    assert f"{prompt}resign\nexpected take or pass, got resign; pass gives the game up\n" in output
    assert output.count("random-0ply doubles to 2\n") == 2
    first_take = output.index(f"{prompt}take\nrandom-0ply rolls ")
    assert output.index(f"{prompt}t\n") > first_take
    after_take = output[output.rindex(": board\n") :]
    assert "  cube 2\n" in after_take
    assert "Enter to roll, or double: p\nexpected roll or double, got 'p'; help lists" in after_take
    assert session.now.stakes == Stakes(MONEY, Cube(2, CubeOwner.ON_ROLL))


def test_user_passes_a_double_of_the_program(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    session = play_with_cube(player, "", first_play(SEED, player), "PASS", doubling=True)
    assert capsys.readouterr().out.endswith("Take or pass: PASS\n\nrandom-0ply wins 1 point\n")
    assert session.points == (0, 1)


def test_program_beavers(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """With beavers, the program may turn a double back; the user then takes or passes at the higher cube."""
    session = play_with_cube(player, "double", "hint", "beaver", "pass", words=("beaver",), has_beavers=True)
    output = capsys.readouterr().out
    assert "\n  beaver    turn a double back at once, and keep the cube\n" in output
    hint = r": double\nrandom-0ply beavers to 4\nTake or pass: hint\ntake [+-]\d\.\d{4}, pass -2\.0000"
    assert re.search(hint, output)
    assert "Take or pass: beaver\nexpected take or pass, got 'beaver'; help lists the commands\n" in output
    assert output.endswith("Take or pass: pass\n\nrandom-0ply wins 2 points\n")
    assert session.points == (0, 2)
    session = play_with_cube(player, "double", "take", words=("beaver",), has_beavers=True)
    assert session.now.stakes == Stakes(MONEY, Cube(4, CubeOwner.OPPONENT))


def test_user_beavers(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    session = play_with_cube(player, "", first_play(SEED, player), "beaver", doubling=True, has_beavers=True)
    assert "\nTake, pass or beaver: beaver\nrandom-0ply takes\nrandom-0ply rolls " in capsys.readouterr().out
    assert session.now.stakes == Stakes(MONEY, Cube(4, CubeOwner.ON_ROLL))
    kinds = [turn.kind for turn in session.record.games[0].turns]
    assert kinds[2:5] == [TurnKind.DOUBLE, TurnKind.BEAVER, TurnKind.PLAY]


def test_resignations_are_accepted_or_refused(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    session = play_with_cube(player, "resign", "resign me", "resign 2", "", "resign single", "Resign  Gammon")
    output = capsys.readouterr().out
    for text in ("resign me", "resign 2"):
        assert f": {text}\nexpected resign, resign gammon or resign backgammon, got '{text}'\n" in output
    assert "Enter to roll, or double: resign\nrandom-0ply refuses\nEnter to roll" in output
    roll = roll_of_turn(SEED, 1)
    assert f"You roll {roll}: resign single\nrandom-0ply refuses\nYou roll {roll}: " in output
    assert output.endswith("random-0ply accepts\n\nrandom-0ply wins a gammon, 2 points\n")
    assert session.points == (0, 2)


def test_double_before_the_first_roll_is_refused(cube_root: Path) -> None:
    options = ("--match-length", "3", "--met", MET)
    output = play_from_pipe(cube_root, "double", seed=SEED_OF_USER, options=options)
    assert "game 1 to 3 points: You 0, random-0ply 0\n" in output
    assert ": double\nno double: the first roll of a game decides who begins\n" in output
    assert "  X to play " in output
    command = f"bgdata play --match-length 3 --seed {SEED_OF_USER}"
    assert output.endswith(f"left game 1 after 0 rolls; the same dice again: {command}\n")


def test_double_with_a_dead_cube_is_refused(cube_root: Path) -> None:
    output = play_from_pipe(cube_root, "double", options=("--match-length", "1", "--met", MET))
    assert ": double\nno double: at 1-away 1-away the cube is high enough to win the match\n" in output


def test_double_in_the_crawford_game_is_refused(
    player: LookaheadPlayer, cube_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The user is not asked to double there."""
    session = Session(SEED, ("You", player.label), MatchScore(2, 2))
    session.now = Moment(START, 1, session.now.stakes)
    session.resign(1)
    session.begin_next()
    answers = iter(["double"] * 2)
    rules = CubeRules(met=find_met(bgdata.open_warehouse(cube_root), MET))
    Dialogue(session, Program.of(player, rules), player, echoed(lambda _: next(answers, "quit"))).run()
    output = capsys.readouterr().out
    assert "game 2 to 2 points: You 1, random-0ply 0, Crawford game\n" in output
    assert "no double: nobody doubles in the crawford game\n" in output
    assert "or double: " not in output


def scripted_user(capsys: pytest.CaptureFixture[str], output: list[str]) -> Ask:
    """A user who asks for hints, plays one of them, sometimes doubles, and mostly takes. What is printed is added to
    `output`."""
    n_prompts = 0

    def answer(prompt: str) -> str:
        nonlocal n_prompts
        n_prompts += 1
        output.append(capsys.readouterr().out)
        if prompt.startswith("Enter"):
            for interval, word in ((11, "double"), (29, "undo"), (17, "hint")):
                if n_prompts % interval == 0:
                    return word
            return ""
        if prompt.startswith("Take"):
            return "pass" if n_prompts % 13 == 0 else "take"
        plays = hinted_plays(output[-1])
        return plays[n_prompts % len(plays)] if plays else "hint"

    return answer


@pytest.mark.parametrize("is_match", [True, False], ids=["match", "money"])
def test_saved_matches_round_trip(
    cube_root: Path, player: LookaheadPlayer, is_match: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds: set[TurnKind] = set()
    met = find_met(bgdata.open_warehouse(cube_root), MET)
    score = MatchScore(3, 3) if is_match else Money(is_jacoby=True)
    rules = CubeRules(met=met) if is_match else CubeRules(has_beavers=True)
    for seed in range(3):
        session = Session(seed, ("You", player.label), score, has_beavers=not is_match)
        path = tmp_path / f"{seed}.mat"
        outputs = list[str]()
        with playing.save_at_end(session, path) as keep:
            program = Program(player, WildDecisions(player, rules))
            Dialogue(session, program, player, scripted_user(capsys, outputs)).run(keep)
        output = "".join([*outputs, capsys.readouterr().out])
        assert session.is_over
        match = read_match(path)
        kinds |= check_replay(match, session)
        turns = [turn for game in match.games for turn in game.turns]
        n_doubles = sum(turn.kind is TurnKind.DOUBLE and turn.player == 1 for turn in turns)
        assert output.count("random-0ply doubles to ") >= n_doubles
        if is_match:
            assert output.count("\ngame ") == len(match.games)
            assert f"the match {max(session.points)}-{min(session.points)}\n" in output
        sheet = output_of(cube_root, "luck", path, "--player", "network/random", "--format", "csv").splitlines()
        assert len(sheet) - 1 == sum(turn.dice is not None for turn in turns)
        options = ("--network", "random", "--ply", "0", "--format", "csv", "--by-game", *(["--met", MET] * is_match))
        assert len(output_of(cube_root, "analyze", path, *options).splitlines()) - 1 == len(match.games)
    assert {TurnKind.DOUBLE, TurnKind.TAKE} <= kinds
    assert is_match or TurnKind.BEAVER in kinds


def read_match(path: Path) -> Match:
    """Read a file with a single match, and check that no line is left unparsed."""
    file = parse_mat(path.read_bytes())
    assert not file.rejects
    (match,) = file.matches
    return match


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, RuntimeError])
def test_turns_are_saved_however_the_session_ends(
    player: LookaheadPlayer,
    cube_root: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    error: type[BaseException] | None,
) -> None:
    rules = CubeRules(met=find_met(bgdata.open_warehouse(cube_root), MET))
    session = Session(SEED, ("You", player.label), MatchScore(5, 5))
    path = tmp_path / "left.mat"
    answers = iter(["resign backgammon", "hint"])

    def user(_: str) -> str:
        if len(session.record.games) > 1:
            assert read_match(path).games[0].points == 3
        answer = next(answers, "quit")
        if answer == "quit" and error:
            raise error
        return answer

    with (
        pytest.raises(RuntimeError) if error is RuntimeError else nullcontext(),
        playing.save_at_end(session, path) as keep,
    ):
        Dialogue(session, Program.of(player, rules), player, user).run(keep)
    assert ("left game 2 after " in capsys.readouterr().out) == (error is not RuntimeError)
    match = read_match(path)
    check_replay(match, session)
    assert [game.winner for game in match.games] == [1, None]


@each(
    ("options", "code", "message"),
    [
        ("--match-length 0", 2, "invalid value for '--match-length': 0 is not in the range 1<=x<=64; see: .*"),
        (f"--match-length 20 --met {MET}", 2, "expected a match equity table to 20-away, got .*"),
        ("--match-length 3 --jacoby", 2, "expected money play with --jacoby, got a match to 3"),
        ("--match-length 3 --beavers", 2, "expected money play with --beavers, got a match to 3"),
        ("--match-length 3 --money", 2, "expected one of --money and --match-length, got both"),
        ("--match-length 3 --met none", 1, "no match equity table none in .*"),
        ("--jacoby", 2, "expected --money with --jacoby, got none"),
        ("--beavers", 2, "expected --money with --beavers, got none"),
        (f"--money --met {MET}", 2, "expected --match-length with --met, got none"),
        (f"--met {MET}", 2, "expected --match-length with --met, got none"),
        (
            "--money --watch pubeval",
            2,
            "expected a player that evaluates positions, got pubeval, which only chooses plays",
        ),
        (
            f"--match-length 3 --met {MET} --watch random",
            2,
            "expected a player that evaluates positions, got random, which only chooses plays",
        ),
        ("--money --save /nowhere/x.mat", 1, "cannot write /nowhere/x.mat: no such file or directory"),
    ],
)
def test_invalid_options_are_refused(cube_root: Path, options: str, code: int, message: str) -> None:
    error = error_of(run(cube_root, "play", "--network", "random", *options.split()), code)
    assert re.fullmatch(message, error)


def test_match_needs_a_match_equity_table(player_root: Path) -> None:
    message = error_of(run(player_root, "play", "--network", "random", "--match-length", "3"), 1)
    assert message.startswith("no match equity table is built in ")


def test_watch_command_saves_a_match(cube_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bgdata.evaluation.player.open_named_player", lambda _: LookaheadPlayer(RandomEvaluator()))
    path = tmp_path / "watched.mat"
    command = f"play --network random --seed 4 --watch any.onnx --match-length 3 --met {MET} --save {path}"
    output = output_of(cube_root, *command.split())
    match = read_match(path)
    assert match.players == ("scrambled-0ply", "random-0ply")
    assert output.count("mwc of random-0ply\n") == len(match.games)
    assert re.search(r"(scrambled|random)-0ply wins the match \d+-\d+\n$", output)

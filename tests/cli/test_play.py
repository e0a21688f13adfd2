"""`bgdata play`: whole games, what a person can say, and that a game is decided by its seed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import bgdata
from bgdata.cli import main
from bgdata.cli import play as playing
from bgdata.cli.play import InteractiveGame, describe_result, play_game, save_game
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import RandomPlayer
from bgdata.formats.mat import parse_mat
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from tests.cli.command_line import succeeds
from tests.reference.games import dice

SEED = 3  # the other side begins


@pytest.fixture(scope="module")
def player(player_root: Path) -> LookaheadPlayer:
    return bgdata.open_player(player_root, "random")


def talk(root: Path, *answers: str, seed: int = SEED) -> str:
    """What a game prints whose answers come from a pipe."""
    text = "".join(f"{answer}\n" for answer in answers)
    arguments = ["--warehouse", str(root), "play", "--network", "random", "--seed", str(seed)]
    result = CliRunner().invoke(main, arguments, input=text, catch_exceptions=False)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def your_plays(seed: int, player: LookaheadPlayer) -> list[str]:
    """The plays that you have at your first decision."""
    game = InteractiveGame(seed)
    if not game.yours:
        game.make(player.best_play(game.position, game.roll).play)
    return [str(play) for play in legal_plays(game.position, game.roll)]


def test_the_dice_are_those_of_game_0_of_the_seed() -> None:
    for seed in range(8):
        game = InteractiveGame(seed)
        for turn in range(40):
            game.turn = turn
            assert game.dice() == dice(seed, 0, turn)
        high, low = max(dice(seed, 0, 0)), min(dice(seed, 0, 0))
        game.turn = 0
        assert (game.roll.high, game.roll.low) == (high, low)
        assert game.yours == (dice(seed, 0, 0)[0] == high)
    assert {InteractiveGame(seed).yours for seed in range(8)} == {False, True}


def test_a_game_that_is_left_at_the_end_of_the_input(player_root: Path, player: LookaheadPlayer) -> None:
    shown = talk(player_root)
    assert shown.startswith("You are X, random-0ply is O; the dice are those of seed 3.\n  8/5 6/5   your play;")
    rolled = InteractiveGame(SEED).roll
    assert f"\nrandom-0ply rolls {rolled}: {player.best_play(START, rolled).play}\n" in shown
    assert shown.endswith(" quit\nleft after 1 roll; the same dice again: bgdata play --seed 3\n")
    assert "left after 0 rolls;" in talk(
        player_root, "quit", seed=next(seed for seed in range(9) if InteractiveGame(seed).yours)
    )


def test_a_transcript_reads_like_the_dialogue(player_root: Path, player: LookaheadPlayer) -> None:
    mine = your_plays(SEED, player)[0]
    roll = InteractiveGame(SEED, turn=1).roll
    shown = talk(player_root, "hint", "nonsense", "1/25", "9/1", "", "BOARD", mine, "undo", "undo", mine, "exit")
    assert f"\nYou roll {roll}: hint\n     ply  play" in shown or f"\nYou roll {roll}: hint\n    ply  play" in shown
    assert f"\nYou roll {roll}: nonsense\nillegal: expected checker moves such as 'bar/22* 6/5(2)', got" in shown
    assert f"\nYou roll {roll}: 1/25\nillegal: expected points that go down from 25 to 0, got '1/25'\n" in shown
    assert f"\nYou roll {roll}: 9/1\nillegal: no checker is on 9\n" in shown
    assert shown.count(f" legal plays of {roll}: {mine}") == 3
    assert f"\nYou roll {roll}: \n  8/5 6/5   your play; moves in any order" in shown
    assert f"\nYou roll {roll}: BOARD\nPosition ID: " in shown
    assert shown.count(f"\nYou roll {roll}: {mine}\n") == 2
    assert shown.count(": undo\n") == 2
    assert shown.count(": undo\nnothing to take back yet\n") == 1
    # the other side answers the same play with the same
    replies = re.findall(r"random-0ply rolls \d\d: .*", shown)
    assert len(replies) == 3
    assert replies[1] == replies[2]
    assert "left after 3 rolls; " in shown


def test_illegal_plays_are_answered_with_all_legal_ones(
    player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(12):
        game = InteractiveGame(seed)
        playing.answer_to("24/23/22/21", game, player)
        said, *listed = capsys.readouterr().out.splitlines()
        assert said.startswith("illegal: "), said
        plays = legal_plays(START, game.roll)
        head, _, listing = " ".join(listed).partition(": ")
        assert head == f"{len(plays)} legal plays of {game.roll}"
        assert [" ".join(text.split()) for text in listing.split(",")] == [str(play) for play in plays]
        assert max(map(len, listed)) <= 100
        assert all(line.endswith(",") for line in listed[:-1])
        assert game.turn == 0
        playing.answer_to(f" {plays[0]} ".replace(" ", ", ").upper().strip(", "), game, player)
        assert (game.plays, game.turn) == ([plays[0]], 1)


def test_undo_takes_back_to_the_last_decision() -> None:
    game = InteractiveGame(SEED)
    assert not game.undo()
    game.make(legal_plays(game.position, game.roll)[0])
    before = game.position, game.turn
    game.decisions.append(before)
    for _ in range(2):
        game.make(legal_plays(game.position, game.roll)[0])
    assert game.yours
    assert game.undo()
    assert (game.position, game.turn) == before
    assert game.yours
    assert not game.undo()


def test_whole_games_end_in_their_result(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """The person asks for a hint, plays one of the plays it shows, and takes every seventh play back."""
    winners = set()
    for seed in range(5):
        asked = 0

        def person(_: str) -> str:
            nonlocal asked
            asked += 1
            shown = capsys.readouterr().out
            plays = re.findall(r"^ +\d +0  (.*?) +[+-]\d\.\d{4} ", shown, re.MULTILINE)
            return str(plays[asked % len(plays)]) if plays else "undo" if asked % 7 == 0 else "hint"

        play_game(player, seed, person)
        last = capsys.readouterr().out.splitlines()[-1]
        assert re.fullmatch(r"(You win|random-0ply wins) a (single game, 1 point|(back)?gammon, [23] points)", last)
        winners.add(last.split()[0])
    assert winners == {"You", "random-0ply"}


def test_only_plays_are_made_without_asking(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    """A checker on the bar against a closed board, and one that has one way."""
    closed_out = Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1])
    forced = Position([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, *[0] * 10, -1, 0])
    for position, said in ((closed_out, "no play"), (forced, " is the only play")):
        game = InteractiveGame(5, position, turn=1)
        game.yours = True
        playing.take_turn(game, player, lambda _: "quit")
        shown = capsys.readouterr().out
        assert f"You roll {InteractiveGame(5, turn=1).roll}: " in shown
        assert said in shown.splitlines()[-1]
        assert (game.turn, game.yours, game.is_left, game.decisions) == (2, False, False, [])


def test_interrupted_games_are_left(player: LookaheadPlayer, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    play_game(player, SEED, interrupt)
    assert capsys.readouterr().out.endswith("\n\nleft after 1 roll; the same dice again: bgdata play --seed 3\n")


def test_questions_in_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is echoed, as the terminal does; the end of the input leaves."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: f"{prompt}8/5")
    assert playing.ask("> ") == "> 8/5"
    assert capsys.readouterr().out == ""

    def end(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    assert playing.ask("> ") == "quit"
    assert capsys.readouterr().out == "\n"


@pytest.mark.parametrize("name", ["pubeval", "random"])
def test_watching_a_game(player_root: Path, player: LookaheadPlayer, name: str) -> None:
    """Every play is legal, in turns, with the dice of the seed; and the same every time."""
    arguments = ("play", "--network", "random", "--seed", "11", "--watch", name)
    shown = succeeds(player_root, *arguments)
    assert succeeds(player_root, *arguments) == shown
    head, _, columns, *lines, empty, result = shown.splitlines()
    assert head == f"{name} is X, random-0ply is O; the dice are those of seed 11."
    assert columns.split() == ["play", "equity", "of", "random-0ply"]
    assert empty == ""
    game = InteractiveGame(11)
    for turn, line in enumerate(lines):
        parts = re.fullmatch(r" *(\d+)  (\S+) +(\d\d): (.*?) +([+-]\d\.\d{3})", line)
        assert parts, line
        assert int(parts[1]) == turn + 1
        assert parts[2] == (name if game.yours else "random-0ply")
        assert parts[3] == str(game.roll)
        play = next(play for play in legal_plays(game.position, game.roll) if str(play) == parts[4])
        if parts[2] == "random-0ply":
            assert play == player.best_play(game.position, game.roll).play
        sign = 1 if game.yours else -1
        game.make(play)
        assert f"{sign * player.evaluate(game.position).cubeless_equity:+.3f}" == parts[5]
    assert game.points
    assert result == describe_result(game.points, name, "random-0ply")
    assert parts is not None
    assert float(parts[5]) == -game.points


def test_a_saved_game_is_the_one_that_was_played(player_root: Path, tmp_path: Path) -> None:
    output = tmp_path / "game.mat"
    arguments = ("play", "--network", "random", "--seed", "11", "--watch", "pubeval")
    shown = succeeds(player_root, *arguments, "--save", str(output))
    assert shown == succeeds(player_root, *arguments)
    (match,) = parse_mat(output.read_bytes()).matches
    (game,) = match.games
    assert (match.players, match.length, game.score) == (("pubeval", "random-0ply"), 0, (0, 0))
    first = InteractiveGame(11)
    assert game.winner is not None
    assert game.points is not None
    assert shown.splitlines()[-1] == describe_result(
        game.points if game.winner == 0 else -game.points, "pubeval", "random-0ply"
    )
    lines = [line for line in shown.splitlines() if re.match(r" *\d+  ", line)]
    assert len(game.turns) == len(lines)
    for number, (turn, line) in enumerate(zip(game.turns, lines, strict=True)):
        assert turn.player == (number + (not first.yours)) % 2
        assert turn.dice == dice(11, 0, number)
        assert line.split()[1] == match.players[turn.player]
    rows = succeeds(player_root, "luck", str(output), "--player", "network/random", "--format", "csv").splitlines()
    assert len(rows) == len(lines) + 1  # so every play is legal


def test_a_saved_game_that_was_left_has_no_result_and_no_play_that_was_taken_back(
    player: LookaheadPlayer, tmp_path: Path
) -> None:
    mine = your_plays(SEED, player)
    answers = iter([mine[0], "undo", mine[1]])
    game = play_game(player, SEED, lambda _: next(answers, "quit"))
    output = tmp_path / "left.mat"
    save_game(game, "You", "other", output)
    (recorded,) = parse_mat(output.read_bytes()).matches[0].games
    assert (recorded.winner, recorded.points) == (None, None)
    assert len(recorded.turns) == game.turn == 3
    assert [turn.player for turn in recorded.turns] == [1, 0, 1]
    again = InteractiveGame(SEED)
    for turn, play in enumerate(game.plays):
        assert play in legal_plays(again.position, again.roll)
        assert turn != 1 or str(play) == mine[1]
        again.make(play)


def test_a_seed_is_drawn_when_none_is_given(player_root: Path) -> None:
    heads = {
        succeeds(player_root, "play", "--network", "random", "--watch", "random").splitlines()[0] for _ in range(2)
    }
    assert len(heads) == 2


@pytest.mark.parametrize(
    ("points", "text"),
    [
        (1, "You win a single game, 1 point"),
        (2, "You win a gammon, 2 points"),
        (3, "You win a backgammon, 3 points"),
        (-1, "it wins a single game, 1 point"),
        (-2, "it wins a gammon, 2 points"),
        (-3, "it wins a backgammon, 3 points"),
    ],
)
def test_results(points: int, text: str) -> None:
    assert describe_result(points, "You", "it") == text
    assert describe_result(points, "pubeval", "it") == text.replace("You win", "pubeval wins")


def test_chosen_plays_are_those_of_the_player() -> None:
    chosen = playing.chosen_play(RandomPlayer(4), START, InteractiveGame(1).roll)
    assert chosen in legal_plays(START, InteractiveGame(1).roll)

"""Every command that takes a position: it reads every notation, and says the same of games that are over."""

from __future__ import annotations

import functools
from pathlib import Path

import click
import pytest

from bgdata.cli import main
from bgdata.cli.grammar import every_command
from bgdata.game.identifiers import identify
from bgdata.game.position import START, Position
from tests.command_line import POSITION, error_of, run, succeeds
from tests.together import each

MORE = {
    "hint": ["31"],
    "rollout": ["--trials", "72", "--truncate", "3", "--stop", "end", "--cubeless"],
}  # arguments
OF_FINISHED_GAMES = {"eval", "show"}
WON = Position([0] * 13 + [-15] + [0] * 12)
FINISHED = [WON, WON.flip(), Position([1, *[0] * 25]), Position([0] * 25 + [1]), Position("AAAAAgAAAAAAAA")]


@functools.cache
def commands() -> list[str]:
    """Names of the commands with an argument `position`."""
    return [
        " ".join(names)
        for names, command in every_command(main)
        if any(isinstance(each, click.Argument) and each.name == "position" for each in command.params)
    ]


def test_commands_that_take_positions_are_found() -> None:
    assert {"cube", "eval", "hint", "probe", "rollout", "show"} <= set(commands())


@each("command", commands)
def test_every_notation_is_read(player_root: Path, command: str) -> None:
    for name, text in identify(Position(POSITION)).items():
        if name != "match_id":
            assert POSITION in succeeds(player_root, command, text, *MORE.get(command, []))


@each("command", lambda: {*commands()} - {"probe"})
def test_the_start_is_read(player_root: Path, command: str) -> None:
    assert START.id in succeeds(player_root, command, "Start", *MORE.get(command, []))


@each("command", commands)
@each("position", FINISHED)
def test_a_finished_game(player_root: Path, command: str, position: Position) -> None:
    result = run(player_root, command, position.id, *MORE.get(command, []))
    if command in OF_FINISHED_GAMES:
        assert (result.exit_code, position.id in result.stdout) == (0, True)
    else:
        side = "the player on roll" if position.off == 15 else "the opponent"
        expected = f"expected a game in progress, got {position.id}, in which {side} has borne off every checker"
        assert error_of(result, 2) == expected


@each("command", commands)
@each("text", ["AAAAAAAAAAAAAA", ",".join("0" * 26)])
def test_a_board_without_checkers(player_root: Path, command: str, text: str) -> None:
    result = run(player_root, command, text, *MORE.get(command, []))
    assert error_of(result, 2) == "expected a position with checkers, got AAAAAAAAAAAAAA, which has none"


def test_a_finished_game_is_evaluated_by_the_rules(player_root: Path) -> None:
    shown = succeeds(player_root, "eval", WON.id)
    assert "win  100.00 %   with a gammon 100.00 %   backgammon  0.00 %" in shown
    assert "cubeless equity +2.0000" in shown
    shown = succeeds(player_root, "eval", Position([1, *[0] * 25]).id)  # fourteen of the opponent are off
    assert "cubeless equity +1.0000" in shown


@pytest.mark.parametrize("away", [[], ["--away", "3-5"]])
def test_probes_at_scores_say_the_same(player_root: Path, away: list[str]) -> None:
    assert "expected a game in progress, got" in error_of(run(player_root, "probe", WON.id, *away), 2)

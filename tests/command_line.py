"""Run `bgdata` in this process and check its output."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner, Result

from bgdata.cli import main
from bgdata.game.position import Position
from bgdata.version import DISTRIBUTION

ON_ROLL = [0, 2, 1]
OPPONENT = [0, 1, 2]


def position_id(opponent: list[int], on_roll: list[int]) -> str:
    """Position ID of two layouts without other checkers."""
    return Position.from_rows(*(side + [0] * (25 - len(side)) for side in (opponent, on_roll))).id


POSITION = position_id(OPPONENT, ON_ROLL)


def run(root: Path, *arguments: str | Path) -> Result:
    """Run a command on a warehouse in this process."""
    return CliRunner().invoke(main, ["--warehouse", str(root), *map(str, arguments)])


def output_of(root: Path, *arguments: str | Path) -> str:
    """The output of a command that must succeed."""
    result = run(root, *arguments)
    assert (result.exit_code, result.exception) == (0, None), result.output or repr(result.exception)
    return result.stdout


def error_of(result: Result, code: int) -> str:
    """The one error line of a failed command, without the prefix `error: `."""
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit), result.exception
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    return lines[0].removeprefix("error: ")


def missing_extra(extra: str) -> str:
    """The end of an error about a missing package of an extra."""
    return f'found none; try: {sys.executable} -m pip install "{DISTRIBUTION}[{extra}]"'


def every_command(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield all commands of a group, and of the groups in it, with the words that call them. All commands are
    imported."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None  # listed commands exist
        yield (*names, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, *names, name)

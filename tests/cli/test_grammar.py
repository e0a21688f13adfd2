"""Tests of rules for all commands: sections, one --warehouse, short errors, and help texts."""

import functools
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from bgdata.cli import SECTIONS, main
from bgdata.cli.defaults import own_folder
from bgdata.cli.grammar import LONGEST, WAREHOUSE, shorten
from bgdata.errors import UsageError
from bgdata.process import BROKEN_PIPE
from tests.command_line import error_of, every_command, output_of, run
from tests.subtests import each

FIRST_LINE = 62  # characters that fit into the list of commands on 80 columns
WIDEST = 120  # characters of a line of help in the source
PERSONS = re.compile(r"\b(he|his|him|himself|she|her)\b", re.IGNORECASE)
NOTE = re.compile(r"  \[(default|env var): [^\]]+\]$")
# options with two meanings: recipes of networks, formats of files, a page instead of a picture, and `--all` of builds
# and of published versions
OTHER_WORDS = {
    ("train td", "rate"), ("train td", "batch"), ("train sl", "batch"), ("train sl", "rate"),
    ("export text", "form"), ("external", "save"),
    ("build", "is_all"), ("fibs", "save"), ("fibs", "length"), ("fibs", "port"), ("fibs", "host"),
    ("fibs", "patience"), ("fibs", "games"), ("fetch", "folder"),
}  # fmt: skip


@functools.cache
def commands() -> dict[tuple[str, ...], click.Command]:
    """All commands except bgdata itself, by their names; imports all of them."""
    return dict(every_command(main))


def command_at(names: tuple[str, ...]) -> click.Command:
    return commands()[names] if names else main


def options_of(names: tuple[str, ...]) -> list[click.Option]:
    return [parameter for parameter in command_at(names).params if isinstance(parameter, click.Option)]


# sections


def test_help_lists_every_command_once(tmp_path: Path) -> None:
    counts = Counter(name for names in SECTIONS.values() for name in names)
    assert set(counts.values()) == {1}
    for name, (_, line) in main.entries.items():
        assert (command_at((name,)).help or "").splitlines()[0] == line
    text = output_of(tmp_path, "--help")
    starts = [text.index(f"\n{title.capitalize()}:\n") for title in SECTIONS]
    assert starts == sorted(starts)
    for title, names in SECTIONS.items():
        section = text.split(f"\n{title.capitalize()}:\n")[1].split("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(names)
    assert "..." not in text.partition("\nTables:\n")[2], "no first line is cut"


def test_help_has_examples_and_exit_codes(tmp_path: Path) -> None:
    text = output_of(tmp_path, "--help")
    assert len(re.findall(r"^    bgdata ", text, re.MULTILINE)) == 3, "three examples to start with"
    codes = "Exit codes: 0 done, 1 failed or found to differ, 2 wrong usage, 130 interrupted"
    assert codes in " ".join(text.split())
    assert BROKEN_PIPE == 141


# one --warehouse


def listed_folder(*arguments: str, variable: str | None = None) -> str:
    """The folder that `bgdata list` uses, from its message about a missing one."""
    result = CliRunner().invoke(main, [*arguments], env={"BGDATA_WAREHOUSE": variable})
    assert result.exit_code == 0, result.output
    message = re.fullmatch(r"no warehouse in (.+) yet; try: bgdata build\n", result.stderr)
    assert message, result.stderr
    return message[1]


def test_warehouse_option_is_before_or_after_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert listed_folder("--warehouse", "x", "list") == listed_folder("list", "--warehouse", "x") == "x"
    assert listed_folder("--warehouse", "x", "list", "--warehouse", "x") == "x"
    assert listed_folder("list") == str(own_folder())
    assert listed_folder("list", variable="y y") == "y y"
    assert listed_folder("list", variable="") == str(own_folder())
    assert listed_folder("list", "--warehouse", "x", variable="y") == "x"
    assert listed_folder("--warehouse", "x", "list", variable="y") == "x"


def test_groups_pass_the_warehouse_on(tmp_path: Path) -> None:
    root = str(tmp_path / "none")
    for words in (["met", "show"], ["export", "text", "a/b", "--format", "mat", "-o", "x"]):
        for index in range(len(words) + 1):
            if words[index - 1 : index] in (["--format"], ["-o"]):
                continue
            arguments = [*words[:index], "--warehouse", root, *words[index:]]
            result = CliRunner().invoke(main, arguments)
            assert result.exit_code != 0
            assert root in result.stderr or "expected a kind of dataset" in result.stderr, arguments


@each(
    "arguments",
    [
        ["--warehouse", "x", "list", "--warehouse", "y"],
        ["--warehouse", "x", "--warehouse", "y", "list"],
        ["list", "--warehouse", "x", "--warehouse", "y"],
        ["--warehouse", "x", "met", "--warehouse", "y", "show"],
        ["met", "--warehouse", "x", "show", "--warehouse", "y"],
    ],
)
def test_two_warehouses_are_refused(arguments: list[str]) -> None:
    message = error_of(CliRunner().invoke(main, arguments), 2)
    assert re.fullmatch(r"expected one --warehouse, got x and y; see: bgdata( \w+)* --help", message)


# errors


@each(
    ("text", "short"),
    [
        ("expected a, got b", "expected a, got b"),
        ("two\n  lines", "two lines"),
        ("got " + "x" * 5000, "got " + "x" * 60 + "..." + "x" * 20),
        ("/" + "long/" * 30, "/" + "long/" * 30),
    ],
)
def test_messages_are_shortened_to_a_line(text: str, short: str) -> None:
    """Long words are cut except for paths."""
    assert shorten(text) == short


def test_long_message_loses_its_middle() -> None:
    short = shorten("expected this, got " + "word " * 1000 + "; try: that")
    assert len(short) <= LONGEST
    assert short.startswith("expected this, got word")
    assert short.endswith("word ; try: that")


def test_similar_commands_are_suggested(tmp_path: Path) -> None:
    assert error_of(run(tmp_path, "cub"), 2) == "expected a command, got cub; do you mean cube?"
    assert error_of(run(tmp_path, "xyzzy"), 2) == "expected a command, got xyzzy; see: bgdata --help"


LONG = ("x" * 5000, "word " * 1000, "9" * 5000, "-" + "9" * 5000, "4HPwATDgc/ABMA " * 300, "/" * 5000)
GIVEN = {  # valid values of the other arguments
    "position": "4HPwATDgc/ABMA", "kind": "bearoff_gammon", "files": "x", "source": "gnubg", "sql": "select 1",
    "player": "pubeval", "match": "x.mat", "corpus": "selfplay/x", "study": "index", "version": "a/b/r1-00000000",
    "met": "x", "other": "x", "table": "a/b", "name": "x", "shell": "bash", "before": "a/b", "after": "a/b",
    "user": "x", "address": "nowhere", "folder": "x",
}  # fmt: skip
NEEDED = {"output": "x", "folder": "x", "form": "csv", "labels": "x"}
UNLESS_ASKED = {  # options without which a command does nothing
    "--away", "--play", "--plot", "--svg", "--save", "--record", "--watch", "--one-sided", "--two-sided", "--points",
    "--checkers", "--file", "--page", "--static", "--hypergammon", "--contact", "--anki", "--xgid",
}  # fmt: skip
# commands that take long if their arguments are valid
LENGTHY = {
    *(("train", name) for name in ("td", "sl", "turn-input", "output-trials", "parts")),
    *((name,) for name in ("build", "rebuild", "selfplay", "score", "play", "study", "ladder", "reference")),
    *((name,) for name in ("check-reference", "openings", "rollout", "external", "fibs", "push", "pull")),
    ("publish",),
}


def long_lines(names: tuple[str, ...], long: str) -> Iterator[tuple[str, list[str]]]:
    """Command lines with the long text in one argument or option, each in turn."""
    arguments = [parameter for parameter in command_at(names).params if isinstance(parameter, click.Argument)]
    values = {argument.name: GIVEN[str(argument.name)] for argument in arguments if argument.required}
    required_options = []
    for option in options_of(names):
        if option.required:
            required_options += [option.opts[0], NEEDED[str(option.name)]]
    for argument in arguments:
        yield str(argument.name), [*names, *required_options, "--", *({**values, argument.name: long}).values()]
    for option in options_of(names):
        if not option.is_flag and option is not WAREHOUSE:
            yield option.opts[0], [*names, *required_options, f"{option.opts[-1]}={long}", "--", *values.values()]


@pytest.fixture(scope="module")
def copied_root(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the small warehouse, which commands may change."""
    root = tmp_path_factory.mktemp("copied") / "warehouse"
    shutil.copytree(small_root, root)
    return root


@pytest.mark.slow
@each("names", lambda: [names for names in commands() if not isinstance(command_at(names), click.Group)])
def test_long_texts_are_never_echoed(
    copied_root: Path, tmp_path: Path, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An argument of 5,000 characters is valid, or gives an error of one short line that does not repeat it."""
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "none" if names in LENGTHY else copied_root
    for long in LONG:
        for which, arguments in long_lines(names, long):
            if names in LENGTHY and not fails_early(arguments):
                continue
            result = CliRunner().invoke(main, ["--warehouse", str(root), *arguments])
            where = names, which, long[:8], result.output[:600]
            assert result.exception is None or isinstance(result.exception, SystemExit), where
            assert result.exit_code in (0, 1, 2), where
            assert long not in result.stderr, where
            if result.exit_code == 2 or (result.exit_code and "error: " in result.stderr):
                assert all(len(line) < 400 for line in result.stderr.splitlines()), where
                assert result.stderr.splitlines()[-1].startswith("error: "), where


def fails_early(arguments: list[str]) -> bool:
    """Whether Click refuses a command line before anything is computed."""
    try:
        parse_line(arguments, resilient_parsing=True)
    except (click.ClickException, UsageError):
        return True
    return False


def parse_line(words: list[str], **options: Any) -> click.Context:
    """The context that Click makes from a command line, without running it."""
    context = main.make_context("bgdata", [] if options else list(words), **options)
    name, command, rest = main.resolve_command(context, list(words))
    while isinstance(command, click.Group):
        context = click.Context(command, context, info_name=name)
        name, command, rest = command.resolve_command(context, rest)
    assert command is not None
    context_of_command: click.Context = command.make_context(name, rest, context)
    return context_of_command


@each(
    "arguments",
    [
        ["query", "select 'caf\udce9'"],
        ["query", "select 1", "-o", "caf\udce9.csv"],
        ["explain", "caf\udce9"],
        ["import", "positions", "caf\udce9.txt"],
        ["export", "letters", "bearoff_two_sided/3x3", "-o", "caf\udce9"],
        ["caf\udce9"],
        ["--warehouse", "caf\udce9", "list"],
    ],
)
def test_bytes_other_than_utf_8_are_refused(
    tmp_path: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arguments and environment variables that are not UTF-8 are refused, since SQL and JSON cannot contain them."""
    monkeypatch.chdir(tmp_path)  # long names are cut in errors, such as that of this folder
    error = error_of(run(tmp_path, *arguments), 2)
    assert re.fullmatch(
        r"expected text in UTF-8, got .*caf\\udce9.*; try: a terminal in UTF-8, or another name for the file", error
    )
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("BGDATA_WAREHOUSE", "caf\udce9")
    assert error_of(CliRunner().invoke(main, ["list"]), 2).startswith("expected text in UTF-8, got 'caf\\udce9'; try: ")


def test_long_warehouse_names_are_shortened() -> None:
    for long in ("x" * 5000, "word " * 1000):
        for command in (["query", "select 1"], ["verify"], ["list"], ["eval", "4HPwATDgc/ABMA"]):
            result = run(Path(long), *command)
            assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
            assert all(len(line) < 400 for line in result.stderr.splitlines())


# rules for help, from CONTRIBUTING


@each("names", lambda: [(), *commands()])
def test_help_follows_the_rules(tmp_path: Path, names: tuple[str, ...]) -> None:
    command = command_at(names)
    text = command.help or ""
    first, *rest = text.splitlines()
    assert first in " ".join(output_of(tmp_path, *names, "-h").split())
    assert first.endswith("."), "a sentence"
    assert len(first) <= FIRST_LINE
    assert first[0].isupper()
    assert not first.split()[0].endswith("s"), "an imperative"
    assert rest[:1] in ([], [""]), "alone on its line"
    assert command.short_help is None, "the first line is the short help"
    assert not PERSONS.search(text), "a program is called `it`"
    assert all(len(line) <= WIDEST for line in rest)
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    for argument in arguments:
        assert re.search(rf"\b{str(argument.name).upper()}\b", text), f"{argument.name} is explained"
    if arguments:
        assert re.search(rf"\n *bgdata {' '.join(names)}\b", text.partition("\b")[2]), "an example of this command"


@each("names", lambda: list(commands()))
def test_options_have_help_and_defaults(names: tuple[str, ...]) -> None:
    options = options_of(names)
    assert options[-1] is WAREHOUSE, "--warehouse is the last of all"
    for option in options:
        text = option.help or ""
        body = NOTE.sub("", text)
        assert body, option.name
        assert body[0].isupper(), option.name
        assert body.endswith("."), option.name
        assert not PERSONS.search(text), option.name
        if not (option.required or option.is_flag or option.multiple or option.opts[0] in UNLESS_ASKED):
            record = option.get_help_record(click.Context(command_at(names)))
            assert record, option.name
            assert "default: " in record[1], f"{option.name}: its default is stated"


def test_options_of_one_name_have_one_help_text() -> None:
    words: dict[str, dict[str, str]] = {}
    for names in commands():
        for option in options_of(names):
            if (" ".join(names), str(option.name)) not in OTHER_WORDS:
                words.setdefault(option.opts[0], {})[" ".join(names)] = NOTE.sub("", option.help or "")
    assert {name: texts for name, texts in words.items() if len(set(texts.values())) > 1} == {}


def examples() -> list[str]:
    """All command lines in help texts."""
    lines = [
        line.strip()
        for names in [(), *commands()]
        for line in (command_at(names).help or "").replace("\\\n", " ").splitlines()
    ]
    return [line for line in lines if line.startswith("bgdata ")]


@each("line", examples)
def test_examples_of_help_are_valid(line: str) -> None:
    assert parse_line(shlex.split(re.split(r" {2,}|\s(?:&&|>>?) (?=\S+$|bgdata)", line)[0])[1:])

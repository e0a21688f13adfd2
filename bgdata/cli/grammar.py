"""The base of all commands: help in sections, one --warehouse option, and errors in one short line."""

from __future__ import annotations

import difflib
import errno
import os
import re
import sys
import textwrap
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from bgdata.cli.completion import complete_folders
from bgdata.cli.defaults import OWN, default_folder
from bgdata.errors import BgdataError, UsageError, cite, without_secrets
from bgdata.process import BROKEN_PIPE, forget, is_stopping, print_stop_line
from bgdata.store.storage import is_shortage_of_memory

VARIABLE = "BGDATA_WAREHOUSE"
LONGEST_WORD = 200  # maximum number of characters of a word in an error: paths may be long
MORE_MEMORY = "try: --threads 1 where there is such an option, a smaller table, or a machine that has more"
LONGEST = 380  # maximum number of characters of an error
_GIVEN = "bgdata.warehouse"  # key of the folders that the command line has named so far


BARE_XGID = re.compile(r"-[-A-Pa-p]{25}:")  # an XGID copied without XGID=; no option begins like this


class Commands(click.Group):
    """A click group for the whole command line. Its help lists the commands by section, without importing them, and its
    errors are one line. Exit codes: 1 failure, 2 wrong usage, 130 interrupted, 141 output pipe closed. `sections`
    contains, by title of the section, the name of each command, the module of `bgdata` that defines it, and the first
    line of its help."""

    sections: Mapping[str, Mapping[str, tuple[str, str]]] = {}

    @property
    def entries(self) -> dict[str, tuple[str, str]]:
        """The module of each command, and the first line of its help, by name of the command."""
        return {name: entry for entries in self.sections.values() for name, entry in entries.items()}

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of all commands, in the order in which the help lists them."""
        return list(self.entries)

    def get_command(self, _: click.Context, name: str) -> click.Command | None:
        """Import and return the command `name`; None if there is no such command."""
        if name not in self.entries:
            return None
        module = import_module(f"bgdata.{self.entries[name][0]}")
        found = {value.name: value for value in vars(module).values() if isinstance(value, click.Command)}
        give_warehouse(found[name])
        return found[name]

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands into the help, section by section."""
        limit = formatter.width - 6 - max(map(len, self.entries))
        for title, entries in self.sections.items():
            with formatter.section(title.capitalize()):
                lines = ((name, line.removesuffix(".")) for name, (_, line) in entries.items())
                formatter.write_dl([(name, textwrap.shorten(line, limit, placeholder="...")) for name, line in lines])

    def shell_complete(self, context: click.Context, typed: str) -> list[CompletionItem]:
        """Return the commands and options that begin with what the user typed. No command is imported for this."""
        named = [CompletionItem(name, help=line) for name, (_, line) in self.entries.items() if name.startswith(typed)]
        return named + click.Command.shell_complete(self, context, typed)

    def main(self, *arguments: Any, **options: Any) -> Any:
        forget()
        try:
            return super().main(*arguments, **options)
        except SystemExit:
            if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):  # Click sets this wrapper when a pipe breaks
                sys.exit(BROKEN_PIPE)
            raise

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        for word in (*args, os.environ.get(VARIABLE, "")) if not extra.get("resilient_parsing") else ():
            try:
                word.encode()
            except UnicodeEncodeError:  # such text is not valid in SQL, JSON and names of a warehouse
                step = "try: a terminal in UTF-8, or another name for the file"
                fail(f"expected text in UTF-8, got {cite(word)}; {step}", 2)
        args = [f"XGID={word}" if BARE_XGID.match(word) else word for word in args]
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            fail_as_click(error)
            raise

    def invoke(self, context: click.Context) -> Any:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            fail("expected compiled kernels, found NUMBA_DISABLE_JIT set; try: unset NUMBA_DISABLE_JIT", 1)
        try:
            return super().invoke(context)
        except BaseException as error:
            if is_stopping(error):
                sys.exit(print_stop_line())
            if isinstance(error, click.ClickException):
                fail_as_click(error)
            if isinstance(error, BgdataError) and not context.params.get("debug"):
                fail(error_message(context.obj, error), 2 if isinstance(error, UsageError) else 1)
            if isinstance(error, UnicodeEncodeError):
                letter, encoding = error.object[error.start], error.encoding
                step = "try: PYTHONIOENCODING=utf-8, or --format json"
                fail(f"expected an output that holds {letter!a}, got one in {encoding}; {step}", 1)
            if is_shortage_of_memory(error) and not context.params.get("debug"):
                fail(f"expected more memory, found {cite(str(error) or 'none left')}; {MORE_MEMORY}", 1)
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
                fail(f"expected the name of a file, got one that is too long: {cite(str(error.filename))}", 2)
            raise

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        if args and not context.resilient_parsing and not args[0].startswith("-") and args[0] not in self.entries:
            near = difflib.get_close_matches(args[0][:100], self.entries)
            meant = f"; do you mean {' or '.join(near)}?" if near else "; see: bgdata --help"
            fail(f"expected a command, got {args[0]}{meant}", 2)
        return super().resolve_command(context, args)


def error_message(warehouse: Any, error: BgdataError) -> str:
    """Return the message to print for an error. If the warehouse is at an address, the address replaces the local
    folder of downloaded files."""
    address = getattr(warehouse, "address", "")
    return str(error).replace(str(warehouse.mirror.folder), address) if address else str(error)


def fail_as_click(error: click.ClickException) -> None:
    """Print an error of click in the form of our errors, and exit. If click only wanted to print a help text, do
    nothing."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return
    text = error.format_message().strip().removesuffix(".")
    context = error.ctx if isinstance(error, click.UsageError) else None
    step = f"; see: {context.command_path} --help" if context else ""
    fail(shorten(text[:1].lower() + text[1:], LONGEST - len(step)) + step, error.exit_code)


def fail(message: str, code: int) -> NoReturn:
    """Print an error in one line and exit with `code`."""
    click.echo(f"error: {shorten(without_secrets(message))}", err=True)
    sys.exit(code)


def shorten(text: str, most: int = LONGEST) -> str:
    """Return the text on one line of at most `most` characters, without control characters."""
    text = "".join(letter if letter.isprintable() or letter.isspace() else repr(letter)[1:-1] for letter in text)
    text = re.sub(rf"\S{{{LONGEST_WORD},}}", lambda word: f"{word[0][:60]}...{word[0][-20:]}", " ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 123]}...{text[-120:]}"


class FolderOrAddress(click.Path):
    """The type of the option --warehouse: the path of a folder, or an address such as s3://BUCKET/PATH, which is passed
    on unchanged."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        return value if "://" in str(value) else super().convert(value, parameter, context)


# commands that only read tables, one by one, so they can also read from an address
READING = ("list", "explain", "query", "show", "eval", "hint", "cube", "probe", "completion")


def choose_warehouse(context: click.Context, _: click.Parameter, places: tuple[Path | str, ...]) -> None:
    """Open the warehouse that the option --warehouse names, before or after the command. Raises click.UsageError if the
    option is given twice with different values."""
    given = {*context.meta.get(_GIVEN, ()), *places}
    if len(given) > 1:
        one, other = sorted(map(str, given))[:2]
        raise click.UsageError(f"expected one --warehouse, got {one} and {other}", context)
    context.meta[_GIVEN] = given
    from bgdata.warehouse import open_whole

    try:
        context.obj = open_whole(next(iter(given), None) or os.environ.get(VARIABLE) or default_folder())
    except BgdataError as error:
        if not context.resilient_parsing:
            fail(str(error), 2 if isinstance(error, UsageError) else 1)
    if not isinstance(context.command, click.Group) and not context.resilient_parsing:  # in a group it may follow
        if address := getattr(context.obj, "address", ""):
            check_reading(context, address)
        context.obj.mend_catalog()


def check_reading(context: click.Context, address: str) -> None:
    """Exit with an error if the command needs a warehouse in a folder, because the warehouse at `address` is read-only.
    A command that only reads will print which large files it downloads."""
    command = context.command_path.split()[1]
    if command not in READING:
        step = f"try: bgdata pull {address}, and bgdata push {address} afterwards"
        fail(f"expected a warehouse in a folder for bgdata {command}, got {address}; {step}", 2)
    context.obj.mirror.tell = lambda text: click.echo(text, err=True)


WAREHOUSE = click.Option(
    ["--warehouse"],
    multiple=True,
    type=FolderOrAddress(path_type=Path),
    metavar="DIR",
    expose_value=False,
    callback=choose_warehouse,
    shell_complete=complete_folders,
    help="Folder of the tables, or address to read them from.  "
    f"[env var: {VARIABLE}; default: warehouse, else {OWN}/bgdata/warehouse]",
)


def give_warehouse(command: click.Command) -> None:
    """Add the option --warehouse to a command, or to all commands of a group."""
    if WAREHOUSE not in command.params:
        command.params.append(WAREHOUSE)
    if isinstance(command, click.Group):
        for each in command.commands.values():
            give_warehouse(each)

"""`bgdata` and `python -m bgdata`: handle signals before any slow import."""

from __future__ import annotations

from typing import NoReturn

from bgdata.process import run


def main() -> NoReturn:
    """Run the command line, and exit with its exit code."""
    run(_commands)


def _commands() -> None:
    from bgdata.cli import main

    main()


if __name__ == "__main__":
    main()

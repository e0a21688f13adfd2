"""`bgdata` and `python -m bgdata`: signals are heard before anything is imported that takes time."""

from __future__ import annotations

from typing import NoReturn

from bgdata.process import run


def main() -> NoReturn:
    """The command line."""
    run(_commands)


def _commands() -> None:
    from bgdata.cli import main

    main()


if __name__ == "__main__":
    main()

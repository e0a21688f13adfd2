"""Names of players: `players.toml` in the warehouse says which names in files belong to one player.

    ann = ["Ann B.", "annb1970"]
    "Carl Lee" = ["carl"]

In SQL, the macro `player_named` gives the name of an alias; it reads a variable of the connection.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from bgdata.errors import CorruptFileError, StorageError, cite

ALIASES = "players.toml"
MACRO, VARIABLE = "player_named", "player_aliases"


def read_aliases(path: Path) -> dict[str, str]:
    """Return the names of players by alias, from the file `players.toml`; empty if the file is missing. Raises
    CorruptFileError if the file is invalid, and StorageError if it cannot be read."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StorageError(f"expected aliases of players in {path}, found: {error.strerror}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise CorruptFileError(f"expected TOML in {path}, found none: {cite(str(error))}") from error
    found: dict[str, str] = {}
    for name, aliases in content.items():
        if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
            found_instead = f"{cite(name)} with {cite(str(aliases))}"
            raise CorruptFileError(f'expected lines such as ann = ["Ann B.", "annb"] in {path}, found {found_instead}')
        for alias in aliases:
            if found.setdefault(alias, name) != name:
                names = f"{cite(found[alias])} and {cite(name)}"
                raise CorruptFileError(f"expected an alias of one player in {path}, found {cite(alias)} of {names}")
    if chained := next((alias for alias in found if alias in content and found[alias] != alias), None):
        raise CorruptFileError(
            f"expected aliases that are not names of players in {path}, found {cite(chained)}, an alias of "
            f"{cite(found[chained])} and a name"
        )
    return found

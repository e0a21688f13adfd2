"""The column `corpus`: the games that the rows of a table come from. It joins labels with turns and games."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from bgdata.kinds import all_kinds
from bgdata.kinds.columns import DERIVED_PIPS
from bgdata.store.dataset import Dataset
from bgdata.store.names import sql_text
from bgdata.store.parameters import Parameters, VersionRef

P = TypeVar("P", bound=Parameters)
TABLES = {"turns", "training_games"}  # tables with a row for each turn of games


class RowsOfGames(Dataset[P]):
    """Base of kinds whose rows come from games. It adds the columns `corpus`, `pips` and `opponent_pips`, which files
    of older versions lack."""

    def derived_columns(self, parameters: P) -> Mapping[str, str]:
        return derived_columns(self, parameters)


def derived_columns(kind: Dataset[P], parameters: P) -> dict[str, str]:
    """Return the SQL of `corpus`, `pips` and `opponent_pips`; see `Dataset.derived_columns`."""
    found = corpus_name(kind, parameters)
    corpus = sql_text(found) if found else "null"
    return {"corpus": f"concat({sql_text(kind.name)}, '/', variant)" if has_games(kind) else corpus, **DERIVED_PIPS}


def has_games(kind: Dataset[Any]) -> bool:
    """Return whether versions of a kind contain games of their own."""
    return any(shape.name in TABLES for shape in kind.tables)


def corpus_name(kind: Dataset[P], parameters: P) -> str:
    """Return the name KIND/VARIANT of the corpus that the rows of a variant come from. The name is empty if the rows
    are not from games, or if the parameters of the source between them are unknown."""
    if has_games(kind):
        return f"{kind.name}/{kind.slug(parameters)}"
    inputs = kind.inputs(parameters)
    source = inputs.get("games") or inputs.get("source")
    if isinstance(source, VersionRef):
        return source.title if has_games(all_kinds()[source.kind]) else ""
    return corpus_name(all_kinds()[source[0]], source[1]) if source else ""

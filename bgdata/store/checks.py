"""SQL checks: `bgdata/sql/checks/<table>__<claim>.sql` returns the rows that break the claim."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bgdata.errors import CheckFailedError
from bgdata.store.dataset import Dataset, Parameters

SQL = Path(__file__).parents[1] / "sql"


def sql_checks(kind: str) -> Iterator[tuple[str, str]]:
    """(claim, query) of every check of a kind; the query reads the kind's view."""
    for path in sorted((SQL / "checks").glob(f"{kind}__*.sql")):
        yield path.stem.partition("__")[2], path.read_text()


def select_columns(kind: Dataset[Any], parameters: Parameters) -> str:
    """The select list that shows stored Parquet columns as the declared columns, after `variant`."""
    expressions = kind.expressions(parameters)
    shown = [f"{expressions[c.name]} as {c.name}" if c.name in expressions else c.name for c in kind.columns]
    return ", ".join([f"'{kind.slug(parameters)}' as variant", *shown])


def run_sql_checks(kind: Dataset[Any], parameters: Parameters, parquet: Path) -> None:
    """Run every check of a kind on one Parquet file; raises CheckFailedError naming the first offending row."""
    import duckdb

    from bgdata.store.catalog import run_scripts

    with duckdb.connect() as connection:
        run_scripts(connection, "macros")
        source = str(parquet).replace("'", "''")
        connection.execute(
            f"create view {kind.name} as select {select_columns(kind, parameters)} from read_parquet('{source}')"
        )
        for claim, query in sql_checks(kind.name):
            rows = connection.sql(query).limit(1).fetchall()
            if rows:
                raise CheckFailedError(
                    f"expected {claim.replace('_', ' ')} in every row of {kind.name}/{kind.slug(parameters)}, "
                    f"found {rows[0]}; the table is not published"
                )

"""The register of claims as rows of data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

from bgdata.errors import MissingTableError, UsageError
from bgdata.errors import cite as cited
from bgdata.store.dataset import Computed
from bgdata.store.table import Table
from bgdata.studies.claims.definitions import DOCUMENTS, KINDS, PUBLISHED, REPRODUCED, STATUSES, Claim
from bgdata.studies.kinds.claims import DATASET, ORDER, ClaimsParameters
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.store.arrays import Array
    from bgdata.studies.claims.register import JudgedClaim

Row = dict[str, Any]


WHOLE = DATASET.defaults[0]  # the register that the command shows


def registers(warehouse: Warehouse) -> Iterator[Table]:
    """Yield the versions of the full register that have the definitions of this package."""
    for table in warehouse.versions(DATASET.name):
        recipe = table.manifest.parameters
        if (recipe.get("parts"), recipe.get("definitions")) == ([*WHOLE.parts], WHOLE.definitions):
            yield table


def rows_of(table: Table) -> list[Row]:
    """Return the claims of a version as rows of data, in natural order: A2 before A10."""
    return claim_rows(ClaimsParameters.from_manifest(table.manifest.parameters), table.arrays())


def rows_without_tables() -> list[Row]:
    """Return all claims as rows of data, answered without tables: by formulas and by recorded answers."""
    from bgdata.studies.claims.register import FORMULAS, judge, judge_without_query, parse_call
    from bgdata.studies.kinds.claims_compute import arrays_of

    def answer(claim: Claim) -> JudgedClaim:
        if claim.query and (claim.query.startswith("select ") or parse_call(claim)[0] not in FORMULAS):
            return judge_without_query(claim, "the register is not built")
        return next(judge([claim], {}, tuple))

    return claim_rows(WHOLE, arrays_of([answer(claim) for claim in WHOLE.chosen()]))


def claim_rows(parameters: ClaimsParameters, arrays: Mapping[str, Array]) -> list[Row]:
    """Return the claims in the arrays of a register as rows of data, in natural order."""
    (batch,) = DATASET.computation.batches(Computed(parameters, arrays))
    columns = {name: batch.column(name).to_pylist() for name in ORDER}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    places = {claim.claim: place for place, claim in enumerate(parameters.chosen())}
    return sorted(rows, key=lambda row: places[row["claim"]])


def answer_text(row: Row) -> str | None:
    """Return our answer and its standard error as text; None if there is no answer. The number of digits follows from
    this error or the rounding."""
    value, error, bound = row["our_value"], row["our_error"], row["our_bound"]
    if error:
        digits = max(0, 1 - floor(log10(error)))
        return f"{value:.{digits}f} +/- {error:.{digits}f}"
    answer: str | None = row["answer"]
    if not bound or answer is None:
        return answer
    rounded = f"{value:.{max(0, -floor(log10(bound)))}f}"
    return min(rounded, answer, key=len)


def counts_of(rows: Sequence[Row]) -> list[Row]:
    """Return the number of claims of each status, as rows: one for each source document of published figures, and one
    for each other kind of claim. Reproduced claims are counted separately for exact answers and for samples."""
    groups = [(PUBLISHED, document) for document in DOCUMENTS] + [(kind, "") for kind in KINDS if kind != PUBLISHED]
    counts = []
    for kind, document in groups:
        chosen = [row for row in rows if row["kind"] == kind and document in ("", row["document"])]
        if chosen:
            statuses = Counter(row["status"] for row in chosen)
            sampled = sum(row["status"] == REPRODUCED and row["our_error"] is not None for row in chosen)
            exact = {"exact": statuses[REPRODUCED] - sampled, "by_sample": sampled}
            others = {status: statuses[status] for status in STATUSES if status != REPRODUCED}
            counts.append({"kind": kind, "document": document or "all", "claims": len(chosen), **exact, **others})
    return counts


def printed_tables(rows: Sequence[Row]) -> list[Row]:
    """Return a row for each printed table, judged as a whole (see `judge_printed_tables`). Chances have three
    digits."""
    from bgdata.studies.claims.register import judge_printed_tables

    return [{**each._asdict(), "chance": float(f"{each.chance:.3g}")} for each in judge_printed_tables(rows)]


def is_named(claim: str, part: str, name: str) -> bool:
    """Return whether `name` names a claim: it is the claim's part, such as A1, or the beginning of its name, such as
    A1.pairs."""
    return claim.startswith(name) if "." in name else part == name


def current_register(warehouse: Warehouse) -> Table:
    """Return the current register if it is undamaged and has the definitions of this package, else the newest such
    register. Raises MissingTableError if there is none."""
    warehouse.require()
    found = list(registers(warehouse))
    current = {table.folder for table in warehouse.current(DATASET.name)}
    found = [table for table in found if table.folder in current] or found
    if not found:
        raise MissingTableError(
            f"expected the register of claims in {warehouse.root}, found none; try: bgdata build {DATASET.name}"
        )
    return max(found, key=lambda table: table.manifest.created)


def check_claim_names(names: Sequence[str], known: Sequence[tuple[str, str]]) -> None:
    """Raise UsageError if one of `names` is neither the beginning of a known claim's name nor a known part. `known` are
    pairs of part and name."""
    for name in names:
        if not any(is_named(*each, name) for each in known):
            raise UsageError(f"expected the beginning of a claim's name, such as A8 or A2.mean, got {cited(name)}")


def chosen_claims(
    rows: Sequence[Row],
    names: Sequence[str],
    statuses: Sequence[str] = (),
    kinds: Sequence[str] = (),
    *,
    is_erratum: bool = False,
) -> list[Row]:
    """Return the claims of a register whose names begin with one of `names`, filtered by status and kind. Raises
    UsageError for an unknown status or kind."""
    for what, given, allowed in (("status", statuses, STATUSES), ("kind", kinds, KINDS)):
        for word in given:
            if word not in allowed:
                raise UsageError(f"expected a {what} of claims: {', '.join(allowed)}, got {cited(word)}")
    return [
        row
        for row in rows
        if (not names or any(is_named(row["claim"], row["part"], name) for name in names))
        and (not statuses or row["status"] in statuses)
        and (not kinds or row["kind"] in kinds)
        and (row["is_erratum"] or not is_erratum)
    ]

"""Judges every claim of the register from the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, CheckSkippedError, MissingTableError
from bgdata.kinds.column_values import numbers_or_null, text_arrays, text_column
from bgdata.store.arrays import Array
from bgdata.store.checks import connect_tables, only_row
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.table import Table
from bgdata.studies.claims.definitions import CORRECTED, KINDS, STATUSES, Claim, definitions_digest, parse_published
from bgdata.studies.claims.register import JudgedClaim, judge
from bgdata.studies.kinds.claims import NUMBERS, ORDER, TEXTS, ClaimsParameters, variant_of

NULLABLE = {"restates", "printed_table", "answer", "correction", "explanation", "query"}


class ClaimsComputation(Computation[ClaimsParameters]):
    """Computes `claims`: answers and judges every claim of the register."""

    def compute(self, build: Build[ClaimsParameters]) -> None:
        parameters, job = build.parameters, build.job
        claims = parameters.chosen()
        job.progress.start(job.title, len(claims), "claims")
        found = []
        for judged in judged_claims(build, claims):
            found.append(judged)
            job.progress.advance(1)
        for name, values in arrays_of(found).items():
            job.save(name, values)

    def batches(self, computed: Computed[ClaimsParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        columns: dict[str, Any] = {column.name: text_column(arrays, f"{column.name}_texts") for column in TEXTS}
        for name in NULLABLE:
            columns[name] = pa.array([text or None for text in columns[name].to_pylist()], pa.string())
        for column in NUMBERS:
            columns[column.name] = numbers_or_null(np.asarray(arrays[f"{column.name}s"]))
        columns["is_erratum"] = pa.array(np.asarray(arrays["is_erratum"], bool))
        yield pa.record_batch({name: columns[name] for name in ORDER})

    def statistics(self, computed: Computed[ClaimsParameters]) -> Mapping[str, float]:
        statuses, kinds = (text_column(computed.arrays, f"{name}_texts").to_pylist() for name in ("status", "kind"))
        both = list(zip(kinds, statuses, strict=True))
        counts = {status: float(statuses.count(status)) for status in STATUSES}
        counts |= {f"{kind}_{status}": float(both.count((kind, status))) for kind in KINDS for status in STATUSES}
        return counts | {"errata": float(np.asarray(computed.arrays["is_erratum"]).sum())}

    def check_sample(self, recheck: Recheck[ClaimsParameters]) -> str:
        """Answer a random sample of the claims again and compare the answers, if the definitions are unchanged and all
        sources exist."""
        table, parameters = recheck.table, recheck.parameters
        if parameters.definitions != definitions_digest():
            raise CheckSkippedError("the definitions of the claims are others by now; try: bgdata claims")
        claims = parameters.chosen()
        chosen = sorted(recheck.generator.choice(len(claims), min(recheck.rows, len(claims)), replace=False).tolist())
        order = [claim.claim for claim in sorted(claims, key=lambda claim: claim.claim)]
        try:
            found = list(judged_claims(recheck, [claims[number] for number in chosen]))
        except MissingTableError as error:
            raise CheckSkippedError(f"a source of the answers is gone: {error}") from error
        expected = {name: (kept, table.array(name)) for name, kept in arrays_of(found).items()}
        check_rows(table, [order.index(each.claim.claim) for each in sorted_rows(found)], expected)
        return sample_text(len(chosen), len(claims), "claims")


def check_rows(table: Table, places: Sequence[int], arrays: Mapping[str, tuple[Array, Array]]) -> None:
    """Compare recomputed arrays with the stored rows whose numbers are `places`. Raises CheckFailedError if they
    differ; the error names the first difference."""
    stored = {name: pair[1] for name, pair in arrays.items()}
    again = {name: pair[0] for name, pair in arrays.items()}
    for column in TEXTS:
        texts, kept = (text_column(each, f"{column.name}_texts").to_pylist() for each in (again, stored))
        for text, place in zip(texts, places, strict=True):
            if text != kept[place]:
                raise CheckFailedError(
                    f"expected {column.name} {text!r} in row {place} of {table.name}, found {kept[place]!r}"
                )
    for name in [*(f"{column.name}s" for column in NUMBERS), "is_erratum"]:
        if not np.array_equal(again[name], stored[name][list(places)], equal_nan=name != "is_erratum"):
            raise CheckFailedError(f"expected the {name} of {table.name} as they are found again, got others")


def judged_claims(context: Context[ClaimsParameters], claims: Sequence[Claim]) -> Iterator[JudgedClaim]:
    """Yield the claims with our answers from the inputs and sources. Raises MissingTableError if a source is
    missing."""
    sources = [context.warehouse.open_reference(place) for place in context.parameters.sources]
    tables = {variant_of(table): table for table in [*context.inputs.values(), *sources]}
    with connect_tables(context.warehouse.kinds, tables.values()) as connection:
        yield from judge(claims, tables, lambda query: only_row(connection, query))


def sorted_rows(claims: Sequence[JudgedClaim]) -> list[JudgedClaim]:
    """Return the judged claims, sorted by the key of the table."""
    return sorted(claims, key=lambda each: each.claim.claim)


def arrays_of(claims: Sequence[JudgedClaim]) -> dict[str, Array]:
    """Return all declared arrays, with the judged claims in order of their key."""
    rows = [row_of(each) for each in sorted_rows(claims)]
    arrays: dict[str, Array] = {}
    for column in TEXTS:
        arrays |= text_arrays(f"{column.name}_texts", [row[column.name] for row in rows])
    for column in NUMBERS:
        arrays[f"{column.name}s"] = np.array([row[column.name] for row in rows], np.float64)
    arrays["is_erratum"] = np.array([row["is_erratum"] for row in rows], np.uint8)
    return arrays


def row_of(judged: JudgedClaim) -> dict[str, Any]:
    """Return the values of one judged claim by column; empty strings and NaN mean null."""
    claim, answer, status, explanation, error, published_error, bound = judged
    value, _ = parse_published(claim.published) or (np.nan, np.nan)
    is_number = answer is not None and not isinstance(answer, str)
    shown = "" if answer is None else f"{answer:.9g}" if isinstance(answer, float) else str(answer)
    same = ("claim", "part", "kind", "restates", "document", "source", "place", "printed_table", "subject", "published")
    return {name: getattr(claim, name) for name in same} | {
        "source_date": claim.date,
        "published_value": float(value),
        "published_error": published_error or np.nan,
        "tolerance": judged.tolerance,
        "answer": shown,
        "our_value": float(answer) if is_number and answer is not None else np.nan,
        "our_error": error or np.nan,
        "our_bound": bound or np.nan,
        "correction": claim.correction,
        "status": status,
        "is_erratum": claim.is_erratum or status == CORRECTED,
        "explanation": explanation,
        "query": claim.query,
    }


COMPUTATION = ClaimsComputation

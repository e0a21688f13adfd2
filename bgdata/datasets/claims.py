"""The register of claims: every published number of our sources with what we find, and whether that agrees."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.claims.definitions import (
    CORRECTED,
    KINDS,
    STATUSES,
    Claim,
    definitions_digest,
    parse_published,
    part_names,
    read_definitions,
)
from bgdata.datasets.common.columns import text_arrays, text_column, text_declarations
from bgdata.errors import (
    BgdataError,
    CheckFailedError,
    CheckSkippedError,
    CorruptFileError,
    InvalidParameterError,
    MissingTableError,
)
from bgdata.store.context import Build, Computed, Context, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters, VersionRef, value_text
from bgdata.store.versions import Versions

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.claims.register import Judged
    from bgdata.store.arrays import Array
    from bgdata.store.table import Table

UNIT = "as its row says"
TEXTS = (  # columns, each an array with an `s` behind it
    Column("claim", "VARCHAR", "", "Name of the claim: its part of the register, a dot, and what it is about"),
    Column("part", "VARCHAR", "", "Part of the register, A1 to A13"),
    Column("source", "VARCHAR", "", "Who published it where"),
    Column("source_date", "VARCHAR", "", "When: year, month or day; empty where that is not known"),
    Column("place", "VARCHAR", "", "Where in the source"),
    Column("subject", "VARCHAR", "", "What was published, and in which unit"),
    Column(
        "kind",
        "VARCHAR",
        "",
        "Published; published_twice (the figure of another row); own_oracle (by nobody: computed for this register by "
        "an independent program); identity (could not have come out otherwise)",
    ),
    Column("restates", "VARCHAR", "", "The claim with the same figure, of what is published twice; null elsewhere"),
    Column("published", "VARCHAR", "", "What was published, as it was printed"),
    Column("answer", "VARCHAR", "", "What we find; null where nothing was computed"),
    Column("correction", "VARCHAR", "", "What is right, where what was published is not; null elsewhere"),
    Column(
        "status", "VARCHAR", "", "What came of it: reproduced (within the tolerance), corrected, open or unreachable"
    ),
    Column("explanation", "VARCHAR", "", "Why it is not simply reproduced, or what is to be known of it; may be null"),
    Column("query", "VARCHAR", "", "SQL on these tables, or function of bgdata.claims, that answers; null without"),
)
NUMBERS = (
    Column("published_value", "DOUBLE", UNIT, "The published number; null for a word"),
    Column("published_error", "DOUBLE", UNIT, "Its standard error, printed or by its games; null where not known"),
    Column(
        "tolerance",
        "DOUBLE",
        UNIT,
        "How far our_value may be from it: half of its last digit, our_bound, and three standard errors of the "
        "difference; null for a word",
    ),
    Column("our_value", "DOUBLE", UNIT, "The answer as a number; null for a word, or without an answer"),
    Column("our_error", "DOUBLE", UNIT, "Its standard error; null for what is not of a sample"),
    Column(
        "our_bound",
        "DOUBLE",
        UNIT,
        "How far rounding may have moved it, of a table or of published figures that it follows from; null where it is "
        "right to the digits shown",
    ),
)
IS_ERRATUM = Column("is_erratum", "BOOLEAN", "", "Whether what was published is wrong, misprinted or withdrawn")
ORDER = (
    *("claim", "part", "kind", "restates", "source", "source_date", "place", "subject"),
    *("published", "published_value", "published_error", "tolerance", "answer", "our_value", "our_error", "our_bound"),
    *("correction", "status", "is_erratum", "explanation", "query"),
)
COLUMNS = {column.name: column for column in (*TEXTS, *NUMBERS, IS_ERRATUM)}
NULLABLE = {"restates", "answer", "correction", "explanation", "query"}
ROW_BYTES = 1000  # of a claim, its explanation and its query, twice


@dataclass(frozen=True)
class ClaimsParameters(Parameters):
    """Which parts of the register, all without; which state of the definitions; and versions that a warehouse may
    have or not (`KIND/VARIANT/VERSION` with a space between, in order), which some claims want. Those that come by
    default are inputs, and none of these."""

    parts: tuple[str, ...] = ()
    definitions: str = definitions_digest()
    sources: tuple[VersionRef, ...] = ()

    def chosen(self) -> list[Claim]:
        """The claims of these parts. Raises InvalidParameterError, and CorruptFileError for a damaged definition."""
        if self.definitions != definitions_digest():
            raise InvalidParameterError(
                f"expected the definitions that are here ({definitions_digest()}), got {self.definitions}"
            )
        parts = self.parts
        if parts != tuple(part for part in part_names() if part in parts):
            raise InvalidParameterError(
                f"expected parts among {' '.join(part_names())}, in order, got {' '.join(parts)!r}"
            )
        return [claim for claim in read_definitions() if not parts or claim.part in parts]


class Claims(Dataset[ClaimsParameters]):
    """One row a claim."""

    name = "claims"
    revision = 2
    summary = (
        "Published numbers about backgammon databases, cube models and match equity, with what we find: reproduced, "
        "corrected, open or unreachable."
    )
    source = (
        "Collected from the blog Computational Backgammon (2011-2012) and its author's programs, D. Zare on luck, "
        "manuals and shipped files of GNU Backgammon, and others; our answers are computed from tables here"
    )
    columns = tuple(COLUMNS[name] for name in ORDER)
    sample_rows = 100  # claims: all of them take half a minute
    key = ("claim",)
    arrays = (
        *(entry for column in TEXTS for entry in text_declarations(f"{column.name}_texts", "claim", column.meaning)),
        *(FlatArray(f"{column.name}s", "float64", "claim", f"{column.meaning}: NaN") for column in NUMBERS),
        FlatArray("is_erratum", "uint8", "claim", f"{IS_ERRATUM.meaning}: 1, else 0"),
    )
    parameters = ClaimsParameters
    defaults = (ClaimsParameters(),)
    smallest = ClaimsParameters(parts=("A12",))

    def slug(self, parameters: ClaimsParameters) -> str:
        parts = "-".join(parameters.parts).lower() or "all"
        if not parameters.sources:
            return parts
        return f"{parts}-with-{hashlib.sha256(value_text(parameters.sources).encode()).hexdigest()[:8]}"

    def check_parameters(self, parameters: ClaimsParameters) -> None:
        parameters.chosen()
        check_sources(parameters)
        self.inputs(parameters)

    def completed(self, parameters: ClaimsParameters, warehouse: Versions) -> ClaimsParameters:
        """With the current versions of everything that claims want and the warehouse has."""
        if parameters.sources:
            return parameters
        inputs = {f"{kind}/{warehouse.kinds[kind].slug(each)}" for kind, each in self.inputs(parameters).values()}
        wants = {pattern for claim in parameters.chosen() for pattern in claim.wants}
        names = {
            table.name
            for table in warehouse.current()
            if (variant := variant_of(table)) not in inputs
            and any(fnmatchcase(variant, pattern) for pattern in wants)
            and can_be_read(warehouse, table)
        }
        return replace(parameters, sources=tuple(map(VersionRef.parse, sorted(names))))

    def inputs(self, parameters: ClaimsParameters) -> Mapping[str, tuple[str, Parameters]]:
        """The default variants that claims need, and those that they want as far as there are any."""
        claims = parameters.chosen()
        needs = [default_variant(pattern) for pattern in sorted({each for claim in claims for each in claim.needs})]
        wants = {each for claim in claims for each in claim.wants}
        found = [*needs, *(variant for pattern in sorted(wants) for variant in default_variants(pattern))]
        return {f"input_{number}": variant for number, variant in enumerate(dict.fromkeys(found))}

    def estimate(self, parameters: ClaimsParameters) -> Estimate:
        rows = len(parameters.chosen())
        return Estimate(rows, ROW_BYTES * rows, (1 << 30) if not parameters.parts else (1 << 26))

    def compute(self, build: Build[ClaimsParameters]) -> None:
        parameters, job = build.parameters, build.job
        claims = parameters.chosen()
        job.progress.start(f"{self.name}/{self.slug(parameters)}", len(claims), "claims")
        found = []
        for judged in judged_claims(build, claims):
            found.append(judged)
            job.progress.advance(1)
        for name, values in arrays_of(found).items():
            job.save(name, values)

    def batches(self, computed: Computed[ClaimsParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        arrays = computed.arrays
        columns: dict[str, Any] = {column.name: text_column(arrays, f"{column.name}_texts") for column in TEXTS}
        for name in NULLABLE:
            columns[name] = pa.array([text or None for text in columns[name].to_pylist()], pa.string())
        for column in NUMBERS:
            values = np.asarray(arrays[f"{column.name}s"])
            columns[column.name] = pa.array(values, mask=np.isnan(values))
        columns["is_erratum"] = pa.array(np.asarray(arrays["is_erratum"], bool))
        yield pa.record_batch({name: columns[name] for name in ORDER})

    def statistics(self, computed: Computed[ClaimsParameters]) -> Mapping[str, float]:
        statuses, kinds = (text_column(computed.arrays, f"{name}_texts").to_pylist() for name in ("status", "kind"))
        both = list(zip(kinds, statuses, strict=True))
        counts = {status: float(statuses.count(status)) for status in STATUSES}
        counts |= {f"{kind}_{status}": float(both.count((kind, status))) for kind in KINDS for status in STATUSES}
        return counts | {"errata": float(np.asarray(computed.arrays["is_erratum"]).sum())}

    def check_sample(self, recheck: Recheck[ClaimsParameters]) -> str:
        """Answer a sample of the claims again, where the definitions and all sources are still there."""
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
        return sampled(len(chosen), len(claims), "claims")


def check_rows(table: Table, places: Sequence[int], arrays: Mapping[str, tuple[Array, Array]]) -> None:
    """Compare what was found with the rows at these places; raises CheckFailedError naming the first bad one."""
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


def judged_claims(context: Context[ClaimsParameters], claims: Sequence[Claim]) -> Iterator[Judged]:
    """The claims with what we find. Raises MissingTableError for a source that is not there any more."""
    from bgdata.claims.register import judge
    from bgdata.store.reading import connect_tables, only_row

    sources = [context.warehouse.open_reference(place) for place in context.parameters.sources]
    tables = {variant_of(table): table for table in [*context.inputs.values(), *sources]}
    with connect_tables(context.warehouse.kinds, tables.values()) as connection:
        yield from judge(claims, tables, lambda query: only_row(connection, query))


def check_sources(parameters: ClaimsParameters) -> None:
    """Raise InvalidParameterError for sources that no claim wants, and for another order."""
    found = parameters.sources
    wants = {pattern for claim in parameters.chosen() for pattern in claim.wants}
    for place in found:
        if not place.version or not any(fnmatchcase(place.title, pattern) for pattern in wants):
            raise InvalidParameterError(
                f"expected sources KIND/VARIANT/VERSION of {', '.join(sorted(wants)) or 'nothing'}, got '{place}'"
            )
    if list(found) != sorted(set(found), key=str):
        raise InvalidParameterError(f"expected sources in order, each once, got {value_text(found)!r}")


def variant_of(table: Table) -> str:
    """The KIND/VARIANT of a version, as its folders have it."""
    return "/".join(table.folder.parts[-3:-1])


def can_be_read(warehouse: Versions, table: Table) -> bool:
    """Whether a version is whole, and one of a recipe that is known here."""
    try:
        warehouse.kinds[table.manifest.dataset].parameters.from_manifest(table.manifest.parameters)
    except (BgdataError, KeyError):
        return False
    return True


def default_variant(pattern: str) -> tuple[str, Parameters]:
    """(kind, parameters) of the default variant that a pattern means. Raises CorruptFileError unless it is one."""
    found = default_variants(pattern)
    if len(found) != 1:
        raise CorruptFileError(f"expected needs of claims that are one default variant each, got {pattern}")
    return found[0]


def default_variants(pattern: str) -> list[tuple[str, Parameters]]:
    """(kind, parameters) of the default variants that a pattern means."""
    from bgdata.datasets import all_kinds

    name, _, variant = pattern.partition("/")
    kind = all_kinds().get(name)
    return [(name, each) for each in kind.defaults if fnmatchcase(kind.slug(each), variant)] if kind else []


def sorted_rows(found: Sequence[Judged]) -> list[Judged]:
    """The rows in order of their key."""
    return sorted(found, key=lambda each: each.claim.claim)


def arrays_of(found: Sequence[Judged]) -> dict[str, Array]:
    """Every declared array, rows in order of their key."""
    rows = [row_of(each) for each in sorted_rows(found)]
    arrays: dict[str, Array] = {}
    for column in TEXTS:
        arrays |= text_arrays(f"{column.name}_texts", [row[column.name] for row in rows])
    for column in NUMBERS:
        arrays[f"{column.name}s"] = np.array([row[column.name] for row in rows], np.float64)
    arrays["is_erratum"] = np.array([row["is_erratum"] for row in rows], np.uint8)
    return arrays


def row_of(judged: Judged) -> dict[str, Any]:
    """One row; empty texts and NaN for what is null."""
    claim, answer, status, explanation, error, published_error, bound = judged
    value, _ = parse_published(claim.published) or (np.nan, np.nan)
    is_number = answer is not None and not isinstance(answer, str)
    shown = "" if answer is None else f"{answer:.9g}" if isinstance(answer, float) else str(answer)
    same = ("claim", "part", "kind", "restates", "source", "place", "subject", "published")
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


DATASET = Claims()

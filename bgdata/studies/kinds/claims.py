"""The register of claims: published numbers of our sources, our answers, and whether they agree."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bgdata.errors import BgdataError, CorruptFileError, InvalidParameterError
from bgdata.kinds import all_kinds
from bgdata.kinds.columns import text_declarations
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters, VersionRef, value_text
from bgdata.store.versions import Versions
from bgdata.studies.claims.definitions import Claim, definitions_digest, part_names, read_definitions

if TYPE_CHECKING:
    from bgdata.store.table import Table

UNIT = "as its row says"
TEXTS = (  # text columns; arrays have an `s` at the end of the name
    Column("claim", "VARCHAR", "", "Name of the claim: its part of the register, a dot, and what it is about"),
    Column("part", "VARCHAR", "", "Part of the register, A1 to A13"),
    Column("source", "VARCHAR", "", "Who published it where"),
    Column("document", "VARCHAR", "", "Which of the five source documents has it, or elsewhere"),
    Column("source_date", "VARCHAR", "", "When: year, month or day; empty where that is not known"),
    Column("place", "VARCHAR", "", "Where in the source"),
    Column("subject", "VARCHAR", "", "What was published, and in which unit"),
    Column(
        "kind",
        "VARCHAR",
        "",
        "Published (a figure); published_twice (the figure of another row); statement (words, or a bound)",
    ),
    Column("printed_table", "VARCHAR", "", "The printed table with which it is also judged; null elsewhere"),
    Column("restates", "VARCHAR", "", "The claim with the same figure, of what is published twice; null elsewhere"),
    Column("published", "VARCHAR", "", "What was published, as it was printed"),
    Column("answer", "VARCHAR", "", "What we find; null where nothing was computed"),
    Column("correction", "VARCHAR", "", "What is right, where what was published is not; null elsewhere"),
    Column(
        "status",
        "VARCHAR",
        "",
        "What came of it: reproduced (within the tolerance), corrected, disagrees (ours is further away), open or "
        "unreachable",
    ),
    Column("explanation", "VARCHAR", "", "Why it is not simply reproduced, or what is to be known of it; may be null"),
    Column(
        "query", "VARCHAR", "", "SQL on these tables, or function of bgdata.studies.claims, that answers; null without"
    ),
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
    *("claim", "part", "kind", "restates", "document", "source", "source_date", "place", "printed_table", "subject"),
    *("published", "published_value", "published_error", "tolerance", "answer", "our_value", "our_error", "our_bound"),
    *("correction", "status", "is_erratum", "explanation", "query"),
)
COLUMNS = {column.name: column for column in (*TEXTS, *NUMBERS, IS_ERRATUM)}
ROW_BYTES = 1000  # bytes of a claim with explanation and query, stored twice


@dataclass(frozen=True)
class ClaimsParameters(Parameters):
    """Parameters of `claims`: the parts of the register (all if empty), the digest of the definitions, and sources.
    Sources are the optional versions that some claims use, `KIND/VARIANT/VERSION`, sorted. Default variants are inputs
    instead."""

    parts: tuple[str, ...] = ()
    definitions: str = definitions_digest()
    sources: tuple[VersionRef, ...] = ()

    def chosen(self) -> list[Claim]:
        """Return the claims in the chosen parts of the register. Raises InvalidParameterError if there is no such part,
        and CorruptFileError if a definition is damaged."""
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
    """Kind `claims`: the register of published figures, with our answers. One row per claim."""

    name = "claims"
    revision = 3
    summary = (
        "Published numbers about backgammon databases, cube models and match equity, with what we find: reproduced, "
        "corrected, away from it, open or unreachable."
    )
    source = (
        "Collected from the blog Computational Backgammon (2011-2012) and its author's programs, D. Zare on luck, "
        "manuals and shipped files of GNU Backgammon, and others; our answers are computed from tables here"
    )
    columns = tuple(COLUMNS[name] for name in ORDER)
    sample_rows = 100  # claims that verify answers again; all take half a minute
    key = ("claim",)
    arrays = (
        *(entry for column in TEXTS for entry in text_declarations(f"{column.name}_texts", "claim", column.meaning)),
        *(FlatArray(f"{column.name}s", "float64", "claim", f"{column.meaning}: NaN") for column in NUMBERS),
        FlatArray("is_erratum", "uint8", "claim", f"{IS_ERRATUM.meaning}: 1, else 0"),
    )
    parameters = ClaimsParameters
    defaults = more = (ClaimsParameters(),)
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

    def complete(self, parameters: ClaimsParameters, warehouse: Versions) -> ClaimsParameters:
        """Return the parameters with sources added: the current versions of everything in the warehouse that claims can
        use."""
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
        """Return the default variants that claims need or can use, by role."""
        claims = parameters.chosen()
        needs = [default_variant(pattern) for pattern in sorted({each for claim in claims for each in claim.needs})]
        wants = {each for claim in claims for each in claim.wants}
        found = [*needs, *(variant for pattern in sorted(wants) for variant in default_variants(pattern))]
        return {f"input_{number}": variant for number, variant in enumerate(dict.fromkeys(found))}

    def estimate(self, parameters: ClaimsParameters) -> Estimate:
        rows = len(parameters.chosen())
        return Estimate(rows, ROW_BYTES * rows, (1 << 30) if not parameters.parts else (1 << 26))


def check_sources(parameters: ClaimsParameters) -> None:
    """Raise InvalidParameterError if a source is not one that claims can use, or if sources are not sorted."""
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
    """Return the name KIND/VARIANT of a version, from its folders."""
    return "/".join(table.folder.parts[-3:-1])


def can_be_read(warehouse: Versions, table: Table) -> bool:
    """Return whether a version's manifest and parameters can be read."""
    try:
        warehouse.kinds[table.manifest.dataset].parameters.from_manifest(table.manifest.parameters)
    except (BgdataError, KeyError):
        return False
    return True


def default_variant(pattern: str) -> tuple[str, Parameters]:
    """Return the kind and the parameters of the default variant that matches `pattern`. Raises CorruptFileError if no
    variant or several variants match."""
    found = default_variants(pattern)
    if len(found) != 1:
        raise CorruptFileError(f"expected needs of claims that are one default variant each, got {pattern}")
    return found[0]


def default_variants(pattern: str) -> list[tuple[str, Parameters]]:
    """Return the kind and the parameters of each default variant that matches `pattern`, KIND/VARIANT."""
    name, _, variant = pattern.partition("/")
    kind = all_kinds().get(name)
    return [(name, each) for each in kind.defaults if fnmatchcase(kind.slug(each), variant)] if kind else []


DATASET = Claims()

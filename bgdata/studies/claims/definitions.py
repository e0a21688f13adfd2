"""Published figures: the claims of `definitions/*.toml`, one file for each part of the register.

A file is a list of groups, `[[group]]`. A group contains the fields of `Claim` that its rows share. The fields are
strings in which `{name}` is replaced by a value of the row; `columns` lists the names, `rows` the values. A group
without `columns` is one claim. `[values]` at the head of a file gives values for all groups, such as a published row of
numbers.

A figure from played games has a standard error: `published_error` as printed, or computed from `published_games` with
the spread of our games. A query returns a value and, for a sample, its standard error and size. Definitions set no
tolerance: it follows from the last printed digit, the rounding of the answer and both errors, see `register.margin`.

Each claim has a kind, and kinds are counted separately:

* `published`: a printed figure that could have come out otherwise.
* `published_twice`: the same figure as another row, which `restates` names. It was printed in another form, or found in
  another way.
* `statement`: words, or a bound such as "more than 0", instead of a figure.

Facts that were not printed, and facts that could not have come out otherwise, are tests, not claims.

Some figures are of players whose weights were never published. Figures that games of any strong player show, such as
the share of gammons, are measured with a player of ours, which the row names. Figures about one player's own strength,
such as its error rate, are unreachable.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from functools import lru_cache
from math import floor, log10
from pathlib import Path
from typing import Any, NamedTuple

from bgdata.errors import CorruptFileError

FOLDER = Path(__file__).parent / "definitions"
REPRODUCED, CORRECTED, DISAGREES, OPEN, UNREACHABLE = STATUSES = (
    *("reproduced", "corrected", "disagrees", "open", "unreachable"),
)
DECLARED = ("", OPEN, UNREACHABLE)  # statuses of definitions; all other statuses are computed
PUBLISHED, PUBLISHED_TWICE, STATEMENT = KINDS = ("published", "published_twice", "statement")
BLOG, ELSEWHERE = "Computational Backgammon", "elsewhere"
DOCUMENTS = {  # the five source documents: beginning of the source, beginning of its date
    f"{BLOG}, September and October 2011": [(BLOG, "2011-09"), (BLOG, "2011-10")],
    f"{BLOG}, One-sided bearoff database": [(f"{BLOG}, One-sided bearoff database", "2012-01")],
    f"{BLOG}, March 2012": [(BLOG, "2012-03"), ("R. Janowski", "2012-03")],
    f"{BLOG}, Janowski model extended to match play": [(BLOG, "2012-04-09")],
    "D. Zare, Hedging Toward Skill": [("D. Zare", "2000")],
    ELSEWHERE: [("", "")],
}
RANGE = " to "  # text between the ends of a range
ABOUT, ALMOST, MORE_THAN = "about ", "almost ", "more than "  # words before a number
ALMOST_PART = 10  # "almost" means at most a tenth below
WORDS_AS_RANGES = {"mostly": (0.5, 1.0), "a few hundredths": (0.015, 0.055)}  # a share; two to five hundredths
NUMBER = re.compile(r"([+-]?\d+(?:\.(\d+))?)(?:e([+-]?\d+))?([kMB]?)")
POWERS = {"": 0, "k": 3, "M": 6, "B": 9}
OWN_KEYS = {"columns", "rows"}
PATTERN = re.compile(r"[a-z_]+/[A-Za-z0-9*-]+")


@dataclass(frozen=True)
class Claim:
    """One published number or word, and the query that recomputes it.

    `correction` is the right value if the published one is wrong. `needs` are patterns KIND/VARIANT of default variants
    that the query reads; `wants` are patterns of optional versions. `recorded` is an answer measured earlier (value,
    standard error, games) with the programs `recorded_with`. It is used if a version that the query reads is missing,
    or if there is no query because measuring takes too long. `experiment` says what would decide an open claim, and
    `obstacle` why it is not done here."""

    claim: str  # name of the claim, such as A2.mean-6x9
    part: str
    source: str
    subject: str  # what was published, and in which unit
    published: str
    place: str = ""  # table, line or chapter of the source
    date: str = ""  # date of the source: year, month or day
    kind: str = PUBLISHED
    printed_table: str = ""  # printed table whose figures are also judged together
    restates: str = ""  # for published_twice: the claim with the same figure
    correction: str = ""
    published_error: float = 0.0  # printed standard error, 0 if there is none
    published_games: int = 0  # number of games of the published mean, if no standard error is printed
    needs: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()
    recorded: tuple[float | str, ...] = ()
    recorded_with: str = ""
    query: str = ""
    status: str = ""
    explanation: str = ""
    experiment: str = ""
    obstacle: str = ""
    is_erratum: bool = False

    @property
    def document(self) -> str:
        """The name of the source document that contains the claim, or `elsewhere`."""
        return next(
            name for name, begins in DOCUMENTS.items()
            if any(self.source.startswith(source) and self.date.startswith(date) for source, date in begins)
        )  # fmt: skip


Answer = int | float | str


class FoundAnswer(NamedTuple):
    """The answer to a claim's query, with its standard error and the largest effect of rounding."""

    answer: Answer
    error: float = 0.0  # standard error, 0 if there is no sample
    games: int = 0  # number of games or matches of the mean
    bound: float = 0.0  # largest effect of rounding, in a table or in the printed figures that the answer uses


FIELDS = {field.name: field for field in fields(Claim)}
GIVEN = [name for name in FIELDS if name != "part"]  # `part` is the name of the file
REQUIRED = [name for name, field in FIELDS.items() if field.default is MISSING and name != "part"]
WORDS = {name for name, field in FIELDS.items() if field.type == "str"} - {"part"}
NUMBERS = [name for name, field in FIELDS.items() if field.type in ("float", "int")]


def parse_published(text: str) -> tuple[int | float, float] | None:
    """Return the value of a printed number, and half of its last digit; None for any other string.

    k, M, B are thousands, millions, billions. A range gives its middle and half of its width: "almost 0.5" is 0.45 to
    0.5, and "mostly" a share above a half. "about" allows half a unit of the first digit.

    >>> parse_published("64.1M"), parse_published("-0.026"), parse_published("73 to 75"), parse_published("n-2")
    ((64100000, 50000.0), (-0.026, 0.0005), (74.0, 1.0), None)
    >>> parse_published("about 64.1M"), parse_published("almost 1/2"), parse_published("mostly")
    ((64100000, 5000000.0), (0.475, 0.025), (0.75, 0.25))
    """
    if text in WORDS_AS_RANGES:
        low, high = WORDS_AS_RANGES[text]
        return (low + high) / 2, (high - low) / 2
    if text.startswith(ALMOST):
        limit = parse_fraction(text.removeprefix(ALMOST))
        return None if limit is None else (limit * (1 - 0.5 / ALMOST_PART), limit * 0.5 / ALMOST_PART)
    if text.startswith(ABOUT):
        number = parse_published(text.removeprefix(ABOUT))
        return number and (number[0], 0.5 * 10.0 ** floor(log10(abs(number[0]))))
    if RANGE in text:
        ends = [parse_fraction(end) for end in text.split(RANGE)]
        first, last = ends if len(ends) == 2 else (None, None)
        return None if first is None or last is None else ((first + last) / 2, (last - first) / 2)
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    digits, decimals, exponent, letter = found.groups()
    power = int(exponent or 0) + POWERS[letter]
    half = 0.5 * 10.0 ** (power - len(decimals or ""))
    value = Decimal(digits).scaleb(power)
    is_count = exponent is None and value == value.to_integral_value()
    return int(value) if is_count and (letter or not decimals) else float(value), half


def parse_fraction(text: str) -> float | None:
    """Return the value of a printed number or fraction such as 1/3; None for any other string."""
    parts = [parse_published(part) for part in text.split("/")]
    if None in parts or len(parts) > 2:
        return None
    values = [part[0] for part in parts if part]
    return values[0] / values[1] if len(values) == 2 else values[0]


@lru_cache(maxsize=4)
def read_definitions(folder: Path = FOLDER) -> tuple[Claim, ...]:
    """Return all claims that the files in `folder` define, in order of files, groups and rows. Raises CorruptFileError
    if a file is invalid; the error names the file and group."""
    found: dict[str, Claim] = {}
    for path in definition_files(folder):
        for claim in read_file(path):
            if claim.claim in found:
                raise CorruptFileError(f"expected claims of different names in {folder}, got {claim.claim} twice")
            found[claim.claim] = claim
    if not found:
        raise CorruptFileError(f"expected definitions of claims (A1.toml, ...) in {folder}, found none")
    for claim in found.values():
        if claim.restates and (claim.restates not in found or found[claim.restates].restates):
            raise CorruptFileError(
                f"expected {claim.claim} in {folder} to restate a claim that restates none, got {claim.restates}"
            )
    return tuple(found.values())


def definition_files(folder: Path = FOLDER) -> list[Path]:
    """Return the files of definitions in `folder`, in natural order: A2 before A10."""
    return sorted(folder.glob("*.toml"), key=lambda path: (len(path.stem), path.stem))


def definitions_digest(folder: Path = FOLDER) -> str:
    """Return 12 hexadecimal digits that identify the content of the files of definitions."""
    digest = hashlib.sha256()
    for path in definition_files(folder):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def part_names() -> list[str]:
    """Return the names of the register's parts, in order. Each file of definitions is a part."""
    return [path.stem for path in definition_files()]


def read_file(path: Path) -> Iterator[Claim]:
    """Yield the claims that one file of definitions contains. Raises CorruptFileError if it is invalid."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CorruptFileError(f"expected a file of claims, got {path}: {error}") from None
    if set(content) - {"group", "values"} or not isinstance(content.get("group"), list):
        raise CorruptFileError(f"expected [values] and [[group]] in {path}, got {', '.join(content) or 'nothing'}")
    for number, group in enumerate(content["group"], start=1):
        where = f"group {number} of {path}"
        given = {key: value for key, value in group.items() if key not in OWN_KEYS}
        if len(OWN_KEYS & set(group)) == 1:
            raise CorruptFileError(f"expected both columns and rows in {where}, got one of them")
        columns = group.get("columns", [])
        for row in group.get("rows", [[]]):  # without rows, a group is a single claim
            if len(row) != len(columns):
                raise CorruptFileError(f"expected {len(columns)} values in every row of {where}, got {row}")
            values = content.get("values", {}) | dict(zip(columns, row, strict=True))
            yield parse_claim(given, values, path.stem, where)


def parse_claim(given: dict[str, Any], values: Mapping[str, Any], part: str, where: str) -> Claim:
    """Make a claim from the fields of a group, `given`, and the values of one row of the group. Values replace their
    names in braces; a value with the name of a field sets that field. Raises CorruptFileError if the claim is invalid;
    `where` names the file and group for the error."""
    for key in given:
        if key not in GIVEN:
            raise CorruptFileError(f"expected fields among {', '.join(GIVEN)} in {where}, got {key}")
    merged = given | {key: value for key, value in values.items() if key in FIELDS}
    for name in REQUIRED:
        if name not in merged:
            raise CorruptFileError(f"expected a field {name} in {where}, found none")
    for name in WORDS & set(merged):
        merged[name] = fill_in(str(merged[name]), values, where)
    for name in {"needs", "wants"} & set(merged):
        patterns = merged[name]
        found = [fill_in(str(each), values, where) for each in patterns] if isinstance(patterns, list) else [""]
        if not all(PATTERN.fullmatch(each) for each in found):
            raise CorruptFileError(f"expected a list of KIND/VARIANT in {where}, got {patterns!r}")
        merged[name] = tuple(found)
    if "recorded" in merged:
        numbers = merged["recorded"]
        is_list = isinstance(numbers, list) and 1 <= len(numbers) <= 3
        is_word = is_list and len(numbers) == 1 and isinstance(numbers[0], str)
        if not is_word and (not is_list or any(type(each) not in (int, float) for each in numbers)):
            raise CorruptFileError(
                f"expected a value, its error and the games, or a word, as recorded in {where}, got {numbers!r}"
            )
        merged["recorded"] = tuple(numbers)
    claim = Claim(**merged | {"claim": merged["claim"].replace("_", "-"), "part": part})
    check_claim(claim, where)
    return claim


def fill_in(text: str, values: Mapping[str, Any], where: str) -> str:
    """Replace names in braces by the values of a row. Raises CorruptFileError for an unknown name."""
    try:
        return text.format_map(values)
    except (KeyError, IndexError, ValueError) as error:
        raise CorruptFileError(f"expected names of values in braces in {where}, got {text!r} ({error})") from None


def check_claim(claim: Claim, where: str) -> None:
    """Raise CorruptFileError if the fields of a claim contradict each other; `where` names its file and group."""
    name = claim.claim
    for field in NUMBERS:
        if not isinstance(getattr(claim, field), int | float):
            raise CorruptFileError(f"expected a number as {field} of {name}, got {getattr(claim, field)!r}")
    rules = [  # (is broken, message)
        (
            not re.fullmatch(rf"{claim.part}\.[a-z0-9.-]+", name),
            f"a name such as {claim.part}.mean-6x9 in {where}, got {name!r}",
        ),
        (
            claim.status not in DECLARED,
            f"status open or unreachable, or none, as others are found by computing, in {where}, got {claim.status!r}",
        ),
        (claim.kind not in KINDS, f"a kind among {', '.join(KINDS)} of {name}, got {claim.kind!r}"),
        (
            bool(claim.restates) != (claim.kind == PUBLISHED_TWICE),
            f"restates of a claim that is {PUBLISHED_TWICE}, and of no other, got {claim.restates!r} of {name}, which "
            f"is {claim.kind}",
        ),
        (
            not claim.explanation and (claim.status or claim.correction or claim.is_erratum),
            f"an explanation of {name} in {where}, as it is not simply right",
        ),
        (
            not (claim.query or claim.status or claim.recorded),
            f"a query or a status of {name} in {where}, found neither",
        ),
        (
            bool(claim.experiment) != bool(claim.obstacle) or (claim.status == OPEN and not claim.experiment),
            f"an experiment together with an obstacle, and both of what is open, of {name}, got {claim.experiment!r} "
            f"and {claim.obstacle!r}",
        ),
        (
            bool(claim.recorded) != bool(claim.recorded_with) or (claim.recorded and claim.query and not claim.wants),
            "recorded together with recorded_with, and only of what wants something or has no query, in "
            f"{where}, got {claim.recorded!r} and {claim.recorded_with!r}",
        ),
        (
            min(claim.published_error, claim.published_games) < 0 or (claim.published_error and claim.published_games),
            f"published_error or published_games of {name}, at least 0, got others",
        ),
        (
            not isinstance(claim.is_erratum, bool),
            f"true or false as is_erratum of {name}, got {claim.is_erratum!r}",
        ),
    ]
    for is_broken, message in rules:
        if is_broken:
            raise CorruptFileError(f"expected {message}")

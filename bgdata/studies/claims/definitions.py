"""What was published: the claims of `definitions/*.toml`, one file for each part of the register.

A file is a list of groups, `[[group]]`. A group gives the fields of `Claim` that its rows share, as text in which
`{name}` stands for a value of the row; `columns` names the values, `rows` has them. Without `columns` a group is one
claim. `[values]` at the head of a file has values for all of its groups, such as a published row of numbers.

A number that was found by playing games has a standard error: `published_error` as printed, or `published_games`, from
which it follows with the spread that our games have. A query answers with a value, and behind it, if it is of a sample,
its standard error and the size of the sample. No definition says how far an answer may be off: that follows from the
last printed digit, from what the answer itself is rounded by, and from both errors, see `register.margin`.

Each claim is of a kind, and kinds are counted apart:

* `published`: somebody printed a figure, and it could have come out otherwise.
* `published_twice`: the same figure as another row, which `restates` names: printed again in another form, or reached
  in another way.
* `statement`: no figure was printed but words, or a bound such as "more than 0".

What nobody printed is a test and no claim, and so is what could not have come out otherwise.

Figures of players whose weights were never published have one rule. What games of any strong player show, such as how
many end in a gammon, is measured with a player of ours, which the row names, and judged as all else. What shows one
player's own strength, such as its error rate, is that player's alone: unreachable.
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
DECLARED = ("", OPEN, UNREACHABLE)  # statuses that a definition may state; the others are found by computing
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
RANGE = " to "  # between two numbers, of which either may be meant
ABOUT, ALMOST, MORE_THAN = "about ", "almost ", "more than "  # before a number
ALMOST_PART = 10  # what is almost a number is below it, by a tenth at most
WORDS_AS_RANGES = {"mostly": (0.5, 1.0), "a few hundredths": (0.015, 0.055)}  # of a share; two to five
NUMBER = re.compile(r"([+-]?\d+(?:\.(\d+))?)(?:e([+-]?\d+))?([kMB]?)")
POWERS = {"": 0, "k": 3, "M": 6, "B": 9}
OWN_KEYS = {"columns", "rows"}
PATTERN = re.compile(r"[a-z_]+/[A-Za-z0-9*-]+")


@dataclass(frozen=True)
class Claim:
    """One published number, or word.

    `correction` is the right value where the published one is wrong. `needs` are patterns KIND/VARIANT of default
    variants that the query reads, `wants` patterns of versions that a warehouse may have or not, or that may come with
    the package or not. `recorded` is what the query answered (a value, its standard error, the games) where what it
    wants was once, by the programs `recorded_with`; it is the answer where that is not. Without a query it is what they
    measured, which takes too long for the register. `experiment` says what would decide the claim if it is open, and
    `obstacle` why that is not done here.
    """

    claim: str  # its name, such as A2.mean-6x9
    part: str
    source: str
    subject: str  # what was published, and in which unit
    published: str
    place: str = ""  # table, line or chapter of the source
    date: str = ""  # of the source: year, month or day
    kind: str = PUBLISHED
    printed_table: str = ""  # whose figures are also judged together
    restates: str = ""  # the claim with the same figure, of what is published twice
    correction: str = ""
    published_error: float = 0.0  # standard error, 0 for one that is not printed, or none
    published_games: int = 0  # in place of it: how many games or matches the published number is the mean of
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
        """Which of the five source documents has it, or that none has."""
        return next(
            name for name, begins in DOCUMENTS.items()
            if any(self.source.startswith(source) and self.date.startswith(date) for source, date in begins)
        )  # fmt: skip


Answer = int | float | str


class Found(NamedTuple):
    """An answer to the query of a claim, with its rounding and its standard error."""

    answer: Answer
    error: float = 0.0  # standard error, 0 if it is not of a sample
    games: int = 0  # or matches, that it is the mean of
    bound: float = 0.0  # how far rounding may have moved it: of a table, or of printed figures that it follows from


FIELDS = {field.name: field for field in fields(Claim)}
GIVEN = [name for name in FIELDS if name != "part"]  # which is the name of the file
REQUIRED = [name for name, field in FIELDS.items() if field.default is MISSING and name != "part"]
WORDS = {name for name, field in FIELDS.items() if field.type == "str"} - {"part"}
NUMBERS = [name for name, field in FIELDS.items() if field.type in ("float", "int")]


def parse_published(text: str) -> tuple[int | float, float] | None:
    """A number as it was printed, with half a unit of its last digit; k, M, B stand for thousands, millions, billions.
    The middle of a range, with half of its width; so "almost 0.5" is from 0.45 to 0.5, and "mostly" a share above a
    half. What is "about" a number may be off by half a unit of its first digit. None for what is nothing of these.

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
    """A printed number, or a fraction such as 1/3; None for what is neither."""
    parts = [parse_published(part) for part in text.split("/")]
    if None in parts or len(parts) > 2:
        return None
    values = [part[0] for part in parts if part]
    return values[0] / values[1] if len(values) == 2 else values[0]


@lru_cache(maxsize=4)
def read_definitions(folder: Path = FOLDER) -> tuple[Claim, ...]:
    """All claims, in order of files, groups and rows. Raises CorruptFileError, which names the file and the group."""
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
                f"expected a claim in {folder} that restates no other, as what {claim.claim} restates, "
                f"got {claim.restates}"
            )
    return tuple(found.values())


def definition_files(folder: Path = FOLDER) -> list[Path]:
    """The files, A2 before A10."""
    return sorted(folder.glob("*.toml"), key=lambda path: (len(path.stem), path.stem))


def definitions_digest(folder: Path = FOLDER) -> str:
    """12 hexadecimal digits of the files: versions of the register are of one state of them."""
    digest = hashlib.sha256()
    for path in definition_files(folder):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def part_names(folder: Path = FOLDER) -> list[str]:
    """Parts of the register, in order: the names of the files."""
    return [path.stem for path in definition_files(folder)]


def read_file(path: Path) -> Iterator[Claim]:
    """The claims of one file. Raises CorruptFileError."""
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
    """A claim from the fields of a group and the values of a row, which fill the names in braces; a value with the name
    of a field is that field. Raises CorruptFileError."""
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
    """A text with the values of a row. Raises CorruptFileError for a name that the row does not have."""
    try:
        return text.format_map(values)
    except (KeyError, IndexError, ValueError) as error:
        raise CorruptFileError(f"expected names of values in braces in {where}, got {text!r} ({error})") from None


def check_claim(claim: Claim, where: str) -> None:
    """Raise CorruptFileError for an invalid claim."""
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

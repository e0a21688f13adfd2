"""Judges claims: each query is answered from tables or by a formula, and a tolerance decides the status.

The tolerance has one rule, `margin`: half of the last printed digit, the rounding of our answer, and the standard
errors of both sides where they come from samples of games.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from math import erfc, exp, hypot, nan, pi, sqrt
from typing import Any, NamedTuple

from bgdata.errors import CorruptFileError, MissingTableError, QueryError, UsageError
from bgdata.store.table import Table
from bgdata.studies.claims.bearoff import READINGS as BEAROFF
from bgdata.studies.claims.counting import FORMULAS as COUNTING
from bgdata.studies.claims.cube import FORMULAS as CUBE
from bgdata.studies.claims.definitions import (
    CORRECTED,
    DISAGREES,
    MORE_THAN,
    OPEN,
    REPRODUCED,
    Answer,
    Claim,
    Found,
    parse_published,
)
from bgdata.studies.claims.dropped import READINGS as DROPPED
from bgdata.studies.claims.play import READINGS as PLAY

FORMULAS: Mapping[str, Callable[..., Any]] = COUNTING | CUBE  # answer from their arguments alone
READINGS: Mapping[str, Callable[..., Any]] = BEAROFF | DROPPED | PLAY  # also get the tables, by dataset/variant
SLACK = 1e-9  # for binary fractions: 0.925 is not quite what was printed
DECIDES, OBSTACLE = "to decide it: ", "Why not here: "  # before an experiment, and before its obstacle
UNEXPLAINED = "Not within the tolerance, and we do not know why"
DIGITS = 9  # that answers are kept with: sums may differ beyond them from machine to machine
ERRORS = 3  # combined standard errors that an answer may deviate by, besides the rounding of what was published
DECIMALS = 15  # what is smaller is rounding
COARSEST = 4  # times the standard error of what was published: a sample with a larger one tells little
SQL_VALUES = 3  # of `Found`, at most, that a query in SQL answers: a table says nothing of its rounding
Run = Callable[[str], Sequence[Any]]  # answers an SQL query with the values of its only row


class Judged(NamedTuple):
    """A claim with our answer; None and 0 where nothing was computed."""

    claim: Claim
    answer: Answer | None
    status: str  # of STATUSES
    explanation: str
    error: float = 0.0  # standard error of the answer, 0 for what is no sample
    published_error: float = 0.0  # that of the published number, 0 where nothing is known of it
    bound: float = 0.0  # how far rounding may have moved the answer

    @property
    def tolerance(self) -> float:
        """How far the answer may be from the published number; NaN if the answer is a word."""
        number = parse_published(self.claim.published)
        return nan if number is None else margin(number[1], self.bound, self.error, self.published_error)


def judge(claims: Sequence[Claim], tables: Mapping[str, Table], run: Run) -> Iterator[Judged]:
    """Each claim with its answer and status, from tables by dataset/variant; `run` answers SQL over them.

    Raises CorruptFileError for a query that cannot be answered.
    """
    for claim in claims:
        missing = [wanted for wanted in (*claim.needs, *claim.wants) if not matching(wanted, tables)]
        if claim.query and missing:
            yield judge_unasked(claim, f"there is no {', no '.join(missing)}")
        elif claim.query:
            yield judge_answer(claim, find_answer(claim, tables, run))
        elif claim.recorded:
            yield judge_record(claim, "which takes too long for the register")
        else:
            yield Judged(claim, None, claim.status, explain(claim, claim.status))


def judge_unasked(claim: Claim, reason: str) -> Judged:
    """A claim whose query cannot be asked here: answered from its record, if it has one."""
    if claim.recorded:
        return judge_record(claim, f"as {reason}")
    return Judged(claim, None, OPEN, explain(claim, OPEN, f"not computed, as {reason}"))


def judge_record(claim: Claim, reason: str) -> Judged:
    """A claim that is answered from its record, for this reason."""
    value, error, games = (*claim.recorded, 0.0, 0)[:3]
    return judge_answer(
        claim, Found(value, float(error), int(games)), f"as measured with {claim.recorded_with}, {reason}"
    )


def judge_answer(claim: Claim, found: Found, remark: str = "") -> Judged:
    """An answered claim, with a remark on the answer. It disagrees if the answer is further away than the rule allows;
    it is open, and keeps no answer, if the answer agrees but its sample is too small to tell."""
    # as printed, or from the number of games with the spread of ours
    by_games = found.error * sqrt(found.games / claim.published_games) if claim.published_games else None
    theirs = round_answer(claim.published_error if by_games is None else by_games)
    answer, error, bound = round_answer(found.answer), round_answer(found.error), round_answer(found.bound)
    status = DISAGREES if is_decidable(claim, answer) else OPEN
    if agrees(claim.published, answer, bound, error, theirs):
        status = REPRODUCED
    elif claim.correction and agrees(claim.correction, answer, bound, error, theirs):
        status = CORRECTED
    if is_too_small(claim, found) and (status != DISAGREES or not error):
        reason = f"{found.games:,} games of ours are too few beside what was published"
        return Judged(claim, None, OPEN, explain(claim, OPEN, reason), 0.0, theirs)
    if not claim.explanation and status == DISAGREES:
        remark = "; ".join(filter(None, (UNEXPLAINED, remark)))
    return Judged(claim, answer, status, explain(claim, status, remark), error, theirs, bound)


def is_decidable(claim: Claim, answer: Answer) -> bool:
    """Whether an answer can disagree: a number does not with words."""
    if isinstance(answer, str):
        return True
    return parse_published(claim.published.removeprefix(MORE_THAN)) is not None


def is_too_small(claim: Claim, found: Found) -> bool:
    """Whether a sample is so small that its answer would agree with nearly anything. One that disagrees counts all the
    same, unless all its games ended alike, so that its error is unknown."""
    if claim.published_games:
        return 0 < found.games * COARSEST**2 < claim.published_games
    return 0 < COARSEST * claim.published_error < found.error


def explain(claim: Claim, status: str, remark: str = "") -> str:
    """The explanation of a claim, a remark, and if it is open or disagrees what would decide it and why that is not
    done here."""
    is_undecided = status in (OPEN, DISAGREES) and claim.experiment
    undecided = f"{DECIDES}{claim.experiment}. {OBSTACLE}{claim.obstacle}" if is_undecided else ""
    return "; ".join(filter(None, (claim.explanation, remark, undecided)))


def matching(pattern: str, names: Mapping[str, Any]) -> list[str]:
    """The dataset/variant that a pattern matches."""
    return [name for name in names if fnmatchcase(name, pattern)]


def agrees(text: str, answer: Answer, bound: float, *errors: float) -> bool:
    """Whether an answer equals the printed value within `margin`, or is more than it where that was printed; words must
    be the same."""
    least = parse_published(text.removeprefix(MORE_THAN)) if text.startswith(MORE_THAN) else None
    if least is not None and not isinstance(answer, str):
        return answer > least[0]
    number = parse_published(text)
    if number is None or isinstance(answer, str):
        return text == answer
    value, half = number
    return abs(answer - value) <= margin(half, bound, *errors) + SLACK


def margin(half: float, bound: float, *errors: float) -> float:
    """How far an answer may be from the published value: half of the last printed digit, plus the most that rounding
    may have moved the answer, plus ERRORS standard errors of the difference of two independent samples."""
    return half + bound + ERRORS * hypot(*errors)


class Together(NamedTuple):
    """The rows of one printed table, judged together."""

    printed_table: str
    n_rows: int  # with a standard error
    n_disagreeing: int
    chi_squared: float  # sum of squared differences, each over its variance
    chance: float  # of such a sum or a larger one, if all differences are of sampling and rounding
    status: str


def judge_together(rows: Iterable[Mapping[str, Any]]) -> list[Together]:
    """Printed tables, in order: their rows, as in the table `claims`, judged together by chi-squared.

    Small differences that all point the same way are in no single row. A variance is that of both samples and of the
    rounding of what was printed. The rows of a table are taken to be independent of each other.
    """
    found: dict[str, list[tuple[float, bool]]] = {}
    for row in rows:
        if row["printed_table"] and row["our_error"]:
            error = hypot(row["our_error"], row["published_error"] or 0)
            half = row["tolerance"] - (row["our_bound"] or 0) - ERRORS * error
            score = (row["our_value"] - row["published_value"]) ** 2 / (error**2 + half**2 / 3)
            found.setdefault(row["printed_table"], []).append((score, row["status"] == DISAGREES))
    together = []
    for name, scores in found.items():
        total = sum(score for score, _ in scores)
        chance = chi_squared_tail(total, len(scores))
        status = DISAGREES if chance < erfc(ERRORS / sqrt(2)) else REPRODUCED
        together.append(Together(name, len(scores), sum(wrong for _, wrong in scores), total, chance, status))
    return together


def chi_squared_tail(total: float, degrees: int) -> float:
    """The chance that a sum of so many squared standard normal numbers is at least this.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.4.4 and 26.4.5: a finite sum for whole degrees.
    """
    tail, term = (erfc(sqrt(total / 2)), sqrt(2 * total / pi)) if degrees % 2 else (0.0, 1.0)
    for degree in range(2 + degrees % 2, degrees + 1, 2):
        if degree == 2:
            term = 1.0
        elif degree > 3:
            term *= total / (degree - 2)
        tail += term * exp(-total / 2)
    return tail


def find_answer(claim: Claim, tables: Mapping[str, Table], run: Run) -> Found:
    """The answer to the query of a claim. Raises CorruptFileError."""
    if claim.query.startswith("select "):
        values = run(claim.query)
        if not 1 <= len(values) <= SQL_VALUES:
            raise CorruptFileError(
                f"expected a value, its error and the games of {claim.claim}, got {len(values)} values"
            )
        return Found(*values)
    name, arguments = parse_call(claim)
    try:
        if name in FORMULAS:
            return answer_with_bound(FORMULAS[name], arguments)
        answer = READINGS[name](tables, *arguments)
    except (MissingTableError, QueryError):  # of the tables that it asks
        raise
    except (UsageError, TypeError, ValueError, KeyError) as error:  # of wrong arguments, ours or Python's
        raise CorruptFileError(
            f"expected a query that can be answered for {claim.claim}, got {claim.query}: {error}"
        ) from error
    return answer if isinstance(answer, Found) else Found(answer)


def answer_with_bound(formula: Callable[..., Any], arguments: Sequence[Any]) -> Found:
    """The answer of a formula. Numbers in quotes among its arguments are printed figures: each may be off by half of
    its last digit, and together these move the answer by at most `bound`, to first order."""
    answer = formula(*(values_of(argument) for argument in arguments))
    moved = [formula(*changed) for changed in moved_arguments(arguments)]
    return Found(answer, bound=sum(abs(other - answer) for other in moved))


def values_of(argument: Any) -> Any:
    """An argument with the numbers that printed figures stand for."""
    if isinstance(argument, list):
        return [values_of(each) for each in argument]
    number = parse_published(argument) if isinstance(argument, str) else None
    return argument if number is None else number[0]


def moved_arguments(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments as values, once for each printed figure, which is then half of its last digit larger."""
    for place, argument in enumerate(arguments):
        before, after = ([values_of(each) for each in part] for part in (arguments[:place], arguments[place + 1 :]))
        if isinstance(argument, list):
            for inner in moved_arguments(argument):
                yield [*before, inner, *after]
        elif isinstance(argument, str) and (number := parse_published(argument)) is not None:
            yield [*before, number[0] + number[1], *after]


def parse_call(claim: Claim) -> tuple[str, list[Any]]:
    """Name and arguments of `name(1, "text", [2, 3])`. Raises CorruptFileError for anything else."""
    try:
        call = ast.parse(claim.query, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords:
            if call.func.id not in FORMULAS and call.func.id not in READINGS:
                known = ", ".join(sorted([*FORMULAS, *READINGS]))
                raise CorruptFileError(f"expected one of {known} in {claim.claim}, got {call.func.id}")
            return call.func.id, [ast.literal_eval(argument) for argument in call.args]
    except (SyntaxError, ValueError):
        pass
    raise CorruptFileError(f"expected name(...) or select ... as query of {claim.claim}, got {claim.query!r}")


def round_answer(answer: Any) -> Any:
    """An answer or its error as it is stored: whole numbers and words unchanged, others with nine digits."""
    if isinstance(answer, bool | int | str):
        return answer
    return round(float(f"{float(answer):.{DIGITS}g}"), DECIMALS) + 0.0  # no -0.0

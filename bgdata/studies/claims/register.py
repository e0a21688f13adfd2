"""Judges claims: each query is answered from tables or by a formula, and a tolerance decides the status.

The tolerance is `margin`: half of the last printed digit, the rounding of our answer, and the standard errors of both
figures if they come from samples of games.
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
    FoundAnswer,
    parse_published,
)
from bgdata.studies.claims.dropped import READINGS as DROPPED
from bgdata.studies.claims.play import READINGS as PLAY

FORMULAS: Mapping[str, Callable[..., Any]] = COUNTING | CUBE  # functions of their arguments alone
READINGS: Mapping[str, Callable[..., Any]] = BEAROFF | DROPPED | PLAY  # functions of the tables too
SLACK = 1e-9  # added to tolerances, because binary fractions such as 0.925 are not exact
DECIDES, OBSTACLE = "to decide it: ", "Why not here: "  # prefixes of an experiment and of its obstacle
UNEXPLAINED = "Not within the tolerance, and we do not know why"
DIGITS = 9  # digits of stored answers: later digits of sums may differ between machines
ERRORS = 3  # combined standard errors that an answer may deviate by, besides printed rounding
DECIMALS = 15  # decimals of stored answers: smaller figures are rounding errors
COARSEST = 4  # a sample is too small if its error is more than 4 times the published standard error
SQL_VALUES = 3  # maximum number of values of `Found` that an SQL query returns, which cannot return the bound
Run = Callable[[str], Sequence[Any]]  # a function that answers an SQL query with the values of its only row


class JudgedClaim(NamedTuple):
    """A claim with our answer and its status. If nothing was computed, the answer is None and its errors are 0."""

    claim: Claim
    answer: Answer | None
    status: str  # one of STATUSES
    explanation: str
    error: float = 0.0  # standard error of the answer, 0 without a sample
    published_error: float = 0.0  # error of the published number, 0 if unknown
    bound: float = 0.0  # largest effect of rounding on the answer

    @property
    def tolerance(self) -> float:
        """The largest allowed distance from the published number; NaN if the claim is a word."""
        number = parse_published(self.claim.published)
        return nan if number is None else margin(number[1], self.bound, self.error, self.published_error)


def judge(claims: Sequence[Claim], tables: Mapping[str, Table], run: Run) -> Iterator[JudgedClaim]:
    """Yield each claim with our answer and its status. `tables` contains versions by kind/variant, and `run` answers
    SQL queries over them. Raises CorruptFileError if a query cannot be answered."""
    for claim in claims:
        missing = [wanted for wanted in (*claim.needs, *claim.wants) if not matching_names(wanted, tables)]
        if claim.query and missing:
            yield judge_without_query(claim, f"there is no {', no '.join(missing)}")
        elif claim.query:
            yield judge_answer(claim, find_answer(claim, tables, run))
        elif claim.recorded:
            yield judge_record(claim, "which takes too long for the register")
        else:
            yield JudgedClaim(claim, None, claim.status, explain(claim, claim.status))


def judge_without_query(claim: Claim, reason: str) -> JudgedClaim:
    """Judge a claim whose query cannot run here, by its recorded answer if it has one. `reason` is part of the
    explanation."""
    if claim.recorded:
        return judge_record(claim, f"as {reason}")
    return JudgedClaim(claim, None, OPEN, explain(claim, OPEN, f"not computed, as {reason}"))


def judge_record(claim: Claim, reason: str) -> JudgedClaim:
    """Judge a claim by the answer that its definition records. `reason` says why the answer is not computed."""
    value, error, games = (*claim.recorded, 0.0, 0)[:3]
    return judge_answer(
        claim, FoundAnswer(value, float(error), int(games)), f"as measured with {claim.recorded_with}, {reason}"
    )


def judge_answer(claim: Claim, found: FoundAnswer, remark: str = "") -> JudgedClaim:
    """Judge a claim by an answer. It disagrees if the answer is outside the tolerance. It is open, without an answer,
    if the answer agrees but its sample is too small. `remark` is added to the explanation."""
    # the published error as printed, or from the number of games with the spread of our games
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
        return JudgedClaim(claim, None, OPEN, explain(claim, OPEN, reason), 0.0, theirs)
    if not claim.explanation and status == DISAGREES:
        remark = "; ".join(filter(None, (UNEXPLAINED, remark)))
    return JudgedClaim(claim, answer, status, explain(claim, status, remark), error, theirs, bound)


def is_decidable(claim: Claim, answer: Answer) -> bool:
    """Return whether the published value and the answer can be compared: both are numbers or both are words."""
    if isinstance(answer, str):
        return True
    return parse_published(claim.published.removeprefix(MORE_THAN)) is not None


def is_too_small(claim: Claim, found: FoundAnswer) -> bool:
    """Return whether the answer's sample is so small that nearly any answer would agree. An answer that disagrees
    counts even so, unless all its games ended alike: then its error is unknown."""
    if claim.published_games:
        return 0 < found.games * COARSEST**2 < claim.published_games
    return 0 < COARSEST * claim.published_error < found.error


def explain(claim: Claim, status: str, remark: str = "") -> str:
    """Return the explanation of a claim with a remark. If the claim is open or disagrees, the explanation also contains
    the experiment that would decide it, and the obstacle to that experiment."""
    is_undecided = status in (OPEN, DISAGREES) and claim.experiment
    undecided = f"{DECIDES}{claim.experiment}. {OBSTACLE}{claim.obstacle}" if is_undecided else ""
    return "; ".join(filter(None, (claim.explanation, remark, undecided)))


def matching_names(pattern: str, names: Mapping[str, Any]) -> list[str]:
    """Return the names kind/variant among `names` that match a pattern, in their order."""
    return [name for name in names if fnmatchcase(name, pattern)]


def agrees(text: str, answer: Answer, bound: float, *errors: float) -> bool:
    """Return whether an answer equals the printed value `text` within `margin`, or exceeds it if "more than" was
    printed. Words must be equal."""
    least = parse_published(text.removeprefix(MORE_THAN)) if text.startswith(MORE_THAN) else None
    if least is not None and not isinstance(answer, str):
        return answer > least[0]
    number = parse_published(text)
    if number is None or isinstance(answer, str):
        return text == answer
    value, half = number
    return abs(answer - value) <= margin(half, bound, *errors) + SLACK


def margin(half: float, bound: float, *errors: float) -> float:
    """Return the largest allowed distance of an answer from the published value. It is half of the last printed digit,
    plus the largest effect of rounding on the answer, plus ERRORS standard errors of the difference of two independent
    samples."""
    return half + bound + ERRORS * hypot(*errors)


class PrintedTable(NamedTuple):
    """The result of judging all rows of one printed table together."""

    printed_table: str
    n_rows: int  # number of rows with a standard error
    n_disagreeing: int
    chi_squared: float  # sum of squared differences, each divided by its variance
    chance: float  # chance of this sum or a larger one, if only sampling and rounding cause differences
    status: str


def judge_printed_tables(rows: Iterable[Mapping[str, Any]]) -> list[PrintedTable]:
    """Judge the rows of each printed table together by a chi-squared test, in order of tables. This shows small
    differences in the same direction, which single rows do not show. Variances include both samples and the rounding of
    print; rows are assumed independent. `rows` are rows of the table `claims`."""
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
        together.append(PrintedTable(name, len(scores), sum(wrong for _, wrong in scores), total, chance, status))
    return together


def chi_squared_tail(total: float, degrees: int) -> float:
    """Return the chance that a sum of `degrees` squared standard normal numbers is at least `total`. Source: Abramowitz
    and Stegun, Handbook of Mathematical Functions, 26.4.4 and 26.4.5, a finite sum for whole degrees."""
    tail, term = (erfc(sqrt(total / 2)), sqrt(2 * total / pi)) if degrees % 2 else (0.0, 1.0)
    for degree in range(2 + degrees % 2, degrees + 1, 2):
        if degree == 2:
            term = 1.0
        elif degree > 3:
            term *= total / (degree - 2)
        tail += term * exp(-total / 2)
    return tail


def find_answer(claim: Claim, tables: Mapping[str, Table], run: Run) -> FoundAnswer:
    """Answer the query of a claim. Raises CorruptFileError if it cannot be answered."""
    if claim.query.startswith("select "):
        values = run(claim.query)
        if not 1 <= len(values) <= SQL_VALUES:
            raise CorruptFileError(
                f"expected a value, its error and the games of {claim.claim}, got {len(values)} values"
            )
        return FoundAnswer(*values)
    name, arguments = parse_call(claim)
    try:
        if name in FORMULAS:
            return answer_with_bound(FORMULAS[name], arguments)
        answer = READINGS[name](tables, *arguments)
    except (MissingTableError, QueryError):  # errors of the tables that the query reads
        raise
    except (UsageError, TypeError, ValueError, KeyError) as error:  # wrong arguments
        raise CorruptFileError(
            f"expected a query that can be answered for {claim.claim}, got {claim.query}: {error}"
        ) from error
    return answer if isinstance(answer, FoundAnswer) else FoundAnswer(answer)


def answer_with_bound(formula: Callable[..., Any], arguments: Sequence[Any]) -> FoundAnswer:
    """Call a formula, and find how much rounding of its arguments changes the answer. Arguments in quotes are printed
    figures, each uncertain by half of its last digit. The `bound` of the answer is the combined effect of all, to first
    order."""
    answer = formula(*(values_of(argument) for argument in arguments))
    moved = [formula(*changed) for changed in perturbed_arguments(arguments)]
    return FoundAnswer(answer, bound=sum(abs(other - answer) for other in moved))


def values_of(argument: Any) -> Any:
    """Return an argument in which printed figures are replaced by their numbers."""
    if isinstance(argument, list):
        return [values_of(each) for each in argument]
    number = parse_published(argument) if isinstance(argument, str) else None
    return argument if number is None else number[0]


def perturbed_arguments(arguments: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the arguments as numbers, once for each printed figure among them, which is increased by half of its last
    digit."""
    for place, argument in enumerate(arguments):
        before, after = ([values_of(each) for each in part] for part in (arguments[:place], arguments[place + 1 :]))
        if isinstance(argument, list):
            for inner in perturbed_arguments(argument):
                yield [*before, inner, *after]
        elif isinstance(argument, str) and (number := parse_published(argument)) is not None:
            yield [*before, number[0] + number[1], *after]


def parse_call(claim: Claim) -> tuple[str, list[Any]]:
    """Return the function name and the arguments of a claim's query such as `name(1, "text", [2, 3])`. Raises
    CorruptFileError if the query is not a call."""
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
    """Return an answer, or its error, rounded to the nine digits that are stored. Integers and words are unchanged."""
    if isinstance(answer, bool | int | str):
        return answer
    return round(float(f"{float(answer):.{DIGITS}g}"), DECIMALS) + 0.0  # + 0.0 turns -0.0 into 0.0

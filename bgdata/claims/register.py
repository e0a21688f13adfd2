"""Judging claims: each query is answered from tables or by a formula, and the tolerance says what its status is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from bgdata.claims.bearoff import READINGS as BEAROFF
from bgdata.claims.counting import FORMULAS as COUNTING
from bgdata.claims.cube import FORMULAS as CUBE
from bgdata.claims.definitions import CORRECTED, OPEN, REPRODUCED, Claim, parse_published
from bgdata.errors import CorruptFileError
from bgdata.store.table import Table

FORMULAS: Mapping[str, Callable[..., Any]] = COUNTING | CUBE  # answer from their arguments alone
READINGS: Mapping[str, Callable[..., Any]] = BEAROFF  # also get the tables, by dataset/variant
SLACK = 1e-9  # for binary fractions: 0.925 is not quite what was printed
UNEXPLAINED = "Not within the tolerance, and we do not know why"
DIGITS = 9  # that answers are kept with: sums may differ beyond them from machine to machine
Answer = int | float | str
Run = Callable[[str], Answer]  # answers an SQL query that returns one value


class Judged(NamedTuple):
    """A claim with what we find; None where nothing was computed."""

    claim: Claim
    answer: Answer | None
    status: str  # of STATUSES
    explanation: str


def judge(claims: Sequence[Claim], tables: Mapping[str, Table], run: Run) -> Iterator[Judged]:
    """Each claim with its answer and status, from tables by dataset/variant; `run` answers SQL over them.

    Raises CorruptFileError for a query that asks nothing that can be answered.
    """
    for claim in claims:
        missing = [wanted for wanted in (*claim.needs, *claim.wants) if not matching(wanted, tables)]
        if not claim.query:
            yield Judged(claim, None, claim.status, claim.explanation)
        elif missing:
            reason = f"not computed, as there is no {', no '.join(missing)}"
            yield Judged(claim, None, OPEN, "; ".join(filter(None, [claim.explanation, reason])))
        else:
            answer = kept(answered(claim, tables, run))
            status = status_of(claim, answer)
            yield Judged(claim, answer, status, claim.explanation or (UNEXPLAINED if status == OPEN else ""))


def matching(pattern: str, names: Mapping[str, Any]) -> list[str]:
    """Which of dataset/variant a pattern means."""
    return [name for name in names if fnmatchcase(name, pattern)]


def status_of(claim: Claim, answer: Answer) -> str:
    """Reproduced within the tolerance, else corrected where it is what the definition says is right, else open."""
    if agrees(claim.published, claim.tolerance, answer):
        return REPRODUCED
    if claim.correction and agrees(claim.correction, claim.correction_tolerance, answer):
        return CORRECTED
    return OPEN


def agrees(text: str, tolerance: float, answer: Answer) -> bool:
    """Whether an answer is what was printed, within a tolerance or, where that is negative, half of its last digit."""
    number = parse_published(text)
    if number is None or isinstance(answer, str):
        return text == answer
    value, half = number
    return abs(answer - value) <= (half if tolerance < 0 else tolerance) + SLACK


def answered(claim: Claim, tables: Mapping[str, Table], run: Run) -> Answer:
    """What the query of a claim says. Raises CorruptFileError."""
    if claim.query.startswith("select "):
        return run(claim.query)
    name, arguments = parse_call(claim)
    try:
        found = FORMULAS[name](*arguments) if name in FORMULAS else READINGS[name](tables, *arguments)
    except (TypeError, ValueError, KeyError) as error:
        raise CorruptFileError(
            f"expected a query that can be answered for {claim.claim}, got {claim.query}: {error}"
        ) from error
    answer: Answer = found
    return answer


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


def kept(answer: Answer) -> Answer:
    """The answer as it is kept: whole numbers and words as they are, others with nine digits."""
    if isinstance(answer, bool | int | str):
        return answer
    return float(f"{float(answer):.{DIGITS}g}")

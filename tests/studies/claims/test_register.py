"""Tests of judging claims, and of every claim that needs no table."""

import functools
from dataclasses import replace
from math import comb, erfc, nan, sqrt
from pathlib import Path
from typing import Any

import pytest

import bgdata
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.match_equity import find_met
from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.studies.claims import counting, register
from bgdata.studies.claims.bearoff import READINGS
from bgdata.studies.claims.definitions import Claim, read_definitions
from bgdata.studies.claims.register import FORMULAS, chi_squared_tail, judge, judge_printed_tables, round_answer
from tests.studies.claims.oracle_answers import drifting_equity, smallest_jump_point
from tests.subtests import each

CLAIM = Claim("A1.one", "A1", "somebody", "a number", "0.50", query="select one", explanation="so")
HEAVY = {
    "filtered_difference",
    "legal_difference",
    "gnubg_sha256",
    "gnubg_bytes",
    "gnubg_rolls",
}  # solve tables


@functools.cache
def quick_claims() -> dict[str, Claim]:
    """The claims that are quick to answer without tables, by name."""
    return {
        claim.claim: claim
        for claim in read_definitions()
        if claim.query
        and not (claim.needs or claim.wants)
        and not claim.query.startswith("select ")
        and claim.query.partition("(")[0] not in HEAVY
    }


def judge_claim(claim: Claim, *values: Any, tables: dict[str, Any] | None = None) -> tuple[Any, str, str]:
    """The answer, the status and the explanation of a claim whose query finds these values."""
    (judged,) = judge([claim], tables or {}, lambda query: values if query == claim.query else ())
    assert judged.claim == claim
    return judged.answer, judged.status, judged.explanation


@pytest.mark.parametrize(
    ("change", "answer", "status"),
    [
        ({}, 0.5049, "reproduced"),
        ({}, 0.505, "reproduced"),
        ({}, 0.5051, "disagrees"),
        ({"published": "0.5"}, 0.5499, "reproduced"),
        ({"published": "0.5 to 0.6"}, 0.6, "reproduced"),
        ({"published": "0.5 to 0.6"}, 0.6001, "disagrees"),
        ({"correction": "0.7"}, 0.74, "corrected"),
        ({"correction": "0.7"}, 0.76, "disagrees"),
        ({"correction": "0.7"}, 0.6499, "disagrees"),
        ({"correction": "0.7"}, 0.5, "reproduced"),
        ({"published": "n-2"}, "n-2", "reproduced"),
        ({"published": "n-2", "correction": "n-1"}, "n-1", "corrected"),
        ({"published": "n-2", "correction": "n-1"}, "n-3", "disagrees"),
        ({"published": "18528584051601162496"}, 18528584051601162496, "reproduced"),
        ({"published": "18528584051601162496"}, 18528584051601162497, "disagrees"),
        ({"published": "small", "correction": "0.375"}, 0.3750001, "corrected"),
        ({"published": "more than 10"}, 10.01, "reproduced"),
        ({"published": "more than 10"}, 10, "disagrees"),
        ({"published": "more than 10", "correction": "9"}, 9, "corrected"),
        ({"published": "more than 10"}, "more than 10", "reproduced"),
        ({"published": "more than words"}, 10, "open"),
        ({"published": "perhaps"}, 0.5, "open"),
        ({"published": "about 30M"}, 32_687_590, "reproduced"),
        ({"published": "about 30M"}, 35_000_001, "disagrees"),
        ({"published": "almost 1/3"}, 0.3, "reproduced"),
        ({"published": "almost 1/3"}, 0.334, "disagrees"),
        ({"published": "mostly"}, 0.49, "disagrees"),
    ],
)
def test_judge_claim_gives_the_expected_status(change: dict[str, Any], answer: Any, status: str) -> None:
    assert judge_claim(replace(CLAIM, **change), answer) == (round_answer(answer), status, "so")


@pytest.mark.parametrize(
    ("change", "values", "status", "tolerance"),
    [
        ({}, (0.534, 0.01), "reproduced", 0.035),
        ({}, (0.536, 0.01), "disagrees", 0.035),
        ({"published": "0.5"}, (0.579, 0.01), "reproduced", 0.08),
        ({"published_error": 0.04}, (0.654, 0.03), "reproduced", 0.155),
        ({"published_error": 0.04}, (0.656, 0.03), "disagrees", 0.155),
        ({"published_games": 400}, (0.654, 0.04, 225), "reproduced", 0.155),  # their standard error is 0.03
        ({"published_games": 400}, (0.656, 0.04, 225), "disagrees", 0.155),
        ({"correction": "0.70"}, (0.73, 0.01), "corrected", 0.035),
        ({"correction": "0.70"}, (0.64, 0.01), "disagrees", 0.035),
        ({"published": "none"}, ("none",), "reproduced", nan),
    ],
)
def test_samples_may_deviate_by_three_standard_errors(
    change: dict[str, Any], values: tuple[Any, ...], status: str, tolerance: float
) -> None:
    claim = replace(CLAIM, **change)
    (judged,) = judge([claim], {}, lambda _: values)
    assert (judged.answer, judged.status) == (values[0], status)
    assert judged.tolerance == pytest.approx(tolerance, nan_ok=True)


@pytest.mark.parametrize(
    ("change", "values"),
    [
        ({"published_games": 1601}, (0.5, 0.1, 100)),
        ({"published_games": 1601}, (0.5, 0.0, 100)),
        ({"published_error": 0.01}, (0.5, 0.0401, 100)),
    ],
)
def test_small_samples_that_agree_are_open(change: dict[str, Any], values: tuple[Any, ...]) -> None:
    why = "so; 100 games of ours are too few beside what was published"
    assert judge_claim(replace(CLAIM, **change), *values) == (None, "open", why)
    assert judge_claim(replace(CLAIM, published="0.7", correction="0.50", **change), *values) == (None, "open", why)
    enough: dict[str, Any] = {"published_games": 1600} if "published_games" in change else {"published_error": 0.011}
    assert judge_claim(replace(CLAIM, **enough), *values) == (0.5, "reproduced", "so")


@pytest.mark.parametrize(
    ("change", "values", "expected"),
    [
        ({"published_games": 1_000_000}, (0.7, 0.01, 100), (0.7, "disagrees")),
        ({"published_error": 0.01}, (0.95, 0.0401, 100), (0.95, "disagrees")),
        ({"published_games": 1_000_000}, (0.0, 0.0, 100), (None, "open")),  # none of 100 games: the error is unknown
        ({"published_games": 1_000_000}, (0.52, 0.01, 100), (None, "open")),
    ],
)
def test_small_samples_that_disagree_are_shown(change: dict[str, Any], values: tuple[Any, ...], expected: Any) -> None:
    """A small sample that disagrees by many standard errors counts, though one that agrees proves nothing."""
    assert judge_claim(replace(CLAIM, **change), *values)[:2] == expected


def test_rounding_of_printed_arguments_widens_the_tolerance() -> None:
    """Arguments in quotes are printed figures, and half of their last digit widens the tolerance."""
    claim = replace(CLAIM, published="2.74", query="average_cube(['12.3', '61.0', '21.2', '4.5', '0.8', '0.1', '0.0'])")
    (judged,) = judge([claim], {}, lambda _: ())
    assert (judged.answer, judged.bound) == (pytest.approx(2.711), pytest.approx(127 * 0.0005))
    assert judged.tolerance == pytest.approx(0.005 + 127 * 0.0005)
    assert judged.status == "reproduced"
    exact = replace(claim, query="average_cube([12.3, 61.0, 21.2, 4.5, 0.8, 0.1, 0.0])")
    assert judge_claim(exact)[:2] == (pytest.approx(2.711), "disagrees")
    assert register.answer_with_bound(lambda *arguments: len(arguments), ["linear", 2]) == (2, 0, 0, 0)


def test_claims_with_missing_tables_are_open() -> None:
    assert judge_claim(replace(CLAIM, query="", status="unreachable"), 0.5) == (None, "unreachable", "so")
    claim = replace(CLAIM, needs=("a/b",), wants=("c/*",))
    assert judge_claim(claim, 0.5) == (None, "open", "so; not computed, as there is no a/b, no c/*")
    assert judge_claim(claim, 0.5, tables={"a/b": None}) == (None, "open", "so; not computed, as there is no c/*")
    assert judge_claim(claim, 0.5, tables={"a/b": None, "c/d": None}) == (0.5, "reproduced", "so")
    assert judge_claim(replace(CLAIM, explanation=""), 0.6)[1:] == (
        "disagrees",
        "Not within the tolerance, and we do not know why",
    )


def test_open_claims_name_an_experiment() -> None:
    claim = replace(CLAIM, experiment="more games", obstacle="nobody has the player")
    why = "to decide it: more games. Why not here: nobody has the player"
    assert judge_claim(claim, 0.6)[1:] == ("disagrees", f"so; {why}")
    assert judge_claim(replace(claim, query="", status="open"))[1:] == ("open", f"so; {why}")
    assert judge_claim(replace(claim, needs=("a/b",)))[2] == f"so; not computed, as there is no a/b; {why}"
    assert judge_claim(claim, 0.5)[1:] == ("reproduced", "so")
    assert judge_claim(replace(claim, query="", status="unreachable"))[1:] == ("unreachable", "so")


def test_claim_without_query_is_answered_from_its_record() -> None:
    claim = replace(CLAIM, query="", recorded=(0.6,), recorded_with="a program")
    why = "so; as measured with a program, which takes too long for the register"
    assert judge_claim(claim) == (0.6, "disagrees", why)
    assert judge_claim(replace(claim, published="0.60")) == (0.6, "reproduced", why)


def test_record_answers_if_tables_are_missing() -> None:
    """If tables are missing, the recorded answer is used, with its standard error and number of games."""
    claim = replace(CLAIM, needs=("a/b",), wants=("c/*",), recorded=(0.534, 0.01, 400), recorded_with="gnubg 1.07")
    why = "so; as measured with gnubg 1.07, as there is no c/*"
    assert judge_claim(claim, 0.6, tables={"a/b": None}) == (0.534, "reproduced", why)
    assert judge_claim(replace(claim, recorded=(0.534,)), 0.6, tables={"a/b": None})[:2] == (0.534, "disagrees")
    assert judge_claim(replace(claim, published_games=6401), 0.6, tables={"a/b": None})[:2] == (None, "open")
    assert judge_claim(claim, 0.5, tables={"a/b": None, "c/d": None}) == (0.5, "reproduced", "so")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("colour(1)", "expected one of .*pairs.* in A1.one, got colour"),
        ("pairs(1, 1", r"expected name\(...\) or select ... as query of A1.one, got 'pairs\(1, 1'"),
        ("pairs(points=1)", r"expected name\(...\) or select ... as query of A1.one"),
        ("pairs(open('x'), 1)", r"expected name\(...\) or select ... as query of A1.one"),
        ("__import__('os')", "expected one of .* in A1.one, got __import__"),
        ("1 + 1", r"expected name\(...\) or select ... as query of A1.one"),
        ("pairs(1)", r"expected a query that can be answered for A1.one, got pairs\(1\): "),
        ("jump_point(1, 1, 0.1, 'linear', 'colour')", "expected a query that can be answered for A1.one"),
    ],
)
def test_invalid_queries_are_refused(query: str, message: str) -> None:
    with pytest.raises(CorruptFileError, match=message) as error:
        judge_claim(replace(CLAIM, query=query), None)
    assert "\n" not in str(error.value)


def test_missing_table_is_not_an_invalid_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing table is reported as such, although MissingTableError is a KeyError like the error for an unknown
    name."""

    def missing(*_: object) -> None:
        raise MissingTableError("no bearoff_two_sided/6x6 in warehouse")

    name = next(iter(READINGS))
    monkeypatch.setitem(register.READINGS, name, missing)
    with pytest.raises(MissingTableError, match=r"^no bearoff_two_sided/6x6 in warehouse$"):
        judge_claim(replace(CLAIM, query=f"{name}()"), None)


def test_answers_are_rounded_to_nine_digits() -> None:
    assert round_answer(1 / 3) == 0.333333333
    assert round_answer(1.8e-4 / 3) == 6e-5
    assert str(round_answer(-2.8e-17)) == "0.0"  # not -0.0
    assert round_answer(10**19) == 10**19
    assert round_answer("n-1") == "n-1"


@pytest.mark.parametrize("values", [(), (0.5, 0.1, 10, 3)])
def test_answers_with_too_few_or_too_many_values_are_refused(values: tuple[Any, ...]) -> None:
    with pytest.raises(CorruptFileError, match=f"expected a value, .* of A1.one, got {len(values)} values"):
        judge_claim(CLAIM, *values)


OPEN_CLAIMS = {"A3.smaller"}  # words


@each("claim", quick_claims)
def test_claims_without_tables_have_their_status(claim: Claim) -> None:
    (judged,) = judge([claim], {}, lambda _: ())
    expected = "open" if claim.claim in OPEN_CLAIMS else "corrected" if claim.correction else "reproduced"
    assert judged.status == expected, judged


def test_quick_claims_are_found() -> None:
    assert len(quick_claims()) > 90
    assert {claim.query.partition("(")[0] for claim in quick_claims().values()} >= set(FORMULAS)
    assert set(READINGS) & HEAVY


def test_counts_of_layouts_equal_those_of_a_list() -> None:
    listed = [(a, b) for a in range(4) for b in range(4) if 1 <= a + b <= 3]  # up to 3 checkers on 2 points
    assert counting.layouts(2, 3) == len(listed)
    assert counting.pairs(2, 3) == len(listed) ** 2
    assert counting.pairs_with_empty(2, 3) == (len(listed) + 1) ** 2
    assert counting.full_layouts(2) == sum(a + b == 15 for a in range(16) for b in range(16))
    assert counting.layouts(6, 15) + 1 == comb(21, 6)


def test_binomial_chances_of_four_tosses_are_counted() -> None:
    assert counting.binomial(4, "1/2", 2, 3) == (6 + 4) / 16
    assert counting.far_from_mean(4, "1/2", 2) == 2 / 16  # none or all four


def test_rest_of_percentages_adds_up_to_100() -> None:
    assert counting.rest_of_percent([50.5, 20, 0.5]) == 29


def test_top_of_a_parabola_is_found() -> None:
    assert counting.parabola_top([0, 3], [-1, -4], 1) == 0


def row(value: float, error: float | None, table: str | None = "t", **others: Any) -> dict[str, Any]:
    """The columns of a row of `claims` that `judge_printed_tables` reads: 0 was published, to a tenth, and `value` was
    found."""
    figures = {"our_value": value, "our_error": error, "published_value": 0.0, "published_error": None}
    judged = {"our_bound": None, "tolerance": 0.05 + 3 * (error or 0), "status": "reproduced"}
    return {"printed_table": table, **figures, **judged, **others}


def test_rows_of_a_printed_table_are_judged_together() -> None:
    """One difference of two standard errors is likely; five of them in one printed table are not."""
    rows = [row(2.0, 1.0), row(2.0, 1.0, "u"), *(row(2.0, 1.0, "u", status="disagrees") for _ in range(4))]
    one, five = judge_printed_tables([*rows, row(9.0, 1.0, None), row(9.0, None)])
    score = 4 / (1 + 0.05**2 / 3)
    assert one == ("t", 1, 0, pytest.approx(score), pytest.approx(erfc(sqrt(score / 2))), "reproduced")
    assert five[:4] == ("u", 5, 4, pytest.approx(5 * score))
    assert (five.chance, five.status) == (pytest.approx(0.00125, rel=0.01), "disagrees")


@pytest.mark.parametrize(
    ("degrees", "total"), [(1, 3.841), (2, 5.991), (3, 7.815), (4, 9.488), (19, 30.144), (20, 31.410)]
)
def test_chi_squared_tail_equals_printed_tables(degrees: int, total: float) -> None:
    """At the 5 % points of printed tables, the tail is 0.05."""
    assert chi_squared_tail(total, degrees) == pytest.approx(0.05, abs=2e-5)
    assert chi_squared_tail(0, degrees) == pytest.approx(1)


def test_small_jumps_and_diffusion_approach_the_live_cube() -> None:
    """The jump model with small jumps, and the model without jumps, approach the exact decision points of the live
    cube."""
    for name, exact in (("take", 5 / 29), ("cash", 20 / 29)):
        assert FORMULAS["drifting_point"](1.4, 1, 58, name) == pytest.approx(exact)
        assert FORMULAS["drifting_point"](1.4, 1, 50, name) != pytest.approx(exact, abs=1e-4)  # not on the grid
        small = smallest_jump_point(1.4, 1, "normal", name)
        assert abs(small - exact) < 0.001 < abs(FORMULAS["jump_point"](1.4, 1, 0.06, "normal", name) - exact)
    for function in (FORMULAS["drifting_point"], drifting_equity):
        with pytest.raises(KeyError, match="colour"):
            function(1, 1, 10, "colour")


def test_published_table_equals_equity_before_game(tmp_path: Path) -> None:
    """The table of `equity_before_game` is match_equity/published-12."""
    row = [0.0, 0.028, 0.362, 0.388, 0.626, 0.645, 0.774, 0.788, 0.865, 0.874, 0.919, 0.925]
    warehouse = bgdata.open_warehouse(tmp_path)
    warehouse.build("match_equity", MATCH_EQUITY.default("published-12"))
    met = find_met(warehouse, "published-12")
    for away in range(1, 13):
        for opponent_away in range(1, 13):
            assert FORMULAS["equity_before_game"](away, opponent_away, row, 0.276) == pytest.approx(
                2 * met.mwc(away, opponent_away) - 1
            )
            assert FORMULAS["percent_before_game"](away, opponent_away, row, 0.276) == pytest.approx(
                100 * met.mwc(away, opponent_away)
            )

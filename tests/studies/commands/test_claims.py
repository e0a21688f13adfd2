"""Tests of `bgdata claims`: the list, its filters, and errors."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bgdata.studies import rows as claims
from bgdata.studies.kinds.claims import DATASET
from tests.command_line import error_of, output_of, run


@pytest.fixture
def root(small_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse with a small register, which the command takes for the full one."""
    monkeypatch.setattr(claims, "WHOLE", DATASET.smallest)
    for kind in ("claims", "published_luck"):
        shutil.copytree(small_root / kind, tmp_path / "warehouse" / kind)
    return tmp_path / "warehouse"


def test_list_has_a_line_for_each_claim(root: Path) -> None:
    """The command prints a line for each claim, and counts them by kind, document and status."""
    lines = output_of(root, "claims").splitlines()
    assert lines[0].split() == ["claim", "published", "ours", "status", "subject"]
    assert lines[1].split()[:5] == ["A12.luck-of-snowie-21", "0.073", "-0.073", "corrected", "Luck,"]
    assert lines[-5] == "24 claims: 11 reproduced, 11 corrected, 0 disagree, 0 open, 2 unreachable; 11 errata"
    assert [line.split() for line in lines[-4:]] == [
        ["kind", "document", "claims", "exact", "by", "sample", "corrected", "disagrees", "open", "unreachable"],
        ["published", "D.", "Zare,", "Hedging", "Toward", "Skill", "21", "10", "0", "11", "0", "0", "0"],
        ["published", "elsewhere", "2", "0", "0", "0", "0", "0", "2"],
        ["published_twice", "all", "1", "1", "0", "0", "0", "0", "0"],
    ]
    assert len(lines) == 1 + 24 + 5


def test_names_select_claims(root: Path) -> None:
    lines = output_of(root, "claims", "A12.luck", "A12.net").splitlines()
    assert lines[-3] == "6 claims: 2 reproduced, 4 corrected, 0 disagree, 0 open, 0 unreachable; 4 errata"


def test_erratum_selects_corrected_claims(root: Path) -> None:
    errata = output_of(root, "claims", "--erratum").splitlines()
    assert errata == output_of(root, "claims", "--status", "corrected").splitlines()
    assert [line.split()[0] for line in errata[1:7]] == [
        *("A12.luck-of-snowie-21", "A12.luck-of-snowie-23", "A12.total-luck", "A12.net-skill", "A12.net-skill-mwc"),
        "A12.wins-by-errors",
    ]


def test_status_and_kind_select_claims(root: Path) -> None:
    lines = output_of(root, "claims", "--status", "corrected", "--status", "reproduced").splitlines()
    assert lines[-4] == "22 claims: 11 reproduced, 11 corrected, 0 disagree, 0 open, 0 unreachable; 11 errata"
    lines_of_twice_published = output_of(root, "claims", "--kind", "published_twice").splitlines()
    assert [line.split()[0] for line in lines_of_twice_published] == [
        "claim",
        "A12.total-luck-as-added",
        "1",
        "kind",
        "published_twice",
    ]
    assert output_of(root, "claims", "--kind", "statement").startswith("0 claims: ")
    output = output_of(root, "claims", "A12.total", "--status", "open")
    assert output == "0 claims: 0 reproduced, 0 corrected, 0 disagree, 0 open, 0 unreachable; 0 errata\n"


def test_explain_prints_all_fields(root: Path) -> None:
    lines = output_of(root, "claims", "A12.total-luck", "--explain", "--kind", "published").splitlines()
    assert lines[0] == "A12.total-luck: published, corrected, erratum"
    assert "  source          D. Zare, Hedging Toward Skill" in lines
    assert "  answer          0.709" in lines
    assert "  query           select sum(evaluation - average) from published_luck" in lines
    assert "1 claim: 0 reproduced, 1 corrected, 0 disagree, 0 open, 0 unreachable; 1 erratum" in lines
    lines_of_restated = output_of(root, "claims", "A12.total-luck-as-added", "--explain").splitlines()
    assert "  restates        A12.total-luck" in lines_of_restated


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (38.1, 0.674, "38.10 +/- 0.67"),
        (-0.00712345, 0.00312, "-0.0071 +/- 0.0031"),
        (1234.5, 123, "1234 +/- 123"),
        (0.709, None, "0.709"),
    ],
)
def test_answers_of_samples_have_standard_errors(value: float, error: float | None, text: str) -> None:
    row = {"answer": f"{value:.9g}", "our_value": value, "our_error": error, "our_bound": None}
    assert claims.answer_text(row) == text


@pytest.mark.parametrize(("value", "bound", "text"), [(0.0236259717, 7.6e-6, "0.023626"), (0.709, 1e-9, "0.709")])
def test_answers_have_no_digits_below_their_rounding(value: float, bound: float, text: str) -> None:
    row = {"answer": f"{value:.9g}", "our_value": value, "our_error": None, "our_bound": bound}
    assert claims.answer_text(row) == text


def test_printed_tables_are_judged_together(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert output_of(root, "claims", "--together") == "no printed table is among these\n"
    figures = {"our_error": 1.0, "published_value": 0.0, "published_error": None, "our_bound": None, "tolerance": 3.05}
    rows = [{"printed_table": "gains", "our_value": 2.0, "status": "reproduced"} | figures] * 5
    monkeypatch.setattr("bgdata.studies.commands.claims.chosen_claims", lambda *_, **__: rows)
    lines = output_of(root, "claims", "--together").splitlines()
    assert lines[0].split() == ["rows", "disagree", "chi-squared", "chance", "status", "printed", "table"]
    assert lines[1].split() == ["5", "0", "20.0", "0.00126", "disagrees", "gains"]
    (row,) = json.loads(output_of(root, "claims", "--together", "--format", "json"))
    assert (row["n_rows"], row["n_disagreeing"], row["status"]) == (5, 0, "disagrees")


def test_missing_register_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a register, claims that need no tables are answered, and a line says what is missing."""
    shutil.rmtree(root / "claims")
    monkeypatch.setattr(claims, "WHOLE", replace(DATASET.smallest, parts=("A5", "A12")))
    result = run(root, "claims", "--format", "json")
    missing = "claims/a5-a12, bearoff_one_sided/6x15"
    message = f"not built: {missing}; only claims that need no tables are answered; try: bgdata build claims"
    assert (result.exit_code, result.stderr.splitlines()[0]) == (0, message)
    rows = {row["claim"]: row for row in json.loads(result.stdout)}
    register = {claim.claim: claim for claim in claims.WHOLE.chosen()}
    assert list(rows) == list(register)
    luck = rows["A12.total-luck"]
    assert (luck["published"], luck["answer"], luck["status"]) == ("0.865", None, "open")
    assert luck["explanation"].endswith("not computed, as the register is not built")
    answered = [name for name, row in rows.items() if row["answer"] is not None and not register[name].recorded]
    assert {register[name].needs for name in answered} == {()}
    assert {rows[name]["status"] for name in answered} >= {"reproduced", "corrected"}
    assert not (root / "claims").exists()


def test_claims_are_computed_only_with_recompute(root: Path, tmp_path: Path) -> None:
    """Without --recompute the command builds nothing."""
    before = output_of(root, "claims")
    assert output_of(root, "claims", "--recompute") == before
    assert error_of(run(tmp_path / "other", "claims"), 1).startswith("expected a warehouse in ")
    assert not (tmp_path / "other").exists()


def test_unknown_claims_are_refused(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unknown claims are refused before anything is computed."""
    monkeypatch.setattr(claims, "WHOLE", DATASET.smallest)
    for name in ("A14", "A12.colour", "A1", "colour", ""):
        message = error_of(run(memory_path, "claims", name), 2)
        assert message == f"expected the beginning of a claim's name, such as A8 or A2.mean, got '{name}'"
    assert list(memory_path.iterdir()) == []

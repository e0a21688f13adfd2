"""Tests of definitions of claims: published numbers, and invalid files."""

from collections import Counter
from pathlib import Path

import pytest

from bgdata.errors import CorruptFileError
from bgdata.studies.claims.definitions import DOCUMENTS, FOLDER, Claim, parse_published, part_names, read_definitions
from bgdata.studies.claims.register import FORMULAS, READINGS, parse_call
from bgdata.studies.kinds.claims import default_variant

ONE_CLAIM = """
[[group]]
claim = "A1.one"
source = "somebody"
subject = "a number"
published = "1"
query = "pairs(1, 1)"
"""


@pytest.mark.parametrize(
    ("text", "number", "half"),
    [
        ("361", 361, 0.5),
        ("18528584051601162496", 18528584051601162496, 0.5),
        ("25M", 25_000_000, 500_000),
        ("64.1M", 64_100_000, 50_000),
        ("2.9B", 2_900_000_000, 50_000_000),
        ("5k", 5000, 500),
        ("0.920", 0.92, 0.0005),
        ("-0.026", -0.026, 0.0005),
        ("6.3e20", 6.3e20, 5e18),
        ("1.3e-4", 1.3e-4, 5e-6),
        ("73 to 75", 74.0, 1),
        ("0.99 to 1", 0.995, 0.005),
        ("1/10 to 1/5", 0.15, 0.05),
        ("about 30M", 30_000_000, 5_000_000),
        ("almost 0.5", 0.475, 0.025),
        ("mostly", 0.75, 0.25),
    ],
)
def test_published_numbers_are_parsed(text: str, number: float, half: float) -> None:
    parsed = parse_published(text)
    assert parsed is not None
    assert parsed == (pytest.approx(number, rel=1e-15), pytest.approx(half))
    assert isinstance(parsed[0], int) == isinstance(number, int)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n-2, n-4",
        "9eac8a2c",
        "1,000",
        "12 %",
        "nan",
        "inf",
        "-",
        "1.",
        "0x1",
        "1 to n",
        "1 to 2 to 3",
        "more than 10",
        "about n",
        "almost 1/n",
        "1/2/3 to 1",
    ],
)
def test_words_are_not_parsed_as_numbers(text: str) -> None:
    assert parse_published(text) is None


def test_rows_of_a_group_become_claims(tmp_path: Path) -> None:
    """Each row of a group becomes a claim, in which the row's values replace their names in braces."""
    (tmp_path / "A2.toml").write_text(
        '[values]\nrow = "[1, 2]"\n'
        '[[group]]\nclaim = "A2.pairs-{points}x{checkers}"\nsource = "s"\nsubject = "{points} points of {row}"\n'
        'query = "pairs({points}, {checkers})"\nkind = "statement"\nwants = ["games/{points}-*"]\n'
        'columns = ["points", "checkers", "published"]\n'
        'rows = [[1, 2, "4"], [2, 1, "5"]]\n'
    )
    (tmp_path / "A10.toml").write_text(ONE_CLAIM.replace("A1.one", "A10.one_two"))
    expected = [
        Claim(
            *(f"A2.pairs-{p}x{c}", "A2", "s", f"{p} points of [1, 2]", n),
            kind="statement",
            wants=(f"games/{p}-*",),
            query=f"pairs({p}, {c})",
        )
        for p, c, n in ((1, 2, "4"), (2, 1, "5"))
    ]
    claim_of_a_single_group = Claim("A10.one-two", "A10", "somebody", "a number", "1", query="pairs(1, 1)")
    assert read_definitions(tmp_path) == (*expected, claim_of_a_single_group)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('published = "1"', "", "expected a field published in group 1 of "),
        ('published = "1"', 'colour = "1"', "expected fields among claim, source, .*, got colour"),
        ('"a number"', '"a {number}"', "expected names of values in braces in group 1 of .*, got 'a {number}'"),
        ('"A1.one"', '"A2.one"', "expected a name such as A1.mean-6x9 in group 1 of .*, got 'A2.one'"),
        ('"A1.one"', '"A1.One"', "expected a name such as A1.mean-6x9 in group 1 of .*, got 'A1.One'"),
        ("query", "status", "expected status open or unreachable, or none, .*, got 'pairs"),
        ('query = "pairs(1, 1)"', 'status = "reproduced"', "expected status open or unreachable, .*, got 'reproduced'"),
        ('query = "pairs(1, 1)"', "", "expected a query or a status of A1.one in group 1 of .*, found neither"),
        ('query = "pairs(1, 1)"', 'status = "open"', "expected an explanation of A1.one in group 1 of "),
        ('"1"', '"1"\ncorrection = "2"', "expected an explanation of A1.one in group 1 of "),
        ('"1"', '"1"\ntolerance = 2', "expected fields among .*, got tolerance"),
        ('"1"', '"1"\ncorrection_tolerance = 2', "expected fields among .*, got correction_tolerance"),
        ('"1"', '"1"\nkind = "right"', "expected a kind among published, .* of A1.one, got 'right'"),
        (
            '"1"',
            '"1"\nkind = "published_twice"',
            "expected restates of a claim that is published_twice, .* got '' of A1",
        ),
        (
            '"1"',
            '"1"\nrestates = "A1.two"',
            "expected restates of a claim .* got 'A1.two' of A1.one, which is published",
        ),
        (
            '"1"',
            '"1"\nkind = "published_twice"\nrestates = "A1.one"',
            "expected A1.one in .* to restate a claim that restates none, got A1.one",
        ),
        (
            '"1"',
            '"1"\nkind = "published_twice"\nrestates = "A1.two"',
            "expected A1.one in .* to restate a claim that restates none, got A1.two",
        ),
        ('"1"', '"1"\npublished_error = "2"', "expected a number as published_error of A1.one, got '2'"),
        ('"1"', '"1"\npublished_games = -1', "expected published_error or published_games of A1.one, at least 0, got"),
        ('"1"', '"1"\npublished_games = 1\npublished_error = 1', "expected published_error or published_games of A1"),
        ('"1"', '"1"\nis_erratum = 1\nexplanation = "so"', "expected true or false as is_erratum of A1.one, got 1"),
        ('"1"', '"1"\nneeds = ["scores"]', r"expected a list of KIND/VARIANT in group 1 of .*, got \['scores'\]"),
        (
            '"1"',
            '"1"\nrecorded = [1]\nrecorded_with = "gnubg"',
            "expected recorded .* of what wants something or has no query, .*, got",
        ),
        ('"1"', '"1"\nrecorded = [1]\nwants = ["a/b"]', r"expected recorded together with .*, got \(1,\) and ''"),
        ('"1"', '"1"\nrecorded_with = "gnubg"\nwants = ["a/b"]', r"expected recorded .*, got \(\) and 'gnubg'"),
        *(
            ('"1"', f'"1"\nrecorded = {given}\nrecorded_with = "x"\nwants = ["a/b"]', "expected a value, its error and")
            for given in ("1", "[]", '["1", 2]', "[true]", "[1, 2, 3, 4]")
        ),
        (
            '"1"',
            '"1"\nexperiment = "games"',
            "expected an experiment together with an obstacle, .* of A1.one, got 'games'",
        ),
        ('"1"', '"1"\nobstacle = "time"', "expected an experiment together with an obstacle, .* got '' and 'time'"),
        (
            '"1"',
            '"1"\nstatus = "open"\nexplanation = "so"',
            "expected an experiment .*, and both of what is open, of A1",
        ),
        ('"1"', '"1"\ncolumns = ["points"]', "expected both columns and rows in group 1 of .*, got one of them"),
        ('"1"', '"1"\ncolumns = ["points"]\nrows = [[1, 2]]', r"expected 1 values in every row of .*, got \[1, 2\]"),
        ("[[group]]", "[[claims]]", r"expected \[values\] and \[\[group\]\] in .*A1.toml, got claims"),
        ("[[group]]", "[[group", "expected a file of claims, got .*A1.toml: "),
    ],
)
def test_invalid_definitions_are_refused(tmp_path: Path, before: str, after: str, message: str) -> None:
    assert before in ONE_CLAIM
    (tmp_path / "A1.toml").write_text(ONE_CLAIM.replace(before, after))
    with pytest.raises(CorruptFileError, match=message) as error:
        read_definitions(tmp_path)
    assert "\n" not in str(error.value)


def test_missing_or_binary_definitions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CorruptFileError, match=r"expected definitions of claims .* found none"):
        read_definitions(tmp_path)
    (tmp_path / "A1.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CorruptFileError, match=r"expected a file of claims, got .*A1.toml: "):
        read_definitions(tmp_path)


def test_duplicate_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "A1.toml").write_text(ONE_CLAIM + ONE_CLAIM)
    with pytest.raises(CorruptFileError, match=r"expected claims of different names in .*, got A1.one twice"):
        read_definitions(tmp_path)


def test_register_has_all_parts() -> None:
    """The register's definitions are complete and consistent: parts, documents, restated claims, needed variants and
    queries."""
    claims = read_definitions()
    assert part_names() == [f"A{number}" for number in range(1, 14)]
    assert {claim.part for claim in claims} == set(part_names())
    assert len(claims) > 500
    assert len([claim for claim in claims if claim.claim.startswith("A8.full-")]) == 66  # the diagonal has no claims
    restated = {claim.claim: claim.restates for claim in claims if claim.kind == "published_twice"}
    assert len([name for name in restated if name.startswith("A8.mwc-")]) == 66
    names = {claim.claim for claim in claims}
    assert set(restated.values()) < names - set(restated)
    documents = Counter(claim.document for claim in claims)
    assert set(documents) == set(DOCUMENTS)
    assert min(documents.values()) > 10
    assert {claim.kind for claim in claims if claim.published.startswith(("more than 0", "mostly"))} == {"statement"}
    assert not any("ndependent" in claim.source for claim in claims)  # unprinted facts are tests
    assert FOLDER.is_dir()
    for claim in claims:
        for pattern in claim.needs:
            default_variant(pattern)
        if claim.query and not claim.query.startswith("select "):
            assert parse_call(claim)[0] in {*FORMULAS, *READINGS}

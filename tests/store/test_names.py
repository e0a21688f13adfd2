"""External names: only valid ones pass."""

from typing import Any

import pytest

from bgdata.errors import InvalidNameError, cite
from bgdata.kinds import all_kinds
from bgdata.store.names import check_name, is_name, parse_input, parse_reference

HOSTILE = [
    "", ".", "..", "../evil", "a/b", "a\\b", "/etc/passwd", "a b", "a'b", 'a"b', "a;b", "x')--", "a\n", "\na", "a\0",
    "a--b", "-a", "a-", "A", "é", "a²", "a\u202eb", "~", "$(id)", "*", "x" * 201,
    "a٣",  # a digit of another alphabet
]  # fmt: skip


@pytest.mark.parametrize("part", ["kind", "variant", "version", "file", "digest"])
@pytest.mark.parametrize("text", [*HOSTILE, None, 7, ["a"], {"a": 1}, True], ids=lambda text: ascii(text)[:12])
def test_hostile_names_are_invalid(part: str, text: object) -> None:
    assert not is_name(part, text)
    with pytest.raises(InvalidNameError, match=f"expected a {part} named by .*, got ") as error:
        check_name(part, text)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 250


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("kind", "bearoff_two_sided"),
        ("kind", "met_xml"),
        ("variant", "6x15"),
        ("variant", "6x6-away-5-5-cube-1-diverse-19-1ply-25-index-0-8"),
        ("version", "r1-0a1b2c3d"),
        ("version", "r12-00000000"),
        ("file", "table.parquet"),
        ("file", "plays_loss_standard_errors.npy"),
        ("digest", "0f" * 32),
    ],
)
def test_valid_names_are_accepted(part: str, text: str) -> None:
    assert check_name(part, text) == text


@pytest.mark.parametrize(
    "text", ["r1-0a1b2c3", "r01-0a1b2c3d", "r-0a1b2c3d", "r1-0A1B2C3D", "r1-0a1b2c3d-copy", "r٣-0a1b2c3d"]
)
def test_names_of_the_wrong_form_are_no_versions(text: str) -> None:
    assert not is_name("version", text)


@pytest.mark.parametrize("text", ["table", "table.csv", ".npy", "a.b.npy", "a-b.npy", "table.parquet.npy", "Table.npy"])
def test_names_of_the_wrong_form_are_no_files(text: str) -> None:
    assert not is_name("file", text)


def test_all_declared_names_are_valid() -> None:
    """The names of all kinds, default variants, tables, columns and arrays are valid."""
    for kind in all_kinds().values():
        check_name("kind", kind.name)
        for parameters in (*kind.defaults, kind.smallest):
            check_name("variant", kind.slug(parameters))
        for shape in kind.tables:
            check_name("kind", shape.name)
            check_name("file", shape.file)
            for column in shape.columns:
                check_name("kind", column.name)
        for array in kind.arrays:
            check_name("file", f"{array.name}.npy")


def test_references_are_parsed() -> None:
    assert parse_reference("squares/10") == ("squares", "10", None)
    assert parse_reference("squares/10/r1-00000000") == ("squares", "10", "r1-00000000")
    assert parse_input("squares/10@" + "0" * 64) == ("squares", "10", "0" * 64)


@pytest.mark.parametrize("text", ["", "squares", "squares/", "/10", "squares/../x", "a/b/c/d", "a/b/c", "squares/10@x"])
def test_invalid_references_are_refused(text: str) -> None:
    with pytest.raises(InvalidNameError, match="expected "):
        parse_reference(text)


@pytest.mark.parametrize("text", [None, "", "squares/10", "squares/10@ff", "a/b/r1-00000000@" + "0" * 64])
def test_invalid_inputs_are_refused(text: Any) -> None:
    with pytest.raises(InvalidNameError, match="expected "):
        parse_input(text)


def test_shown_values_are_short_and_printable() -> None:
    assert cite("a") == "'a'"
    assert cite("\x1b[31m") == "'\\x1b[31m'"
    assert len(cite("x" * 10**7)) <= 80
    assert len(cite(["x"] * 1000)) <= 80

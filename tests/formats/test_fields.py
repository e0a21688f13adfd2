"""Fields, numbers and the rules for chances: kernels against plain Python."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from bgdata.formats.fields import (
    BLANKS,
    COMMA,
    NO_NUMBER,
    NOISY,
    PLAIN,
    ROUNDED,
    Fields,
    Tolerance,
    chance_flaws,
    format_number,
)
from bgdata.formats.lines import split_lines
from tests.game.strategies import boards
from tests.reference.text_rows import breaks_chance_rules, fields_of, lines_of, number_of

number_texts = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.decimals(-3, 3, places=5).map(lambda number: f"{number:.5f}"),
    st.integers(-(10**25), 10**25).map(str),
    st.text("0123456789.eE+-", max_size=12),
    st.tuples(st.text("0123456789", max_size=20), st.text("0123456789", max_size=20), st.integers(-340, 320)).map(
        lambda parts: f"{parts[0]}.{parts[1]}e{parts[2]}"
    ),
)


def parse_numbers(texts: list[str]) -> tuple[list[float], list[int]]:
    fields = Fields(split_lines(" ".join(texts).encode()))
    values, forms = fields.values(np.arange(len(texts)))
    return values.tolist(), forms.tolist()


@given(st.lists(st.sampled_from([b"a", b",", b" ", b"\t", b"\n", b"bcd", b"\0", b"\r"])).map(b"".join))
@example(b"a,\n,b\n,\n, ,\n \n\t\n")
def test_fields_match_the_reference(data: bytes) -> None:
    lines = split_lines(data)
    for separator in (BLANKS, COMMA):
        fields = Fields(lines, separator)
        texts = [data[start:end] for start, end in zip(fields.starts, fields.ends, strict=True)]
        texts_by_line = [texts[first:last] for first, last in pairwise(fields.first)]
        expected = [fields_of(line, separator) for line in lines_of(data)]
        assert texts_by_line == expected
        assert fields.counts.tolist() == [len(row) for row in expected]


@given(st.lists(number_texts.filter(lambda text: text != ""), min_size=1, max_size=20))
@example(["9007199254740993", "123456789012345e22", "123456789012345e-22", "1e23", "0.1e-22", "5e-324", "1e400"])
@example(["999999999999999", "9999999999999999", "-0", "-0.0", "+1", ".5", "5.", "1e5", "1E+05", "0e999", "0e-999"])
@example([".", "-", "+", "e5", "1e", "1e+", "1.2.3", "1_0", "--1", "1e5.0", "nan", "inf", "0x1", "1-", "1e1e1", "１"])
def test_numbers_are_exact(texts: list[str]) -> None:
    for text, value, form in zip(texts, *parse_numbers(texts), strict=True):
        expected = number_of(text.encode())
        if expected is None:
            assert (value, form) == (0, NO_NUMBER)
        else:
            assert form != NO_NUMBER
            assert value == expected
            assert math.copysign(1, value) == math.copysign(1, expected)


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 22))
def test_short_decimals_round_trip(digits: int, decimals: int) -> None:
    text = f"{abs(digits):0{decimals + 1}}"
    text = "-" * (digits < 0) + (f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text)
    (value,), (form,) = parse_numbers([text])
    assert form == decimals
    assert format_number(value, form) == text


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(100000, 999999), st.integers(-17, 22))
def test_any_number_round_trips(value: float, digits: int, power: int) -> None:
    for form in (PLAIN, parse_numbers([repr(value)])[1][0]):
        assert float(format_number(value, form)) == value
    text = f"{digits * 10.0 ** (power - 5):.5e}"
    (value,), (form,) = parse_numbers([text])
    assert format_number(value, form) == text


def test_published_forms_round_trip() -> None:
    texts = ["0.0421133", "-2", "0", "6.07967e-06", "-0.7421170", "0.0000000", "1e-05", "-0.00000"]
    assert list(map(format_number, *parse_numbers(texts))) == texts
    # without a form: six digits where they are exact
    assert list(map(format_number, (6.07967e-06, 0.25, -2.0, 1 / 3))) == [
        "6.07967e-06", "0.25", "-2", "0.3333333333333333"
    ]  # fmt: skip


@given(number_texts)
@example("12.5e-1")
def test_forms_never_change_a_value(text: str) -> None:
    for value, form in zip(*parse_numbers(text.split() or ["0"]), strict=True):
        if form != NO_NUMBER:
            assert float(format_number(value, form)) == value


def test_letters_and_widths_of_fields_are_read() -> None:
    fields = Fields(split_lines(b"abc de\n"))
    assert fields.letters(np.array([1, 0]), 2).tobytes() == b"deab"
    assert fields.letters(np.array([1]), 4).tobytes() == b"de\0\0"
    assert fields.widths(np.array([0, 1])).tolist() == [3, 2]


def test_fields_with_zero_bytes_are_other_texts() -> None:
    fields = Fields(split_lines(b"m m\0 mm \0\n"))
    assert fields.is_text(np.arange(4), b"m").tolist() == [True, False, False, False]


# values on both sides of the tolerances
chances = st.sampled_from([-0.06, -0.0002, 0.0, 1e-5, 2e-5, 0.04, 0.3, 0.5, 0.7, 1.0, 1.01])
chance_rows = st.lists(chances, min_size=5, max_size=5)


@given(st.lists(st.tuples(boards(), chance_rows), min_size=1, max_size=20), st.sampled_from([ROUNDED, NOISY]))
def test_chance_rules_match_the_reference(rows: list[tuple[list[int], list[float]]], tolerance: Tolerance) -> None:
    some_boards = np.array([board for board, _ in rows], np.int8)
    flaws = chance_flaws(some_boards, np.array([chances for _, chances in rows]), tolerance)
    for (board, chances), flaw in zip(rows, flaws, strict=True):
        assert bool(flaw) == breaks_chance_rules(tuple(board), chances, tolerance.range, tolerance.order)


def test_nan_chances_are_refused() -> None:
    assert chance_flaws(np.zeros((1, 26), np.int8), np.array([[0.5, np.nan, 0, 0, 0]]), NOISY).tolist() == [1]

"""Rewritten pages: `...` stays, and other text follows the new output."""

import doctest

import pytest

from tests.mend_pages import Mender, merged


@pytest.mark.parametrize(
    ("expected", "output", "result"),
    [
        ("a 1\nb 2\n", "a  1\nb 2\n", "a 1\nb 2\n"),  # equal except for spaces
        ("a 1\nb 2\n", "a 1\nb 3\nc\n", "a 1\nb 3\nc\n"),  # without `...`
        ("r1-... in ... s\nrmse 0.031\n", "r1-abc in 12 s\nrmse 0.029\n", "r1-... in ... s\nrmse 0.029\n"),
        ("built r1-..., 120 rows in ... s\n", "built r1-9f, 125 rows in 3 s\n", "built r1-..., 125 rows in ... s\n"),
        ("title\n...\nequity +0.21\n", "title\nA\nB\nC\nequity +0.19\n", "title\n...\nequity +0.19\n"),
        ("title\n...\nequity +0.21\n...\n", "title\nA\nequity +0.19\nB\nC\n", "title\n...\nequity +0.19\n...\n"),
        ("...\nwin 52 %\nlose 48 %\n", "A\nwin 53 %\nlose 47 %\nmore\n", "...\nwin 53 %\nlose 47 %\nmore\n"),
        ("[0.34..., 0.67...]\n", "[0.3512345, 0.6712345]\n", "[0.35..., 0.67...]\n"),
    ],
)  # fmt: skip
def test_output_is_merged_with_its_dots(expected: str, output: str, result: str) -> None:
    assert merged(expected, output) == result


def test_python_examples_are_updated() -> None:
    page = "Words.\n\n```python\n>>> for number in (1, 2):\n...     print(number)\n1\n3\n>>> 1 + 1\n2\n```\n"
    example = doctest.DocTestParser().get_doctest(page.partition("```python\n")[2].partition("```")[0], {}, "", "", 0)
    mender = Mender(page)
    mender.run(example)
    assert mender.text == page.replace("1\n3\n", "1\n2\n")

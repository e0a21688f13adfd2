"""Random bytes through every importer; the campaign `tests.faults.lines` has slightly corrupted files."""

from __future__ import annotations

import random

import pytest

from bgdata.errors import NoRowsError
from tests.faults.lines import FORMATS, Lines, Sessions
from tests.imports.importing import IMPORTED, Imports
from tests.reference.text_rows import lines_of


def test_every_importer_has_corrupted_files() -> None:
    corrupted = {entry.kind for entry in FORMATS.values() if isinstance(entry, Lines)}
    assert corrupted | {"matches", "met_xml"} == set(IMPORTED)
    assert {entry.file for entry in FORMATS.values() if isinstance(entry, Sessions)} == {"x.mat", "x.sgf"}


@pytest.mark.parametrize("kind", IMPORTED)
def test_random_bytes_are_refused(imports: Imports, kind: str) -> None:
    generator = random.Random(kind)
    for name in ("contact.txt", "contact.jsonl", "contact.sgf"):
        text = generator.randbytes(50_000)
        with pytest.raises(NoRowsError) as caught:
            imports.text(kind, text, name)
        if name != "contact.sgf" or kind != "matches":  # which has trees instead of lines
            assert f"none in {len(lines_of(text))} lines: " in str(caught.value)
    assert list(imports.warehouse.versions()) == []

"""Tests of aliases of players: the file in a warehouse, and the macro that views use."""

from __future__ import annotations

from pathlib import Path

import pytest

from bgdata.errors import CorruptFileError, StorageError
from bgdata.matches.aliases import ALIASES, read_aliases
from bgdata.warehouse import open_whole
from tests.subtests import each


def test_aliases_are_read_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / ALIASES
    assert read_aliases(path) == {}
    path.write_text('# Mine\nann = ["Ann B.", "it\'s me"]\n"Carl Lee" = ["carl"]\neve = []\nbob = ["bob"]\n')
    assert read_aliases(path) == {"Ann B.": "ann", "it's me": "ann", "carl": "Carl Lee", "bob": "bob"}


@each(
    ("content", "message"),
    [
        (b"ann", "expected TOML in"),
        (b'\xffann = ["b"]', "expected TOML in"),
        (b"ann = 3", "found 'ann' with '3'"),
        (b'ann = "b"', "found 'ann' with 'b'"),
        (b"ann = [1]", "found 'ann' with '[1]'"),
        (b'[ann]\nb = ["c"]', "found 'ann' with"),
        (b'ann = ["x"]\nbob = ["x"]', "expected an alias of one player in"),
        (b'ann = ["bob"]\nbob = ["x"]', "expected aliases that are not names of players in"),
    ],
)
def test_invalid_alias_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / ALIASES
    path.write_bytes(content)
    with pytest.raises(CorruptFileError) as caught:
        read_aliases(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_alias_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="expected aliases of players in"):
        read_aliases(tmp_path)


def test_sql_replaces_aliases_by_names(tmp_path: Path) -> None:
    warehouse = open_whole(tmp_path)
    query = "select player_named(name) as name from (values ('Ann B.'), ('bob'), (null)) as names(name)"
    assert [row["name"] for row in warehouse.rows(query)] == ["Ann B.", "bob", None]
    (tmp_path / ALIASES).write_text('ann = ["Ann B."]\n')
    assert [row["name"] for row in warehouse.rows(query)] == ["ann", "bob", None]
    with warehouse.connect() as connection:
        assert connection.sql(query).fetchall() == [("ann",), ("bob",), (None,)]


def test_only_queries_of_names_read_the_alias_file(tmp_path: Path) -> None:
    warehouse = open_whole(tmp_path)
    (tmp_path / ALIASES).write_text("ann = 3\n")
    assert warehouse.rows("select 1 as one") == [{"one": 1}]
    with pytest.raises(CorruptFileError):
        warehouse.rows("select player_named('x')")

"""Tests of player names in parameters and variants."""

import pytest

from bgdata.errors import InvalidParameterError
from bgdata.measures.kinds.shared.players import check_player_name, player_slug
from bgdata.store.names import is_name


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("pubeval", "pubeval-1ply"),
        ("network/td", "network-td-1ply"),
        ("network/td/r1-0123abcd", "network-td-r1-0123abcd-1ply"),
        ("mine.onnx", "onnx-mine-1ply"),
        ("/some/where/My net (2).v3.onnx", "onnx-my-net-2-v3-1ply"),
        ("wildbg.ubgi", "ubgi-wildbg-1ply"),
        ("é.onnx", "onnx-1ply"),
        (f"{'long-' * 30}.onnx", f"onnx-{'long-' * 8}1ply"),
    ],
)
def test_player_slugs_are_names(name: str, slug: str) -> None:
    check_player_name(name)
    assert player_slug(name, 1) == slug
    assert is_name("variant", slug)


@pytest.mark.parametrize("name", ["", "a/b", "../x", "two\nlines.onnx", "x.onnx\n", "x.onnx/y", "network/x.onnx/r1"])
def test_invalid_player_names_raise(name: str) -> None:
    with pytest.raises(InvalidParameterError, match="expected the name of a player, got "):
        check_player_name(name)

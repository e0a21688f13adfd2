"""Position hashes: against the reference, equal for flips, unique otherwise, and unchanged."""

from functools import cache

import numpy as np

from bgdata.game.codec import Boards, flip_boards
from bgdata.game.position import START
from bgdata.game.position_hash import position_hashes
from tests.random_games import random_game_positions
from tests.reference.position_hash import position_hash

GOLDEN = ["0xecff4ec19ced9fcc", "0xf629657a249d739e", "0xb4ce4ddac06e7bf"]


@cache
def random_boards() -> Boards:
    return np.unique(random_game_positions(100, seed=4).boards, axis=0)


def test_hashes_match_the_reference() -> None:
    assert position_hashes(random_boards()).tolist() == [position_hash(board) for board in random_boards().tolist()]


def test_only_flips_share_a_hash() -> None:
    flipped = flip_boards(random_boards())
    assert np.array_equal(position_hashes(flipped), position_hashes(random_boards()))
    seen = {min(board.tobytes(), other.tobytes()) for board, other in zip(random_boards(), flipped, strict=True)}
    assert len(np.unique(position_hashes(random_boards()))) == len(seen) > 5000


def test_hashes_are_unchanged() -> None:
    """Hashes stay the published ones, because training splits depend on them."""
    boards = np.array([START.board, np.eye(26, dtype=np.int8)[1], np.zeros(26)], np.int8)
    assert [hex(value) for value in position_hashes(boards).tolist()] == GOLDEN

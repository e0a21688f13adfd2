"""Hypothesis strategies for legal boards, including boards that no game reaches."""

from hypothesis import strategies as st

from bgdata.game.board import Flaw
from bgdata.game.position import Position, board_flaw


@st.composite
def boards(draw: st.DrawFn) -> list[int]:
    """A legal 26-integer board with up to 15 checkers per side on any points, including the bars."""
    board = [0] * 26
    # a choice of few points makes stacks, blocks and closed boards likely
    slots = draw(st.lists(st.integers(0, 25), min_size=1, max_size=26, unique=True))
    for slot in draw(st.lists(st.sampled_from(slots), max_size=15)):
        if slot != 0:
            board[slot] += 1
    for slot in draw(st.lists(st.sampled_from(slots), max_size=15)):
        if slot == 0:
            board[0] += 1
        elif slot != 25 and board[slot] <= 0:
            board[slot] -= 1
    if board_flaw(board) is Flaw.CLOSED_BOARDS:
        board[0] = 0
    return board


positions = boards().map(Position)

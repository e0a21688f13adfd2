"""Whole games: against a slow twin, by kernel and in lockstep, in pairs with the same dice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.choices import PUBEVAL, Chooser, KernelPlayer
from bgdata.evaluation.player import Player, PubEval, RandomPlayer
from bgdata.evaluation.pubeval import score_tables, weights
from bgdata.game.codec import Boards
from bgdata.game.position import START
from bgdata.kernel import threads
from bgdata.selfplay import games
from bgdata.selfplay.games import Games, play_games
from bgdata.selfplay.series import result_of
from tests.reference.games import PlayChooser, dice, play_game, pubeval_chooser, random_chooser
from tests.reference.pubeval import CONTACT, RACE

PUBEVAL_TWIN = pubeval_chooser(CONTACT, RACE)


class Turned(PubEval):
    """Another player who plays sensibly, and always the same: PubEval's race weights, for contact as well."""

    chooser = Chooser(PUBEVAL, pubeval=score_tables(weights()[[1, 1]]))


class Plain:
    """Any player as one that no kernel knows; remembers what it was asked."""

    label = version = "plain"

    def __init__(self, player: Player) -> None:
        self.player = player
        self.asked: list[tuple[Boards, NDArray[np.int8]]] = []

    def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
        self.asked.append((boards, rolls))
        return self.player.choose_plays(boards, rolls)


def assert_same(one: Games, other: Games) -> None:
    for field, found in one._asdict().items():
        expected = getattr(other, field)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected), field


@pytest.mark.parametrize(
    ("players", "choosers", "count"),
    [
        ((PubEval(), RandomPlayer(3)), (PUBEVAL_TWIN, random_chooser(3)), 10),
        ((RandomPlayer(7), PubEval()), (random_chooser(7), PUBEVAL_TWIN), 10),
        ((Turned(), PubEval()), (pubeval_chooser(RACE, RACE), PUBEVAL_TWIN), 24),
    ],
)
def test_against_the_twin(
    players: tuple[Player, Player], choosers: tuple[PlayChooser, PlayChooser], count: int
) -> None:
    first = 5
    found = play_games(*players, count, seed=11, first=first)
    expected = [play_game(choosers, 11, game) for game in range(first, first + count)]
    assert list(zip(found.outcomes.tolist(), found.turns.tolist(), strict=True)) == expected
    assert found.numbers.tolist() == list(range(first, first + count))
    assert found.begins.tolist() == [game % 2 == 0 for game in range(first, first + count)]


def test_digest_on_any_number_of_threads() -> None:
    digests = set()
    for count in (1, 2):
        with threads(count):
            found = play_games(PubEval(), RandomPlayer(1), 500, seed=2)
            digests.add(hashlib.sha256(b"".join(array.tobytes() for array in found)).hexdigest())
    assert digests == {"ecf401b02709149493ff0f3e9da3a0f0616e6080328713768b343503b22bd08c"}


@pytest.mark.parametrize("wrap", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("players", [(PubEval(), PubEval()), (Turned(), PubEval())])
def test_lockstep_plays_the_same_games(
    players: tuple[Player, Player], wrap: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games, "LOCKSTEP", 64)
    first, second = (Plain(player) if is_plain else player for player, is_plain in zip(players, wrap, strict=True))
    assert_same(play_games(first, second, 150, seed=4, first=9), play_games(*players, 150, seed=4, first=9))


def test_lockstep_keeps_random_choices() -> None:
    expected = play_games(RandomPlayer(2), PubEval(), 60, seed=6)
    assert_same(play_games(RandomPlayer(2), Plain(PubEval()), 60, seed=6), expected)


def test_boards_and_rolls_given_to_players() -> None:
    """The start position first, never with a double; both games of a pair with the same dice."""
    plain = Plain(PubEval())
    assert not isinstance(plain, KernelPlayer)
    play_games(plain, Turned(), 200, seed=8)
    boards, rolls = plain.asked[0]
    assert len(boards) == 100  # the other one begins the odd games
    assert {tuple(board) for board in boards.tolist()} == {START.board}
    assert rolls.tolist() == [list(dice(8, game, 0)) for game in range(0, 200, 2)]
    assert (rolls[:, 0] != rolls[:, 1]).all()
    assert plain.asked[1][1].tolist() == [list(dice(8, game, 1)) for game in range(1, 200, 2)]
    assert any((rolls[:, 0] == rolls[:, 1]).any() for _, rolls in plain.asked[1:])


def test_pairs_swap_sides() -> None:
    """With the names exchanged, every pair has its games in the other order."""
    one, other = play_games(Turned(), PubEval(), 400, seed=3), play_games(PubEval(), Turned(), 400, seed=3)
    swapped = np.arange(400) ^ 1
    assert np.array_equal(one.outcomes, -other.outcomes[swapped])
    assert np.array_equal(one.turns, other.turns[swapped])
    assert one.begins[::2].all()
    assert not one.begins[1::2].any()


def test_games_do_not_depend_on_the_batch() -> None:
    whole, later = play_games(PubEval(), RandomPlayer(), 100, seed=3), play_games(PubEval(), RandomPlayer(), 39, 3, 61)
    assert_same(later, Games(*(array[61:] for array in whole)))  # type: ignore[arg-type]
    assert not np.array_equal(play_games(PubEval(), RandomPlayer(), 100, seed=5).turns, whole.turns)
    far = play_games(RandomPlayer(), RandomPlayer(1), 4, 1, (1 << 63) - 5)
    assert len(set(far.turns.tolist())) > 1


def test_pubeval_against_itself() -> None:
    """Exactly even, as each pair is one game seen from both sides; who begins has a small advantage."""
    found = play_games(PubEval(), PubEval(), 20_000, seed=12)
    assert np.array_equal(found.outcomes[::2], -found.outcomes[1::2])
    result = result_of(found)
    assert (result.points_per_game, result.standard_error, result.win_share) == (0, 0, 0.5)
    advantage = found.outcomes[::2]  # 10,000 independent games
    assert 0 < advantage.mean() < 0.12
    counts = np.bincount(found.outcomes + 3, minlength=7)
    assert counts[3] == 0
    assert (counts[[0, 6]] > 50).all()
    assert 60 < result.mean_turns < 67


def test_pubeval_beats_random() -> None:
    result = result_of(play_games(PubEval(), RandomPlayer(), 4000, seed=13))
    assert result.standard_error < 0.02
    assert result.points_per_game > 2.4
    assert result.win_share > 0.99


def test_random_against_random_is_even() -> None:
    result = result_of(play_games(RandomPlayer(1), RandomPlayer(2), 10_000, seed=14))
    assert abs(result.points_per_game) < 4 * result.standard_error
    assert 0.015 < result.standard_error < 0.025


def test_no_games() -> None:
    for player in (PubEval(), Plain(PubEval())):
        assert [len(array) for array in play_games(player, PubEval(), 0, seed=1)] == [0] * 4


@pytest.mark.parametrize(
    ("count", "seed", "first"), [(-1, 0, 0), (1, -1, 0), (1, 1 << 63, 0), (1, 0, -1), (2, 0, (1 << 63) - 2)]
)
def test_wrong_numbers(count: int, seed: int, first: int) -> None:
    with pytest.raises(UsageError, match="expected numbers from 0 to"):
        play_games(PubEval(), PubEval(), count, seed, first)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda boards: boards[:, :25], "got int8"),
        (lambda boards: boards.astype(np.int64), "got int64"),
        (lambda boards: boards[:-1], "got int8"),
        (lambda boards: 3 * boards, "15 checkers"),
    ],
)
def test_wrong_answers(answer: Callable[[Boards], Boards], message: str) -> None:
    class Wrong(Plain):
        def choose_plays(self, boards: Boards, rolls: NDArray[np.int8]) -> Boards:
            return answer(super().choose_plays(boards, rolls))

    with pytest.raises(InvalidPositionError, match=message):
        play_games(PubEval(), Wrong(PubEval()), 10, seed=1)

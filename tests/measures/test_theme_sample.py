"""Samples of positions by theme."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.choices import Chooser, chosen_boards
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.game.board import START_BOARD
from bgdata.game.board_kernels import game_outcomes, position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, check_legal_boards
from bgdata.game.dice import ROLLS
from bgdata.game.position_hash import position_hashes
from bgdata.game.themes import Theme, position_themes
from bgdata.kernel import threads
from bgdata.measures import theme_sample
from bgdata.measures.theme_sample import (
    MOST_TURNS,
    Positions,
    SourceGames,
    Sources,
    drawn_positions,
    game_plan,
    sample_positions,
    source_games,
)
from bgdata.selfplay.splits import SPLITS, halves_of_games
from bgdata.selfplay.training_games import Start
from tests.evaluation.sample_networks import pips_networks, pips_player
from tests.selfplay.test_training_games import begun

COUNT, SEED = 8, 5


def judged(boards: Boards) -> np.ndarray:
    """Chances by a network that knows pips alone."""
    return evaluations(pips_networks(), NO_TABLES, boards).chances


def sample_sources() -> Sources:
    network, pubeval, random = pips_player().chooser, PubEval().chooser, RandomPlayer(1).chooser
    return Sources([(network, network), (pubeval, pubeval), (network, pubeval), (random, random)], judged)


@pytest.fixture(scope="module")
def sample() -> Positions:
    return sample_positions(sample_sources(), COUNT, SEED, 10_000)


def are_same(one: Positions, other: Positions) -> bool:
    """Whether all arrays are equal."""
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in Positions._fields)


def test_every_theme_has_as_many(sample: Positions) -> None:
    check_legal_boards(sample.boards)
    assert np.array_equal(position_themes(sample.boards), sample.themes)
    assert Counter(sample.themes.tolist()) == {int(theme): COUNT for theme in Theme}
    halves = Counter(zip(sample.themes.tolist(), halves_of_games(SEED, sample.games).tolist(), strict=True))
    expected = {SPLITS.index(split) for split in ("validation", "test")}
    assert halves == {(int(theme), half): COUNT // 2 for theme in Theme for half in expected}


def test_positions_are_distinct_and_ordered(sample: Positions) -> None:
    assert len(np.unique(position_hashes(sample.boards))) == len(sample.boards)
    pairs = list(zip(sample.themes.tolist(), sample.games.tolist(), strict=True))
    assert pairs == sorted(set(pairs))


def test_no_source_has_more_than_twice_its_share(sample: Positions) -> None:
    sources = game_plan(sample.games, len(sample_sources().players)).sources.tolist()
    halves = halves_of_games(SEED, sample.games).tolist()
    taken = Counter(zip(sample.themes.tolist(), halves, sources, strict=True))
    assert max(taken.values()) == 2 * (COUNT // 2) // len(sample_sources().players)
    assert set(sources) == {0, 1, 2, 3}


def test_known_and_decided_positions_are_left_out(sample: Positions) -> None:
    assert (position_classes(sample.boards) != PositionClass.BEAROFF_TWO_SIDED).all()
    chances = judged(sample.boards[sample.themes >= Theme.RACE])
    assert (np.minimum(chances, 1 - chances).max(axis=1) > 0.05).all()


@pytest.mark.parametrize("size", [7, 100])
def test_the_sample_does_not_depend_on_rounds(sample: Positions, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(theme_sample, "ROUND", size)
    told: list[int] = []
    again = sample_positions(sample_sources(), COUNT, SEED, 10_000, told.append)
    assert are_same(again, sample)
    assert sum(told) == len(sample.boards)


def test_positions_are_drawn_from_their_games(sample: Positions) -> None:
    """They are there when some games are played alone."""
    rows = np.flatnonzero(sample.themes == Theme.CRASHED)
    drawn = drawn_positions(sample_sources(), SEED, sample.games[rows])
    found = drawn.rows(np.flatnonzero(drawn.themes == Theme.CRASHED))
    assert are_same(found, sample.rows(rows))


def test_one_position_of_each_theme_in_a_game() -> None:
    games = np.arange(88)
    drawn = drawn_positions(sample_sources(), SEED, games)
    pairs = list(zip(drawn.games.tolist(), drawn.themes.tolist(), strict=True))
    assert pairs == sorted(set(pairs))
    assert set(drawn.games.tolist()) == set(games.tolist())


def test_which_turn_is_drawn_depends_on_the_game() -> None:
    """Any turn of a theme may be drawn, not the first or the last one."""
    drawn = drawn_positions(sample_sources(), SEED, np.arange(11 * 4 * 20))
    openings = drawn.turns[drawn.themes == Theme.OPENING]
    assert len(set(openings.tolist())) >= 4


def test_games_take_turns_in_sources_starts_and_perturbations() -> None:
    plan = game_plan(np.arange(4 * 44), 4)
    combinations = Counter(zip(plan.sources.tolist(), plan.starts.tolist(), plan.perturbed.tolist(), strict=True))
    assert len(combinations) == 4 * len(Start) * 2
    assert {count for (*_, changed), count in combinations.items() if changed} == {1}
    assert {count for (*_, changed), count in combinations.items() if not changed} == {3}


def test_a_theme_without_enough_positions_is_named() -> None:
    with pytest.raises(UsageError) as raised:
        sample_positions(sample_sources(), 40, SEED, 44)
    assert str(raised.value).startswith("expected 40 positions of the theme opening in 44 games, found ")
    assert str(raised.value).endswith("; try more games, or fewer positions")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_wrong_counts(count: int) -> None:
    with pytest.raises(UsageError, match="expected an even number of positions of each theme, at least 2, got"):
        sample_positions(sample_sources(), count, SEED, 44)


PUBEVAL, RANDOM = PubEval().chooser, RandomPlayer(3).chooser
NUMBERS = np.arange(22)
STARTS = (NUMBERS % len(Start)).astype(np.int8)


def network() -> Chooser:
    return pips_player().chooser


def played(
    first: Chooser, second: Chooser, numbers: np.ndarray = NUMBERS, seed: int = 7, changed: bool = False
) -> SourceGames:
    return source_games((first, second), seed, numbers, STARTS[numbers], np.full(len(numbers), changed))


def test_the_same_on_any_threads_and_in_any_batch() -> None:
    with threads(1):
        alone = played(network(), PUBEVAL)
    with threads(2):
        together = played(network(), PUBEVAL)
    some = played(network(), PUBEVAL, NUMBERS[[3, 17]])
    assert np.array_equal(alone.boards, together.boards)
    assert np.array_equal(alone.offsets, together.offsets)
    rows = np.r_[slice(*alone.offsets[3:5].tolist()), slice(*alone.offsets[17:19].tolist())]
    assert np.array_equal(some.boards, alone.boards[rows])
    assert not np.array_equal(played(network(), PUBEVAL, seed=8).boards[:100], alone.boards[:100])


def test_games_begin_where_they_should() -> None:
    found = played(PUBEVAL, PUBEVAL)
    for start in Start:
        assert np.array_equal(found.boards[found.offsets[int(start)]], begun(start, int(start) + 1)[int(start)])


def test_games_go_on_to_the_end() -> None:
    """Every position follows from the one before by the play that a player chooses for some roll, up to one that can
    end the game."""
    found = played(PUBEVAL, PUBEVAL)
    rolls = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)
    check_legal_boards(found.boards)
    assert (game_outcomes(found.boards) == 0).all()
    for begin, end in zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True):
        assert 1 <= end - begin <= MOST_TURNS
        for row in range(begin, end):
            following = chosen_boards(PUBEVAL, np.repeat(found.boards[row : row + 1], len(rolls), axis=0), rolls)
            if row < end - 1:
                assert (following == found.boards[row + 1]).all(axis=1).any()
            elif end - begin < MOST_TURNS:
                assert (game_outcomes(following) != 0).any()


def test_openings_begin_with_two_different_dice() -> None:
    numbers = np.arange(200)
    found = source_games((PUBEVAL, PUBEVAL), 7, numbers, np.zeros(200, np.int8), np.zeros(200, np.bool_))
    second = {tuple(board) for board in found.boards[found.offsets[:-1] + 1].tolist()}
    rolls = np.array([(roll.high, roll.low) for roll in ROLLS if not roll.is_double], np.int8)
    after = chosen_boards(PUBEVAL, np.tile(np.array(START_BOARD, np.int8), (15, 1)), rolls)
    assert second == {tuple(board) for board in after.tolist()}


def test_either_player_begins() -> None:
    """With the same dice, games of two players begin as those of the one with itself, or as those of the other one."""
    mixed, pubeval, random = played(PUBEVAL, RANDOM), played(PUBEVAL, PUBEVAL), played(RANDOM, RANDOM)
    begins = [
        [np.array_equal(mixed.boards[mixed.offsets[game] + 1], each.boards[each.offsets[game] + 1]) for game in NUMBERS]
        for each in (pubeval, random)
    ]
    assert (np.array(begins).any(axis=0)).all()
    assert 3 < sum(begins[0]) < 22
    assert 3 < sum(begins[1]) < 22


def test_perturbed_positions() -> None:
    """One or two checkers of a position are elsewhere, nothing else is changed, and none comes off or onto the bar."""
    plain, changed = played(network(), network()), played(network(), network(), changed=True)
    assert np.array_equal(plain.offsets, changed.offsets)
    check_legal_boards(changed.boards)
    assert (game_outcomes(changed.boards) == 0).all()
    before, after = plain.boards.astype(np.int64), changed.boards.astype(np.int64)
    for sign, bar in ((1, 25), (-1, 0)):
        ours, ours_after = (np.maximum(sign * boards[:, 1:25], 0) for boards in (before, after))
        assert (ours.sum(axis=1) + before[:, bar] == ours_after.sum(axis=1) + after[:, bar]).all()
        assert (after[:, bar] <= before[:, bar]).all()
    moved = (np.abs(before - after).sum(axis=1) + 1) // 2
    assert set(moved.tolist()) == {0, 1, 2}
    assert 0.6 < (moved > 0).mean() < 1.0
    assert (moved == 2).sum() > 50


def test_wrong_numbers() -> None:
    with pytest.raises(UsageError, match="from 0 to 2"):
        played(PUBEVAL, PUBEVAL, seed=-1)

"""Samples of positions by theme."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.player import RandomPlayer
from bgdata.evaluation.pubeval import PubEval
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, check_legal_boards
from bgdata.game.position_hash import position_hashes
from bgdata.game.themes import Theme, position_themes
from bgdata.play import theme_sample
from bgdata.play.splits import SPLITS, halves_of_games
from bgdata.play.starts import Start
from bgdata.play.theme_sample import Positions, Sources, drawn_positions, game_plan, sample_positions
from tests.evaluation.sample_networks import pips_networks, pips_player

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


def test_nothing_that_is_known_or_decided(sample: Positions) -> None:
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

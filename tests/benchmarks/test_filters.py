"""Tests of the cost of filters on choices with known losses."""

import sys

import numpy as np
import pytest

from bgdata.evaluation.lookahead import PlayFilter
from tests.benchmarks import filters
from tests.benchmarks.filters import WAYS, Chosen, choose, contact_decisions, cost_of
from tests.evaluation.sample_networks import random_player


def test_costs_are_differences_by_decision() -> None:
    boards = np.zeros((4, 26), np.int8)
    others = boards.copy()
    others[2, 5] = 1
    chosen = Chosen(boards, np.array([0.0, 0.01, 0.03, 0.0]), 1.0)
    found = cost_of(chosen, Chosen(others, np.array([0.0, 0.01, 0.01, 0.0]), 1.0))
    assert found == pytest.approx((10.0, 5.0, 5.0, 0.25))  # differences 0, 0, 20, 0: standard deviation 10
    assert cost_of(chosen, chosen)[1:] == (0.0, 0.0, 0.0)


def test_filter_of_one_play_chooses_the_static_play() -> None:
    decisions = contact_decisions(20)
    chosen = choose(random_player(0), 1, [PlayFilter(1, 0.0)], decisions)
    assert np.array_equal(chosen.boards, random_player(0).choose_plays(decisions.boards, decisions.rolls))
    every = choose(random_player(0), 1, WAYS["all"], decisions)
    assert cost_of(chosen, every).others > 0


def test_decisions_are_the_first_of_the_benchmark() -> None:
    few, all_ = contact_decisions(3), contact_decisions(500)
    assert len(few.boards) == 3
    assert len(few.first_plays) == 4
    assert len(all_.boards) == 500
    assert np.array_equal(few.play_boards, all_.play_boards)
    assert (all_.losses[all_.first_plays[:-1]] == 0).all()


def test_invalid_plies_are_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["filters", "--ply", "4"])
    with pytest.raises(SystemExit):
        filters.main()
    assert "invalid choice: 4" in capsys.readouterr().err

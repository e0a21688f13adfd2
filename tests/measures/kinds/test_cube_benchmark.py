"""Tests of the kind `cube_benchmark`: which decisions are chosen, the values of each judge, and wrong parameters."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.equity.cube import CubeRules, decide_cube, normalised_equity, normalised_point
from bgdata.equity.doubling import CONSTANT_STRATEGY
from bgdata.errors import InvalidParameterError
from bgdata.evaluation import gnubg
from bgdata.evaluation.cube_answers import (
    CubeQuestion,
    GameLimits,
    decided_values,
    gnubg_values,
    roll_out_by_bgsage,
    roll_out_by_gnubg,
)
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.programs import BgsagePlayer
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from bgdata.game.xgid import parse_xgid
from bgdata.kinds.column_values import text_column
from bgdata.measures.kinds.cube_benchmark import DATASET
from bgdata.measures.kinds.cube_benchmark_compute import (
    Judge,
    best_actions,
    candidates_of,
    close_candidates,
    question_of,
    sample_arrays,
)
from bgdata.selfplay.cubeful_rollout import decision_starts, roll_out_with_cube
from bgdata.selfplay.kinds.shared.rollouts_compute import first_met, open_roller
from bgdata.store.dataset import Context
from bgdata.warehouse import Warehouse
from tests.command_line import run
from tests.contract.kinds import smallest_version
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import shipped_player
from tests.oracles import needs_gnubg_tool
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
BLITZ = parse_xgid("XGID=-aBCBaD-A-A----------AcbhA:0:0:1:00:0:0:0:0:10").position
MIDDLE = parse_xgid("XGID=---aaBD-C---bD---dbeB-----:0:0:1:00:0:0:0:3:10").position
MONEY = Stakes(Money(is_jacoby=False))
OWNED = Stakes(MatchScore(5, 7), Cube(2, CubeOwner.ON_ROLL))
QUESTIONS = [CubeQuestion(BLITZ, MONEY), CubeQuestion(MIDDLE, Stakes(MatchScore(3, 3))), CubeQuestion(MIDDLE, OWNED)]


def small_context(warehouse: Warehouse, **changes: Any) -> Context[Any]:
    parameters = replace(SMALLEST, **changes)
    return Context(parameters, inputs_of(warehouse, DATASET, SMALLEST), warehouse)


def test_decisions_are_close_turns_of_different_games(small_root: Path) -> None:
    """Each decision is a turn of another game at which the player on roll may double, and is close by `decide_cube`."""
    warehouse = bgdata.open_warehouse(small_root)
    context = small_context(warehouse)
    player = open_roller(context)
    rules = CubeRules(CONSTANT_STRATEGY, first_met(context.inputs["met"].arrays()))
    rows = warehouse.rows(f"from cube_benchmark where variant = '{DATASET.slug(SMALLEST)}' order by decision")
    assert len(rows) == SMALLEST.decisions
    assert Counter(row["score"] == "money" for row in rows) == {True: 2, False: 2}
    assert len({(row["score"] == "money", row["game"]) for row in rows}) == len(rows)
    for row in rows:
        table = context.inputs["money_games" if row["score"] == "money" else "matches"]
        games = warehouse.rows(
            f"from turns where dataset = 'cubeful_selfplay' and variant = '{table.manifest.variant}' "
            f"and game = {row['game']} and turn = {row['turn']}"
        )
        (turn,) = games
        for name in ("position_id", "cube_value", "cube_owner"):
            assert turn[name] == row[name]
        xgid = parse_xgid(row["xgid"])
        assert xgid.position.id == row["position_id"]
        assert row["class"] in ("contact", "crashed")
        stakes = xgid.match.stakes
        chances = player.evaluate_many(np.array([xgid.position.board], np.int8)).chances[0].tolist()
        decision = decide_cube(chances, stakes, rules)
        assert decision.may_double
        point = 1.0 if isinstance(stakes.score, Money) else normalised_point(stakes, rules)
        assert min(abs(decision.double_gain), abs(decision.take_gain)) <= SMALLEST.window * point + 1e-6
        if isinstance(stakes.score, MatchScore):
            assert min(stakes.score.away, stakes.score.opponent_away) >= 2
            assert not stakes.is_crawford


def test_values_are_those_of_rollouts_with_the_cube(small_root: Path) -> None:
    """The values and standard errors of each decision equal those of a rollout with its seed."""
    warehouse = bgdata.open_warehouse(small_root)
    table = smallest_version(small_root, DATASET)
    context = small_context(warehouse)
    rules = CubeRules(met=first_met(context.inputs["met"].arrays()))
    chooser = open_roller(context).chooser
    arrays = table.arrays()
    for row, xgid in enumerate(text_column(arrays, "xgids").to_pylist()):
        position, stakes = question_of(xgid)
        starts = [*decision_starts(position, stakes).values()]
        seed = int(arrays["seeds"][row])
        rollout = roll_out_with_cube(starts, chooser, rules, SMALLEST.limits(), seed)
        expected = rollout.values.tolist()
        if isinstance(stakes.score, MatchScore):
            expected = [normalised_equity(value, stakes, rules) for value in expected]
        assert arrays["values"][row] == pytest.approx(expected, abs=1e-7)
        assert arrays["standard_errors"][row] == pytest.approx(rollout.standard_errors / rollout.point, abs=1e-7)
        assert arrays["trials"][row] == 72


def test_columns_follow_from_the_values(small_root: Path) -> None:
    """Match winning chances convert back to the values in points; money games have none."""
    rows = bgdata.open_warehouse(small_root).rows(f"from cube_benchmark where variant = '{DATASET.slug(SMALLEST)}'")
    met = published_met()
    for row in rows:
        assert row["judge"].startswith("network/contact-160/")
        assert row["level"] == "rollout, 0-ply, 72 games"
        if row["score"] == "money":
            assert row["mwc_no_double"] is row["mwc_double_take"] is row["mwc_double_pass"] is None
            continue
        away, opponent_away = map(int, row["score"].split("-"))
        stakes = Stakes(MatchScore(away, opponent_away), Cube(row["cube_value"], CubeOwner(row["cube_owner"])))
        for name in ("no_double", "double_take", "double_pass"):
            back = normalised_equity(row[f"mwc_{name}"], stakes, CubeRules(met=met))
            assert back == pytest.approx(row[name], abs=1e-6)


def test_themes_have_equal_shares(small_root: Path) -> None:
    """A frequent theme gets no more than its share while other themes have close decisions."""
    context = small_context(bgdata.open_warehouse(small_root), decisions=24)
    player = open_roller(context)
    rules = CubeRules(met=first_met(context.inputs["met"].arrays()))
    candidates = close_candidates(context.inputs["money_games"], context.parameters, player, rules)
    assert (np.diff(candidates.hashes.astype(object)) > 0).all()
    available = Counter(candidates_of(context.inputs["money_games"], context.parameters).themes.tolist())
    chosen = Counter(candidates.themes.tolist())
    assert len(chosen) > 4, "several themes occur"
    assert len(chosen) / len(available) > 0.6
    assert max(chosen.values()) < len(candidates.games) / 2 < max(available.values())


def test_another_sample_seed_chooses_other_decisions(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    xgids_by_seed = [
        set(text_column(sample_arrays(small_context(warehouse, sample_seed=seed)), "xgids").to_pylist())
        for seed in (0, 1)
    ]
    assert xgids_by_seed[0] != xgids_by_seed[1]


def test_verify_says_that_all_decisions_were_recomputed(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    assert check_sample(DATASET, table, inputs, 10, np.random.default_rng(0)) == "all 4 decisions"


def test_best_actions_are_named() -> None:
    no_double, take, double_pass, too_good = [0.5, 0.4], [0.5, 0.6], [0.8, 1.2], [1.1, 1.2]
    assert best_actions(np.array([no_double, take, double_pass, too_good])).tolist() == [0, 1, 2, 3]
    equal_values = np.array([[0.4, 0.4], [1.0, 1.0]])
    assert best_actions(equal_values).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judge": "xg"}, "expected a judge among network, gnubg, bgsage, got 'xg'"),
        ({"judge": "gnubg"}, "expected a version of a program, and none of a network, got '' of gnubg"),
        ({"judge_version": "1"}, "expected a version of a program, and none of a network, got '1' of network"),
        ({"cube": "x"}, "expected cube models such as"),
        ({"length": 10}, "expected matches to 2 to 9 points, got 10"),
        ({"length": 1}, "expected matches to 2 to 9 points, got 1"),
        ({"decisions": 5}, "expected an even number of decisions, from 2 on, got 5"),
        ({"decisions": 0}, "expected an even number of decisions, from 2 on, got 0"),
        ({"window": 0.0}, "expected a window above 0, up to 2 points, got 0.0"),
        ({"window": float("nan")}, "expected a window above 0, up to 2 points, got nan"),
        ({"sample_seed": -1}, "expected a sample seed from 0 to"),
        ({"met": "mine"}, "expected own or published as met, got 'mine'"),
        ({"turns": 3}, "expected rollouts with the cube to end with the game, got stop=exact and turns=3"),
        ({"trials": 10}, "expected a multiple of 36 trials"),
        ({"money_games": 0}, "expected 1 to"),
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(replace(SMALLEST, **change))


def test_too_few_decisions_give_a_one_line_error(small_root: Path) -> None:
    context = small_context(bgdata.open_warehouse(small_root), window=1e-9)
    with pytest.raises(
        InvalidParameterError, match=r"expected 2 close cube decisions in cubeful_selfplay/.*found 0; try"
    ):
        sample_arrays(context)


def test_missing_judge_gives_a_one_line_error(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gnubg, "find_gnubg_tool", lambda _name: None)
    gnubg.gnubg_version.cache_clear()
    result = run(small_root, "build", "cube_benchmark", "--set", "judge=gnubg")
    assert result.exit_code != 0
    assert result.stderr == "error: expected GNU Backgammon on this machine, found none (Debian package gnubg)\n"
    gnubg.gnubg_version.cache_clear()


class FakeAnswer:
    """An answer of the stand-in for bgsage, with values that depend on the seed."""

    def __init__(self, seed: int) -> None:
        self.equity_nd, self.equity_dt = 0.5 + seed % 2 / 10, 0.75
        self.equity_nd_se, self.equity_dt_se = 0.03, 0.04


class FakeBgsage:
    """A stand-in for the module of bgsage, which records what its analyzer is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.settings: dict[str, Any] = {}
        self.seed = 0

    def BgBotAnalyzer(self, **settings: Any) -> FakeBgsage:  # noqa: N802
        self.settings = settings
        return self

    def set_seed(self, seed: int) -> None:
        self.seed = seed

    def cube_action(self, board: list[int], cube: int, owner: str, **rules: Any) -> FakeAnswer:
        self.asked.append((board, cube, owner, rules))
        return FakeAnswer(self.seed)


def test_bgsage_is_asked_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds with different seeds are averaged until both standard errors are small enough."""
    module = FakeBgsage()
    monkeypatch.setitem(sys.modules, "bgsage", module)
    rollout = roll_out_by_bgsage(QUESTIONS[2], GameLimits(0, 100, 0.02, 1000), 6)
    assert module.settings["eval_level"] == "rollout"
    assert (module.settings["truncation_depth"], module.settings["decision_ply"]) == (0, 1)
    rules = {"jacoby": False, "beaver": False, "away1": 5, "away2": 7}
    assert module.asked == [(list(MIDDLE.board), 2, "player", rules)] * 4
    assert rollout.games == 400
    assert rollout.values == (pytest.approx(0.55), pytest.approx(0.75), 1.0)
    assert rollout.standard_errors == (pytest.approx(0.015), pytest.approx(0.02))
    module.asked.clear()
    assert roll_out_by_bgsage(QUESTIONS[0], GameLimits(0, 100, 0.001, 300), 6).games == 300
    assert module.asked[0] == (list(BLITZ.board), 1, "centered", {"jacoby": False, "beaver": False})


def test_bgsage_rollouts_agree_with_ours() -> None:
    pytest.importorskip("bgsage")
    assert BgsagePlayer().version
    check_rollouts(roll_out_by_bgsage)


@needs_gnubg_tool("gnubg")
def test_gnubg_rollouts_with_the_same_large_seed_are_equal() -> None:
    """Seeds of decisions have up to 62 bits, of which gnubg takes 31."""
    first, second = (roll_out_by_gnubg(QUESTIONS[0], GameLimits(0, 36, 1.0, 36), (1 << 62) - 1) for _ in range(2))
    assert first == second


@needs_gnubg_tool("gnubg")
def test_gnubg_rollouts_agree_with_ours() -> None:
    check_rollouts(roll_out_by_gnubg)


def check_rollouts(roll_out: Any) -> None:
    """Check that a judge's values are those of our rollouts, within errors and a difference in skill."""
    judge = Judge(replace(SMALLEST, trials=288, met="own"), shipped_player(), published_met())
    for question in QUESTIONS:
        ours = judge.roll_out(question, 1)
        theirs = roll_out(question, GameLimits(0, 144, 1.0, 144), 1)
        assert theirs.games == 144
        for action in (0, 1):
            error = np.hypot(ours.standard_errors[action], theirs.standard_errors[action])
            assert 0 < theirs.standard_errors[action] < 0.15
            assert ours.values[action] == pytest.approx(theirs.values[action], abs=4 * error + 0.03)


@needs_gnubg_tool("gnubg")
def test_values_of_gnubg_are_near_ours() -> None:
    """gnubg's values before the roll are near ours, for money and at match scores, with the cube centered and owned."""
    player = LookaheadPlayer(shipped_player())
    rules = CubeRules(met=published_met())
    for ply in (0, 1):
        values = gnubg_values(QUESTIONS, ply)
        assert values[:, 2] == pytest.approx(1.0, abs=1e-5)
        assert values == pytest.approx(decided_values(player, QUESTIONS, rules), abs=0.15)
    assert gnubg_values([], 0).shape == (0, 3)


def test_values_at_0_ply_equal_the_cube_model() -> None:
    """At 0-ply the values of both actions are the cube model's; one ply further they are near them."""
    rules = CubeRules(met=published_met())
    player = LookaheadPlayer(shipped_player())
    by_model = decided_values(player, QUESTIONS, replace(rules, by_model=True))
    assert decided_values(player, QUESTIONS, rules) == pytest.approx(by_model, abs=1e-5)
    ahead = decided_values(LookaheadPlayer(shipped_player(), 1), QUESTIONS, rules)
    assert ahead == pytest.approx(by_model, abs=0.15)
    assert not np.allclose(ahead, by_model, atol=1e-3)
    assert Position(QUESTIONS[0].position.id) == BLITZ

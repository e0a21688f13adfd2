"""Tests of the kind `judged_decisions`: the values of each judge, the rounds, the scores by judge, and wrong input."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import BgdataError, CheckFailedError, CheckSkippedError, ExternalProgramError, UnknownPlayerError
from bgdata.evaluation import gnubg, play_rollouts
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.play_rollouts import RollOutPlays, Values, roll_out_plays_by_bgsage, roll_out_plays_by_gnubg
from bgdata.evaluation.player import open_named_player
from bgdata.game.codec import flip_boards
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.measures.kinds import judged_decisions_compute
from bgdata.measures.kinds.judged_decisions import DATASET
from bgdata.measures.kinds.judged_decisions_compute import roll_out_in_rounds
from bgdata.measures.kinds.rollout_decisions import DATASET as ROLLED_OUT
from bgdata.selfplay.rollout import Limits, roll_out
from bgdata.store.arrays import Array
from bgdata.store.parameters import VersionRef
from bgdata.warehouse import Warehouse
from tests.command_line import output_of, run
from tests.contract.kinds import Corrupted, smallest_version
from tests.evaluation.sample_networks import shipped_player
from tests.oracles import needs_gnubg_tool
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
SEED = 5


def test_plays_are_those_of_the_set_in_the_order_of_the_judge(small_root: Path) -> None:
    arrays = smallest_version(small_root, DATASET).arrays()
    original = smallest_version(small_root, ROLLED_OUT).arrays()
    for name in ("boards", "dice", "classes", "n_plays", "first_plays", "games", "turns", "n_legal_plays"):
        assert np.array_equal(arrays[f"decisions_{name}"], original[f"decisions_{name}"])
    assert (arrays["plays_trials"] == 72).all()
    for begin, count in zip(arrays["decisions_first_plays"], arrays["decisions_n_plays"], strict=True):
        rows = slice(begin, begin + count)
        boards = set(map(tuple, arrays["plays_boards"][rows].tolist()))
        assert boards == set(map(tuple, original["plays_boards"][rows].tolist()))
        equities = arrays["plays_equities"][rows]
        assert (np.diff(equities) <= 0).all()
        assert arrays["plays_losses"][rows] == pytest.approx(equities[0] - equities, abs=1e-7)
        errors = arrays["plays_standard_errors"][rows]
        loss_errors = [0.0, *np.hypot(errors[1:], errors[0])]
        assert arrays["plays_loss_standard_errors"][rows] == pytest.approx(loss_errors, abs=1e-7)


def test_network_has_dice_of_its_own(small_root: Path) -> None:
    """Each play is rolled out on its own, to the end of the game; its value is not that of the set."""
    warehouse, table = bgdata.open_warehouse(small_root), smallest_version(small_root, DATASET)
    player = open_named_player("network/tiny", 0, warehouse, tables=False)
    assert isinstance(player, NetworkPlayer)
    arrays = table.arrays()
    for play, decision in enumerate(arrays["plays_decisions"].tolist()):
        seed = int(arrays["decisions_seeds"][decision]) + 1
        board = arrays["plays_boards"][play][None]
        expected = roll_out(np.ascontiguousarray(board), player.chooser, Limits(72), seed)
        assert arrays["plays_equities"][play] == pytest.approx(-expected.equities[0], abs=1e-7)
        assert arrays["plays_standard_errors"][play] == pytest.approx(expected.equity_standard_errors[0], abs=1e-7)
    (judge,) = {row["network"] for row in warehouse.rows(f"from benchmark_decisions where dataset = '{DATASET.name}'")}
    assert judge == "network/tiny b49ded87"


def test_rounds_end_where_plays_are_known_or_far_behind() -> None:
    rounds: list[tuple[list[int], int]] = []
    values, errors = np.array([0.3, 0.28, 0.0, 0.29]), np.array([0.03, 0.03, 0.03, 0.001])

    def roll_out_round(plays: Array, number: int) -> tuple[Values, Values]:
        rounds.append((plays.tolist(), number))
        shift = 0.01 * (-1) ** number
        return values[plays] + shift, errors[plays]

    means, spread, games = roll_out_in_rounds(roll_out_round, 4, Limits(72, 0.005, 216), 3.0)
    assert rounds == [([0, 1, 2, 3], 0), ([0, 1], 1), ([0, 1], 2)]
    assert games.tolist() == [216, 216, 72, 72]
    assert means == pytest.approx([0.3 + 0.01 / 3, 0.28 + 0.01 / 3, 0.01, 0.3])
    assert spread == pytest.approx([0.03 / 3**0.5, 0.03 / 3**0.5, 0.03, 0.001])
    assert roll_out_in_rounds(roll_out_round, 3, Limits(72, 0.005, 720), 0.1)[2].tolist() == [72, 72, 72]


def test_verify_says_that_all_decisions_were_recomputed(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    assert check_sample(DATASET, table, inputs, 10, np.random.default_rng(0)) == "all 3 decisions"


def test_players_are_scored_by_each_judge(warehouse: Warehouse) -> None:
    sets = [smallest_version(warehouse.root, kind).name.rpartition("/")[0] for kind in (ROLLED_OUT, DATASET)]
    by_rollouts, by_judge = sets
    options = ["--on", by_rollouts, "--on", by_judge]
    lines = output_of(warehouse.root, "benchmark", "pubeval", *options, "--format", "csv").splitlines()
    assert lines[0].startswith("player,ply,benchmark,version,judge,decisions,error_rate,")
    roller = f"network/tiny/{warehouse.open('network', 'tiny').folder.name}"
    assert lines[1].split(",")[2:5:2] == [by_judge, "network/tiny b49ded87"]
    assert lines[2].split(",")[2:5:2] == [by_rollouts, roller]
    output = output_of(warehouse.root, "compare", "pubeval", "random", *options)
    assert f"{by_judge}, 3 decisions, judge network/tiny b49ded87\n" in output
    assert "difference" in output


def test_favours_of_judges_and_players_add_up_to_0(warehouse: Warehouse) -> None:
    by_rollouts, by_judge = (
        smallest_version(warehouse.root, kind).name.rpartition("/")[0] for kind in (ROLLED_OUT, DATASET)
    )
    output_of(warehouse.root, "compare", "pubeval", "random", "--on", by_rollouts, "--on", by_judge)
    rows = warehouse.rows(f"from benchmark_judges where decision_set = '{by_rollouts}'")
    rates = {(row["benchmark"], row["player"]): row["error_rate"] for row in rows}
    favours = {(row["benchmark"], row["player"]): row["favour"] for row in rows}
    difference_by_rollouts = rates[by_rollouts, "pubeval"] - rates[by_rollouts, "random"]
    difference_by_judge = rates[by_judge, "pubeval"] - rates[by_judge, "random"]
    favour = (difference_by_rollouts - difference_by_judge) / 4
    assert favours == pytest.approx(
        {
            (by_judge, "pubeval"): favour,
            (by_judge, "random"): -favour,
            (by_rollouts, "pubeval"): -favour,
            (by_rollouts, "random"): favour,
        }
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judge": "pubeval"}, "expected a judge among network, network/NAME, gnubg, bgsage, got pubeval"),
        ({"judge": "net work"}, "expected the name of a player, got 'net work'"),
        (
            {"decisions": VersionRef("openings", "x", "r1-0123abcd")},
            "expected a version of rollout_decisions, got open",
        ),
        ({"decisions": VersionRef("rollout_decisions", "x")}, "expected a version, such as rollout_decisions/x/r1-012"),
        ({"trials": 10}, "expected a multiple of 36 trials, at least 72, got 10"),
        ({"most_trials": 100}, "expected most trials to be a multiple of 72, got 100"),
        ({"until": 0.0}, "expected a standard error above 0, got 0.0"),
        ({"settled_at": 0.0}, "expected plays settled at more than 0 standard errors, got 0.0"),
        ({"ply": 2}, "expected plays chosen at 0-ply or 1-ply, got 2-ply"),
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BgdataError, match=message):
        DATASET.check_parameters(replace(SMALLEST, **change))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("judge=gnubg", "expected GNU Backgammon on this machine, found none (Debian package gnubg)"),
        ("decisions=rollout_decisions/none", "no rollout_decisions/none in "),
    ],
)
def test_build_without_its_judge_or_set_is_refused(
    small_root: Path, monkeypatch: pytest.MonkeyPatch, setting: str, message: str
) -> None:
    monkeypatch.setattr(gnubg, "find_gnubg_tool", lambda _name: None)
    gnubg.gnubg_version.cache_clear()
    result = run(small_root, "build", "judged_decisions", "--set", setting)
    gnubg.gnubg_version.cache_clear()
    assert result.exit_code != 0
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1


def test_decisions_are_compared_where_the_judge_is_missing(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise UnknownPlayerError("expected gnubg, found none")

    monkeypatch.setattr(judged_decisions_compute, "open_player_of_version", missing)
    table, inputs = (
        smallest_version(small_root, DATASET),
        inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST),
    )
    with pytest.raises(CheckSkippedError, match="the judge cannot be asked: expected gnubg, found none"):
        check_sample(DATASET, table, inputs, 1, np.random.default_rng(0))
    changed = Corrupted(table, "decisions_boards", np.asarray(table.array("decisions_boards")) + 1)
    with pytest.raises(CheckFailedError, match="decisions_boards"):
        check_sample(DATASET, changed, inputs, 1, np.random.default_rng(0))


class StandIn:
    """A module with the analyzer of bgsage, which records what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[int], int]] = []
        self.settings: dict[str, Any] = {}
        self.seed = 0
        self.cubeless_equity, self.cubeless_se = 0.25, 0.5

    def BgBotAnalyzer(self, **settings: Any) -> StandIn:  # noqa: N802
        self.settings = settings
        return self

    def set_seed(self, seed: int) -> None:
        self.seed = seed

    def post_move_analytics(self, board: list[int], *, jacoby: bool) -> StandIn:
        assert not jacoby
        self.asked.append((board, self.seed))
        return self


def decision(text: str = "start", roll: str = "31") -> tuple[Array, tuple[int, int], Array]:
    """A board, a roll, and the boards after its first three plays, of the player who moves."""
    position = Position(text)
    after = [play.after_play.board for play in legal_plays(position, roll_of(*map(int, roll)))[:3]]
    return np.array(position.board, np.int8), (int(roll[0]), int(roll[1])), np.array(after, np.int8)


def test_bgsage_gives_all_plays_the_same_dice(monkeypatch: pytest.MonkeyPatch) -> None:
    module = StandIn()
    monkeypatch.setitem(sys.modules, "bgsage", module)
    board, roll, after = decision()
    equities, errors = roll_out_plays_by_bgsage(board, roll, after, 1, 72, (1 << 31) + SEED)
    assert module.asked == [(each, SEED) for each in after.tolist()]
    assert (equities.tolist(), errors.tolist()) == ([0.25] * 3, [0.5] * 3)
    expected_settings = {
        "eval_level": "rollout",
        "n_trials": 72,
        "truncation_depth": 0,
        "decision_ply": 2,
        "cubeful": False,
    }
    assert expected_settings.items() <= module.settings.items()


def test_incomplete_answer_of_gnubg_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_rollouts, "answers_of_gnubg", lambda *_: [[[0.1, 0.01, 72]]])
    with pytest.raises(ExternalProgramError, match="expected 72 games of 3 plays of"):
        roll_out_plays_by_gnubg(*decision(), 0, 72, SEED)


def test_bgsage_rolls_out_like_us() -> None:
    pytest.importorskip("bgsage")
    check_rollouts(roll_out_plays_by_bgsage)


@needs_gnubg_tool("gnubg")
def test_gnubg_rolls_out_like_us() -> None:
    check_rollouts(roll_out_plays_by_gnubg)


def check_rollouts(roll_out_plays: RollOutPlays) -> None:
    """The values are those of our rollouts, within errors and a difference in skill: with hits, with a checker on
    either bar, for a double and in a race."""
    player = shipped_player()
    for text, roll in (
        ("XGID=-aBCBaD-A-A----------AcbhA:0:0:1:00:0:0:0:0:10", "64"),
        ("XGID=a---aBD-C---bD---dbeB-----:0:0:1:00:0:0:0:3:10", "22"),
        ("XGID=-BBCCBC------------cbbbcc-:0:0:1:00:0:0:0:3:10", "41"),
    ):
        board, dice, after = decision(text, roll)
        ours = roll_out(np.ascontiguousarray(flip_boards(after)), player.chooser, Limits(288), 1)
        equities, errors = roll_out_plays(board, dice, after, 0, 144, SEED)
        equities_of_reversed_plays, _ = roll_out_plays(board, dice, after[::-1], 0, 144, SEED)
        assert equities_of_reversed_plays[::-1] == pytest.approx(equities, abs=1e-9)
        assert (errors < 0.1).all()
        spread = np.hypot(errors, ours.equity_standard_errors)
        assert (np.abs(equities + ours.equities) <= 4 * spread + 0.03).all()

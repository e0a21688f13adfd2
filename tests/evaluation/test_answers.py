"""Sources of answers, incremental evaluation that is exact to the last bit, and cubeful values."""

from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.equity.cube import CubeRules, decide_cube
from bgdata.equity.curves import OWNER_CODES
from bgdata.equity.doubling import janowski
from bgdata.equity.match_cube import MatchGame
from bgdata.errors import InvalidPositionError
from bgdata.evaluation import answers
from bgdata.evaluation.bearoff import BearoffEvaluator, map_tables
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays, BearoffSource
from bgdata.evaluation.chances import AnswerSource, cubeless_equities
from bgdata.evaluation.cube_tables import MoneyBearoff
from bgdata.evaluation.networks.inputs import encode
from bgdata.game.board_kernels import game_outcomes, position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.dice import ROLLS
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.kernel import threads
from bgdata.store.table import Table
from tests.command_line import position_id
from tests.equity.samples import published_met
from tests.evaluation.sample_networks import PIPS_PER_UNIT, SHAPES, pips_networks, random_networks, shipped_networks
from tests.random_games import GamePositions, random_game_positions
from tests.reference.networks import answer, equity, limited, logistic, unpacked


@cache
def sample_games() -> GamePositions:
    return random_game_positions(40, seed=81)


@pytest.fixture(scope="module")
def bearoff_tables(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    """Tables of 3 points: two-sided, one-sided and gammon."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("bearoff"))
    return [
        warehouse.build("bearoff_two_sided", TwoSidedParameters(3, 3)),
        warehouse.build("bearoff_one_sided", RaceParameters(3)),
        warehouse.build("bearoff_gammon", RaceParameters(3)),
    ]


@pytest.fixture(scope="module")
def tables(bearoff_tables: list[Table]) -> BearoffArrays:
    """The same tables for kernels."""
    return map_tables(*bearoff_tables)


def home_boards(count: int, seed: int) -> Boards:
    """Boards with 1 to 15 checkers of each side on its first four points, inside small tables or just beyond."""
    generator = np.random.default_rng(seed)
    boards = np.zeros((count, 26), np.int8)
    for board in boards:
        for slots, sign in ((np.arange(1, 5), 1), (np.arange(24, 20, -1), -1)):
            points = generator.integers(2, 5)
            checkers = generator.choice([1, 2, 3, 9, 15])
            board[slots[:points]] = sign * generator.multinomial(checkers, np.full(points, 1 / points))
    return boards


def sample_decisions(step: int) -> tuple[Boards, np.ndarray]:
    """Every `step`-th position of sample games and more crashed ones, which are rare, and 60 bearoffs; with rolls."""
    games = sample_games()
    crashed = np.flatnonzero(position_classes(games.boards) == PositionClass.CRASHED)[:: step // 4]
    rows = np.union1d(np.arange(0, len(games.boards), step), crashed)
    rolls = np.random.default_rng(6).integers(1, 7, (60, 2)).astype(np.int8)
    boards = np.concatenate([games.boards[rows], home_boards(60, seed=5)])
    return boards, np.concatenate([games.rolls[rows], rolls])


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_incremental_evaluation_equals_a_fresh_one(number: int, tables: BearoffArrays) -> None:
    """To the last bit."""
    after_play = batch_plays(*sample_decisions(20))[1]
    networks = random_networks(number)
    expected = answers.evaluations(networks, tables, flip_boards(after_play))
    scratch = answers.new_scratch(networks)
    chances = np.empty(5, np.float32)
    counts = Counter[int]()
    for play, after in enumerate(after_play):
        source = answers.fill_play_chances(networks, tables, after, scratch, chances)
        assert source == expected.sources[play]
        assert chances.tobytes() == expected.chances[play].tobytes()
        counts[source] += 1
    assert len(after_play) > 4000
    assert counts.keys() == set(AnswerSource) - {AnswerSource.PROGRAM}
    assert min(counts.values()) >= 10


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_networks_equal_the_reference_within_the_rules(number: int) -> None:
    """Boards with hidden units near a half are skipped: see tests/evaluation/networks/test_inference.py."""
    networks = random_networks(number)
    boards = np.concatenate([sample_decisions(60)[0], random_game_positions(3, seed=9).boards])
    evaluations = answers.evaluations(networks, NO_TABLES, boards)
    assert len(set(evaluations.sources.tolist())) == len(answers.NETWORK_CLASSES)
    inputs = [encode(input_set, boards).tolist() for input_set in SHAPES[number][0]]
    compared = 0
    for row, position_class in enumerate(position_classes(boards)):
        which = {PositionClass.CRASHED: 1, PositionClass.CONTACT: 2}.get(PositionClass(position_class), 0)
        assert answers.network_of(position_class) == which
        assert evaluations.sources[row] == AnswerSource.RACE_NETWORK + which
        expected = answer(unpacked(networks, which), inputs[which][row])
        if expected.margin > 0.003:
            chances = limited(expected.chances, boards[row].tolist())
            assert evaluations.chances[row].tolist() == pytest.approx(chances, abs=1e-6)
            compared += 1
    assert compared > 0.6 * len(boards)


def test_finished_games_have_their_outcome() -> None:
    _, after_play = batch_plays(home_boards(300, seed=7), np.full((300, 2), 6, np.int8))
    finished = flip_boards(after_play)
    finished = finished[game_outcomes(finished) != 0]
    won_and_lost = np.concatenate([finished, flip_boards(finished)])
    evaluations = answers.evaluations(random_networks(0), NO_TABLES, won_and_lost)
    assert (evaluations.sources == AnswerSource.OVER).all()
    outcomes = game_outcomes(won_and_lost).tolist()
    assert cubeless_equities(evaluations.chances).tolist() == outcomes
    assert set(outcomes) >= {-2, -1, 1, 2}


def test_tables_answer_before_networks(bearoff_tables: list[Table], tables: BearoffArrays) -> None:
    boards = home_boards(500, seed=8)
    evaluations = answers.evaluations(random_networks(1), tables, boards)
    expected = BearoffEvaluator(*bearoff_tables).evaluate_many(boards)
    is_covered = expected.sources != BearoffSource.NONE
    assert np.array_equal(evaluations.sources[is_covered], expected.sources[is_covered])
    assert np.array_equal(evaluations.chances[is_covered], expected.chances[is_covered])
    assert (evaluations.sources[~is_covered] == AnswerSource.RACE_NETWORK).all()
    for source in (AnswerSource.EXACT, AnswerSource.COMBINED, AnswerSource.RACE_NETWORK):
        assert (evaluations.sources == source).sum() > 20


@pytest.mark.parametrize("number", [0, 2])
def test_choices_are_the_first_of_the_best(number: int, tables: BearoffArrays) -> None:
    """That is, the first play after which the opponent's equity is lowest."""
    networks = random_networks(number)
    offsets, after_play = batch_plays(*sample_decisions(30))
    evaluations = answers.evaluations(networks, tables, flip_boards(after_play))
    equities = cubeless_equities(evaluations.chances)
    without_cube = stakes_for(answers.CUBELESS, CubeOwner.CENTERED)
    scratch = answers.new_scratch(networks)
    for begin, end in pairwise(offsets):
        plays = after_play[begin:end]
        best, source = answers.choose_by_chances(networks, tables, plays, len(plays), scratch)
        assert best == equities[begin:end].argmin()
        assert source == evaluations.sources[begin + best]
        with_stakes = answers.choose_by_chances(networks, tables, plays, len(plays), scratch, without_cube)
        assert with_stakes == (best, source)
        assert np.array_equal(scratch.chances[0], evaluations.chances[begin + best])


@pytest.mark.parametrize("sign", [1, -1])
def test_opponent_is_on_roll_after_a_play(sign: int) -> None:
    """A network that values the lead of the player on roll, or with sign -1 its deficit, makes it largest."""
    networks = pips_networks(sign)
    offsets, after_play = batch_plays(*sample_decisions(30))
    scratch = answers.new_scratch(networks)
    for begin, end in pairwise(offsets):
        plays = after_play[begin:end]
        leads = np.array([pips(flip_boards(play[None])[0]) - pips(play) for play in plays])
        if (game_outcomes(plays) != 0).any() or abs(leads).max() > 80:
            continue  # won at once, or where the squashing function is flat
        best, _ = answers.choose_by_chances(networks, NO_TABLES, plays, len(plays), scratch)
        assert leads[best] == (leads.max() if sign > 0 else leads.min())
        hidden = logistic(-sign * int(leads[best]) / PIPS_PER_UNIT)
        assert scratch.chances[0, 0] == pytest.approx(logistic(4 * hidden - 2), abs=2e-4)
        assert equity(scratch.chances[0].tolist()) == pytest.approx(2 * scratch.chances[0, 0] - 1, abs=1e-3)


def pips(board: Boards) -> int:
    """Pips of the player on roll."""
    return sum(point * max(int(count), 0) for point, count in enumerate(board) if point)


def test_answers_do_not_depend_on_threads_or_rows(tables: BearoffArrays) -> None:
    boards = np.concatenate([sample_games().boards[:1000], home_boards(100, seed=3)])
    networks = random_networks(1)
    expected = answers.evaluations(networks, tables, boards)
    for count in (1, 2):
        with threads(count):
            evaluations = answers.evaluations(networks, tables, boards)
        assert evaluations.chances.tobytes() == expected.chances.tobytes()
        assert evaluations.sources.tobytes() == expected.sources.tobytes()
    assert np.array_equal(answers.evaluations(networks, tables, boards[5::7]).chances, expected.chances[5::7])
    assert answers.evaluations(networks, tables, boards[:0]).chances.shape == (0, 5)
    assert expected.chances.dtype == np.float32


def test_invalid_boards_are_refused() -> None:
    with pytest.raises(InvalidPositionError, match=r"expected boards as int8\[n, 26\]"):
        answers.evaluations(random_networks(0), NO_TABLES, np.zeros((2, 25), np.int8))


STRATEGY = janowski(0.6)
OWNERS = (CubeOwner.CENTERED, CubeOwner.ON_ROLL, CubeOwner.OPPONENT)
BOARD = np.array(Position("start").board, np.int8)
CHANCES = np.array([[0.7, 0.2, 0.01, 0.1, 0.0], [0.35, 0.1, 0.0, 0.2, 0.02], [0.9, 0.5, 0.02, 0.01, 0.0]], np.float32)


def stakes_for(
    unit: int, owner: CubeOwner, score: MatchScore | None = None, cube: int = 1, *, jacoby: bool = False
) -> answers.CubeStakes:
    """Stakes in the form of kernels."""
    game = MatchGame(score.away, score.opponent_away, score.is_crawford) if score else MatchGame(0, 0)
    return answers.CubeStakes(unit, STRATEGY, jacoby, published_met().cells, game, cube, OWNER_CODES[owner])


def board_value(stakes: answers.CubeStakes | None, chances: NDArray[np.float32]) -> float:
    return float(answers.value_of(stakes, NO_TABLES, BOARD, int(AnswerSource.CONTACT_NETWORK), chances))


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("chances", CHANCES, ids=str)
def test_values_equal_equities_of_best_decisions(chances: NDArray[np.float32], owner: CubeOwner) -> None:
    cube = Cube(1 if owner == CubeOwner.CENTERED else 2, owner)
    for is_jacoby in (False, True):
        decision = decide_cube(chances.tolist(), Stakes(Money(is_jacoby), cube), CubeRules(STRATEGY))
        stakes = stakes_for(answers.MONEY, owner, jacoby=is_jacoby)
        assert board_value(stakes, chances) == pytest.approx(decision.equity, abs=1e-6)
    crawford = MatchScore(1, 4, is_crawford=owner == CubeOwner.CENTERED)
    for score in (MatchScore(5, 3), MatchScore(2, 7), crawford, MatchScore(9, 9)):
        decision = decide_cube(chances.tolist(), Stakes(score, cube), CubeRules(STRATEGY, published_met()))
        stakes = stakes_for(answers.MATCH, owner, score, cube.value)
        assert board_value(stakes, chances) == pytest.approx(decision.equity, abs=1e-6)
    cubeless = float(cubeless_equities(chances[None])[0])
    assert board_value(None, chances) == cubeless
    assert board_value(stakes_for(answers.CUBELESS, owner), chances) == cubeless


@pytest.fixture(scope="module")
def six_checkers(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """The two-sided table of 6 points and 6 checkers."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("values") / "warehouse")
    return warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 6))


@pytest.mark.parametrize("owner", OWNERS)
def test_exact_tables_choose_plays_for_the_owner_of_the_cube(six_checkers: Table, owner: CubeOwner) -> None:
    """The best play is not always the cubeless one."""
    table, tables = MoneyBearoff(six_checkers), BearoffEvaluator(six_checkers).arrays
    stakes = Stakes(Money(is_jacoby=False), Cube(1 if owner == CubeOwner.CENTERED else 2, owner))
    scratch = answers.new_scratch(shipped_networks())
    generator = np.random.default_rng(5)
    other_cubeless_plays = 0
    for _ in range(100):
        sides = [np.bincount(generator.integers(0, 6, 6), minlength=6).tolist() for _ in range(2)]
        position = Position(position_id(*sides))
        for roll in ROLLS:
            plays = legal_plays(position, roll)
            after = np.array([play.after_play.board for play in plays], np.int8)
            equities = [exact_equity(table, play.next_position, stakes) for play in plays]
            arguments = shipped_networks(), tables, after, len(plays), scratch
            chosen, _ = answers.choose_by_chances(*arguments, stakes_for(answers.MONEY, owner))
            assert equities[chosen] == min(equities)
            cubeless_choice, _ = answers.choose_by_chances(*arguments)
            other_cubeless_plays += equities[cubeless_choice] > min(equities) + 1e-4
    assert other_cubeless_plays > 3


def exact_equity(table: MoneyBearoff, position: Position, stakes: Stakes) -> float:
    """The equity of the player on roll with the best cube actions; a finished game is lost."""
    if not any(position.rows[0]):
        return -1.0
    equities = table.cube_equities(position, stakes)
    assert equities is not None
    return max(equities.no_double, min(equities.double_take, equities.double_pass))

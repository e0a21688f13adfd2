"""Sources of answers, incremental evaluation that is exact to the last bit, and cubeful values."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

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

TABLES = (
    ("bearoff_two_sided", TwoSidedParameters(3, 3)),
    ("bearoff_one_sided", RaceParameters(3)),
    ("bearoff_gammon", RaceParameters(3)),
)


@cache
def sample_games() -> GamePositions:
    return random_game_positions(40, seed=81)


@pytest.fixture(scope="module")
def bearoff(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    """Small tables: two-sided, one-sided and gammon."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("bearoff"))
    return [warehouse.build(kind, parameters) for kind, parameters in TABLES]


@pytest.fixture(scope="module")
def tables(bearoff: list[Table]) -> BearoffArrays:
    """The small tables, for kernels."""
    return map_tables(*bearoff)


def home_boards(count: int, seed: int) -> Boards:
    """Boards with 1 to 15 checkers of each side on its first four points, inside small tables or just beyond."""
    generator = np.random.default_rng(seed)
    boards = np.zeros((count, 26), np.int8)
    for board in boards:
        for slots, sign in ((np.arange(1, 5), 1), (np.arange(24, 20, -1), -1)):
            reach = generator.integers(2, 5)
            checkers = generator.choice([1, 2, 3, 9, 15])
            board[slots[:reach]] = sign * generator.multinomial(checkers, np.full(reach, 1 / reach))
    return boards


def decisions(every: int) -> tuple[Boards, np.ndarray]:
    """Positions of all kinds, with rolls."""
    home = home_boards(60, seed=5)
    rolls = np.random.default_rng(6).integers(1, 7, (60, 2)).astype(np.int8)
    crashed = np.flatnonzero(position_classes(sample_games().boards) == PositionClass.CRASHED)[:: every // 4 or 1]
    rows = np.union1d(np.arange(0, len(sample_games().boards), every), crashed)
    return np.concatenate([sample_games().boards[rows], home]), np.concatenate([sample_games().rolls[rows], rolls])


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_incremental_evaluation_equals_a_fresh_one(number: int, tables: BearoffArrays) -> None:
    """Evaluations that are updated from earlier boards equal those with new scratch memory, to the last bit."""
    after_play = batch_plays(*decisions(20))[1]
    networks = random_networks(number)
    expected = answers.evaluations(networks, tables, flip_boards(after_play))
    scratch = answers.new_scratch(networks)
    chances = np.empty(5, np.float32)
    seen = Counter[int]()
    for play, after in enumerate(after_play):
        source = answers.fill_play_chances(networks, tables, after, scratch, chances)
        assert source == expected.sources[play]
        assert chances.tobytes() == expected.chances[play].tobytes()
        seen[source] += 1
    assert len(after_play) > 4000
    assert set(seen) == set(AnswerSource) - {AnswerSource.PROGRAM}
    assert min(seen.values()) >= 10


def test_plays_of_several_networks_in_turn(tables: BearoffArrays) -> None:
    """Each network keeps its own first layers while one decision has plays of different classes."""
    boards, rolls = decisions(10)
    offsets, after_play = batch_plays(boards, rolls)
    classes = position_classes(flip_boards(after_play))
    mixed = [row for row in range(len(boards)) if len(set(classes[offsets[row] : offsets[row + 1]].tolist())) > 1]
    assert len(mixed) > 20
    networks = random_networks(0)
    scratch = answers.new_scratch(networks)
    chances = np.empty(5, np.float32)
    other = np.empty(5, np.float32)
    for row in mixed:
        for play in range(offsets[row + 1] - 1, offsets[row] - 1, -1):  # backwards: any order works
            flipped = flip_boards(after_play[play : play + 1])[0]
            assert answers.fill_play_chances(
                networks, tables, after_play[play], scratch, chances
            ) == answers.fill_chances(networks, tables, flipped, answers.new_scratch(networks), other)
            assert np.array_equal(chances, other)


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_networks_equal_the_reference_within_the_rules(number: int) -> None:
    """An answer is that of the reference for the board's class, limited by the rules. Boards with hidden units near a
    half are skipped."""
    networks = random_networks(number)
    boards = np.concatenate([decisions(60)[0], random_game_positions(3, seed=9).boards])
    found = answers.evaluations(networks, NO_TABLES, boards)
    classes = position_classes(boards)
    compared = 0
    values = [encode(input_set, boards).tolist() for input_set in SHAPES[number][0]]
    for row, board in enumerate(boards.tolist()):
        which = {PositionClass.CRASHED: 1, PositionClass.CONTACT: 2}.get(PositionClass(classes[row]), 0)
        assert answers.network_of(classes[row]) == which
        assert found.sources[row] == AnswerSource.RACE_NETWORK + which
        expected = answer(unpacked(networks, which), values[which][row])
        if expected.margin > 0.003:
            assert found.chances[row].tolist() == pytest.approx(limited(expected.chances, board), abs=1e-6)
            compared += 1
    assert compared > 0.6 * len(boards)
    assert len(set(found.sources.tolist())) == len(answers.NETWORK_CLASSES)


def test_finished_games_have_their_outcome() -> None:
    _, after_play = batch_plays(home_boards(300, seed=7), np.full((300, 2), 6, np.int8))
    finished = flip_boards(after_play)
    finished = finished[game_outcomes(finished) != 0]
    both = np.concatenate([finished, flip_boards(finished)])
    found = answers.evaluations(random_networks(0), NO_TABLES, both)
    assert (found.sources == AnswerSource.OVER).all()
    assert cubeless_equities(found.chances).tolist() == game_outcomes(both).tolist()
    assert set(game_outcomes(both).tolist()) >= {-2, -1, 1, 2}


def test_tables_answer_before_networks(bearoff: list[Table], tables: BearoffArrays) -> None:
    boards = home_boards(500, seed=8)
    found = answers.evaluations(random_networks(1), tables, boards)
    expected = BearoffEvaluator(*bearoff).evaluate_many(boards)
    covered = expected.sources != BearoffSource.NONE
    assert np.array_equal(found.sources[covered], expected.sources[covered])
    assert np.array_equal(found.chances[covered], expected.chances[covered])
    assert (found.sources[~covered] == AnswerSource.RACE_NETWORK).all()
    assert {source: int((found.sources == source).sum()) > 20 for source in (1, 2, 3)} == {1: True, 2: True, 3: True}


@pytest.mark.parametrize("number", [0, 2])
def test_choices_are_the_first_of_the_best(number: int, tables: BearoffArrays) -> None:
    """A choice is the first play after which the opponent's equity is lowest, with its source and chances."""
    networks, (boards, rolls) = random_networks(number), decisions(30)
    offsets, after_play = batch_plays(boards, rolls)
    expected = answers.evaluations(networks, tables, flip_boards(after_play))
    equities = cubeless_equities(expected.chances)
    scratch = answers.new_scratch(networks)
    for row in range(len(boards)):
        rows = slice(offsets[row], offsets[row + 1])
        best, source = answers.choose_by_chances(networks, tables, after_play[rows], rows.stop - rows.start, scratch)
        assert best == equities[rows].argmin()
        cubeless = stakes_for(answers.CUBELESS, CubeOwner.CENTERED)
        args = networks, tables, after_play[rows], rows.stop - rows.start, scratch
        assert answers.choose_by_chances(*args, cubeless) == (best, source), "as in a game without a cube"
        assert source == expected.sources[rows][best]
        assert np.array_equal(scratch.chances[0], expected.chances[rows][best])


@pytest.mark.parametrize("sign", [1, -1])
def test_opponent_is_on_roll_after_a_play(sign: int) -> None:
    """Chances after a play are the opponent's: a network that values its own lead, or deficit, makes it largest."""
    networks, (boards, rolls) = pips_networks(sign), decisions(30)
    offsets, after_play = batch_plays(boards, rolls)
    scratch = answers.new_scratch(networks)
    for row in range(len(boards)):
        plays = after_play[offsets[row] : offsets[row + 1]]
        lead = np.array([pips(flip_boards(play[None])[0]) - pips(play) for play in plays])
        if (game_outcomes(plays) != 0).any() or abs(lead).max() > 80:
            continue  # won at once, or where the squashing function is flat
        best, _ = answers.choose_by_chances(networks, NO_TABLES, plays, len(plays), scratch)
        hidden = logistic(-sign * int(lead[best]) / PIPS_PER_UNIT)
        assert lead[best] == (lead.max() if sign > 0 else lead.min())
        assert scratch.chances[0, 0] == pytest.approx(logistic(4 * hidden - 2), abs=2e-4)
        assert equity(scratch.chances[0].tolist()) == pytest.approx(2 * scratch.chances[0, 0] - 1, abs=1e-3)


def pips(board: Boards) -> int:
    """Pips of the player on roll."""
    return sum(point * max(int(count), 0) for point, count in enumerate(board) if point)


def test_answers_do_not_depend_on_threads_or_rows(tables: BearoffArrays) -> None:
    """Evaluations are equal on any number of threads, and for any part of the boards."""
    boards = np.concatenate([sample_games().boards[:1000], home_boards(100, seed=3)])
    networks = random_networks(1)
    expected = answers.evaluations(networks, tables, boards)
    for count in (1, 2):
        with threads(count):
            found = answers.evaluations(networks, tables, boards)
            assert found.chances.tobytes() == expected.chances.tobytes()
            assert found.sources.tobytes() == expected.sources.tobytes()
    assert np.array_equal(answers.evaluations(networks, tables, boards[5::7]).chances, expected.chances[5::7])
    assert answers.evaluations(networks, tables, boards[:0]).chances.shape == (0, 5)
    assert expected.chances.dtype == np.float32


@pytest.mark.parametrize("wrong", [np.zeros((2, 25), np.int8), np.zeros(26, np.int8), np.zeros((2, 26), np.int16)])
def test_invalid_boards_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(InvalidPositionError, match=r"expected boards as int8\[n, 26\]"):
        answers.evaluations(random_networks(0), NO_TABLES, wrong)


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


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("chances", CHANCES.tolist())
def test_values_equal_equities_of_best_decisions(chances: list[float], owner: CubeOwner) -> None:
    """The value of a board is the equity of the best decision in money play and in a match."""
    row = np.array(chances, np.float32)
    money = CubeRules(STRATEGY)
    cube = 1 if owner == CubeOwner.CENTERED else 2

    def value(stakes: answers.CubeStakes | None) -> float:
        return float(answers.value_of(stakes, NO_TABLES, BOARD, int(AnswerSource.CONTACT_NETWORK), row))

    for jacoby in (False, True):
        decided = decide_cube(row.tolist(), Stakes(Money(jacoby), Cube(cube, owner)), money)
        assert value(stakes_for(answers.MONEY, owner, jacoby=jacoby)) == pytest.approx(decided.equity, abs=1e-6)
    for score in (MatchScore(5, 3), MatchScore(2, 7), MatchScore(1, 4, is_crawford=cube == 1), MatchScore(9, 9)):
        decided = decide_cube(row.tolist(), Stakes(score, Cube(cube, owner)), CubeRules(STRATEGY, published_met()))
        assert value(stakes_for(answers.MATCH, owner, score, cube)) == pytest.approx(decided.equity, abs=1e-6)
    cubeless = float(cubeless_equities(row[None])[0])
    assert value(None) == value(stakes_for(answers.CUBELESS, owner)) == cubeless


def test_owners_are_exchanged_with_the_sides() -> None:
    codes = [OWNER_CODES[owner] for owner in OWNERS]
    assert [answers.turned_owner(code) for code in codes] == [codes[0], codes[2], codes[1]]


@pytest.fixture(scope="module")
def six_checkers(tmp_path_factory: pytest.TempPathFactory) -> BearoffEvaluator:
    """The 6x6 table."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("values") / "warehouse")
    return BearoffEvaluator(warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 6)))


@pytest.mark.parametrize("owner", OWNERS)
def test_exact_tables_choose_plays(six_checkers: BearoffEvaluator, owner: CubeOwner) -> None:
    """If the two-sided table covers a position, its column for the cube owner chooses the play, which is not always the
    cubeless one."""
    assert six_checkers.two_sided is not None
    table = MoneyBearoff(six_checkers.two_sided)
    random = np.random.default_rng(5)
    theirs = Stakes(Money(is_jacoby=False), Cube(1 if owner == CubeOwner.CENTERED else 2, owner))
    differ = 0
    scratch = answers.new_scratch(shipped_networks())
    for _ in range(100):
        sides = [np.bincount(random.integers(0, 6, 6), minlength=6).tolist() for _ in range(2)]
        position = Position(position_id(*sides))
        for roll in ROLLS:
            plays = legal_plays(position, roll)
            after = np.array([play.after_play.board for play in plays], np.int8)
            args = shipped_networks(), six_checkers.arrays, after, len(plays), scratch
            chosen, _ = answers.choose_by_chances(*args, stakes_for(answers.MONEY, owner))
            values = [exact_value(table, play.next_position, theirs) for play in plays]
            assert values[chosen] == min(values)
            differ += values[answers.choose_by_chances(*args)[0]] > min(values) + 1e-4
    assert differ > 3


def exact_value(table: MoneyBearoff, position: Position, stakes: Stakes) -> float:
    """The value of a position to the player on roll with the best cube actions; a finished game is lost."""
    if not any(position.rows[0]):
        return -1.0
    found = table.cube_equities(position, stakes)
    assert found is not None
    return max(found.no_double, min(found.double_take, found.double_pass))

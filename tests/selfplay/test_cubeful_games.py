"""Games with the cube against a reference in plain Python, and rules that hold in any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

import numpy as np
import pytest

from bgdata.equity.cube import CubeRules
from bgdata.equity.curves import MAX_VOLATILITY
from bgdata.equity.doubling import Action, Strategy, janowski, janowski_first, jump
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import UsageError
from bgdata.evaluation.answers import evaluations
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import PubEval
from bgdata.evaluation.roll_values import OF_LUCK, local_volatility_by
from bgdata.game.dice import ROLLS, Roll, roll_of
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.kernel import threads
from bgdata.selfplay import series
from bgdata.selfplay.cubeful_games import MAX_CUBE, PASSED
from bgdata.selfplay.games import self_play
from bgdata.selfplay.series import (
    CubefulCorpus,
    CubefulResults,
    CubefulRules,
    CubeSide,
    cubeful_results,
    cubeful_self_play,
)
from tests.equity.samples import decide_money, published_met
from tests.evaluation.sample_networks import shipped_networks, shipped_player
from tests.reference.cubeful_games import (
    Board,
    Chances,
    Game,
    Model,
    Score,
    Value,
    cubeful,
    match_janowski,
    play_match,
)
from tests.reference.cubeful_games import janowski as slow_janowski
from tests.reference.pubeval import likely_boards
from tests.reference.self_play import Evaluator, flipped
from tests.subtests import each

SEED = 31
ACTIONS, OWNERS = ("play", "double", "take", "pass"), ("centered", "on_roll", "opponent")
MONEY, SIDES = CubefulRules(), (CubeSide(janowski(0.7)), CubeSide(janowski(0.4)))
Sides = tuple[CubeSide, CubeSide]


def network() -> Chooser:
    return shipped_player().chooser


def match_rules(length: int) -> CubefulRules:
    return CubefulRules(length, met=published_met())


def evaluate(boards: Sequence[Board]) -> tuple[list[list[float]], list[float]]:
    """Static chances of the network and the equities that follow; other tests compare these with a reference."""
    chances = evaluations(shipped_networks(), NO_TABLES, np.array(boards, np.int8)).chances
    return chances.tolist(), cubeless_equities(chances).tolist()


def slow_model(strategy: Strategy) -> Model:
    """The cube model of a strategy for the reference, by the decisions of `equity`."""

    def model(chances: Chances, _cube: int, owner: str, _score: Score) -> tuple[float, float, float]:
        found, _ = decide_money(strategy, np.array([chances]), owner=CubeOwner(owner))
        return float(found.no_double[0]), float(found.double_take[0]), float(found.double_pass[0])

    return model


def mwc(away: int, opponent_away: int, is_post_crawford: bool) -> float:
    return published_met().mwc(away, opponent_away, is_post_crawford=is_post_crawford)


def evaluate_ahead(boards: Sequence[Board]) -> tuple[list[list[float]], list[float]]:
    """The network's chances one roll ahead, and the equities that follow."""
    chances = LookaheadPlayer(shipped_player(), 1).evaluate_many(np.array(boards, np.int8)).chances
    return chances.tolist(), cubeless_equities(chances).tolist()


def check_games(found: CubefulCorpus, expected: list[Game], judge: Evaluator = evaluate) -> None:
    """Compare all games of a corpus with those of the reference."""
    assert len(found.results.games) == len(expected)
    for number, game in enumerate(expected):
        turns = slice(*found.first_turns[number : number + 2].tolist())
        record = (*game.scores, game.is_crawford, game.winner, game.points, game.cube, game.way, len(game.turns))
        assert tuple(found.results.games[number].tolist()) == record
        assert found.boards[turns].tolist() == [turn.board for turn in game.turns]
        assert found.after_play[turns].tolist() == [turn.after_play for turn in game.turns]
        assert found.records[turns].tolist() == [
            [turn.player, ACTIONS.index(turn.action), turn.on_roll, *turn.dice, turn.cube, OWNERS.index(turn.owner)]
            for turn in game.turns
        ]
        equities = judge([turn.board for turn in game.turns])[1]
        assert found.equities[turns].tolist() == equities


def cubeful_side(side: CubeSide) -> CubeSide:
    """The same side, except that it chooses plays by their value with the cube."""
    return replace(side, cubeful_plays=True)


def cases() -> dict[str, tuple[Sides, CubefulRules, tuple[Model, Model], tuple[Value | None, Value | None], range]]:
    """Cases by name: sides, rules, the reference's cube models, its values of positions with the cube, and match
    numbers."""
    slow, slow_jacoby = slow_janowski(0.7), slow_janowski(0.7, is_jacoby=True)
    side = CubeSide(janowski(0.7))
    other = CubeSide(janowski(0.4))
    jacoby = CubefulRules(is_jacoby=True)
    jumping, by_score = CubeSide(jump(0.09)), CubeSide(janowski(0.6))
    as_money = CubeSide(janowski(0.7), as_money=True)
    match = match_janowski(0.6, mwc)
    first = CubeSide(janowski_first(0.8))
    jacoby_models = slow_jacoby, slow_janowski(0.4, is_jacoby=True)
    by_values = cubeful(slow), cubeful(slow_model(jump(0.09)))
    in_matches = cubeful(match, match_janowski(0, mwc)), cubeful(slow)
    plain = (None, None)
    few = range(3, 8)
    return {
        "money": ((side, CubeSide(janowski(0))), MONEY, (slow, slow_janowski(0)), plain, few),
        "jacoby": (
            (side, CubeSide(janowski(1))), jacoby, (slow_jacoby, slow_janowski(1, is_jacoby=True)), plain, few,
        ),
        "jump": ((jumping, first), MONEY, (slow_model(jump(0.09)), slow_model(janowski_first(0.8))), plain, few),
        "cubeful plays": (
            (cubeful_side(side), cubeful_side(jumping)), MONEY, (slow, slow_model(jump(0.09))), by_values, range(6),
        ),
        "cubeful plays, jacoby": (
            (cubeful_side(side), other), jacoby, jacoby_models, (cubeful(slow_jacoby), None), range(6),
        ),
        # one side uses the score, the other plays as for money
        **{f"match to {n}": ((by_score, as_money), match_rules(n), (match, slow), plain, range(3)) for n in (3, 5)},
        **{
            f"cubeful plays, match to {n}": (
                (cubeful_side(by_score), cubeful_side(as_money)), match_rules(n), (match, slow), in_matches, range(5),
            )
            for n in (3, 5)
        },
    }  # fmt: skip


@each(("sides", "rules", "models", "values", "numbers"), cases)
def test_games_match_the_reference(
    sides: Sides,
    rules: CubefulRules,
    models: tuple[Model, Model],
    values: tuple[Value | None, Value | None],
    numbers: range,
) -> None:
    """Games with the cube equal those of a reference in plain Python, turn by turn."""
    found = cubeful_self_play(network(), sides, rules, len(numbers), SEED, numbers.start)
    expected = [
        play_match(evaluate, models, rules.length, SEED, number, is_jacoby=rules.is_jacoby, values=values)
        for number in numbers
    ]
    games = [game for match in expected for game in match]
    check_games(found, games)
    assert np.diff(found.results.offsets).tolist() == [len(match) for match in expected]
    assert rules.length or {"double", "take"} <= {turn.action for game in games for turn in game.turns}
    if values != (None, None):
        assert any(game.is_crawford for game in games) == bool(rules.length)
        cubeless = replace(sides[0], cubeful_plays=False), replace(sides[1], cubeful_plays=False)
        plain = cubeful_self_play(network(), cubeless, rules, len(numbers), SEED)
        assert not np.array_equal(plain.boards, found.boards)


def test_doubles_use_the_local_volatility() -> None:
    """Sides with local volatility double as the jump model does with the volatility of each position."""
    sides = CubeSide(jump(0.1), is_local=True), CubeSide(jump(0.1), is_local=True)
    found = cubeful_self_play(network(), sides, MONEY, 12, SEED)
    player = shipped_player()
    count = 0
    differ = 0
    for begin, end in pairwise(found.first_turns.tolist()):
        rows = np.arange(begin + 1, end)
        actions, owners = found.records[rows, 1], found.records[rows, 6]
        asked = rows[((actions == ACTIONS.index("play")) | (actions == ACTIONS.index("double"))) & (owners != 2)]
        for row in asked.tolist():
            if found.records[row - 1, 1] == ACTIONS.index("take"):
                continue  # the cube has just been turned
            chances = np.array(evaluate([found.boards[row].tolist()])[0])
            local = min(local_volatility_by(player, Position(found.boards[row].tolist())), MAX_VOLATILITY)
            owner = CubeOwner(OWNERS[found.records[row, 6]])
            (action,), (plain,) = (
                decide_money(jump(0.1, volatility), chances, owner=owner)[1] for volatility in (local, 0.1)
            )
            doubled = found.records[row, 1] == ACTIONS.index("double")
            differ += doubled != (action in (Action.DOUBLE_TAKE, Action.DOUBLE_PASS))
            count += action != plain
    assert differ <= 1  # games consider likely plays only
    assert count > differ


@pytest.mark.parametrize(
    ("sides", "rules", "models", "count"),
    [
        (
            (cubeful_side(CubeSide(janowski(0.7))), CubeSide(janowski(0.4))),
            CubefulRules(is_jacoby=True),
            (slow_janowski(0.7, is_jacoby=True), slow_janowski(0.4, is_jacoby=True)),
            4,
        ),
        (
            (cubeful_side(CubeSide(janowski(0.6))), cubeful_side(CubeSide(janowski(0.3), as_money=True))),
            CubefulRules(3),
            (match_janowski(0.6, mwc), slow_janowski(0.3)),
            2,
        ),
    ],
    ids=["money", "match"],
)
def test_games_at_1_ply_match_the_reference(
    sides: Sides, rules: CubefulRules, models: tuple[Model, Model], count: int
) -> None:
    """Games at 1-ply match a reference that looks ahead, breaks ties by the static evaluation, and decides about the
    cube by its chances."""
    rules = match_rules(rules.length) if rules.length else rules
    ahead = LookaheadPlayer(shipped_player(), 1)

    def choose(player: int, board: Board, roll: Roll, cube: int, whose: str, mine: Score) -> Board:
        side = sides[player]
        cubeful_rules = CubeRules(side.strategy, None if side.as_money else rules.met, as_money=side.as_money)
        seen = MatchScore(*mine) if mine.away else Money(rules.is_jacoby)
        by_value = side.cubeful_plays and not (mine.is_crawford and side.as_money)
        stakes = Stakes(seen, Cube(cube, CubeOwner(whose))) if by_value else None
        ranked = ahead.rank_plays(Position(board), roll, stakes, cubeful_rules)
        equal = [list(each.play.after_play.board) for each in takewhile(lambda each: each.loss == 0, ranked)]
        return equal[int(np.argmin(evaluate([flipped(after) for after in equal])[1]))]

    found = cubeful_self_play(network(), sides, rules, count, SEED, ply=1)
    matches = [
        play_match(evaluate_ahead, models, rules.length, SEED, number, is_jacoby=rules.is_jacoby, choose=choose)
        for number in range(count)
    ]
    check_games(found, [game for match in matches for game in match], evaluate_ahead)
    assert not np.array_equal(cubeful_self_play(network(), sides, rules, count, SEED).boards, found.boards)


def test_plays_before_a_pass_are_ranked_by_cubeless_equity() -> None:
    """Plays after which the opponent must pass have the same value with the cube, so cubeless equity decides: the
    opponent may err."""
    sides = (cubeful_side(CubeSide(janowski(0.7))),) * 2
    found = cubeful_self_play(network(), sides, MONEY, 40, SEED)
    ends = found.first_turns[1:] - 3  # the last play before a pass
    n_ties = 0
    for row in ends[found.results.column("way") == PASSED].tolist():
        player, _, _, *dice, _, owner = found.records[row].tolist()
        if owner == OWNERS.index("opponent"):
            continue
        assert found.records[row + 1, 0] == 1 - player
        plays = legal_plays(Position(found.boards[row].tolist()), roll_of(*dice))
        chances, equities = evaluate([flipped(list(play.after_play.board)) for play in plays])
        whose = "centered" if owner == OWNERS.index("centered") else "opponent"
        worth = [cubeful(slow_janowski(0.7))([], each, 1, whose, Score(0, 0, False)) for each in chances]
        if whose == "centered" and min(worth) == 1:
            n_ties += 1
            lowest = equities.index(min(equities))
            assert found.after_play[row].tolist() == list(plays[lowest].after_play.board)
    assert n_ties > 3


@pytest.fixture(scope="module")
def matches() -> CubefulCorpus:
    """Matches to 5 between a side that uses the score and one that does not."""
    sides = CubeSide(janowski(0.5)), CubeSide(janowski(0.3), as_money=True)
    return cubeful_self_play(network(), sides, match_rules(5), 120, SEED)


@pytest.fixture(scope="module")
def money() -> CubefulCorpus:
    """Money games under the Jacoby rule with much doubling."""
    return cubeful_self_play(
        network(), (CubeSide(janowski(0)), CubeSide(janowski(0.2))), CubefulRules(is_jacoby=True), 400, 5
    )


def test_cube_follows_the_rules(matches: CubefulCorpus, money: CubefulCorpus) -> None:
    """Only the owner doubles, each double gives the cube to the other side, and points count it."""
    for corpus, is_jacoby in ((matches, False), (money, True)):
        for number, record in enumerate(corpus.results.games.tolist()):
            _, _, _, winner, points, cube_value, way, n_turns = record
            turns = corpus.records[slice(*corpus.first_turns[number : number + 2].tolist())].tolist()
            assert len(turns) == n_turns
            cube = 1
            owner = None
            for row, (player, action, on_roll, die, _, value, code) in enumerate(turns):
                assert value == cube
                assert OWNERS[code] == ("centered" if owner is None else "on_roll" if owner == on_roll else "opponent")
                assert (die > 0) == (ACTIONS[action] == "play")
                if ACTIONS[action] == "double":
                    assert player == on_roll != (None if owner is None else 1 - owner)
                    assert row > 0
                    assert ACTIONS[turns[row + 1][1]] in ("take", "pass")
                elif ACTIONS[action] != "play":
                    assert player == 1 - on_roll
                    assert ACTIONS[turns[row - 1][1]] == "double"
                    cube, owner = (2 * cube, player) if ACTIONS[action] == "take" else (cube, owner)
            assert cube_value == cube
            assert cube <= MAX_CUBE
            assert (ACTIONS[turns[-1][1]] == "pass") == (way == PASSED)
            assert points == cube * max(way, 1)
            assert winner == turns[-1][2]
            assert not (is_jacoby and owner is None and way > 1)
    ways = matches.results.column("way")
    assert {*ways.tolist(), *money.results.column("way").tolist()} >= {0, 1, 2}
    assert (money.results.column("cube_value") == MAX_CUBE).any()


def test_dice_equal_those_of_cubeless_games() -> None:
    """Until somebody doubles, a game with the cube is the cubeless game of the same number."""
    cubeless = self_play(network(), 20, 5)
    found = cubeful_self_play(network(), SIDES, MONEY, 20, 5)
    for game in range(20):
        turns = slice(*found.first_turns[game : game + 2].tolist())
        plays = found.records[turns, 1] == 0
        n = int(plays.sum())
        start = int(cubeless.offsets[game])
        assert np.array_equal(found.boards[turns][plays], cubeless.boards[start : start + n])
        assert np.array_equal(found.records[turns][plays, 3:5], cubeless.dice[start : start + n])


def assert_same(one: CubefulCorpus, other: CubefulCorpus) -> None:
    pairs = zip((*one.results, *one[1:]), (*other.results, *other[1:]), strict=True)
    for found, expected in ((np.asarray(values), np.asarray(others)) for values, others in pairs):
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


def test_games_do_not_depend_on_threads_and_batches(matches: CubefulCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games are the same on one thread, in later batches, and with so little room that most are played twice."""
    sides = (CubeSide(janowski(0.5)), CubeSide(janowski(0.3), as_money=True))
    rules = match_rules(5)
    with threads(1):
        one = cubeful_self_play(network(), sides, rules, 20, SEED)
    assert_same(cubeful_self_play(network(), sides, rules, 20, SEED), one)
    local = CubeSide(jump(0.1), is_local=True, cubeful_plays=True), CubeSide(janowski(0.4))
    ahead = cubeful_self_play(network(), local, match_rules(2), 4, SEED, ply=1)
    with threads(1):
        assert_same(cubeful_self_play(network(), local, match_rules(2), 4, SEED, ply=1), ahead)
    end = int(matches.results.offsets[20])
    assert np.array_equal(matches.results.games[:end], one.results.games)
    monkeypatch.setattr(series, "TURNS", 20)  # most games are played twice then
    assert_same(cubeful_self_play(network(), sides, rules, 20, SEED), one)
    later = cubeful_self_play(network(), sides, rules, 5, SEED, 15)
    assert np.array_equal(later.results.games, one.results.games[one.results.offsets[15] :])
    assert np.array_equal(later.boards, one.boards[one.first_turns[one.results.offsets[15]] :])


def points_of_first(found: CubefulResults) -> np.ndarray:
    """int64[money games]: the points of the side named first."""
    is_first = found.column("winner") == np.arange(len(found.games)) % 2
    return np.where(is_first, found.column("points"), -found.column("points"))


def test_pairs_have_the_same_dice_with_sides_swapped() -> None:
    """A side against itself scores 0, and swapping the sides reverses every pair."""
    equal = points_of_first(cubeful_results(network(), (SIDES[0], SIDES[0]), MONEY, 40, 9))
    assert (equal.reshape(-1, 2).sum(1) == 0).all()
    one, other = (points_of_first(cubeful_results(network(), sides, MONEY, 40, 9)) for sides in (SIDES, SIDES[::-1]))
    assert (one.reshape(-1, 2).sum(1) == -other.reshape(-1, 2).sum(1)).all()
    assert (one.reshape(-1, 2).sum(1) != 0).any()
    alone = cubeful_results(network(), SIDES, MONEY, 40, 9, is_paired=False)
    assert np.array_equal(alone.games, cubeful_self_play(network(), SIDES, MONEY, 40, 9).results.games)
    assert np.array_equal(cubeful_results(network(), SIDES, MONEY, 40, 9).games[::2], alone.games[:20])


def slow_worth(chances: Chances, cube: int, owner: str, score: Score) -> float:
    """The value of a position with both sides at a cube life index of 0.7: points, or twice the match winning chance
    minus 1. In the Crawford game the cube is dead."""
    model = match_janowski(0 if score.is_crawford else 0.7, mwc) if score.away else slow_janowski(0.7)
    now, taken, passed = model(chances, cube, owner, score)
    if owner != "opponent" and not score.is_crawford and not 0 < score.away <= cube:
        now = max(now, min(taken, passed))
    return 2 * now - 1 if score.away else cube * now


def slow_luck(found: CubefulCorpus, match: int, length: int) -> float:
    """The luck of player 0 in a match by the reference: the value of each roll after its best likely play minus the
    mean over all rolls."""
    total = 0.0
    for number in range(*found.results.offsets[match : match + 2].tolist()):
        record = found.results.games[number].tolist()
        away = length - record[0], length - record[1]
        for row in range(*found.first_turns[number : number + 2].tolist()):
            player, action, _, *dice, cube, owner = found.records[row].tolist()
            if ACTIONS[action] != "play":
                continue
            seen = Score(*(away if player == 1 else away[::-1]), bool(record[2])) if length else Score(0, 0, False)
            whose = {"centered": "centered", "on_roll": "opponent", "opponent": "on_roll"}[OWNERS[owner]]
            values = {}
            for roll in ROLLS:
                position = Position(found.boards[row].tolist())
                after = [list(play.after_play.board) for play in legal_plays(position, roll)]
                likely = likely_boards(found.boards[row].tolist(), after, OF_LUCK)
                chances, equities = evaluate([flipped(board) for board in likely])
                best = chances[equities.index(min(equities))]
                values[roll] = -slow_worth(best, cube, whose, seen)
            is_opening = row == int(found.first_turns[number])
            ways = {roll: 0 if is_opening and roll.high == roll.low else roll.weight for roll in ROLLS}
            mean = sum(ways[roll] * values[roll] for roll in ROLLS) / sum(ways.values())
            luck = values[roll_of(*dice)] - mean
            total += luck if player == 0 else -luck
    return total


@pytest.mark.parametrize(("length", "ply"), [(0, 0), (2, 0), (0, 1)])
def test_luck_matches_the_reference(length: int, ply: int) -> None:
    """The measured luck, that of static plays at any ply, matches the reference. Measuring it changes no games."""
    rules = match_rules(length) if length else MONEY
    found = cubeful_results(network(), SIDES, rules, 1, SEED, is_paired=False, with_luck=True, ply=ply)
    corpus = cubeful_self_play(network(), SIDES, rules, 1, SEED, ply=ply)
    assert np.array_equal(found.games, corpus.results.games)
    assert (corpus.results.lucks == 0).all()
    assert found.lucks.tolist() == pytest.approx([slow_luck(corpus, 0, rules.length)], abs=1e-5)


def test_luck_averages_to_zero_and_explains_results() -> None:
    for rules in (MONEY, match_rules(3)):
        found = cubeful_results(network(), SIDES, rules, 100, 2, is_paired=False, with_luck=True)
        won = 1 - 2 * found.column("winner")[found.offsets[1:] - 1]
        results = won if rules.length else won * found.column("points")
        assert abs(found.lucks.mean()) < 4 * found.lucks.std() / 10
        assert (results - found.lucks).std() < results.std() / 2
        for limit in (1, 2):
            with threads(limit):
                again = cubeful_results(network(), SIDES, rules, 20, 2, is_paired=False, with_luck=True)
            assert again.lucks.tolist() == found.lucks[:20].tolist()


def test_no_games_give_empty_results() -> None:
    found = cubeful_self_play(network(), SIDES, MONEY, 0, 1)
    assert [len(np.asarray(values)) for values in found[1:]] == [1, 0, 0, 0, 0]
    assert len(found.results.games) == 0


def invalid_rules() -> list[tuple[Sides, CubefulRules, str]]:
    met = published_met()
    first = (CubeSide(janowski_first()), SIDES[0])
    crooked = MatchEquity.of("crooked", [[0.5, 0.7], [0.3, 0.5]], [0.5, 0.49], [0.5, 0.4])
    return [
        (SIDES, CubefulRules(-1), "expected a match length of 1 to 64 points, or 0 for money, got -1"),
        (SIDES, CubefulRules(65, met=met), "expected a match length of 1 to 64 points, or 0 for money, got 65"),
        (SIDES, CubefulRules(7, True, met), "expected the jacoby rule in money play only, got it in a match to 7"),
        (first, CubefulRules(is_jacoby=True), "expected a model that knows the jacoby rule, got janowski-first"),
        (first, CubefulRules(5, met=met), "expected a model that knows match scores, got janowski-first"),
        (SIDES, CubefulRules(5), "expected a match equity table for a match, got none"),
        (SIDES, CubefulRules(13, met=met), r"expected a match equity table to 13-away, got MatchEquity\(published, to"),
        (SIDES, CubefulRules(2, met=crooked), "expected a match equity table that favours nobody, got 0.6 at"),
    ]


@each(("sides", "rules", "message"), invalid_rules)
def test_invalid_rules_are_refused(sides: Sides, rules: CubefulRules, message: str) -> None:
    for play in (cubeful_self_play, cubeful_results):
        with pytest.raises(UsageError, match=f"^{message}"):
            play(network(), sides, rules, 2, 1)


def test_invalid_players_and_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match=r"^expected a player with networks to handle the cube, got one that only ch"):
        cubeful_results(PubEval().chooser, SIDES, MONEY, 2, 1)
    with pytest.raises(UsageError, match=r"^expected numbers from 0 to 2\^63 - 1, got count 2, seed -1, first 0$"):
        cubeful_self_play(network(), SIDES, MONEY, 2, -1)
    for ply in (-1, 4):
        for play in (cubeful_self_play, cubeful_results):
            with pytest.raises(UsageError, match=rf"^expected a ply from 0 to 3, got {ply}$"):
                play(network(), SIDES, MONEY, 2, 1, ply=ply)
    as_money = CubeSide(janowski(0.7), as_money=True), CubeSide(janowski(0.4), as_money=True)
    found = cubeful_results(network(), as_money, CubefulRules(3), 4, 1)  # needs a table only to measure luck
    assert found.offsets[-1] == len(found.games)
    with pytest.raises(UsageError, match=r"^expected a match equity table for a match, got none$"):
        cubeful_results(network(), as_money, CubefulRules(3), 2, 1, with_luck=True)

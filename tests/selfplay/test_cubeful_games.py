"""Games with the cube against a reference in plain Python, and rules that hold in any of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import NamedTuple

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
    TURNED,
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
ACTIONS = ("play", "double", "take", "pass")
OWNERS = ("centered", "on_roll", "opponent")
MONEY = CubefulRules()
JACOBY = CubefulRules(is_jacoby=True)
SIDES = (CubeSide(janowski(0.7)), CubeSide(janowski(0.4)))
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
        equities, _ = decide_money(strategy, np.array([chances]), owner=CubeOwner(owner))
        return float(equities.no_double[0]), float(equities.double_take[0]), float(equities.double_pass[0])

    return model


def mwc(away: int, opponent_away: int, is_post_crawford: bool) -> float:
    return published_met().mwc(away, opponent_away, is_post_crawford=is_post_crawford)


def evaluate_ahead(boards: Sequence[Board]) -> tuple[list[list[float]], list[float]]:
    """The network's chances one roll ahead, and the equities that follow."""
    chances = LookaheadPlayer(shipped_player(), 1).evaluate_many(np.array(boards, np.int8)).chances
    return chances.tolist(), cubeless_equities(chances).tolist()


def check_games(corpus: CubefulCorpus, games: list[Game], judge: Evaluator = evaluate) -> None:
    """Compare all games of a corpus, turn by turn, with those of the reference."""
    assert len(corpus.results.games) == len(games)
    for number, game in enumerate(games):
        turns = slice(*corpus.first_turns[number : number + 2].tolist())
        record = (*game.scores, game.is_crawford, game.winner, game.points, game.cube, game.way, len(game.turns))
        assert tuple(corpus.results.games[number].tolist()) == record
        assert corpus.boards[turns].tolist() == [turn.board for turn in game.turns]
        assert corpus.after_play[turns].tolist() == [turn.after_play for turn in game.turns]
        assert corpus.records[turns].tolist() == [
            [turn.player, ACTIONS.index(turn.action), turn.on_roll, *turn.dice, turn.cube, OWNERS.index(turn.owner)]
            for turn in game.turns
        ]
        assert corpus.equities[turns].tolist() == judge([turn.board for turn in game.turns])[1]


def cubeful_side(side: CubeSide) -> CubeSide:
    """The same side, except that it chooses plays by their value with the cube."""
    return replace(side, cubeful_plays=True)


class Case(NamedTuple):
    """Sides and rules, and the same cube models and values of plays for the reference."""

    sides: Sides
    rules: CubefulRules
    models: tuple[Model, Model]
    values: tuple[Value | None, Value | None] = (None, None)  # of positions with the cube; None: cubeless equities


def cases_of_cubeless_plays() -> dict[str, Case]:
    """Games in which both sides choose plays by cubeless equity."""
    half_live, dead, live = CubeSide(janowski(0.7)), CubeSide(janowski(0)), CubeSide(janowski(1))
    by_score, as_money = CubeSide(janowski(0.6)), CubeSide(janowski(0.7), as_money=True)
    match_models = match_janowski(0.6, mwc), slow_janowski(0.7)
    return {
        "money": Case((half_live, dead), MONEY, (slow_janowski(0.7), slow_janowski(0))),
        "jacoby": Case(
            (half_live, live), JACOBY, (slow_janowski(0.7, is_jacoby=True), slow_janowski(1, is_jacoby=True))
        ),
        "jump": Case(
            (CubeSide(jump(0.09)), CubeSide(janowski_first(0.8))),
            MONEY,
            (slow_model(jump(0.09)), slow_model(janowski_first(0.8))),
        ),
        "match": Case((by_score, as_money), match_rules(3), match_models),
    }


def cases_of_cubeful_plays() -> dict[str, Case]:
    """Games in which a side chooses plays by their value with the cube."""
    half_live, jumping = cubeful_side(CubeSide(janowski(0.7))), cubeful_side(CubeSide(jump(0.09)))
    by_score, as_money = cubeful_side(CubeSide(janowski(0.6))), cubeful_side(CubeSide(janowski(0.7), as_money=True))
    money_models = slow_janowski(0.7), slow_model(jump(0.09))
    jacoby_models = slow_janowski(0.7, is_jacoby=True), slow_janowski(0.4, is_jacoby=True)
    match_models = match_janowski(0.6, mwc), slow_janowski(0.7)
    match_values = cubeful(match_models[0], match_janowski(0, mwc)), cubeful(match_models[1])
    return {
        "money": Case((half_live, jumping), MONEY, money_models, (cubeful(money_models[0]), cubeful(money_models[1]))),
        "jacoby": Case((half_live, CubeSide(janowski(0.4))), JACOBY, jacoby_models, (cubeful(jacoby_models[0]), None)),
        "match": Case((by_score, as_money), match_rules(5), match_models, match_values),
    }


def check_matches(case: Case, first: int, count: int) -> tuple[CubefulCorpus, list[Game]]:
    """Compare matches with those of the reference, and return them."""
    corpus = cubeful_self_play(network(), case.sides, case.rules, count, SEED, first)
    length, is_jacoby = case.rules.length, case.rules.is_jacoby
    matches = [
        play_match(evaluate, case.models, length, SEED, match, is_jacoby=is_jacoby, values=case.values)
        for match in range(first, first + count)
    ]
    games = list(chain.from_iterable(matches))
    check_games(corpus, games)
    assert np.diff(corpus.results.offsets).tolist() == [len(match) for match in matches]
    return corpus, games


@each(("name", "case"), lambda: cases_of_cubeless_plays().items())
def test_games_match_the_reference(name: str, case: Case) -> None:
    is_match = name == "match"
    _, games = check_matches(case, first=0 if is_match else 3, count=3 if is_match else 5)
    if not is_match:
        assert {"double", "take"} <= {turn.action for game in games for turn in game.turns}


@each(("name", "case"), lambda: cases_of_cubeful_plays().items())
def test_games_with_cubeful_plays_match_the_reference(name: str, case: Case) -> None:
    is_match = name == "match"
    count = 5 if is_match else 6
    corpus, games = check_matches(case, 0, count)
    assert any(game.is_crawford for game in games) == is_match
    if not is_match:
        assert {"double", "take"} <= {turn.action for game in games for turn in game.turns}
    cubeless_sides = replace(case.sides[0], cubeful_plays=False), replace(case.sides[1], cubeful_plays=False)
    cubeless = cubeful_self_play(network(), cubeless_sides, case.rules, count, SEED)
    assert not np.array_equal(cubeless.boards, corpus.boards)


def test_doubles_use_the_local_volatility() -> None:
    """Sides with local volatility double as the jump model does with the volatility of each position."""
    sides = CubeSide(jump(0.1), is_local=True), CubeSide(jump(0.1), is_local=True)
    corpus = cubeful_self_play(network(), sides, MONEY, 12, SEED)
    n_other_doubles = 0
    n_other_actions = 0  # by the volatility of the position than by the constant one
    for row in may_double_rows(corpus):
        board = corpus.boards[row].tolist()
        chances = np.array(evaluate([board])[0])
        owner = CubeOwner(OWNERS[corpus.records[row, 6]])
        volatility = min(local_volatility_by(shipped_player(), Position(board)), MAX_VOLATILITY)
        _, (action,) = decide_money(jump(0.1, volatility), chances, owner=owner)
        _, (constant_action,) = decide_money(jump(0.1, 0.1), chances, owner=owner)
        has_doubled = corpus.records[row, 1] == ACTIONS.index("double")
        n_other_doubles += has_doubled != (action in (Action.DOUBLE_TAKE, Action.DOUBLE_PASS))
        n_other_actions += action != constant_action
    assert n_other_doubles <= 1  # games consider likely plays only
    assert n_other_actions > n_other_doubles


def may_double_rows(corpus: CubefulCorpus) -> Iterator[int]:
    """The turns in which the player on roll decides whether to double: not the first of a game."""
    for begin, end in pairwise(corpus.first_turns.tolist()):
        for row in range(begin + 1, end):
            action, owner = ACTIONS[corpus.records[row, 1]], OWNERS[corpus.records[row, 6]]
            was_just_taken = ACTIONS[corpus.records[row - 1, 1]] == "take"
            if action in ("play", "double") and owner != "opponent" and not was_just_taken:
                yield row


def cases_at_1_ply() -> dict[str, Case]:
    by_score = cubeful_side(CubeSide(janowski(0.6)))
    as_money = cubeful_side(CubeSide(janowski(0.3), as_money=True))
    return {
        "money": Case(
            (cubeful_side(CubeSide(janowski(0.7))), CubeSide(janowski(0.4))),
            JACOBY,
            (slow_janowski(0.7, is_jacoby=True), slow_janowski(0.4, is_jacoby=True)),
        ),
        "match": Case((by_score, as_money), match_rules(3), (match_janowski(0.6, mwc), slow_janowski(0.3))),
    }


@each("case", cases_at_1_ply)
def test_games_at_1_ply_match_the_reference(case: Case) -> None:
    """Games at 1-ply match a reference that looks ahead, breaks ties by the static evaluation, and decides about the
    cube by its chances."""
    rules = case.rules
    count = 2 if rules.length else 4
    lookahead_player = LookaheadPlayer(shipped_player(), 1)

    def choose(player: int, board: Board, roll: Roll, cube: int, owner: str, score: Score) -> Board:
        side = case.sides[player]
        cube_rules = CubeRules(side.strategy, None if side.as_money else rules.met, as_money=side.as_money)
        stakes = None
        if side.cubeful_plays and not (score.is_crawford and side.as_money):
            known_score = MatchScore(*score) if score.away else Money(rules.is_jacoby)
            stakes = Stakes(known_score, Cube(cube, CubeOwner(owner)))
        plays = lookahead_player.rank_plays(Position(board), roll, stakes, cube_rules)
        best_boards = [list(ranked.play.after_play.board) for ranked in plays if ranked.loss == 0]
        static_equities = evaluate([flipped(after_play) for after_play in best_boards])[1]
        return best_boards[int(np.argmin(static_equities))]

    corpus = cubeful_self_play(network(), case.sides, rules, count, SEED, ply=1)
    matches = [
        play_match(evaluate_ahead, case.models, rules.length, SEED, match, is_jacoby=rules.is_jacoby, choose=choose)
        for match in range(count)
    ]
    check_games(corpus, list(chain.from_iterable(matches)), evaluate_ahead)
    at_0_ply = cubeful_self_play(network(), case.sides, rules, count, SEED)
    assert not np.array_equal(at_0_ply.boards, corpus.boards)


def test_plays_before_a_pass_are_ranked_by_cubeless_equity() -> None:
    """Plays after which the opponent must pass have the same value with the cube, so cubeless equity decides: the
    opponent may err."""
    side = cubeful_side(CubeSide(janowski(0.7)))
    corpus = cubeful_self_play(network(), (side, side), MONEY, 40, SEED)
    value_with_cube = cubeful(slow_janowski(0.7))
    last_plays = corpus.first_turns[1:] - 3  # before a double and a pass
    n_ties = 0
    for row in last_plays[corpus.results.column("way") == PASSED].tolist():
        player, _, _, *dice, _, owner = corpus.records[row].tolist()
        if OWNERS[owner] != "centered":
            continue
        assert corpus.records[row + 1, 0] == 1 - player
        after_plays = [
            list(play.after_play.board) for play in legal_plays(Position(corpus.boards[row].tolist()), roll_of(*dice))
        ]
        chances, equities = evaluate([flipped(board) for board in after_plays])
        opponents_values = [value_with_cube([], row, 1, "centered", Score(0, 0, False)) for row in chances]
        if min(opponents_values) == 1:  # every play lets the opponent double, and a pass follows
            n_ties += 1
            assert corpus.after_play[row].tolist() == after_plays[equities.index(min(equities))]
    assert n_ties > 3


MATCH_SIDES = CubeSide(janowski(0.5)), CubeSide(janowski(0.3), as_money=True)


@pytest.fixture(scope="module")
def matches() -> CubefulCorpus:
    """Matches to 5 between a side that uses the score and one that does not."""
    return cubeful_self_play(network(), MATCH_SIDES, match_rules(5), 120, SEED)


@pytest.fixture(scope="module")
def jacoby_games() -> CubefulCorpus:
    """Money games under the Jacoby rule with much doubling."""
    return cubeful_self_play(network(), (CubeSide(janowski(0)), CubeSide(janowski(0.2))), JACOBY, 400, 5)


@pytest.mark.parametrize("name", ["matches", "jacoby_games"])
def test_cube_follows_the_rules(name: str, request: pytest.FixtureRequest) -> None:
    """Only the owner doubles, each double gives the cube to the other side, and points count it."""
    corpus: CubefulCorpus = request.getfixturevalue(name)
    for number, record in enumerate(corpus.results.games.tolist()):
        _, _, _, winner, points, cube_value, way, n_turns = record
        turns = corpus.records[slice(*corpus.first_turns[number : number + 2].tolist())].tolist()
        assert len(turns) == n_turns
        actions = [ACTIONS[turn[1]] for turn in turns]
        cube = 1
        owner = None
        for row, (player, _, on_roll, die, _, cube_before, owner_before) in enumerate(turns):
            expected_owner = "centered" if owner is None else "on_roll" if owner == on_roll else "opponent"
            assert cube_before == cube
            assert OWNERS[owner_before] == expected_owner
            assert (die > 0) == (actions[row] == "play")
            if actions[row] == "double":
                assert row > 0
                assert player == on_roll
                assert expected_owner != "opponent"
                assert actions[row + 1] in ("take", "pass")
            elif actions[row] in ("take", "pass"):
                assert player == 1 - on_roll
                assert actions[row - 1] == "double"
            if actions[row] == "take":
                cube *= 2
                owner = player
        assert cube_value == cube
        assert cube <= MAX_CUBE
        assert (actions[-1] == "pass") == (way == PASSED)
        assert points == cube * max(way, 1)
        assert winner == turns[-1][2]
        if name == "jacoby_games" and owner is None:
            assert way <= 1  # gammons do not count
    assert set(corpus.results.column("way").tolist()) >= {PASSED, 1, 2}
    if name == "jacoby_games":
        assert (corpus.results.column("cube_value") == MAX_CUBE).any()


def assert_same(corpus: CubefulCorpus, expected: CubefulCorpus) -> None:
    arrays = (*corpus.results, *corpus[1:])
    expected_arrays = (*expected.results, *expected[1:])
    for values, expected_values in zip(arrays, expected_arrays, strict=True):
        assert np.asarray(values).dtype == np.asarray(expected_values).dtype
        assert np.asarray(values).tobytes() == np.asarray(expected_values).tobytes()


@pytest.mark.parametrize("ply", [0, 1])
def test_games_do_not_depend_on_threads(ply: int) -> None:
    sides = CubeSide(jump(0.1), is_local=True, cubeful_plays=True), CubeSide(janowski(0.4))
    played = cubeful_self_play(network(), sides, match_rules(2), 4, SEED, ply=ply)
    with threads(1):
        assert_same(cubeful_self_play(network(), sides, match_rules(2), 4, SEED, ply=ply), played)


def test_games_do_not_depend_on_batches(matches: CubefulCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games are the same in fewer or later matches, and with so little room that most are played twice."""
    rules = match_rules(5)
    with threads(1):
        first_20 = cubeful_self_play(network(), MATCH_SIDES, rules, 20, SEED)
    assert np.array_equal(matches.results.games[: matches.results.offsets[20]], first_20.results.games)
    monkeypatch.setattr(series, "TURNS", 20)
    assert_same(cubeful_self_play(network(), MATCH_SIDES, rules, 20, SEED), first_20)
    from_15 = cubeful_self_play(network(), MATCH_SIDES, rules, 5, SEED, 15)
    first_game = first_20.results.offsets[15]
    assert np.array_equal(from_15.results.games, first_20.results.games[first_game:])
    assert np.array_equal(from_15.boards, first_20.boards[first_20.first_turns[first_game] :])


def points_of_first(results: CubefulResults) -> np.ndarray:
    """int64[money games]: the points of the side named first."""
    is_first = results.column("winner") == np.arange(len(results.games)) % 2
    return np.where(is_first, results.column("points"), -results.column("points"))


def points_of_pairs(sides: Sides) -> np.ndarray:
    """int64[20]: the points of the side named first in pairs of money games."""
    return points_of_first(cubeful_results(network(), sides, MONEY, 40, 9)).reshape(-1, 2).sum(axis=1)


def test_pairs_have_the_same_dice_with_sides_swapped() -> None:
    """A side against itself scores 0, and swapping the sides reverses every pair."""
    assert not points_of_pairs((SIDES[0], SIDES[0])).any()
    points = points_of_pairs(SIDES)
    assert points.any()
    assert np.array_equal(points_of_pairs(SIDES[::-1]), -points)


def test_unpaired_games_are_those_of_the_corpus() -> None:
    unpaired = cubeful_results(network(), SIDES, MONEY, 40, 9, is_paired=False)
    assert np.array_equal(unpaired.games, cubeful_self_play(network(), SIDES, MONEY, 40, 9).results.games)
    paired = cubeful_results(network(), SIDES, MONEY, 40, 9)
    assert np.array_equal(paired.games[::2], unpaired.games[:20])


def slow_worth(chances: Chances, cube: int, owner: str, score: Score) -> float:
    """The value of a position with both sides at a cube life index of 0.7: points, or twice the match winning chance
    minus 1. In the Crawford game the cube is dead."""
    model = match_janowski(0 if score.is_crawford else 0.7, mwc) if score.away else slow_janowski(0.7)
    now, taken, passed = model(chances, cube, owner, score)
    if owner != "opponent" and not score.is_crawford and not 0 < score.away <= cube:
        now = max(now, min(taken, passed))
    return 2 * now - 1 if score.away else cube * now


def slow_luck(corpus: CubefulCorpus, match: int, length: int) -> float:
    """The luck of player 0 in a match by the reference: the value of each roll after its best likely play minus the
    mean over all rolls."""
    total = 0.0
    for number in range(*corpus.results.offsets[match : match + 2].tolist()):
        score_0, score_1, is_crawford, *_ = corpus.results.games[number].tolist()
        first_turn, end = corpus.first_turns[number : number + 2].tolist()
        for row in range(first_turn, end):
            player, action, _, *dice, cube, owner = corpus.records[row].tolist()
            if ACTIONS[action] != "play":
                continue
            away, opponent_away = (length - score_0, length - score_1)[:: 1 if player == 1 else -1]
            opponents_score = Score(away, opponent_away, bool(is_crawford)) if length else Score(0, 0, False)
            opponents_owner = TURNED[OWNERS[owner]]
            board = corpus.boards[row].tolist()
            values = {}
            for roll in ROLLS:
                after_plays = [list(play.after_play.board) for play in legal_plays(Position(board), roll)]
                chances, equities = evaluate([flipped(after) for after in likely_boards(board, after_plays, OF_LUCK)])
                best = chances[equities.index(min(equities))]
                values[roll] = -slow_worth(best, cube, opponents_owner, opponents_score)
            weights = {
                roll: 0 if row == first_turn and roll.high == roll.low else roll.weight for roll in ROLLS
            }  # the first roll is no double
            mean = sum(weights[roll] * values[roll] for roll in ROLLS) / sum(weights.values())
            luck = values[roll_of(*dice)] - mean
            total += luck if player == 0 else -luck
    return total


@pytest.mark.parametrize(("length", "ply"), [(0, 0), (2, 0), (0, 1)])
def test_luck_matches_the_reference(length: int, ply: int) -> None:
    """The measured luck, that of static plays at any ply, matches the reference. Measuring it changes no games."""
    rules = match_rules(length) if length else MONEY
    results = cubeful_results(network(), SIDES, rules, 1, SEED, is_paired=False, with_luck=True, ply=ply)
    corpus = cubeful_self_play(network(), SIDES, rules, 1, SEED, ply=ply)
    assert np.array_equal(results.games, corpus.results.games)
    assert (corpus.results.lucks == 0).all()
    assert results.lucks.tolist() == pytest.approx([slow_luck(corpus, 0, rules.length)], abs=1e-5)


@each("length", [0, 3])
def test_luck_averages_to_zero_and_explains_results(length: int) -> None:
    rules = match_rules(length) if length else MONEY
    results = cubeful_results(network(), SIDES, rules, 100, 2, is_paired=False, with_luck=True)
    last_games = results.offsets[1:] - 1
    won = 1 - 2 * results.column("winner")[last_games]
    scores = won if length else won * results.column("points")
    assert abs(results.lucks.mean()) < 4 * results.lucks.std() / np.sqrt(100)
    assert (scores - results.lucks).std() < scores.std() / 2
    with threads(1):
        on_one_thread = cubeful_results(network(), SIDES, rules, 20, 2, is_paired=False, with_luck=True)
    assert on_one_thread.lucks.tolist() == results.lucks[:20].tolist()


def test_no_games_give_empty_results() -> None:
    corpus = cubeful_self_play(network(), SIDES, MONEY, 0, 1)
    assert corpus.first_turns.tolist() == [0]
    assert len(corpus.boards) == 0
    assert len(corpus.results.games) == 0


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


@pytest.mark.parametrize("ply", [-1, 4])
def test_invalid_plies_are_refused(ply: int) -> None:
    for play in (cubeful_self_play, cubeful_results):
        with pytest.raises(UsageError, match=rf"^expected a ply from 0 to 3, got {ply}$"):
            play(network(), SIDES, MONEY, 2, 1, ply=ply)


def test_sides_that_play_as_for_money_need_a_table_only_to_measure_luck() -> None:
    sides = CubeSide(janowski(0.7), as_money=True), CubeSide(janowski(0.4), as_money=True)
    results = cubeful_results(network(), sides, CubefulRules(3), 4, 1)
    assert results.offsets[-1] == len(results.games)
    with pytest.raises(UsageError, match=r"^expected a match equity table for a match, got none$"):
        cubeful_results(network(), sides, CubefulRules(3), 2, 1, with_luck=True)

"""Games with the cube, money games and whole matches: a network plays both sides, each with a cube model of its own.

A side chooses its plays in one of two ways: by cubeless money equity, whatever the cube and the score, or by the value
of the position with the cube according to its own model. In money play the second value is exact where the two-sided
table covers the position. Both sides look the same number of rolls ahead.

At 0-ply the search for the best play also finds the chances before the opponent's roll. The opponent decides about the
cube by these chances, so the cube costs almost no time. At higher plies they are found at that ply. There are no
beavers, and the cube goes up to MAX_CUBE. Nobody can double before the first roll of a game, which decides who begins.

For luck-adjusted results, the luck of every roll is measured: the value of the position after the best play, with the
cube and the score, minus the mean of that value over all rolls, by static evaluation at every ply. Luck is zero on
average with any evaluation (see `luck`); an accurate one removes most of the noise.

Match m of a seed has a stream of dice of its own. The dice of turn t of its game g are at GAME_TURNS * g + t, so they
do not depend on earlier games. A money game is a match of one game.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.curves import CENTERED, MAX_VOLATILITY, ON_ROLL, OPPONENT
from bgdata.equity.doubling import CONSTANT_STRATEGY, Action, CubeEquities, Strategy, best_action, best_equity
from bgdata.equity.match_cube import Cells, MatchGame
from bgdata.evaluation.answers import CUBELESS, MATCH, MONEY, CubeStakes, choose_by_chances, model_equities
from bgdata.evaluation.chances import Chances, equity_of, fill_turned
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.cube_lookahead import CubeTree, fill_play_ahead, new_cube_tree
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.roll_values import (
    OF_LUCK,
    LikelyPlays,
    RollScratch,
    Sight,
    TreeScratch,
    VolatilityScratch,
    fill_chances_at,
    fill_roll_values,
    likely_plays,
    local_volatility,
    new_tree_scratch,
    new_volatility_scratch,
    roll_place,
)
from bgdata.game.board import CHECKERS, START_BOARD
from bgdata.game.board_kernels import outcome_of
from bgdata.game.codec import Boards, flip_into
from bgdata.game.play_kernels import fill_plays
from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
from bgdata.game.rolls import WAYS
from bgdata.kernel import kernel

MAX_CUBE = 64  # the highest number on a cube
GAME_TURNS = 1 << 20  # turns of dice reserved for each game of a match
PLAY, DOUBLE, TAKE, PASS = range(4)  # actions of turns
PASSED = 0  # the end of a game by a pass; 1, 2 and 3 are single games, gammons and backgammons played to the end
NOBODY = -1  # who owns a centered cube
_NO_OFFER, _TAKEN, _PASSED = range(3)
_DOUBLE_TAKE, _DOUBLE_PASS = int(Action.DOUBLE_TAKE), int(Action.DOUBLE_PASS)
_START = np.array(START_BOARD, np.int8)
_LIKELY = likely_plays(6)  # plays considered for volatility: all plays of two rolls would take four times as long
LIKELY_FOR_LUCK = likely_plays(OF_LUCK)
_LIKELY_AHEAD = likely_plays()


class Terms(NamedTuple):
    """The rules and stakes of a series of games, and how each side plays and handles the cube."""

    # [player, (model of `doubling`, cube life index, volatility, whether by the score, whether volatility is local,
    # whether plays are cubeful)]
    sides: NDArray[np.float64]
    cells: Cells  # cells of both sides' match equity table; ignored in money play
    length: int  # points that win the match, 0 for a money game
    is_jacoby: bool  # whether the Jacoby rule applies, in money play
    with_luck: bool  # whether luck is measured
    ply: int  # rolls that both sides look ahead


class Book(NamedTuple):
    """Records of the turns of a match. Turns beyond the size of the arrays are not recorded."""

    boards: Boards  # [turn, 26] before the turn, for the player on roll
    after_play: Boards  # [turn, 26] after the turn, for the same player; equals `boards` if the turn has no play
    records: NDArray[np.int8]  # [turn, (player, action, on roll, die, other die, cube value, owner code)]
    equities: NDArray[np.float32]  # [turn] cubeless equity of the player on roll, at the ply of the game


class GameScratch(NamedTuple):
    """Scratch memory in which one thread plays games."""

    position: TreeScratch  # for chances; its `rolls` are also used for static plays and luck
    plays: CubeTree
    local: VolatilityScratch


@kernel()
def new_game_scratch(networks: Networks, ply: int) -> GameScratch:
    """Allocate scratch memory for one thread whose players look `ply` rolls ahead."""
    return GameScratch(new_tree_scratch(networks, ply), new_cube_tree(networks, ply), new_volatility_scratch(networks))


class Moment(NamedTuple):
    """The state of a game before a turn: who is on roll, the cube, and the stakes."""

    on_roll: int
    cube_value: int
    owner: int  # 0, 1 or NOBODY
    game: MatchGame  # for the player on roll; ignored in money play


class Ending(NamedTuple):
    """The result of one finished game, in the numbers that are stored."""

    winner: int
    points: int
    cube_value: int
    way: int  # PASSED, or 1, 2 or 3
    turns: int  # number of its rows in the book
    luck: float  # luck of player 0, in points, or from -1 (lost) to 1 (won) in a match; 0 unless measured


@kernel(borrows=True)
def owner_code(moment: Moment) -> int:
    """Return who owns the cube, seen from the player on roll: CENTERED, ON_ROLL or OPPONENT."""
    if moment.owner == NOBODY:
        return CENTERED
    return ON_ROLL if moment.owner == moment.on_roll else OPPONENT


@kernel(borrows=True)
def goes_by_score(terms: Terms, player: int) -> bool:
    """Return whether the cube model of `player` uses the match score. Other models handle the cube as in money play,
    within the rules of the match."""
    return terms.length > 0 and terms.sides[player, 3] != 0.0


@kernel(borrows=True)
def stakes_of(terms: Terms, moment: Moment, player: int, local: float) -> CubeStakes:
    """Return the stakes at `moment` for the player on roll, as the cube model of `player` sees them. `local` is the
    volatility of the position."""
    side = terms.sides[player]
    strategy = Strategy(int(side[0]), side[1], side[1], side[2], local, 0.0)
    unit = MATCH if goes_by_score(terms, player) else MONEY
    return CubeStakes(unit, strategy, terms.is_jacoby, terms.cells, moment.game, moment.cube_value, owner_code(moment))


@kernel(borrows=True)
def play_stakes(terms: Terms, moment: Moment, player: int) -> CubeStakes:
    """Return the stakes by which `player` chooses among plays that lead to `moment`. If its model ignores the score,
    the Crawford game counts as a game without a cube."""
    stakes = stakes_of(terms, moment, player, terms.sides[player, 2])
    is_dead = terms.length > 0 and moment.game.is_crawford and stakes.unit == MONEY
    unit = CUBELESS if is_dead or terms.sides[player, 5] == 0.0 else stakes.unit
    return CubeStakes(
        unit, stakes.strategy, stakes.is_jacoby, stakes.cells, stakes.game, stakes.cube_value, stakes.owner
    )


@kernel(borrows=True)
def cube_equities(terms: Terms, moment: Moment, player: int, chances: Chances, local: float) -> CubeEquities:
    """Return the equity of each cube action for the player on roll, by the cube model of `player`, from the
    chances[0:5] of the player on roll. `local` is the volatility of the position."""
    return model_equities(stakes_of(terms, moment, player, local), chances)


@kernel(borrows=True)
def doubles(terms: Terms, moment: Moment, chances: Chances, local: float) -> bool:
    """Return whether the player on roll doubles, given its chances[0:5] and the volatility of the position, `local`."""
    if moment.owner == 1 - moment.on_roll or moment.cube_value >= MAX_CUBE:
        return False
    if terms.length > 0 and moment.game.is_crawford:
        return False
    action = best_action(cube_equities(terms, moment, moment.on_roll, chances, local))
    return action in (_DOUBLE_TAKE, _DOUBLE_PASS)


@kernel(borrows=True)
def doubles_here(
    chooser: Chooser, terms: Terms, moment: Moment, board: Boards, chances: Chances, scratch: VolatilityScratch
) -> bool:
    """Return whether the player on roll doubles at board[0:26]. If the player's model uses the volatility of the
    position, the volatility is estimated only where the decision depends on it: the more the chances jump, the less one
    gains by waiting."""
    side = terms.sides[moment.on_roll]
    if side[4] == 0.0:
        return doubles(terms, moment, chances, side[2])
    if not doubles(terms, moment, chances, MAX_VOLATILITY):
        return False
    if doubles(terms, moment, chances, 0.0):
        return True
    local = local_volatility(chooser.networks, chooser.tables, _LIKELY, board, scratch)
    return doubles(terms, moment, chances, min(local, MAX_VOLATILITY))


@kernel(borrows=True)
def takes(terms: Terms, moment: Moment, chances: Chances) -> bool:
    """Return whether the opponent takes a double, given the chances[0:5] of the player who doubles. The opponent passes
    if take and pass are equal."""
    taker = 1 - moment.on_roll
    if goes_by_score(terms, taker) and moment.game.away <= moment.cube_value:
        return True  # passing would lose the match
    found = cube_equities(terms, moment, taker, chances, terms.sides[taker, 2])
    return found.double_take < found.double_pass


@kernel(borrows=True)
def way_of(terms: Terms, owner: int, outcome: int) -> int:
    """Return how a won game is scored: as a single game, gammon or backgammon (1 to 3). If the Jacoby rule applies and
    nobody has doubled, every outcome is scored as a single game."""
    return 1 if terms.length == 0 and terms.is_jacoby and owner == NOBODY else outcome


@kernel(borrows=True)
def note(book: Book, turn: int, board: Boards, chances: Chances, moment: Moment, player: int, action: int) -> None:
    """Record a turn in book[turn], if that row exists: all columns except dice and play."""
    if turn >= len(book.boards):
        return
    for slot in range(26):
        book.boards[turn, slot] = book.after_play[turn, slot] = board[slot]
    record = book.records[turn]
    record[0], record[1], record[2], record[3], record[4] = player, action, moment.on_roll, 0, 0
    record[5], record[6] = moment.cube_value, owner_code(moment)
    book.equities[turn] = equity_of(chances)


@kernel(borrows=True)
def note_play(book: Book, turn: int, die: int, other_die: int, chosen: Boards) -> None:
    """Record the dice and the board after the play in book[turn], if that row exists."""
    if turn < len(book.boards):
        book.records[turn, 3], book.records[turn, 4] = die, other_die
        for slot in range(26):
            book.after_play[turn, slot] = chosen[slot]


@kernel(borrows=True)
def offer(
    chooser: Chooser,
    terms: Terms,
    moment: Moment,
    board: Boards,
    chances: Chances,
    scratch: VolatilityScratch,
    book: Book,
    turn: int,
) -> int:
    """Decide whether the player on roll doubles and the opponent takes. A double is recorded in book[turn], the answer
    in book[turn + 1]. Returns a code for what happened: no offer, taken or passed."""
    if not doubles_here(chooser, terms, moment, board, chances, scratch):
        return _NO_OFFER
    is_taken = takes(terms, moment, chances)
    note(book, turn, board, chances, moment, moment.on_roll, DOUBLE)
    note(book, turn + 1, board, chances, moment, 1 - moment.on_roll, TAKE if is_taken else PASS)
    return _TAKEN if is_taken else _PASSED


@kernel(borrows=True)
def worth(terms: Terms, moment: Moment, chances: Chances) -> float:
    """Return the value of the position for the player on roll before its roll, in points per unit cube, or from -1
    (lost) to 1 (won) in a match. The value is that of Janowski's model with the default cube life index for both
    sides."""
    unit, owner = MATCH if terms.length > 0 else MONEY, owner_code(moment)
    stakes = CubeStakes(unit, CONSTANT_STRATEGY, terms.is_jacoby, terms.cells, moment.game, moment.cube_value, owner)
    found = best_equity(model_equities(stakes, chances))
    return 2.0 * found - 1.0 if unit == MATCH else moment.cube_value * found


@kernel(borrows=True)
def roll_luck(terms: Terms, opponent: Moment, scratch: RollScratch, place: int, is_opening: bool) -> float:
    """Return the luck of the roll with index `place`, for the player who rolled it. `scratch.values[roll, 0:5]`
    contains the chances after the best play of each roll, and `opponent` is the moment after the roll."""
    total, ways, found = 0.0, 0.0, 0.0
    for roll in range(len(WAYS)):
        fill_turned(scratch.values[roll], scratch.evaluation.chances[1])
        value = -worth(terms, opponent, scratch.evaluation.chances[1])
        if not (is_opening and WAYS[roll] == 1.0):  # the first roll is never a double
            total, ways = total + WAYS[roll] * value, ways + WAYS[roll]
        if roll == place:
            found = value
    return found - total / ways


@kernel(borrows=True)
def play_roll(
    chooser: Chooser,
    terms: Terms,
    likely: tuple[LikelyPlays, LikelyPlays],
    opponent: Moment,
    board: Boards,
    dice: tuple[int, int],
    is_opening: bool,
    rolls: RollScratch,
    tree: CubeTree,
    chosen: Boards,
) -> tuple[float, bool]:
    """Choose the play of `dice` at board[0:26], and write the board after it to chosen[0:26]. `opponent` is the moment
    after the play. The two filters in `likely` say which plays are considered for luck: those of this roll, and those
    of the next roll.

    Returns the luck of the roll, 0 unless it is measured, and whether the opponent's chances after the play are in
    rolls.evaluation.chances[0, 0:5]. `tree.rolls` may be `rolls`."""
    networks, tables, roll, luck = chooser.networks, chooser.tables, roll_place(dice[0], dice[1]), 0.0
    stakes = play_stakes(terms, opponent, 1 - opponent.on_roll)
    if terms.with_luck:
        fill_roll_values(networks, tables, likely[0], board, rolls, stakes, roll if terms.ply == 0 else -1)
        luck = roll_luck(terms, opponent, rolls, roll, is_opening)
    if terms.ply > 0:
        fill_play_ahead(networks, tables, likely[1], stakes, terms.ply, board, dice, tree, chosen)
        return luck, False
    play, n, after = 0, 1, rolls.played
    if not terms.with_luck:
        n = fill_plays(board, dice[0], dice[1], rolls.after, rolls.notes)
        if n > 1:
            play, _ = choose_by_chances(networks, tables, rolls.after, n, rolls.evaluation, stakes)
        after = rolls.after[play]
    for slot in range(26):
        chosen[slot] = after[slot]
    if terms.with_luck:
        for item in range(5):
            rolls.evaluation.chances[0, item] = rolls.after_played[item]
    return luck, terms.with_luck or n > 1


@kernel()
def play_game(
    chooser: Chooser,
    terms: Terms,
    games: tuple[MatchGame, MatchGame],
    bits: tuple[Any, int],
    scratch: GameScratch,
    book: Book,
    first: int,
) -> Ending:
    """Play one game and record its turns in book[first], book[first + 1] and so on. `games` is the match score, once
    from each player's side. `bits` are the stream of the game's dice and the counter of the first roll."""
    networks, tables, position = chooser.networks, chooser.tables, scratch.position
    likely = LIKELY_FOR_LUCK, _LIKELY_AHEAD
    chances, board, chosen = position.rolls.evaluation.chances[0], _START.copy(), np.empty(26, np.int8)
    fill_chances_at(Sight(networks, tables, _LIKELY_AHEAD), terms.ply, board, position, chances)
    die, other_die = opening_dice_of(random_bits(bits[0], bits[1]))
    on_roll, cube_value, owner, luck = int(die < other_die), 1, NOBODY, 0.0
    row, roll = first, 0
    while True:
        moment = Moment(on_roll, cube_value, owner, games[on_roll])
        if roll > 0:
            came = offer(chooser, terms, moment, board, chances, scratch.local, book, row)
            if came == _PASSED:
                return Ending(on_roll, cube_value, cube_value, PASSED, row + 2 - first, luck)
            if came == _TAKEN:
                row, cube_value, owner = row + 2, 2 * cube_value, 1 - on_roll
                moment = Moment(on_roll, cube_value, owner, moment.game)
            die, other_die = dice_of(random_bits(bits[0], bits[1] + roll))
        note(book, row, board, chances, moment, on_roll, PLAY)
        after = Moment(1 - on_roll, cube_value, owner, games[1 - on_roll])
        found, is_evaluated = play_roll(
            chooser, terms, likely, after, board, (die, other_die), roll == 0, position.rolls, scratch.plays, chosen
        )
        note_play(book, row, die, other_die, chosen)
        luck += found if on_roll == 0 else -found
        row, roll, outcome = row + 1, roll + 1, outcome_of(chosen, CHECKERS)
        if outcome != 0:
            way = way_of(terms, owner, outcome)
            return Ending(on_roll, way * cube_value, cube_value, way, row - first, luck)
        flip_into(chosen, board)
        on_roll = 1 - on_roll
        if not is_evaluated:
            fill_chances_at(Sight(networks, tables, _LIKELY_AHEAD), terms.ply, board, position, chances)


@kernel()
def play_match(
    chooser: Chooser,
    terms: Terms,
    stream: Any,
    scratch: GameScratch,
    games: NDArray[np.int16],
    book: Book,
) -> tuple[int, int, float]:
    """Play one match, record its turns in `book`, and fill games[number, 0:8] with (score of player 0, score of player
    1, whether it is the Crawford game, winner, points, cube value, way, turns) of each game. Returns the number of
    games, the number of turns, and the luck of player 0."""
    score_0, score_1, number, row, is_past, luck = 0, 0, 0, 0, False, 0.0
    while True:
        away_0, away_1 = terms.length - score_0, terms.length - score_1
        is_crawford = terms.length > 0 and not is_past and (away_0 == 1) != (away_1 == 1)
        is_past = is_past or is_crawford
        seen = MatchGame(away_0, away_1, is_crawford), MatchGame(away_1, away_0, is_crawford)
        ending = play_game(chooser, terms, seen, (stream, GAME_TURNS * number), scratch, book, row)
        record = games[number]
        record[0], record[1], record[2], record[3] = score_0, score_1, is_crawford, ending.winner
        record[4], record[5], record[6], record[7] = ending.points, ending.cube_value, ending.way, ending.turns
        row, number, luck = row + ending.turns, number + 1, luck + ending.luck
        if ending.winner == 0:
            score_0 += ending.points
        else:
            score_1 += ending.points
        if max(score_0, score_1) >= terms.length:
            return number, row, luck


@kernel()
def fill_matches(
    begin: int,
    end: int,
    chooser: Chooser,
    terms: Terms,
    is_paired: bool,
    seed: int,
    matches: NDArray[np.int64],
    counts: NDArray[np.int64],
    lucks: NDArray[np.float64],
    games: NDArray[np.int16],
    books: Book,
) -> None:
    """Play matches[row] of a seed for rows begin:end. Fills counts[row, (games, turns)], lucks[row], games[row, number,
    0:8] (see `play_match`) and, as far as there is room, books[row, turn]. If `is_paired`, matches 2k and 2k + 1 use
    the dice of pair k, and the sides change seats in match 2k + 1."""
    swapped, scratch = terms.sides[::-1].copy(), new_game_scratch(chooser.networks, terms.ply)
    for row in range(begin, end):
        match = matches[row]
        seated = swapped if is_paired and match % 2 == 1 else terms.sides
        own = Terms(seated, terms.cells, terms.length, terms.is_jacoby, terms.with_luck, terms.ply)
        stream = random_stream(seed, match // 2 if is_paired else match)
        book = Book(books.boards[row], books.after_play[row], books.records[row], books.equities[row])
        counts[row, 0], counts[row, 1], lucks[row] = play_match(chooser, own, stream, scratch, games[row], book)

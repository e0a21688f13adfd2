"""Samples positions of each theme from games of many sources, so that they do not depend on one player's style, and
rolls them out.

Games go through the sources in turn, and the games of a source go through every `Start`. In every fourth game of a
source, the positions are perturbed. Games are searched in order. A hash chooses one position of each theme that occurs
in a game. The chosen position is taken unless

* its theme already has enough positions from the game's half (validation and test get equally many),
* the game's source already gave its theme twice its share, or
* the position was taken before, by either side.

Bearoffs of at most six checkers a side are never chosen, because exact tables have them. Decided races and bearoffs,
whose five chances are all within 0.05 of 0 or 1, are never chosen either.

In a perturbed position, one or two checkers of either side have been moved to random points. Such a position resembles
positions of games, but occurred in none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bgdata.errors import CheckFailedError, InvalidParameterError, UsageError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.chances import Chances, cubeless_equities
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.player import MappedNetwork, find_network
from bgdata.evaluation.player import RandomPlayer, open_named_player
from bgdata.evaluation.players import NETWORK, PLAIN_PLAYERS
from bgdata.game.board import BAR, CHECKERS, OPPONENT_BAR
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.position_hash import position_hashes
from bgdata.game.random import mix_bits, random_bits, random_stream
from bgdata.game.themes import Theme, position_themes
from bgdata.kernel import in_threads, kernel
from bgdata.kinds.column_values import chance_columns, class_column, position_columns, select_texts
from bgdata.kinds.rechecking import cheapest_rows, check_arrays, check_rows
from bgdata.measures.kinds.reference_positions import NAMED_NETWORK, THEMES, ReferenceParameters
from bgdata.selfplay.games import Turns, new_game_scratch, nothing_recorded, play_game
from bgdata.selfplay.kinds.shared import rollouts_compute as rollouts
from bgdata.selfplay.kinds.shared.games_compute import slices
from bgdata.selfplay.kinds.training_games import STARTS
from bgdata.selfplay.splits import SPLITS, game_hashes, halves_of_games
from bgdata.selfplay.training_games import Counter, Start, draw, fill_start
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck
from bgdata.store.shards import context_of, fill_shards, opened_once, work_of
from bgdata.store.worker_inputs import Settings

STEP = 4  # positions of a shard of rollouts, which takes seconds
CANDIDATES = 60  # positions of which verify rolls out again those with the fewest games, seconds each
REPLAYED_TRIALS = 6000  # games that verify rolls out in all, but at least one position
MAX_REPLAYED = 500  # games that verify replays
ROLLED = ("chances", "standard_errors", "equity_standard_errors", "trials")  # arrays that rollouts fill
ROUND = 440  # games played at a time
PERTURBED = 4  # one of 4 games of a source is perturbed
HALVES = 2
DECIDED = 0.05  # largest distance of the chances of a decided position from 0 or 1
_KNOWN = int(PositionClass.BEAROFF_TWO_SIDED)
MAX_TURNS = 200  # turns of a game; later turns are not recorded
_OPENING = int(Start.OPENING)
_SIDES, _PERTURBATIONS = 1 << 41, 1 << 42  # first counters in a stream: who begins, perturbations
_CHANGES = 64  # counters reserved for one perturbation


class Sources(NamedTuple):
    """The players of the games, and the evaluator of races and bearoffs."""

    players: Sequence[tuple[Chooser, Chooser]]  # players of each source
    judge: Callable[[Boards], Chances]  # the five chances float32[n, 5] of int8[n, 26] boards of races and bearoffs


class GamePlan(NamedTuple):
    """Which players play each game, where it begins, and whether checkers are moved in its recorded positions."""

    sources: NDArray[np.int64]  # [n] indexes into the sources
    starts: NDArray[np.int8]  # [n] numbers of `Start`
    perturbed: NDArray[np.bool_]  # [n] whether checkers are moved in its positions


class Positions(NamedTuple):
    """Positions from games, ordered by game and theme, or by theme and game."""

    boards: Boards  # [n, 26]
    themes: NDArray[np.int8]  # [n] numbers of `Theme`
    games: NDArray[np.int64]  # [n]
    turns: NDArray[np.int64]  # [n] in that game, from 0

    def rows(self, chosen: NDArray[np.integer]) -> Positions:
        """Return the rows whose indexes are `chosen`, in that order."""
        return Positions(*(values[chosen] for values in self))


class ReferencePositionsComputation(Computation[ReferenceParameters]):
    """Computes `reference_positions`: samples positions of each theme from games, and rolls them out."""

    def compute(self, build: Build[ReferenceParameters]) -> None:
        parameters, job = build.parameters, build.job
        sources = sources_of(build)
        job.progress.start(f"{job.title}: positions", len(THEMES) * parameters.positions, "positions")
        try:
            sample = sample_positions(
                sources, parameters.positions, parameters.seed, parameters.most_games, job.progress.advance
            )
        except UsageError as error:
            raise InvalidParameterError(str(error)) from None
        boards, state = sample.boards, rollouts.empty_rollouts(ROLLED, len(sample.boards))
        positions = np.ascontiguousarray(boards).tobytes().hex()
        work = work_of(build, f"{__name__}:roll_out_rows", rollouts.network_versions(build), positions=positions)
        fill_shards(job, "rollouts", state, STEP, work)
        job.save("boards", boards)
        job.save("games", sample.games.astype(np.int32))
        job.save("turns", sample.turns.astype(np.int32))
        job.save("network", rollouts.network_text(parameters, build.inputs))
        for name, values in {**state, **derived_arrays(parameters, boards, sample.games)}.items():
            job.save(name, values)

    def batches(self, computed: Computed[ReferenceParameters]) -> Iterator[pa.RecordBatch]:
        arrays, parameters = computed.arrays, computed.parameters
        network = pa.array([np.asarray(arrays["network"]).tobytes().decode()])
        texts = {"themes": THEMES, "sources": parameters.sources, "starts": STARTS, "splits": SPLITS}
        for rows in slices(len(arrays["games"]), self.kind.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in arrays.items() if name != "network"}
            words = {
                name.removesuffix("s"): select_texts(pa.array(texts[name]), found[name].astype(np.int32))
                for name in texts
            }
            errors = chance_columns(found["standard_errors"])
            yield pa.record_batch(
                {
                    "row": np.arange(rows.start, rows.stop, dtype=np.int32),
                    **words,
                    "is_perturbed": pa.array(found["perturbed"] != 0),
                    "game": found["games"],
                    "turn": found["turns"],
                    **position_columns(found["boards"]),
                    "class": class_column(found["classes"]),
                    **chance_columns(found["chances"]),
                    **{f"{name}_standard_error": values for name, values in errors.items()},
                    "cubeless_equity": cubeless_equities(found["chances"]),
                    "standard_error": found["equity_standard_errors"],
                    "trials": found["trials"],
                    "is_reached": pa.array(found["equity_standard_errors"] <= parameters.limits().until),
                    "network": select_texts(network, np.zeros(len(found["games"]), np.int32)),
                }
            )

    def statistics(self, computed: Computed[ReferenceParameters]) -> Mapping[str, float]:
        arrays = {name: np.asarray(values) for name, values in computed.arrays.items()}
        errors, until = arrays["equity_standard_errors"], computed.parameters.limits().until
        found = {
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "reached_share": float((errors <= until).mean()),
            "perturbed_share": float(arrays["perturbed"].mean()),
            "games": float(arrays["trials"].sum()),
        }
        for number, theme in enumerate(THEMES):
            rows, name = arrays["themes"] == number, theme.replace("-", "_")
            found[f"{name}_positions"] = float(rows.sum())
            found[f"{name}_mean_standard_error"] = float(errors[rows].mean())
            found[f"{name}_reached_share"] = float((errors[rows] <= until).mean())
            found[f"{name}_games"] = float(arrays["trials"][rows].sum())
            found[f"{name}_source_games"] = float(arrays["games"][rows].max() + 1)  # games searched for this theme
        return found

    def check_sample(self, recheck: Recheck[ReferenceParameters]) -> str:
        """Play the games of a random sample of positions again, and check that they give the same positions. Then roll
        out again some of those positions that took the fewest trials."""
        table, parameters = recheck.table, recheck.parameters
        boards, games = np.ascontiguousarray(table.array("boards")), np.asarray(table.array("games"))
        check_arrays(table, derived_arrays(parameters, boards, games))
        check_arrays(table, {"network": rollouts.network_text(parameters, recheck.inputs)})
        chosen = recheck.generator.permutation(len(boards))[: min(recheck.rows, MAX_REPLAYED)]
        check_positions(recheck, np.sort(chosen))
        trials = np.asarray(table.array("trials"))
        rows = cheapest_rows({row: int(trials[row]) for row in chosen[:CANDIDATES].tolist()}, REPLAYED_TRIALS)
        chooser = rollouts.open_roller(recheck).chooser
        for row in rows:
            own = np.array([row])
            check_rows(
                table, own, rollouts.rollout_arrays(parameters, parameters.seed, chooser, boards[own], own, ROLLED)
            )
        return (
            f"{len(chosen):,} of {len(boards):,} positions drawn from their games again, {len(rows)} rolled out again"
        )


def roll_out_rows(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Roll out the positions from `begin` to before `end`, and return their arrays."""
    parameters, chooser, boards = opened_once(open_rollouts, settings)
    items = np.arange(begin, end)
    return rollouts.rollout_arrays(parameters, parameters.seed, chooser, boards[begin:end], items, ROLLED)


def open_rollouts(settings: Settings) -> tuple[ReferenceParameters, Chooser, Boards]:
    """Open what `roll_out_rows` needs, from its settings. Returns the parameters, the player and the positions."""
    context = context_of(settings, ReferenceParameters)
    boards = np.frombuffer(bytes.fromhex(str(settings["positions"])), np.int8).reshape(-1, 26)
    return context.parameters, rollouts.open_roller(context).chooser, boards


def sources_of(context: Context[ReferenceParameters]) -> Sources:
    """Return the players that the parameters name, and the rollout network as the evaluator of races and bearoffs.
    Raises MissingTableError if a network is missing."""
    tables = BearoffEvaluator(*(context.inputs[role] for role in rollouts.BEAROFF_ROLES))
    roller = rollouts.open_roller(context)

    def chooser(name: str) -> Chooser:
        if name in PLAIN_PLAYERS:
            player: Any = RandomPlayer(context.parameters.seed) if name == "random" else open_named_player(name)
            found: Chooser = player.chooser
            return found
        named = NAMED_NETWORK.fullmatch(name)
        if not named:
            return roller.chooser
        return MappedNetwork(find_network(f"{NETWORK}/{named[1]}", context.warehouse, named[2]), tables).chooser

    players = [(chooser(first), chooser(second)) for first, second in context.parameters.players()]
    return Sources(players, lambda boards: roller.evaluate_many(boards).chances)


def derived_arrays(parameters: ReferenceParameters, boards: Array, games: Array) -> dict[str, Array]:
    """Return the arrays that follow from int8[n, 26] boards and from the numbers of their games, int[n], such as
    classes and splits."""
    plan = game_plan(games.astype(np.int64), len(parameters.sources))
    return {
        "classes": position_classes(boards).astype(np.uint8),
        "themes": position_themes(boards).astype(np.uint8),
        "sources": plan.sources.astype(np.uint8),
        "starts": plan.starts.astype(np.uint8),
        "perturbed": plan.perturbed.astype(np.uint8),
        "splits": halves_of_games(parameters.seed, games),
    }


def check_positions(recheck: Recheck[ReferenceParameters], rows: Array) -> None:
    """Raise CheckFailedError unless playing the games of these rows again gives the stored positions."""
    table = recheck.table
    found = {name: np.asarray(table.array(name)) for name in ("boards", "games", "themes", "turns")}
    games = np.unique(found["games"][rows]).astype(np.int64)
    drawn = draw_positions(sources_of(recheck), recheck.parameters.seed, games)
    pairs = np.stack([drawn.games, drawn.themes], axis=1).tolist()
    places = {(game, theme): place for place, (game, theme) in enumerate(pairs)}
    for row in rows.tolist():
        place = places.get((int(found["games"][row]), int(found["themes"][row])))
        is_same = place is not None and drawn.turns[place] == found["turns"][row]
        if not is_same or not np.array_equal(drawn.boards[place], found["boards"][row]):
            raise CheckFailedError(
                f"expected in row {row} of {table.name} the position that is drawn from game {found['games'][row]} "
                f"for {THEMES[found['themes'][row]]}, found that of turn {found['turns'][row]}"
            )


def game_plan(games: NDArray[np.int64], n_sources: int) -> GamePlan:
    """Return the plan of the games with numbers int64[n]. The games go through `n_sources` sources in turn."""
    number = games // n_sources  # number of the game within its source
    return GamePlan(games % n_sources, (number % len(Start)).astype(np.int8), number % PERTURBED == PERTURBED - 1)


def draw_positions(sources: Sources, seed: int, games: NDArray[np.int64]) -> Positions:
    """Play int64[n] games of a seed, and draw one position of each theme that occurs in each of them. Positions are
    ordered by game and theme."""
    plan, parts = game_plan(games, len(sources.players)), []
    for source, pair in enumerate(sources.players):
        chosen = plan.sources == source
        found = source_games(pair, seed, games[chosen], plan.starts[chosen], plan.perturbed[chosen])
        counts = np.diff(found.offsets)
        turns = np.arange(len(found.boards)) - np.repeat(found.offsets[:-1], counts)
        parts.append(Positions(found.boards, position_themes(found.boards), np.repeat(games[chosen], counts), turns))
    every = Positions(*map(np.concatenate, zip(*parts, strict=True)))
    may_be_drawn = ~np.isin(every.themes, (Theme.RACE, Theme.BEAR_OFF))
    doubtful = np.flatnonzero(~may_be_drawn & (position_classes(every.boards) != _KNOWN))
    chances = sources.judge(every.boards[doubtful])
    may_be_drawn[doubtful] = (np.minimum(chances, 1 - chances) > DECIDED).any(axis=1)
    candidates = every.rows(np.flatnonzero(may_be_drawn))
    keys = mix_bits(position_hashes(candidates.boards) + game_hashes(seed, candidates.games))
    order = np.lexsort((candidates.turns, keys, candidates.themes, candidates.games))
    pairs = np.stack([candidates.games[order], candidates.themes[order]], axis=1)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return candidates.rows(order[is_first])


def sample_positions(
    sources: Sources, count: int, seed: int, most_games: int, found: Callable[[int], None] = lambda _: None
) -> Positions:
    """Draw `count` different positions of every `Theme` from games, half for validation and half for test, ordered by
    theme and game.

    A position and its mirror image for the other side count as equal. `found` is called after every round with the
    number of new positions. The sample depends on the sources, the seed and the count alone. Raises UsageError if
    `count` is odd, or if `most_games` games have too few positions of a theme, which the message names."""
    if count < HALVES or count % HALVES:
        raise UsageError(f"expected an even number of positions of each theme, at least {HALVES}, got {count}")
    n_sources = len(sources.players)
    places = np.full((len(Theme), HALVES), count // HALVES)  # [theme, half] number of positions still wanted
    shares = np.full((len(Theme), HALVES, n_sources), -(-count // n_sources))  # twice the share of a source
    seen = set[int]()  # hashes of taken positions
    parts = [draw_positions(sources, seed, np.zeros(0, np.int64))]
    for first in range(0, most_games, ROUND):
        if not places.any():
            break
        drawn = draw_positions(sources, seed, np.arange(first, min(first + ROUND, most_games)))
        halves = halves_of_games(seed, drawn.games) - SPLITS.index("validation")
        from_sources, taken = game_plan(drawn.games, n_sources).sources, list[int]()
        columns = (drawn.themes, halves, from_sources, position_hashes(drawn.boards))
        for row, (theme, half, source, hashed) in enumerate(zip(*(each.tolist() for each in columns), strict=True)):
            if places[theme, half] and shares[theme, half, source] and hashed not in seen:
                seen.add(hashed)
                places[theme, half] -= 1
                shares[theme, half, source] -= 1
                taken.append(row)
        parts.append(drawn.rows(np.array(taken, np.int64)))
        found(len(taken))
    for theme in Theme:
        if places[theme].any():
            raise UsageError(
                f"expected {count:,} positions of the theme {theme.label} in {most_games:,} games, "
                f"found {count - places[theme].sum():,}; try more games, or fewer positions"
            )
    sample = Positions(*map(np.concatenate, zip(*parts, strict=True)))
    return sample.rows(np.lexsort((sample.games, sample.themes)))


class SourceGames(NamedTuple):
    """The positions of several games in order. Rows offsets[g]:offsets[g + 1] belong to game g."""

    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [rows, 26] before the roll, for the player on roll; perturbed where the plan says so


def source_games(
    players: tuple[Chooser, Chooser],
    seed: int,
    numbers: NDArray[np.int64],
    starts: NDArray[np.int8],
    perturbed: NDArray[np.bool_],
) -> SourceGames:
    """Play the games of a seed whose numbers are int64[n] `numbers`. Each begins as its number of `Start` says, and has
    up to MAX_TURNS turns.

    A random player begins. Where bool[n] `perturbed` is true, checkers of the recorded positions are moved, while the
    game itself continues unchanged. A game depends on the seed and its number alone, not on threads or batches. Raises
    UsageError if a number is outside 0 to 2^63 - 1."""
    n = len(numbers)
    if not 0 <= min(seed, int(numbers.min(initial=0))) <= max(seed, int(numbers.max(initial=0))) < 1 << 63:
        raise UsageError(f"expected numbers from 0 to 2^63 - 1, got seed {seed}")
    counts, boards = np.zeros(n, np.int64), np.empty((n, MAX_TURNS, 26), np.int8)
    in_threads(fill_games, n, *players, seed, numbers, starts, perturbed, counts, boards)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return SourceGames(offsets, boards[np.arange(MAX_TURNS) < counts[:, None]])


@kernel()
def fill_games(
    begin: int,
    end: int,
    first_chooser: Chooser,
    second_chooser: Chooser,
    seed: int,
    numbers: NDArray[np.int64],
    starts: NDArray[np.int8],
    perturbed: NDArray[np.bool_],
    counts: NDArray[np.int64],
    boards: Boards,
) -> None:
    """Play games numbers[row] of a seed for rows begin:end. Fills boards[row, turn, slot] and counts[row], the number
    of turns."""
    scratch, nothing = new_game_scratch(first_chooser, second_chooser), nothing_recorded()
    board, counter = np.empty(26, np.int8), np.empty(1, np.int64)
    for row in range(begin, end):
        stream, is_opening = random_stream(seed, numbers[row]), starts[row] == _OPENING
        fill_start(starts[row], stream, board, counter, scratch.after, scratch.notes)
        side = int(random_bits(stream, _SIDES) & np.uint64(1))
        record = Turns(boards[row], nothing.dice, nothing.after_play, nothing.chances, nothing.sources)
        _, counts[row] = play_game(
            first_chooser, second_chooser, stream, numbers[row], side, board, is_opening, MAX_TURNS, scratch, record
        )
        if perturbed[row]:
            for turn in range(counts[row]):
                counter[0] = _PERTURBATIONS + turn * _CHANGES
                perturb(stream, counter, boards[row, turn])


@kernel(borrows=True)
def perturb(stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Move one or two checkers on board[0:26], from a point or the bar, to points without checkers of the other side.
    No checker moves to the bar, or is borne off."""
    for _ in range(1 + draw(stream, counter, 2)):
        sign = 1 if draw(stream, counter, 2) == 0 else -1
        place = nth_checker(board, sign, draw(stream, counter, CHECKERS))
        target = 1 + draw(stream, counter, BAR - 1)
        if sign * board[target] >= 0:
            on_bar = place in (BAR, OPPONENT_BAR)
            board[place] -= 1 if on_bar else sign
            board[target] += sign


@kernel(borrows=True)
def nth_checker(board: Boards, sign: int, number: int) -> int:
    """Return the slot of board[0:26] that contains a side's checker with this number, counted from the side's ace
    point. `sign` is the side: 1 for the player on roll, -1 for the opponent. Counting starts over if there are fewer
    checkers than `number`."""
    while True:
        for step in range(1, BAR + 1):
            slot = step if sign > 0 else BAR - step
            number -= max(int(board[slot]) if step == BAR else sign * int(board[slot]), 0)
            if number < 0:
                return slot


COMPUTATION = ReferencePositionsComputation

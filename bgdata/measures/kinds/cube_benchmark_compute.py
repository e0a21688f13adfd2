"""Chooses close cube decisions of self-play, and has a judge roll them out.

A turn is a candidate if its position is a contact position (crashed ones included), it is not the first turn of its
game, and the player on roll may turn the cube. In matches both players must also need 2 to 9 points.

A candidate is close by the static chances of the network and Janowski's model: doubling gains or costs at most `window`
points of normalised equity against the best answer, or taking gains or costs at most as much against passing.

Candidates are taken in the order of a hash of position and stakes, in two passes. The first pass takes close candidates
from games that have given no decision yet, until the share of their theme is full; all themes that are not races have
equal shares. The second pass takes any close candidates from such games. Money games give one half of the decisions,
matches the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from bgdata.equity.cube import CubeRules, worth_of_result
from bgdata.equity.doubling import CONSTANT_STRATEGY
from bgdata.equity.match_equity import MatchEquity
from bgdata.errors import CheckSkippedError, InvalidParameterError, UnknownPlayerError
from bgdata.evaluation.cube_answers import (
    CubeQuestion,
    CubeRollout,
    GameLimits,
    in_points,
    roll_out_by_bgsage,
    roll_out_by_gnubg,
)
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.player import open_player_of_version
from bgdata.evaluation.players import NETWORK
from bgdata.game.board_kernels import position_classes
from bgdata.game.match import Money, Stakes
from bgdata.game.themes import Theme
from bgdata.game.xgid import parse_xgid
from bgdata.kinds.column_values import (
    class_column,
    constant,
    numbers_or_null,
    position_columns,
    select_texts,
    text_arrays,
    text_column,
)
from bgdata.kinds.rechecking import cheapest_rows, check_arrays, check_rows
from bgdata.measures.kinds.cube_benchmark import ACTIONS, CubeBenchmarkParameters
from bgdata.measures.kinds.reference_positions import THEMES
from bgdata.measures.kinds.shared.cube_corpora import MATCHES, MONEY_GAMES
from bgdata.measures.kinds.shared.cube_corpora_compute import (
    OPPONENT,
    Candidates,
    check_number,
    corpus_candidates,
    model_equities,
)
from bgdata.selfplay.cubeful_rollout import decision_starts, roll_out_with_cube
from bgdata.selfplay.kinds.shared.rollouts_compute import first_met, network_text, network_versions, open_roller
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import compute_shards, context_of, opened_once, ranges, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

DECIMALS = 7  # decimals of values, because the last digits of sums differ between processors
CHUNK = 1 << 12  # turns that are evaluated at a time
REPLAYED_GAMES = 1000  # games that verify rolls out in all, but at least one decision, which may take a minute
RACES = (Theme.RACE, Theme.BEAR_OFF)
PROGRAM_JUDGES = {"gnubg": roll_out_by_gnubg, "bgsage": roll_out_by_bgsage}


class CubeBenchmarkComputation(Computation[CubeBenchmarkParameters]):
    """Computes `cube_benchmark`: chooses close cube decisions, and has a judge roll them out."""

    def compute(self, build: Build[CubeBenchmarkParameters]) -> None:
        chosen = sample_arrays(build)
        xgids = text_column(chosen, "xgids").to_pylist()
        tables = {role: table for role, table in network_versions(build).items() if role not in (MONEY_GAMES, MATCHES)}
        seeds = " ".join(map(str, chosen["seeds"].tolist()))
        work = work_of(build, f"{__name__}:judge_decisions", tables, xgids=" ".join(xgids), seeds=seeds)
        shards = list(compute_shards(build.job, "decisions", work, ranges(len(xgids), 1)))
        judged = {name: np.concatenate([shard[name] for shard in shards]) for name in shards[0]}
        for name, values in {**chosen, **judged, **judge_arrays(build)}.items():
            build.job.save(name, values)

    def batches(self, computed: Computed[CubeBenchmarkParameters]) -> Iterator[pa.RecordBatch]:
        arrays = computed.arrays
        xgids = text_column(arrays, "xgids")
        stakes = [parse_xgid(text).match.stakes for text in xgids.to_pylist()]
        values, errors, trials = (np.asarray(arrays[name]) for name in ("values", "standard_errors", "trials"))
        windows, ply = np.asarray(arrays["windows"]), computed.parameters.play_ply
        named = {"no_double": values[:, 0], "double_take": values[:, 1], "double_pass": np.ones(len(values))}
        mwc = {name: windows[:, 0] + (value + 1) / 2 * np.diff(windows, axis=1)[:, 0] for name, value in named.items()}
        (judge,) = text_column(arrays, "judge").to_pylist()
        yield pa.record_batch(
            {
                "decision": np.arange(len(values), dtype=np.int32),
                "xgid": xgids,
                **position_columns(np.asarray(arrays["boards"])),
                "class": class_column(np.asarray(arrays["classes"])),
                "theme": select_texts(pa.array(THEMES), np.asarray(arrays["themes"]).astype(np.int32)),
                "score": pa.array([score_text(each) for each in stakes]),
                "cube_value": pa.array([each.cube.value for each in stakes], pa.int32()),
                "cube_owner": pa.array([str(each.cube.owner) for each in stakes]),
                **named,
                "no_double_standard_error": np.ascontiguousarray(errors[:, 0]),
                "double_take_standard_error": np.ascontiguousarray(errors[:, 1]),
                **{f"mwc_{name}": numbers_or_null(value) for name, value in mwc.items()},
                "best_action": select_texts(pa.array(ACTIONS), best_actions(values)),
                "trials": trials,
                "judge": constant(judge, "VARCHAR", len(values)),
                "level": pa.array([f"rollout, {ply}-ply, {count:,} games" for count in trials.tolist()]),
                "game": np.asarray(arrays["games"]),
                "turn": np.asarray(arrays["turns"]),
            }
        )

    def statistics(self, computed: Computed[CubeBenchmarkParameters]) -> Mapping[str, float]:
        errors, best = np.asarray(computed.arrays["standard_errors"]), best_actions(computed.arrays["values"])
        shares = {
            f"{name.replace(', ', '_').replace(' ', '_')}_share": best == number for number, name in enumerate(ACTIONS)
        }
        return {
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "games": float(np.asarray(computed.arrays["trials"]).sum()),
            **{name: float(rows.mean()) for name, rows in shares.items()},
        }

    def check_sample(self, recheck: Recheck[CubeBenchmarkParameters]) -> str:
        """Choose the decisions again and compare them. If this version of the judge is installed, roll out again some
        of the decisions that took the fewest games."""
        table = recheck.table
        chosen = sample_arrays(recheck)
        check_arrays(table, {**chosen, **judge_arrays(recheck)})
        try:
            judge = Judge.open(recheck)
        except (UnknownPlayerError, InvalidParameterError) as error:
            raise CheckSkippedError(
                f"the decisions are those of the games, but nobody can judge them: {error}"
            ) from error
        xgids, trials = text_column(chosen, "xgids").to_pylist(), np.asarray(table.array("trials"))
        games = {row: int(trials[row]) for row in recheck.generator.permutation(len(xgids))[: recheck.rows].tolist()}
        rows = np.sort(np.array(cheapest_rows(games, REPLAYED_GAMES), np.int64))
        check_rows(table, rows, judge.arrays([xgids[row] for row in rows], chosen["seeds"][rows].tolist()))
        return sample_text(len(rows), len(xgids), "decisions")


class Judge:
    """The player that rolls out the decisions, with the settings of its rollouts."""

    def __init__(self, parameters: CubeBenchmarkParameters, player: NetworkPlayer, met: MatchEquity) -> None:
        self.parameters, self.player, self.rules = parameters, player, CubeRules(met=met)

    @classmethod
    def open(cls, context: Context[CubeBenchmarkParameters]) -> Judge:
        """Open the judge that the parameters name. Raises UnknownPlayerError if it is not installed,
        InvalidParameterError if another version is installed, and MissingTableError if the network is missing."""
        parameters = context.parameters
        if parameters.judge != NETWORK:
            open_player_of_version(parameters.judge, parameters.play_ply, parameters.judge_version)
        return cls(parameters, open_roller(context), first_met(context.inputs["met"].arrays()))

    def roll_out(self, question: CubeQuestion, seed: int) -> CubeRollout:
        """Roll out a cube decision with the dice of `seed`. Raises the errors of the judge."""
        parameters, limits = self.parameters, self.parameters.limits()
        if parameters.judge != NETWORK:
            own = GameLimits(parameters.play_ply, limits.trials, limits.until, limits.most)
            return PROGRAM_JUDGES[parameters.judge](question, own, seed)
        position, stakes = question
        starts = [*decision_starts(position, stakes).values()]
        found = roll_out_with_cube(starts, self.player.chooser, self.rules, limits, seed, parameters.how())
        no_double, taken = (in_points(float(value), stakes, self.rules) for value in found.values)
        first, second = (float(error) / found.point for error in found.standard_errors)
        return CubeRollout((no_double, taken, 1.0), (first, second), int(found.trials[0]))

    def arrays(self, xgids: Sequence[str], seeds: Sequence[int]) -> dict[str, Array]:
        """Roll out the decisions with these XGIDs and seeds, and return their values, standard errors and numbers of
        games as arrays."""
        found = [self.roll_out(question_of(xgid), seed) for xgid, seed in zip(xgids, seeds, strict=True)]
        return {
            "values": np.round(np.array([each.values[:2] for each in found], np.float64), DECIMALS),
            "standard_errors": np.round(np.array([each.standard_errors for each in found], np.float64), DECIMALS),
            "trials": np.array([each.games for each in found], np.int64),
        }


def question_of(xgid: str) -> CubeQuestion:
    """Return the position and the stakes that an XGID contains."""
    found = parse_xgid(xgid)
    return CubeQuestion(found.position, found.match.stakes)


def judge_decisions(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Roll out the decisions from `begin` to before `end`, and return their arrays."""
    judge, part = opened_once(open_judge, settings), slice(begin, end)
    seeds = [int(seed) for seed in str(settings["seeds"]).split()[part]]
    return judge.arrays(str(settings["xgids"]).split()[part], seeds)


def open_judge(settings: Settings) -> Judge:
    """Open the judge that `judge_decisions` needs, from its settings."""
    return Judge.open(context_of(settings, CubeBenchmarkParameters))


def judge_arrays(context: Context[CubeBenchmarkParameters]) -> dict[str, Array]:
    """Return the arrays that name the judge, and the network that played the games."""
    parameters, network = context.parameters, network_text(context.parameters, context.inputs)
    judge = f"{parameters.judge} {parameters.judge_version}"
    if parameters.judge == NETWORK:
        judge = network.tobytes().decode()
    return {**text_arrays("judge", [judge]), "network": network}


def sample_arrays(context: Context[CubeBenchmarkParameters]) -> dict[str, Array]:
    """Return the arrays that describe the chosen decisions, without the judge's results. Raises InvalidParameterError
    if there are too few decisions."""
    parameters, rules = context.parameters, CubeRules(met=first_met(context.inputs["met"].arrays()))
    player = open_roller(context)
    halves = [close_candidates(context.inputs[role], parameters, player, rules) for role in (MONEY_GAMES, MATCHES)]
    for role, half in zip((MONEY_GAMES, MATCHES), halves, strict=True):
        hint = "more games, or a larger window"
        check_number(half, parameters.decisions // 2, "close cube decisions", context.inputs[role], hint)
    both = halves[0].joined_with(halves[1])
    return {
        **text_arrays("xgids", both.xgids()),
        "seeds": both.seeds(),
        "boards": both.boards,
        "classes": position_classes(both.boards).astype(np.uint8),
        "themes": both.themes.astype(np.uint8),
        "games": both.games,
        "turns": both.turns,
        "windows": np.array([single_games(both.stakes(row), rules) for row in range(len(both.games))]),
    }


def close_candidates(
    corpus: Table, parameters: CubeBenchmarkParameters, player: NetworkPlayer, rules: CubeRules
) -> Candidates:
    """Return the decisions that are taken from one corpus, half of all decisions, in ascending order of hashes. If
    there are too few, return all of them."""
    found, wanted = candidates_of(corpus, parameters), parameters.decisions // 2
    share = -(-wanted // (len(Theme) - len(RACES)))
    taken, counts, close = dict[int, int](), np.zeros(len(Theme), np.int64), list[int]()
    for row in close_rows(found, player, rules, parameters.window):  # a generator: evaluates only the rows it needs
        close.append(row)
        game, theme = int(found.games[row]), int(found.themes[row])
        if game not in taken and counts[theme] < share:
            taken[game] = row
            counts[theme] += 1
        if len(taken) == wanted:
            break
    for row in close:  # the second pass, if shares are not full
        if len(taken) < wanted:
            taken.setdefault(int(found.games[row]), row)
    return found.rows(np.array(sorted(taken.values()), np.int64))


def close_rows(found: Candidates, player: NetworkPlayer, rules: CubeRules, window: float) -> Iterator[int]:
    """Yield the indexes of the candidates where the decision is close, in ascending order."""
    for begin in range(0, len(found.games), CHUNK):
        rows = found.rows(slice(begin, begin + CHUNK))
        chances = player.evaluate_many(np.ascontiguousarray(rows.boards)).chances
        for row in range(len(rows.games)):
            if is_close(chances[row], rows.stakes(row), rules, window):
                yield begin + row


def candidates_of(corpus: Table, parameters: CubeBenchmarkParameters) -> Candidates:
    """Return the turns of a corpus before which the player on roll may double, in contact positions only, in ascending
    order of hashes. A position that occurs several times with the same stakes is taken once."""
    found = corpus_candidates(corpus, parameters.sample_seed)
    return found.rows(np.flatnonzero((found.cubes[:, 1] != OPPONENT) & ~np.isin(found.themes, RACES)))


def is_close(chances: Array, stakes: Stakes, rules: CubeRules, window: float) -> bool:
    """Return whether doubling, or taking, gains or costs at most `window` points of normalised equity, by the cube
    model from float32[5] chances."""
    no_double, taken, _, passed = model_equities(CONSTANT_STRATEGY, chances, stakes, rules)
    return bool(min(abs(min(taken, passed) - no_double), abs(taken - passed)) <= window)


def single_games(stakes: Stakes, rules: CubeRules) -> tuple[float, float]:
    """Return the match winning chances after losing and after winning a single game with this cube; NaN in money
    play."""
    if isinstance(stakes.score, Money):
        return np.nan, np.nan
    value = stakes.cube.value
    return worth_of_result(-value, stakes, rules), worth_of_result(value, stakes, rules)


def score_text(stakes: Stakes) -> str:
    """Return the score as text: "money", or the points that both players need, such as "3-5"."""
    score = stakes.score
    return "money" if isinstance(score, Money) else f"{score.away}-{score.opponent_away}"


def best_actions(values: Array) -> Array:
    """Return the best action of each decision, as an index into ACTIONS (int32[n]), from
    float64[n, (no double, double and take)] values."""
    no_double, taken = np.asarray(values).T
    doubled = np.where(taken < 1.0, 1, 2)
    return np.where(np.minimum(taken, 1.0) >= no_double, doubled, np.where(taken < 1.0, 0, 3)).astype(np.int32)


COMPUTATION = CubeBenchmarkComputation

"""Judges the games of imported matches, and copies games that another version has judged in the same way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from bgdata.equity.cube import CubeRules
from bgdata.errors import CheckFailedError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.game.board_kernels import position_classes
from bgdata.game.dice import to_roll
from bgdata.game.identifiers import format_xgid
from bgdata.game.match import Money
from bgdata.game.match_state import MatchState, Side
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.game.themes import NO_THEME, Theme, position_themes
from bgdata.kinds.column_values import (
    class_column,
    numbers_or_null,
    position_columns,
    select_texts,
    text_arrays,
    text_column,
)
from bgdata.matches.acts import NO_DOUBLE, ActKind, JudgedAct
from bgdata.matches.judging import Analyst, judge_game
from bgdata.matches.kinds.match_analysis import DATASET, NUMBERS, SUBJECTS, VALUES, MatchAnalysisParameters
from bgdata.matches.kinds.shared.source_games import keys_by_match, keys_of_games, situations_of
from bgdata.matches.situations import Situation
from bgdata.selfplay.kinds.shared.games_compute import OWNERS
from bgdata.selfplay.kinds.shared.rollouts_compute import first_met, network_versions, open_roller
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck, sample_text
from bgdata.store.shards import compute_shards, context_of, opened_once, runs, work_of
from bgdata.store.table import Table
from bgdata.store.worker_inputs import Settings

STEP = 16  # games in a shard, which takes some seconds at 1-ply
SAMPLE_GAMES = 2
DIGITS = 9  # digits of values, because the last digits of sums differ between processors
PLAY, DOUBLE, ANSWER = range(3)
MONEY_AWAY, NULL = 0, -1
SAME = 1e-4  # points: eXtreme Gammon sees no decision between plays whose values differ by less
TRIVIAL, CLEAR, LOST = 0.001, 0.2, -0.9  # points: its limits for cube actions that do not count as decisions
ERRORS = {DOUBLE: ("missed double", "wrong double"), ANSWER: ("wrong pass", "wrong take")}
COLUMN = {name: number for number, name in enumerate(NUMBERS)}
TEXTS = {"choices": 2, "xgids": 1}  # number of texts of a decision, by array
NO_ROWS = {
    "numbers": np.zeros((0, len(NUMBERS)), np.int32),
    "values": np.zeros((0, len(VALUES))),
    "boards": np.zeros((0, 26), np.int8),
    **dict.fromkeys(TEXTS, np.zeros(0, np.uint8)),
}
GameRows: TypeAlias = dict[str, Array]  # the decisions of one game: the arrays of NO_ROWS, and the ends of TEXTS


class MatchAnalysisComputation(Computation[MatchAnalysisParameters]):
    """Computes `match_analysis`: judges the games of imported matches, and copies games that were judged before."""

    def compute(self, build: Build[MatchAnalysisParameters]) -> None:
        source, before = build.inputs["source"], versions_judged_alike(build)
        by_match: dict[bytes, list[bytes]] = {}
        for table, judged in before:
            by_match |= keys_by_match(judged, table.array("game_keys"))
        keys = keys_of_games(source, by_match)
        known = known_games([table for table, _ in before], set(keys))
        todo = [game for game, key in enumerate(keys) if key not in known]
        if len(todo) < len(keys):
            build.job.progress.note(f"{len(keys) - len(todo):,} of {len(keys):,} games were judged before")
        work, parts = work_of(build, f"{__name__}:judge_games", network_versions(build)), runs(todo, STEP)
        for part, shard in zip(parts, compute_shards(build.job, "games", work, parts), strict=True):
            known.update(zip(keys[part.start : part.stop], split_games(shard), strict=True))
        arrays = arrays_of([known[key] for key in keys])
        arrays["numbers"][:, COLUMN["game"]] = np.repeat(np.arange(len(keys)), np.diff(arrays["game_ends"], prepend=0))
        for name, values in {**arrays, **places_of(build, keys)}.items():
            build.job.save(name, values)

    def batches(self, computed: Computed[MatchAnalysisParameters]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch(columns_of(computed.arrays))

    def statistics(self, computed: Computed[MatchAnalysisParameters]) -> Mapping[str, float]:
        numbers, values = np.asarray(computed.arrays["numbers"]), np.asarray(computed.arrays["values"])
        decisions = int(numbers[:, COLUMN["is_decision"]].sum())
        loss = float(values[:, 0].sum())
        return {"decisions": decisions, "mean_loss": loss / decisions if decisions else 0.0}

    def check_sample(self, recheck: Recheck[MatchAnalysisParameters]) -> str:
        """Judge a random sample of games again and compare them, and recompute the places and names of all games."""
        source, table = recheck.inputs["source"], recheck.table
        for name, values in places_of(recheck, keys_of_games(source, {})).items():
            if not np.array_equal(table.array(name), values):
                raise CheckFailedError(f"expected the {name} of the source in {table.name}, found others")
        ends = [0, *table.array("game_ends").tolist()]
        if sorted(ends) != ends or ends[-1] != len(table.array("numbers")):
            raise CheckFailedError(f"expected the decisions of each game in {table.name}, found ends out of order")
        count = len(ends) - 1
        chosen = recheck.generator.permutation(count)[: min(SAMPLE_GAMES, recheck.rows)].tolist()
        analysts, arrays = open_analyst(recheck), table.arrays()
        for game, found in zip(chosen, situations_of(source, chosen), strict=True):
            kept = game_rows_in(arrays, slice(*ends[game : game + 2]))
            for name, values in judge(analysts, found, game).items():
                if not np.array_equal(kept[name], values, equal_nan=name == "values"):
                    raise CheckFailedError(f"expected the same {name} of game {game} in {table.name}, found others")
        return sample_text(len(chosen), count, "games")


def versions_judged_alike(build: Build[MatchAnalysisParameters]) -> list[tuple[Table, Table]]:
    """Return the versions that were judged by the same network, tables and settings, each with the import that it
    judged."""
    found = []
    mine = {role: table.folder.name for role, table in build.inputs.items() if role != "source"}
    for table in build.warehouse.versions("match_analysis"):
        parameters = MatchAnalysisParameters.from_manifest(table.manifest.parameters)
        made_from = build.warehouse.made_from(table)
        theirs = {role: each.folder.name for role, each in made_from.items() if role != "source"}
        same = (parameters.network_version, parameters.ply) == (build.parameters.network_version, build.parameters.ply)
        if mine == theirs and same and table.manifest.revision == DATASET.revision:
            found.append((table, made_from["source"]))
    return found


def known_games(tables: Iterable[Table], keys: set[bytes]) -> dict[bytes, GameRows]:
    """Return the decisions of the games in `tables` that have one of these keys, by key."""
    found: dict[bytes, GameRows] = {}
    for table in tables:
        arrays, begin = table.arrays(), 0
        for key, end in zip(np.asarray(arrays["game_keys"]), arrays["game_ends"].tolist(), strict=True):
            if (name := key.tobytes()) in keys and name not in found:
                found[name] = game_rows_in(arrays, slice(begin, end))
            begin = end
    return found


def judge_games(settings: Settings, begin: int, end: int) -> dict[str, Array]:
    """Judge the games from `begin` to before `end` of the import, and return the arrays of their decisions."""
    analysts, source = opened_once(open_judging, settings)
    games = range(begin, end)
    return arrays_of([judge(analysts, *each) for each in zip(situations_of(source, games), games, strict=True)])


def open_judging(settings: Settings) -> tuple[dict[int, Analyst], Table]:
    """Open what `judge_games` needs, from its settings. Returns the analysts and the import."""
    context = context_of(settings, MatchAnalysisParameters)
    return open_analyst(context), context.inputs["source"]


def open_analyst(context: Context[MatchAnalysisParameters]) -> dict[int, Analyst]:
    """Open two analysts, one for games with beavers and one for games without. Returns them by `has_beavers`."""
    player = LookaheadPlayer(open_roller(context), context.parameters.ply)
    met = first_met(context.inputs["met"].arrays())
    rules = (CubeRules(met=met, has_beavers=beavers) for beavers in (False, True))
    return dict(enumerate(Analyst(player, each) for each in rules))


def judge(analysts: Mapping[int, Analyst], found: Situation, game: int) -> GameRows:
    """Judge a game, and return the rows of its decisions. `game` is its number in the import."""
    rows = [
        row
        for number, act in enumerate(judge_game(analysts[found.has_beavers], found.record))
        for row in decision_rows(found, game, number, act)
    ]
    return {
        "numbers": np.array([row.numbers for row in rows], np.int32).reshape(-1, len(NUMBERS)),
        "values": np.array([row.values for row in rows], np.float64).reshape(-1, len(VALUES)).round(DIGITS),
        "boards": np.array([row.board for row in rows], np.int8).reshape(-1, 26),
        **text_arrays("choices", [text for row in rows for text in (row.made, row.best)]),
        **text_arrays("xgids", [row.xgid for row in rows]),
    }


class Decision(NamedTuple):
    """A decision as a row of the table, with the numbers of NUMBERS and the values of VALUES."""

    numbers: tuple[int, ...]
    values: tuple[float, ...]
    board: Array
    xgid: str
    made: str
    best: str


def decision_rows(found: Situation, game: int, turn: int, judged: JudgedAct) -> Iterator[Decision]:
    """Yield the decisions of an act as rows. A roll has up to two: whether to double, if that was possible, and the
    play."""
    act, is_match = judged.act, bool(found.match.length)
    score = act.stakes.score
    away = (MONEY_AWAY, MONEY_AWAY) if isinstance(score, Money) else (score.away, score.opponent_away)
    place = (game, turn, act.player)
    stakes = (*away, int(act.stakes.is_crawford), act.stakes.cube.value, OWNERS.index(act.stakes.cube.owner))
    if judged.cube is not None:
        kind = DOUBLE if act.kind in (ActKind.ROLL, ActKind.DOUBLE) else ANSWER
        made = NO_DOUBLE if act.kind is ActKind.ROLL else str(act.kind)
        best = str(judged.best_answer or judged.cube.best_action)
        flags = (0, int(judged.is_cube_decision), int(counts_for_pr(judged, kind)))
        values = loss_values(judged.cube_loss, judged, is_match=is_match)
        numbers = (*place, kind, *stakes, NULL, NULL, *flags)
        yield Decision(numbers, values, act.board, decision_xgid(found, judged, kind), made, best)
    if judged.roll is not None and act.dice is not None:
        roll = judged.roll
        spread = roll.candidates[0].worth - roll.candidates[-1].worth if roll.candidates else 0.0
        counts = not roll.is_forced and (len(roll.candidates) < 2 or spread >= SAME * judged.point)
        legal = legal_plays(Position(act.board.tolist()), to_roll(act.dice))
        plays = {play.after_play.board: play for play in legal}
        played = plays.get(tuple(act.after_play.tolist())) if act.after_play is not None else None
        made = str(played) if played else ""
        best = str(plays[tuple(roll.candidates[0].after_play.tolist())]) if roll.candidates else ""
        luck = (judged.luck / judged.point, judged.luck if is_match else math.nan)
        values = (*loss_values(judged.play_loss, judged, is_match=is_match)[:2], *luck)
        flags = (int(roll.is_forced), int(judged.is_play_decision), int(counts))
        numbers = (*place, PLAY, *stakes, *act.dice, *flags)
        yield Decision(numbers, values, act.board, decision_xgid(found, judged, PLAY), made, best)


def loss_values(loss: float, judged: JudgedAct, *, is_match: bool) -> tuple[float, ...]:
    """Return a loss as the VALUES of a row: in points, and in mwc if it is from a match. Luck is NaN."""
    return loss / judged.point, loss if is_match else math.nan, math.nan, math.nan


def counts_for_pr(judged: JudgedAct, kind: int) -> bool:
    """Return whether a cube decision counts for PR by eXtreme Gammon's published rules.

    An answer counts unless take and pass have the same value. A double, or a roll without a double, does not count if
    both choices have the same value, if not doubling is better by more than 0.2 points, or if the game is lost with
    either choice (below -0.9 points). But an error always counts.
    """
    assert judged.cube is not None
    no_double, take = ((worth - judged.cube.double_pass) / judged.point + 1 for worth in judged.cube[:2])
    if kind == ANSWER:
        return abs(take - 1) >= TRIVIAL
    is_trivial = (
        abs(no_double - min(take, 1)) < TRIVIAL
        or no_double - min(take, 1) > CLEAR
        or (no_double < LOST and take < LOST)
    )
    return not is_trivial or judged.cube_loss / judged.point >= TRIVIAL


def decision_xgid(found: Situation, judged: JudgedAct, kind: int) -> str:
    """Return the XGID of the position before a decision, for the player on roll."""
    act, length = judged.act, found.match.length
    score = act.stakes.score
    scores = (0, 0) if isinstance(score, Money) else (length - score.opponent_away, length - score.away)
    owner = {"on_roll": Side.BOTTOM, "opponent": Side.TOP}.get(str(act.stakes.cube.owner))
    is_offered = kind == ANSWER and act.kind is not ActKind.BEAVER and act.player != act.on_roll
    state = MatchState(
        roll=to_roll(act.dice) if kind == PLAY and act.dice else None,
        cube_value=act.stakes.cube.value, cube_owner=owner, length=length, scores=scores,
        is_double_offered=is_offered, to_decide=Side.TOP if is_offered else Side.BOTTOM,
        is_crawford=act.stakes.is_crawford, is_jacoby=isinstance(score, Money) and score.is_jacoby,
    )  # fmt: skip
    return format_xgid(Position(act.board.tolist()), state)


def arrays_of(games: Sequence[GameRows]) -> dict[str, Array]:
    """Return the arrays of all decisions of these games, in order."""
    found = {name: np.concatenate([none, *(game[name] for game in games)]) for name, none in NO_ROWS.items()}
    for name in TEXTS:
        lengths = np.cumsum([0, *(len(game[name]) for game in games)])
        ends = (game[f"{name}_ends"] + begin for game, begin in zip(games, lengths[:-1], strict=True))
        found[f"{name}_ends"] = np.concatenate([np.zeros(0, np.int64), *ends])
    return {**found, "game_ends": np.cumsum([len(game["numbers"]) for game in games], dtype=np.int64)}


def split_games(shard: Mapping[str, Array]) -> Iterator[GameRows]:
    """Yield the decisions of each game in arrays of `arrays_of`."""
    return (game_rows_in(shard, slice(*ends)) for ends in pairwise([0, *shard["game_ends"].tolist()]))


def game_rows_in(arrays: Mapping[str, Array], rows: slice) -> GameRows:
    """Return the decisions in `rows`, which are those of one game, from arrays of `arrays_of`."""
    found = {name: np.asarray(arrays[name])[rows] for name in ("numbers", "values", "boards")}
    for name, each in TEXTS.items():
        ends = arrays[f"{name}_ends"]
        begin = int(ends[each * rows.start - 1]) if rows.start else 0
        own = np.asarray(ends)[each * rows.start : each * rows.stop]
        found[name] = np.asarray(arrays[name])[begin : int(own[-1]) if len(own) else begin]
        found[f"{name}_ends"] = own - begin
    return found


def places_of(context: Context[MatchAnalysisParameters], keys: Sequence[bytes]) -> dict[str, Array]:
    """Return the arrays that say which games of the import the decisions are from. `keys` are the keys of all its
    games."""
    source = context.inputs["source"].arrays()
    return {
        "game_places": np.array(np.asarray(source["games"])[:, :2], np.int32),
        "game_keys": np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 16),
        "players": np.array(source["players"]),
        "players_ends": np.array(source["players_ends"]),
    }


def columns_of(arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return the columns of the table, from the arrays of decisions."""
    numbers, values = np.asarray(arrays["numbers"]), np.asarray(arrays["values"])
    boards = np.asarray(arrays["boards"])
    column = {name: np.ascontiguousarray(numbers[:, number]) for name, number in COLUMN.items()}
    games, kinds = column["game"], column["subject"]
    places, names = np.asarray(arrays["game_places"]), text_column(arrays, "players")
    choices = text_column(arrays, "choices").to_pylist()
    themes = position_themes(boards)
    labels = pa.array([theme.label for theme in Theme])
    away = {name: _number(column[name], pa.int32(), MONEY_AWAY) for name in ("away", "opponent_away")}
    dice = {name: _number(column[name], pa.int8(), NULL) for name in ("die1", "die2")}
    flags = {name: pa.array(column[name] == 1) for name in ("is_forced", "is_decision", "counts_for_pr")}
    figures = {name: numbers_or_null(values[:, number]) for number, name in enumerate(VALUES)}
    figures["luck"] = figures["luck"].cast(pa.float32())
    return {
        "match": pa.array(np.ascontiguousarray(places[games, 0])),
        "game": pa.array(games),
        "turn": pa.array(column["turn"]),
        "subject": select_texts(pa.array(SUBJECTS), kinds),
        "game_number": pa.array(places[games, 1].astype(np.int16)),
        "turn_number": pa.array(column["turn"] + 1),
        "player_name": select_texts(names, 2 * games + column["player"]),
        "other_name": select_texts(names, 2 * games + 1 - column["player"]),
        **position_columns(boards),
        "class": class_column(position_classes(boards).astype(np.uint8)),
        "theme": select_texts(labels, np.where(themes == NO_THEME, -1, themes).astype(np.int32)),
        "xgid": text_column(arrays, "xgids"),
        **away,
        "is_crawford": pa.array(column["is_crawford"] == 1),
        "cube_value": pa.array(column["cube_value"]),
        "cube_owner": select_texts(pa.array([str(owner) for owner in OWNERS]), column["cube_owner"]),
        **dice,
        "made": pa.array(choices[::2], pa.string()),
        "best": pa.array(choices[1::2], pa.string()),
        **figures,
        **flags,
        "error": pa.array(map(error_of, kinds.tolist(), choices[::2], values[:, 0].tolist()), pa.string()),
    }


def error_of(kind: int, made: str, loss: float) -> str | None:
    """Return the description of an error, such as a missed double; None if the decision is not an error."""
    if loss <= 0:
        return None
    if kind == PLAY:
        return "play"
    first, second = ERRORS[kind]
    return first if made in (NO_DOUBLE, str(ActKind.PASS)) else second


def _number(values: Array, kind: pa.DataType, null: int) -> pa.Array:
    return pa.array(values, kind, mask=values == null)


COMPUTATION = MatchAnalysisComputation

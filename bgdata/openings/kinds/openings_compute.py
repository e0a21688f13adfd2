"""Rolls out the candidates of a first roll, and of the replies to its sensible plays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError
from bgdata.evaluation.choices import Chooser
from bgdata.game.codec import flip_boards
from bgdata.game.dice import to_roll
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kinds.column_values import chance_columns, constant, position_columns
from bgdata.kinds.rechecking import cheapest_rows, check_arrays
from bgdata.openings.candidates import Objective, candidates_of, is_known, roll_out_candidates
from bgdata.openings.kinds.openings import FIRST_ROLLS, MAX_SENSIBLE, REPLY_ROLLS, OpeningParameters
from bgdata.selfplay.kinds.shared.rollouts_compute import network_text, open_roller
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck

REPLAYED_GAMES = 64  # games that verify replays for each sampled decision, at least the games of one decision
PLAYS = {  # arrays of a candidate: dtype and shape
    "boards_after": (np.int8, (26,)),
    "plays_chances": (np.float32, (5,)),
    "plays_chance_errors": (np.float32, (5,)),
    "plays_equities": (np.float64, ()),
    "plays_standard_errors": (np.float64, ()),
    "plays_losses": (np.float64, ()),
    "plays_loss_standard_errors": (np.float64, ()),
    "plays_trials": (np.int64, ()),
}
COLUMNS = {
    "equity": "plays_equities",
    "standard_error": "plays_standard_errors",
    "loss": "plays_losses",
    "loss_standard_error": "plays_loss_standard_errors",
    "trials": "plays_trials",
}


class Slot(NamedTuple):
    """A decision that the table of a first roll may contain: the first roll, or a reply to one of its plays."""

    first_roll: str
    answered: int  # rank of the first play that is answered, -1 for the first roll itself
    reply_roll: str  # empty for the first roll itself

    @property
    def roll(self) -> tuple[int, int]:
        """The dice of the decision, higher die first."""
        roll = to_roll(self.reply_roll or self.first_roll)
        return roll.high, roll.low

    @property
    def item(self) -> int:
        """The number that, with the seed, selects the dice of its rollouts. It does not depend on other decisions."""
        first = FIRST_ROLLS.index(self.first_roll)
        if not self.reply_roll:
            return first
        answered = first * MAX_SENSIBLE + self.answered
        return len(FIRST_ROLLS) + answered * len(REPLY_ROLLS) + REPLY_ROLLS.index(self.reply_roll)


class OpeningsComputation(Computation[OpeningParameters]):
    """Computes `openings`: rolls out the candidates of a first roll, and of the replies to its sensible plays."""

    def compute(self, build: Build[OpeningParameters]) -> None:
        parameters, job = build.parameters, build.job
        chooser, slots = open_chooser(build), slots_of(parameters)
        shape = len(slots), parameters.most_plays
        state: dict[str, Array] = {name: np.zeros((*shape, *more), dtype) for name, (dtype, more) in PLAYS.items()}
        counts = np.zeros((len(slots), 2), np.int64)  # candidates, and all plays
        first = max(1, round((parameters.reply_until / parameters.limits().until) ** 2))  # roughly, in games of a reply
        sizes = [first, *[1] * (len(slots) - 1)]
        for row in job.steps("parts", range(len(slots)), sizes, {**state, "counts": counts}):
            board, answered = np.array(START.board, np.int8), slots[row].answered
            if answered >= 0:
                if answered >= counts[0, 0] or state["plays_losses"][0, answered] > parameters.sensible:
                    continue  # the first roll has no such sensible play
                board = np.asarray(state["boards_after"][0, answered])
            found = rollout_arrays(parameters, chooser, board, slots[row])
            counts[row] = len(found["plays_trials"]), found.pop("n_legal_plays")
            for name, values in found.items():
                state[name][row, : counts[row, 0]] = values
        is_there = np.arange(parameters.most_plays) < counts[:, :1]
        plays = {name: values[is_there] for name, values in state.items()}
        counts = counts[counts[:, 0] > 0]
        job.save("decisions_n_plays", counts[:, 0])
        job.save("decisions_n_legal_plays", counts[:, 1])
        job.save("network", network_text(parameters, build.inputs))
        derived = derived_arrays(parameters, counts[:, 0], plays["plays_losses"], plays["boards_after"])
        for name, values in {**plays, **derived}.items():
            job.save(name, values)

    def batches(self, computed: Computed[OpeningParameters]) -> Iterator[pa.RecordBatch]:
        arrays = {name: np.asarray(values) for name, values in computed.arrays.items()}
        parameters, decisions = computed.parameters, arrays["plays_decisions"]
        is_reply = arrays["decisions_answered"] >= 0
        until = np.where(is_reply, parameters.reply_until, parameters.limits().until)[decisions]
        dice = arrays["decisions_reply_rolls"].tolist()
        replies = pa.array([f"{high}{low}" if high else None for high, low in dice], pa.string())
        plays = pa.array(play_texts(parameters.first_roll, arrays))
        chances, errors = (chance_columns(arrays[f"plays_{name}"]) for name in ("chances", "chance_errors"))
        yield pa.record_batch(
            {
                "decision": decisions.astype(np.int32),
                "rank": arrays["plays_ranks"].astype(np.int16),
                "objective": constant(parameters.objective, "VARCHAR", len(decisions)),
                "first_roll": constant(parameters.first_roll, "VARCHAR", len(decisions)),
                "first_play": plays.take(pa.array(arrays["decisions_answered"], mask=~is_reply)).take(decisions),
                "reply_roll": replies.take(decisions),
                "position_id": position_columns(arrays["boards_before"])["position_id"].take(decisions),
                "play": plays,
                "next_position_id": position_columns(arrays["boards_after"])["position_id"],
                **chances,
                **{f"{name}_standard_error": values for name, values in errors.items()},
                **{column: arrays[name] for column, name in COLUMNS.items()},
                "is_reached": pa.array(arrays["plays_standard_errors"] <= until),
                "n_legal_plays": arrays["decisions_n_legal_plays"][decisions].astype(np.int32),
                "network": constant(arrays["network"].tobytes().decode(), "VARCHAR", len(decisions)),
            }
        )

    def statistics(self, computed: Computed[OpeningParameters]) -> Mapping[str, float]:
        arrays = {name: np.asarray(values) for name, values in computed.arrays.items()}
        parameters, errors = computed.parameters, arrays["plays_standard_errors"]
        is_reply = arrays["decisions_answered"][arrays["plays_decisions"]] >= 0
        known = np.zeros(len(errors), np.bool_)
        for kind in (False, True):
            rows = is_reply == kind
            is_sure = is_known(
                errors[rows],
                arrays["plays_losses"][rows],
                arrays["plays_loss_standard_errors"][rows],
                parameters.target(is_reply=kind),
            )
            known[rows] = is_sure
        return {
            "decisions": float(len(arrays["decisions_n_plays"])),
            "replies": float((arrays["decisions_answered"] >= 0).sum()),
            "games": float(arrays["plays_trials"].sum()),
            "mean_standard_error": float(errors.mean()),
            "largest_standard_error": float(errors.max()),
            "known_share": float(known.mean()),
        }

    def check_sample(self, recheck: Recheck[OpeningParameters]) -> str:
        """Check that replies answer the sensible plays. From a random sample of decisions, roll out again those with
        the fewest games."""
        table, parameters = recheck.table, recheck.parameters
        arrays = {name: np.asarray(values) for name, values in table.arrays().items()}
        counts = arrays["decisions_n_plays"]
        derived = derived_arrays(parameters, counts, arrays["plays_losses"], arrays["boards_after"])
        check_arrays(table, {**derived, "network": network_text(parameters, recheck.inputs)})
        chosen = recheck.generator.permutation(len(counts))[: recheck.rows].tolist()
        games = {row: int(arrays["plays_trials"][arrays["plays_decisions"] == row].sum()) for row in chosen}
        chooser, rows = open_chooser(recheck), cheapest_rows(games, REPLAYED_GAMES * recheck.rows)
        for row in rows:
            check_decision(recheck, chooser, row)
        return f"{len(rows)} of {len(counts)} decisions rolled out again"


def open_chooser(context: Context[OpeningParameters]) -> Chooser:
    """Open the network that the parameters name, as a player that plays for their objective."""
    return Objective(context.parameters.objective).chooser(open_roller(context).chooser)


def slots_of(parameters: OpeningParameters) -> list[Slot]:
    """Return the decisions that the table may contain: the first roll, then the replies to each of its plays."""
    first = parameters.first_roll
    replies = [Slot(first, rank, reply) for rank in range(parameters.sensible_plays) for reply in REPLY_ROLLS]
    return [Slot(first, -1, ""), *replies]


def rollout_arrays(parameters: OpeningParameters, chooser: Chooser, board: Array, slot: Slot) -> dict[str, Array]:
    """Roll out the candidates of one decision at this board. Returns their arrays and the number of legal plays, which
    depend on this decision only."""
    objective, wanted = Objective(parameters.objective), parameters.target(is_reply=bool(slot.reply_roll))
    within = wanted.within + parameters.margin
    boards, n_legal_plays = candidates_of(board, slot.roll, chooser, objective, within, parameters.most_plays)
    found = roll_out_candidates(boards, chooser, objective, wanted, parameters.how(), parameters.seed, slot.item)
    result = found.result
    return {
        "boards_after": found.boards,
        "plays_chances": result.legal_chances(),
        "plays_chance_errors": result.standard_errors.astype(np.float32),
        "plays_equities": result.equities,
        "plays_standard_errors": result.equity_standard_errors,
        "plays_losses": found.losses,
        "plays_loss_standard_errors": found.loss_standard_errors,
        "plays_trials": result.trials,
        "n_legal_plays": np.array(n_legal_plays),
    }


def derived_arrays(parameters: OpeningParameters, n_plays: Array, losses: Array, boards: Array) -> dict[str, Array]:
    """Return the arrays that follow from the rollouts. `n_plays`, int64[d], is the number of candidates of each
    decision; `losses` float64[k] and `boards` int8[k, 26] belong to the candidates."""
    first_plays = np.cumsum(n_plays) - n_plays
    is_sensible = losses[: n_plays[:1].sum()][: parameters.sensible_plays] <= parameters.sensible
    answers = np.repeat(np.flatnonzero(is_sensible), len(REPLY_ROLLS))
    decisions = np.repeat(np.arange(len(n_plays)), n_plays)
    return {
        "decisions_reply_rolls": dice_of(["", *REPLY_ROLLS * int(is_sensible.sum())]),
        "decisions_answered": np.concatenate([[-1], answers]),
        "boards_before": np.concatenate([np.array([START.board], np.int8), boards[answers]]),
        "plays_decisions": decisions,
        "plays_ranks": np.arange(len(decisions)) - first_plays[decisions],
    }


def dice_of(rolls: Iterable[str]) -> Array:
    """Return the dice of rolls such as "31", as int8[n, 2]; zeros for an empty string."""
    return np.array([[int(die) for die in roll or "00"] for roll in rolls], np.int8).reshape(-1, 2)


def play_texts(first_roll: str, arrays: Mapping[str, Array]) -> list[str]:
    """Return the candidates of all decisions as plays in the usual notation."""
    texts: list[str] = []
    after_play = flip_boards(arrays["boards_after"])
    is_first = arrays["decisions_answered"] < 0
    rolls = np.where(is_first[:, None], dice_of([first_roll]), arrays["decisions_reply_rolls"])
    for row, (board, dice) in enumerate(zip(arrays["boards_before"], rolls.tolist(), strict=True)):
        plays = {play.after_play.board: str(play) for play in legal_plays(Position(board), dice)}
        texts += [plays.get(tuple(after), "") for after in after_play[arrays["plays_decisions"] == row].tolist()]
    return texts


def check_decision(recheck: Recheck[OpeningParameters], chooser: Chooser, row: int) -> None:
    """Raise CheckFailedError unless rolling out decision `row` again gives the stored values."""
    table, arrays = recheck.table, recheck.table.arrays()
    answered = int(arrays["decisions_answered"][row])
    rank = int(arrays["plays_ranks"][answered]) if answered >= 0 else -1
    reply = "".join(map(str, arrays["decisions_reply_rolls"][row].tolist())) if rank >= 0 else ""
    slot = Slot(recheck.parameters.first_roll, rank, reply)
    found = rollout_arrays(recheck.parameters, chooser, np.asarray(arrays["boards_before"][row]), slot)
    if found.pop("n_legal_plays") != arrays["decisions_n_legal_plays"][row]:
        raise CheckFailedError(f"expected another number of legal plays in decision {row} of {table.name}")
    is_play = np.asarray(arrays["plays_decisions"]) == row
    for name, values in found.items():
        stored = arrays[name][is_play]
        if not np.array_equal(values, stored):
            raise CheckFailedError(
                f"expected {name} of {values.tolist()} in decision {row} of {table.name}, found {stored.tolist()}"
            )


COMPUTATION = OpeningsComputation

"""Samples positions theme by theme, and rolls each of them out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from bgdata.errors import CheckFailedError, InvalidParameterError, UsageError
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.player import MappedNetwork, find_network
from bgdata.evaluation.player import RandomPlayer, open_named_player
from bgdata.evaluation.players import NETWORK, PLAIN_PLAYERS
from bgdata.game.board_kernels import position_classes
from bgdata.game.themes import position_themes
from bgdata.kinds.column_values import chance_columns, chosen_texts, class_column, position_columns
from bgdata.kinds.rechecking import check_arrays, check_rows, quickest
from bgdata.measures.kinds.reference_positions import NAMED_NETWORK, THEMES, ReferenceParameters
from bgdata.measures.theme_sample import Sources, drawn_positions, game_plan, sample_positions
from bgdata.selfplay.kinds.shared.games_compute import slices
from bgdata.selfplay.kinds.shared.rollouts_compute import (
    BEAROFF_ROLES,
    empty_rollouts,
    network_text,
    open_roller,
    rollout_arrays,
)
from bgdata.selfplay.kinds.training_games import STARTS
from bgdata.selfplay.splits import SPLITS, halves_of_games
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Computation, Computed, Context, Recheck

STEP = 4  # positions rolled out at a time, between which a killed run goes on
CANDIDATES = 60  # of which verify rolls out again those with the fewest games: each takes seconds
REPLAYED_TRIALS = 6000  # in all; one position at least
MOST_REPLAYED = 500  # games that verify plays again
ROLLED = ("chances", "standard_errors", "equity_standard_errors", "trials")  # what rollouts fill


class ReferencePositionsComputation(Computation[ReferenceParameters]):
    """Computation of `reference_positions`."""

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
        boards, chooser = sample.boards, open_roller(build).chooser
        state, items = empty_rollouts(ROLLED, len(boards)), np.arange(len(boards))

        def rolled(rows: slice) -> dict[str, Array]:
            return rollout_arrays(parameters, parameters.seed, chooser, boards[rows], items[rows], ROLLED)

        job.fill("rollouts", state, STEP, rolled)
        job.save("boards", boards)
        job.save("games", sample.games.astype(np.int32))
        job.save("turns", sample.turns.astype(np.int32))
        job.save("network", network_text(parameters, build.inputs))
        for name, values in {**state, **derived_arrays(parameters, boards, sample.games)}.items():
            job.save(name, values)

    def batches(self, computed: Computed[ReferenceParameters]) -> Iterator[pa.RecordBatch]:
        arrays, parameters = computed.arrays, computed.parameters
        network = pa.array([np.asarray(arrays["network"]).tobytes().decode()])
        texts = {"themes": THEMES, "sources": parameters.sources, "starts": STARTS, "splits": SPLITS}
        for rows in slices(len(arrays["games"]), self.kind.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in arrays.items() if name != "network"}
            words = {
                name.removesuffix("s"): chosen_texts(pa.array(texts[name]), found[name].astype(np.int32))
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
                    "network": chosen_texts(network, np.zeros(len(found["games"]), np.int32)),
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
            found[f"{name}_source_games"] = float(arrays["games"][rows].max() + 1)  # looked through until it was full
        return found

    def check_sample(self, recheck: Recheck[ReferenceParameters]) -> str:
        """Draw some positions from their games again, and roll out again those of them with the fewest games."""
        table, parameters = recheck.table, recheck.parameters
        boards, games = np.ascontiguousarray(table.array("boards")), np.asarray(table.array("games"))
        check_arrays(table, derived_arrays(parameters, boards, games))
        check_arrays(table, {"network": network_text(parameters, recheck.inputs)})
        chosen = recheck.generator.permutation(len(boards))[: min(recheck.rows, MOST_REPLAYED)]
        check_drawn(recheck, np.sort(chosen))
        trials = np.asarray(table.array("trials"))
        rows = quickest({row: int(trials[row]) for row in chosen[:CANDIDATES].tolist()}, REPLAYED_TRIALS)
        chooser = open_roller(recheck).chooser
        for row in rows:
            own = np.array([row])
            check_rows(table, own, rollout_arrays(parameters, parameters.seed, chooser, boards[own], own, ROLLED))
        return (
            f"{len(chosen):,} of {len(boards):,} positions drawn from their games again, {len(rows)} rolled out again"
        )


def sources_of(context: Context[ReferenceParameters]) -> Sources:
    """The players of every source, and who rolls out as the judge. Raises MissingTableError for a network that is not
    there."""
    tables = BearoffEvaluator(*(context.inputs[role] for role in BEAROFF_ROLES))
    roller = open_roller(context)

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
    """What follows from int8[n, 26] boards and from the numbers int[n] of their games."""
    plan = game_plan(games.astype(np.int64), len(parameters.sources))
    return {
        "classes": position_classes(boards).astype(np.uint8),
        "themes": position_themes(boards).astype(np.uint8),
        "sources": plan.sources.astype(np.uint8),
        "starts": plan.starts.astype(np.uint8),
        "perturbed": plan.perturbed.astype(np.uint8),
        "splits": halves_of_games(parameters.seed, games),
    }


def check_drawn(recheck: Recheck[ReferenceParameters], rows: Array) -> None:
    """Raise CheckFailedError unless rows are what is drawn from their games for their themes."""
    table = recheck.table
    found = {name: np.asarray(table.array(name)) for name in ("boards", "games", "themes", "turns")}
    games = np.unique(found["games"][rows]).astype(np.int64)
    drawn = drawn_positions(sources_of(recheck), recheck.parameters.seed, games)
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


COMPUTATION = ReferencePositionsComputation

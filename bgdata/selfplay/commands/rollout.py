"""`bgdata rollout`: roll out a position, a cube decision, or the plays of a roll.

Rollouts without the cube show their progress and save finished games, so that a stopped rollout can resume. A trial
depends on its number alone, so the trials of several runs add up to one longer run. The saved games are in the user's
cache folder, because a rollout only reads the warehouse, which may belong to another user.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from bgdata.cli import options as cli
from bgdata.cli.defaults import rules_from_options
from bgdata.cli.output import print_left_out, write_rows
from bgdata.errors import CorruptFileError, StorageError, UsageError
from bgdata.evaluation.rows import is_cubeful, play_rows, rolled_out_columns, stakes_from_options
from bgdata.game.board_text import format_board_text
from bgdata.game.classes import check_in_progress
from bgdata.game.dice import Roll, parse_roll
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import MatchScore, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.process import keeping
from bgdata.rows import EQUITY, LOSS, Column, Quantity, table_lines
from bgdata.selfplay.rows import describe_limits, describe_player, player_columns, rollout_row
from bgdata.store import job
from bgdata.store.progress import Progress, Silence, progress_bars
from bgdata.store.shards import intact_shards, read_shard, save_shard
from bgdata.store.storage import remove_folder, storage_errors
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.evaluation.networks.player import NetworkPlayer
    from bgdata.selfplay.cubeful_rollout import CubefulRollout
    from bgdata.selfplay.rollout import Limits, Rolled, RolloutResult, RolloutSettings, Rows, Values
    from bgdata.selfplay.rollout_decisions import Window


FORMAT = 1
SLICE_SECONDS = 1.0  # time between two estimates
MIN_BLOCKS = 4  # minimum number of blocks for each thread in a slice, so that no thread waits long for others
FORGET_SECONDS = 30 * 24 * 3600  # a stopped rollout is deleted after this time


@click.command()
@click.argument("position")
@click.argument("roll", required=False)
@cli.score_options
@cli.jacoby_option
@cli.model_options
@click.option("--cubeless", is_flag=True, help="Leave out what the position says of score and cube.")
@cli.rollout_options
@cli.within_option
@cli.plays_option()
@cli.threads_option
@cli.format_option
@click.pass_obj
def rollout(
    warehouse: Warehouse, /, position: str, roll: str | None, network: str, form: str, cubeless: bool, **options: Any
) -> None:
    """Roll out a POSITION, or the plays of a ROLL.

    POSITION is a Position ID, gnubg ID, XGID, 20-letter key, 26 integers or start. The network plays both sides many
    times; chances and equity have standard errors. With a ROLL such as 31, or an XGID or gnubg ID that contains one,
    the better plays are rolled out with the same dice and ranked. The luck of every roll is subtracted (variance
    reduction), which makes standard errors several times smaller.

    Where the position is an XGID or gnubg ID, or --cube, --away or another option says what is played for, the cube is
    in play: both sides turn it by the model and choose plays by their value with it. Without a ROLL, no double is
    rolled out beside double and take. The cube goes up to 64. Games end at exact tables, or at bearoffs of up to six
    checkers a side, which are solved for the score, with --model too.

    \b
      bgdata rollout 4HPwATDgc/ABMA
      bgdata rollout 4HPwATDgc/ABMA 31 --plays 3 --until 0.005
      bgdata rollout 4HPwATDgc/ABMA --cube 1
      bgdata rollout 4HPwATDgc/ABMA 21 --away 2-4
    """
    from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
    from bgdata.evaluation.players import NETWORK
    from bgdata.selfplay.rollout import RolloutSettings
    from bgdata.selfplay.rollout_decisions import Window

    start, match = parse_identifier(position)
    if cubeless and is_cubeful(options):
        raise UsageError("expected --cubeless without what is played for, got both")
    player = open_network_player(f"{NETWORK}/{network}" if network else NETWORK, 0, warehouse, endgames=True)
    assert isinstance(player, NetworkPlayer)  # at ply 0
    cubeful = is_cubeful(options) or (match is not None and not cubeless)
    check_in_progress(start)
    print_left_out(match, *(("score", "cube", "jacoby", "roll") if cubeful else ("roll",)))
    dice = parse_roll(roll) if roll else match.roll if match else None
    stakes = stakes_from_options(match, options) if cubeful else match.stakes if match else None
    rules = rollout_rules(warehouse, stakes, options) if cubeful and stakes else None
    if dice is None:
        cli.refuse_without("a roll", "plays", "within")
    how = RolloutSettings(options["stop"], options["truncate"], not options["no_luck"], play_ply=options["play_ply"])
    request = RolloutRequest(
        start, dice, Window(options["within"], min(2, options["plays"]), options["plays"]), cli.limits_of(options),
        options["seed"], how,
    )  # fmt: skip
    parts = (dice.high, dice.low, request.window) if dice else ()
    with saved_rollout(player.label, player.version, start.board, request.seed, how, parts) as kept:
        with progress_bars() as progress:
            if stakes and rules:
                found = roll_out_cubeful(player, request, stakes, rules, progress)
            else:
                found = roll_out_cubeless(player, request, kept, progress)
        if form == "table":
            lines = [describe_player(player) + found.note, *describe_limits(found.error, request.limits)]
            click.echo(format_board_text(start, roll=dice, stakes=stakes))
            click.echo("\n" + "\n".join([*found.lines, *lines]))
            return
        first = {"position_id": start.id, **player_columns(player)} | ({"roll": str(dice)} if dice else {})
        write_rows((first | row for row in found.rows), form)


class RolloutRequest(NamedTuple):
    """The position or the plays to roll out, and the settings of the rollout."""

    position: Position
    roll: Roll | None
    window: Window  # which plays are rolled out, if there is a roll
    limits: Limits
    seed: int
    how: RolloutSettings


class RolloutOutput(NamedTuple):
    """The result of a rollout, as rows and as text."""

    rows: list[dict[str, Any]]
    lines: list[str]  # the rows as text
    error: float  # the largest standard error, in points
    note: str = ""  # about the method, to append to the player


def roll_out_cubeless(
    player: NetworkPlayer, request: RolloutRequest, kept: SavedRollout, progress: Progress
) -> RolloutOutput:
    """Roll out a position, or the better plays of a roll, without the cube. `kept` contains the trials that an earlier
    run finished. Raises UsageError if options contradict each other."""
    from bgdata.game.codec import flip_boards
    from bgdata.selfplay.rollout import roll_out
    from bgdata.selfplay.rollout_decisions import own_blocks, roll_out_decision

    limits, roll, board = request.limits, request.roll, np.array(request.position.board, np.int8)
    if roll is None:
        wrap = kept.saving_with_progress(progress, limits.most, estimate_text)
        result = roll_out(board[None], player.chooser, limits, request.seed, request.how, wrap=wrap)
        return RolloutOutput(
            [rollout_row(result, 0, limits)], describe_result(result), float(result.equity_standard_errors[0])
        )
    wrap = kept.saving_with_progress(progress, limits.most, lambda blocks: estimate_text(own_blocks(blocks)))
    dice = roll.high, roll.low
    decision = roll_out_decision(board, dice, player.chooser, request.seed, request.how, request.window, limits, wrap)
    names = {tuple(play.after_play.board): str(play) for play in legal_plays(request.position, roll)}
    rows = [
        rollout_row(decision.result, row, limits)
        | {
            "loss": float(decision.losses[row]),
            "loss_standard_error": float(decision.loss_standard_errors[row]),
            "static_loss": float(decision.static_losses[row]),
            "play": names[tuple(board)],
        }
        for row, board in enumerate(flip_boards(decision.boards).tolist())
    ]
    lines = table_lines(rolled_out_columns("cubeless_equity", 26), play_rows(rows))
    if decision.n_plays > len(rows):
        lines.append(f"     and {decision.n_plays - len(rows)} more that were not rolled out")
    lines.append("\nall with the same dice; " + describe_luck(decision.result))
    return RolloutOutput(rows, lines, float(decision.result.equity_standard_errors.max()))


def estimate_text(blocks: Values) -> str:
    """Return the equity after the finished blocks of trials and its standard error, as text for a progress bar."""
    from bgdata.selfplay.rollout import result_of

    if blocks.shape[1] < 2:
        return ""
    result = result_of(blocks)
    best = int(result.equities.argmax())
    return EQUITY.text(result.equities[best], result.equity_standard_errors[best])


def describe_result(result: RolloutResult) -> list[str]:
    """Return lines of text with the five chances and the equity of the first position in the result, with standard
    errors."""
    chances, errors = 100 * result.chances[0], 100 * result.standard_errors[0]
    lines = []
    for name, most, places in (("win", chances[0], (0, 1, 2)), ("lose", 100 - chances[0], (0, 3, 4))):
        shares = most, chances[places[1]], chances[places[2]]
        any_, gammon, backgammon = (
            f"{share:6.2f} % +/- {errors[place]:.2f}" for share, place in zip(shares, places, strict=True)
        )
        lines.append(f"{name:<5}{any_}   with a gammon {gammon}   backgammon {backgammon}")
    lines.append(f"cubeless equity {EQUITY.text(result.equities[0], result.equity_standard_errors[0])}\n")
    return [*lines, describe_luck(result)]


def describe_luck(result: RolloutResult) -> str:
    """Return a line of text with the number of trials, and how much smaller the standard error is because luck was
    subtracted."""
    trials, plain, error = result.trials[0], result.plain_standard_errors[0], result.equity_standard_errors[0]
    if plain == error:
        return f"{trials:,} trials"
    times = f": {plain / error:.1f} times as much" if error > 0 else ""
    return f"{trials:,} trials; without subtracting luck the equity had +/- {LOSS.text(plain)}{times}"


def roll_out_cubeful(
    player: NetworkPlayer, request: RolloutRequest, stakes: Stakes, rules: CubeRules, progress: Progress
) -> RolloutOutput:
    """Roll out the cube actions of a position, or the better plays of a roll, with the cube. Raises UsageError if
    options contradict each other, and InvalidParameterError if `rules` do not fit `stakes`."""
    from bgdata.evaluation.lookahead_player import LookaheadPlayer
    from bgdata.selfplay.cubeful_rollout import decision_starts, play_starts, roll_out_with_cube

    is_match, limits, window = isinstance(stakes.score, MatchScore), request.limits, request.window
    if request.roll is None:
        starts = decision_starts(request.position, stakes)
    else:
        window.check()
        ranked = LookaheadPlayer(player).rank_plays(request.position, request.roll, stakes, rules)
        starts = play_starts(ranked, stakes, window.within, window.most_plays)
    progress.start("rollout", len(starts), "positions")
    result = roll_out_with_cube([*starts.values()], player.chooser, rules, limits, request.seed, request.how)
    progress.advance(len(starts))
    choices = choice_rows(result, list(starts), is_turned=request.roll is not None, is_match=is_match)
    errors = result.standard_errors / result.point
    reached = {name: error <= limits.until for name, error in zip(starts, errors.tolist(), strict=True)}
    last = {"trials": int(result.trials[0]), "unit": "mwc" if is_match else "points per unit cube"}
    rows = [row | last | {"is_reached": reached[row["choice"]]} for row in choices]
    note = ""
    if is_match and rules.as_money:
        note = "; the cube is the model's to the last roll"
    elif is_match:
        note = "; bearoffs of up to six checkers a side were solved for the score"
    return RolloutOutput(rows, choice_lines(rows, is_match=is_match), float(errors.max()), note)


def rollout_rules(warehouse: Warehouse, stakes: Stakes, options: Mapping[str, Any]) -> CubeRules:
    """Return the cube rules that both sides play by, from a command's options. A match needs a match equity table even
    if both sides play as for money. Raises the errors of `cli.defaults.rules_from_options`."""
    is_match, as_money = isinstance(stakes.score, MatchScore), options["as_money"]
    rules = rules_from_options(warehouse, stakes, {**options, "as_money": as_money and not is_match})
    return replace(rules, as_money=as_money)


def choice_rows(result: CubefulRollout, names: list[str], *, is_turned: bool, is_match: bool) -> list[dict[str, Any]]:
    """Return one row of data for each cube action, or for each play if `is_turned`, the best first. `is_turned` says
    that the values in `result` are the opponent's. Each row contains the value for the player who decides, in points
    per unit cube or as match winning chance, and the loss against the best choice."""
    from bgdata.selfplay.cubeful_rollout import difference

    values = result.values if not is_turned else 1 - result.values if is_match else -result.values
    best, rows = int(values.argmax()) if is_turned else 0, list[dict[str, Any]]()
    for place, name in enumerate(names):
        gap, error = difference(result, place, best)
        rows.append(
            {
                "choice": name,
                "value": float(values[place]),
                "standard_error": float(result.standard_errors[place]),
                "plain_standard_error": float(result.plain_standard_errors[place]),
                "loss": gap if is_turned else -gap,
                "loss_standard_error": error,
            }
        )
    return sorted(rows, key=lambda row: row["loss"]) if is_turned else rows


def choice_lines(rows: list[dict[str, Any]], *, is_match: bool) -> list[str]:
    """Return the lines of a table of cube actions or plays, with values, losses and standard errors. Match winning
    chances are in percent."""
    value, amount = (Quantity(2, 100), Quantity(2, 100)) if is_match else (EQUITY, LOSS)
    columns = (
        Column("choice", heading="", width=26),
        Column("value", value, "mwc %" if is_match else "equity", width=7),
        Column("standard_error", amount, "+/-", width=6),
        Column("loss", amount, width=7),
        Column("loss_standard_error", amount, "+/-", width=6),
    )
    best = {"loss": None, "loss_standard_error": None}  # the best choice, in the first row, has no loss
    lines = table_lines(columns, (row | (best if row is rows[0] else {}) for row in rows))
    plain, error = rows[0]["plain_standard_error"], rows[0]["standard_error"]
    times = f"; without subtracting luck +/- {amount.text(plain)}" if plain != error else ""
    return [*lines, f"\nall with the same dice; {rows[0]['trials']:,} trials{times}"]


class SavedRollout:
    """The finished blocks of trials of one rollout, saved in a folder. A block contains trials of all boards."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.progress: Progress = Silence()
        self.blocks: list[Values] = []  # [n, blocks, 2, 5] each, in order
        self.saved = 0  # how many of these arrays are in files
        self.can_save = True

    @property
    def count(self) -> int:
        """The number of finished blocks of trials."""
        return sum(part.shape[1] for part in self.blocks)

    def load(self) -> None:
        """Load the blocks that an earlier run saved, up to the first missing one."""
        if self.folder.is_dir():
            for (begin, _), path in sorted(intact_shards(self.progress, self.folder, self.folder.name).items()):
                with suppress(CorruptFileError, StorageError):  # deleted: another run has finished this rollout
                    if begin == self.count:
                        self.blocks.append(read_shard(path, self.folder.name)["blocks"])
        self.saved = len(self.blocks)

    def save(self) -> None:
        """Write the blocks that were finished since the last save. Raises StorageError if they cannot be written."""
        if self.saved < len(parts := list(self.blocks)):
            begin = sum(part.shape[1] for part in parts[: self.saved])
            values = np.concatenate(parts[self.saved :], axis=1)
            with storage_errors("create", self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            save_shard({"blocks": values}, begin, begin + values.shape[1], self.folder, self.folder.name)
            self.saved = len(parts)

    def statement(self) -> str:
        """Save all blocks, and return a clause that says how many are saved, for `process.keeping`."""
        from bgdata.selfplay.rollout_kernels import BLOCK

        with suppress(StorageError):
            self.save()
        count = sum(part.shape[1] for part in self.blocks[: self.saved])
        return f"{count * BLOCK:,} trials of this rollout are kept" if count else ""

    def saving_with_progress(
        self, progress: Progress, most_trials: int, estimate: Callable[[Values], str]
    ) -> Callable[[Rolled], Rolled]:
        """Return a function to pass to `roll_out` as `wrap`. It saves finished blocks, advances a progress bar of at
        most `most_trials`, and shows the text that `estimate` makes from the blocks so far."""
        from bgdata.kernel import thread_count
        from bgdata.selfplay.rollout_kernels import BLOCK

        self.progress = progress
        self.load()

        def wrap(rolled: Rolled) -> Rolled:
            progress.start("rollout", most_trials, "trials")
            if self.count:
                progress.note(f"going on with this rollout after {self.count * BLOCK:,} trials")
                progress.advance(min(self.count * BLOCK, most_trials))
            saved_at, size = time.monotonic(), 1

            def roll(rows: Rows, begins: Rows, count: int) -> Values:
                nonlocal saved_at, size
                begin, end = int(begins[0]), int(begins[0]) + count
                while self.count < end:
                    started = time.monotonic()
                    least = -(-MIN_BLOCKS * thread_count() // len(rows))
                    first, size = self.count, max(size, least)
                    self.blocks.append(rolled(rows, np.full(len(rows), first), min(end - first, size)))
                    now = time.monotonic()
                    size = int(size * min(4.0, SLICE_SECONDS / max(now - started, 1e-6)))
                    progress.advance((self.count - first) * BLOCK)
                    progress.tell(estimate(np.concatenate(self.blocks, axis=1)))
                    if now - saved_at >= job.CHECKPOINT_SECONDS and self.can_save:
                        saved_at = now
                        try:
                            self.save()
                        except StorageError as error:  # continue: only a stop would lose blocks
                            self.can_save = False
                            progress.note(f"this rollout is not kept: {error}")
                return np.concatenate(self.blocks, axis=1)[:, begin:end]

            return roll

        return wrap


@contextmanager
def saved_rollout(*parts: object) -> Iterator[SavedRollout]:
    """Yield the saved blocks of one rollout. `parts` identify the rollout: they contain everything that its games
    depend on. When the `with` block ends without an error, the saved blocks are deleted."""
    from bgdata.kernel_cache import kernel_cache, kernel_fingerprint

    named = repr((FORMAT, kernel_fingerprint(), *parts))
    root = kernel_cache().parent / "rollouts"
    with suppress(OSError):
        for folder in root.iterdir():
            if time.time() - folder.stat().st_mtime > FORGET_SECONDS:
                remove_folder(folder)
    kept = SavedRollout(root / hashlib.sha256(named.encode()).hexdigest()[:32])
    with keeping(kept.statement):
        yield kept
    with storage_errors("delete", kept.folder):
        remove_folder(kept.folder)

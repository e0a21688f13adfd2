"""Rows of the network of bgdata, and of gnubg and bgsage if they are installed."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import NamedTuple

from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from tests.benchmarks.measure import Row, player_seconds, seconds_text
from tests.benchmarks.player_workloads import (
    CONTACT,
    GAMES,
    START,
    likely_and_all,
    mixed_positions,
    played_boards,
    rms,
    shipped_player,
)
from tests.oracles import find_gnubg_tool

Work = tuple[str, *tuple[object, ...]]  # a workload of `player_workloads` and its arguments


class Peer(NamedTuple):
    """Another program: its figure on other machines, and the work that measures it if installed."""

    name: str
    elsewhere: str
    work: Work

    @property
    def is_installed(self) -> bool:
        """Whether it can be measured here."""
        return find_spec(self.name) is not None or find_gnubg_tool(self.name) is not None


def network_rows() -> Iterator[Row]:
    """Rows of the network of bgdata: values, the effect of looking only at likely plays, games and rollouts.

    gnubg's games are rollouts of the start position.
    """
    for ply, goal, others in (
        (0, "400,000", {"bgsage": "96,000 to 116,000/s"}),
        (1, "8,000", {"bgsage": "1,700 to 2,700/s", "gnubg": "870/s"}),
        (2, "400", {"bgsage": "50/s", "gnubg": "23 to 40/s"}),
    ):
        peers = [Peer(name, elsewhere, ("values", name, ply)) for name, elsewhere in others.items()]
        work = f"values of mixed positions, {ply}-ply"
        yield network_row(work, f">= {goal}/s", rate_text, ("values", "network", ply), *peers)
    yield from likely_rows()
    for with_luck, words, count, goal, elsewhere in (
        (False, "every turn kept", 2000, "1,000", "355/s a core"),
        (True, "and the luck of every roll", 200, "200", "18/s a core"),
    ):
        peer = Peer("gnubg", elsewhere, ("gnubg_rollout", START, with_luck, 3))
        work = f"games of self-play, {words}"
        yield network_row(work, f">= {goal}/s", rate_text, ("self_playing", with_luck, count, 5), peer)
    for with_luck, words, goal, elsewhere in (
        (True, "luck subtracted", "<= 2 s", "72 s on a core"),
        (False, "plain", "-", "3.6 s on a core"),
    ):
        peer = Peer("gnubg", elsewhere, ("gnubg_rollout", CONTACT, with_luck, 3))
        work = f"rollout of a contact position, {GAMES:,} games, {words}"
        yield network_row(work, goal, rollout_text, ("rollout", with_luck, 3), peer)


def likely_rows() -> Iterator[Row]:
    """Differences of values from likely plays and from all plays, and of both from rollouts."""
    player, (mixed, equities) = shipped_player(), mixed_positions()
    found, of_play = (likely_and_all(player, boards) for boards in (mixed, played_boards(player)[:3000]))
    in_contact = position_classes(mixed) > PositionClass.RACE
    words = f"{player.likely} plays of a roll"
    for where, values in (
        ("mixed positions", found),
        ("those in contact", found[..., in_contact]),
        ("positions of self-play", of_play),
    ):
        apart = " / ".join(f"{each:.5f}" for each in rms(values[:, 0] - values[:, 1]))
        yield Row(f"values from {words} against all, RMS difference at 1-ply / 2-ply, {where}", f"{apart} points", "-")
    for ply, errors in enumerate(found - equities, 1):
        likely, every = rms(errors)
        told = f"{likely:.5f} - {every:.5f} = {likely - every:.5f} points"
        yield Row(f"RMSE of mixed positions at {ply}-ply from {words}, less that from all", told, "<= 0.001")


def network_row(work: str, goal: str, shown: Callable[[float], str], ours: Work, *peers: Peer) -> Row:
    """A row with the installed peers; the ratio is to the fastest of them."""
    seconds = player_seconds(*ours)
    measured = {peer: player_seconds(*peer.work) for peer in peers if peer.is_installed}
    texts = [
        f"{peer.name} {shown(measured[peer]) if peer in measured else f'{peer.elsewhere} elsewhere'}" for peer in peers
    ]
    ratio = f"{min(measured.values()) / seconds:.3g}x" if measured else "-"
    return Row(work, shown(seconds), goal, ", ".join(texts), ratio)


def rate_text(seconds: float) -> str:
    """The rate per second as text, from seconds each."""
    return f"{1 / seconds:,.0f}/s"


def rollout_text(seconds: float) -> str:
    """The seconds of a rollout as text, from seconds per game."""
    return seconds_text(GAMES * seconds)

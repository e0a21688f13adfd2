"""Measure and print the speed table as Markdown.

Peers run on the same machine at the same time, so that ratios are comparable. Slow peers (makebearoff's 6x8 and 10
points) run with --long, `make build` in a fresh clone with --clone. --only measures groups of rows, such as
`python -m tests.benchmarks --only network`.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from tests.benchmarks import site
from tests.benchmarks.measure import (
    ROOT,
    WAREHOUSE,
    Measured,
    Row,
    in_own_process,
    player_seconds,
    run_command,
    seconds_text,
)
from tests.benchmarks.network_rows import network_rows
from tests.oracles import find_gnubg_tool

POINT = "select cubeless, centered from bearoff_two_sided_6x9 where on_roll_index = {} and opponent_index = {}"
AGGREGATE = "select avg(cubeless), max(owned - centered) from bearoff_two_sided_6x9"


def player_rows() -> Iterator[Row]:
    """Games, evaluations and learning; figures of peers were measured on a similar machine."""

    def rate(workload: str, *arguments: object) -> float:
        return 1 / player_seconds(workload, *arguments)

    games = rate("player_games", 10_000, 7)
    peer = "bgsage 940 to 2,500 games/s"
    yield Row("PubEval against PubEval, whole games", f"{games:,.0f} games/s", ">= 20,000 games/s", peer)
    peer = "gnubg 115,000/s a thread, bgsage 43,000/s on two"
    for inputs, words, goal in (("tesauro-196", "196", "3,000,000"), ("contact", "260 contact", "1,000,000")):
        found = rate("network_plays", inputs, 128, 9)
        yield Row(f"plays evaluated, {words} inputs, 128 hidden", f"{found:,.0f}/s", f">= {goal}/s", peer)
    for is_two_sided, words in ((True, "exact two-sided"), (False, "one-sided combined")):
        found = rate("bearoff_bulk", is_two_sided, 9)
        yield Row(f"bearoff positions evaluated, {words}", f"{found:.2g}/s", ">= 1e7/s" if is_two_sided else "")
    peer = "bgsage 540 short early games/s on one thread"
    for inputs, words in (("tesauro-196", "196 inputs"), ("contact", "260 contact inputs")):
        games = rate("learning", inputs, "120", 7)
        yield Row(f"TD self-play, {words}, 120 hidden", f"{games:,.0f} games/s", ">= 1,000 games/s", peer)
    peer = "bgsage 200,000/s"
    for inputs, words, goal in (("tesauro-196", "196x120x5", ">= 500,000/s"), ("contact", "260x120x5", "")):
        found = rate("training", inputs, "120", 5)
        yield Row(f"supervised learning, positions, {words}", f"{found:,.0f}/s", goal, peer)
    for with_luck, words, count, goal in (
        (False, "results", 5000, ">= 833 games/s"),
        (True, "results less luck", 200, ""),
    ):
        games = rate("cubeful_games", with_luck, count, 3)
        yield Row(f"money games with the cube of the shipped network, {words}", f"{games:,.0f} games/s", goal)
    opened = player_seconds("open_player", 200)
    yield Row("open the player", seconds_text(opened), "<= 5 ms")
    for ply in (0, 1, 2):
        ranked = player_seconds("look_ahead", ply, 5)
        yield Row(f"rank the plays of an opening roll, {ply}-ply", seconds_text(ranked), "")


def feed_rows() -> Iterator[Row]:
    """Training batches from 1.2 million rows of a split."""
    peer = "Hugging Face datasets, rows shuffled by index: 7,000 rows/s"
    for features, from_parquet, words, goal in (
        ("", False, "to NumPy", ">= 3,000,000 rows/s"),
        ("tesauro-196", False, "with 196 inputs", ">= 1,000,000 rows/s"),
        ("contact", False, "with 260 contact inputs", ""),
        ("", True, "to NumPy, from Parquet", ""),
    ):
        rows = 1 / player_seconds("feed", features, from_parquet, 5)
        yield Row(f"training feed, shuffled batches {words}", f"{rows:,.0f} rows/s", goal, peer)


def memory_text(measured: Measured) -> str:
    """Seconds and peak memory."""
    assert measured.peak_bytes is not None
    return f"{seconds_text(measured.seconds)}, {measured.peak_bytes / 2**20:.0f} MiB"


def makebearoff(*options: str) -> Measured | None:
    """A run of gnubg's makebearoff, or None if it is not installed."""
    tool = find_gnubg_tool("makebearoff")
    if tool is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        return run_command(tool, *options, "-f", str(Path(folder, "file.bd")))


def table_row(scratch: str, ours: Measured, goal: str, *peer_options: str, run_peer: bool = True) -> Row:
    """A row with makebearoff beside it."""
    peer = makebearoff(*peer_options) if run_peer and peer_options else None
    if peer is None:
        return Row(scratch, memory_text(ours), goal)
    return Row(scratch, memory_text(ours), goal, memory_text(peer), f"{peer.seconds / ours.seconds:,.0f}x")


def table_rows(long: bool = False) -> Iterator[Row]:
    """Building tables; `long` includes slow peers."""
    for checkers, goal, is_long in ((6, "<= 0.1 s", False), (8, "<= 1.0 s, 300 MB", True), (9, "<= 4 s", False)):
        ours = in_own_process("two_sided", 6, checkers, 5)
        peer: tuple[str, ...] = ("-t", f"6x{checkers}", "-s", "20000000") if checkers < 9 else ()
        yield table_row(f"two-sided 6x{checkers}, four equities", ours, goal, *peer, run_peer=long or not is_long)
    for away, opponent_away in ((5, 5), (24, 25)):
        ours = in_own_process("match_two_sided", 6, 6, away, opponent_away, 5)
        yield table_row(f"match bearoff 6x6 at {away}-away {opponent_away}-away, every cube", ours, "<= 1 s")
    for points, goal in ((6, "<= 0.15 s"), (8, "<= 1 s"), (10, "<= 6 s")):
        ours = in_own_process("one_sided", points, 3)
        peer = ("-o", str(points))
        yield table_row(f"one-sided {points} points with gammons", ours, goal, *peer, run_peer=long or points < 10)


def reading_rows() -> Iterator[Row]:
    """Reading tables."""
    for scratch, name, goal in (
        ("open a table and probe once", "open_table", "<= 1 ms"),
        ("probe one position by index", "probe_index", "<= 3 us"),
        ("probe one position by layout", "probe_layout", "<= 3 us"),
    ):
        yield Row(scratch, seconds_text(in_own_process(name, 20).seconds), goal)
    rows = 1 / in_own_process("probe_bulk", 10).seconds
    yield Row("bulk probe, one core", f"{rows:.2g} rows/s", ">= 3e7 rows/s")
    for scratch, query, goal in (
        ("SQL: one position of 25M", POINT.format(1234, 2345), "<= 5 ms"),
        ("SQL: aggregate over 25M rows", AGGREGATE, "<= 0.3 s"),
    ):
        yield Row(scratch, seconds_text(in_own_process("sql", query, 10).seconds), goal)


def game_rows() -> Iterator[Row]:
    """The rules of the game."""
    yield Row("all plays of a roll, one core", seconds_text(in_own_process("plays", 1000, 7).seconds), "<= 2 us")
    games = 1 / in_own_process("random_games", 10_000, 7).seconds
    yield Row("random games", f"{games:,.0f} games/s", ">= 10,000 games/s")
    for scratch, name in (("Position IDs read", "decode"), ("Position IDs written", "encode")):
        rows = 1 / in_own_process(name, 1_000_000, 7).seconds
        yield Row(f"{scratch}, one core", f"{rows / 1e6:.1f} million/s", ">= 2 million/s")
    parsed, imported = (in_own_process("read_training", 1_200_000, whole, 3).seconds for whole in (False, True))
    yield Row("1.2 million training rows read and checked", seconds_text(parsed), "<= 2 s")
    yield Row("the same, imported as a version (hashes, Parquet, SQL checks)", seconds_text(imported), "-")


def clone_rows() -> Iterator[Row]:
    """`make build` in a fresh clone: seconds and disk space."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "bgdata")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        built = run_command("env", f"BGDATA_CACHE={folder}/kernels", "make", "build", folder=clone)
        size = subprocess.run(["du", "-sb", folder], check=True, capture_output=True, text=True).stdout.split()[0]
    yield Row("`make build`, fresh clone", f"{built.seconds:.0f} s, {int(size) / 1e9:.2f} GB", "<= 120 s, 1.5 GB")


GROUPS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "tables": table_rows,
    "reading": reading_rows,
    "game": game_rows,
    "players": player_rows,
    "network": network_rows,
    "feed": feed_rows,
    "site": partial(site.figures, WAREHOUSE, 200, 60),
}


def main() -> int:
    """Print the table; returns the exit code."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--long", action="store_true", help="also run the peers that take minutes")
    parser.add_argument("--clone", action="store_true", help="also time `make build` in a fresh clone")
    parser.add_argument(
        "--only", nargs="+", choices=GROUPS, default=list(GROUPS), help="measure these groups of rows alone"
    )
    options = parser.parse_args()
    if not (WAREHOUSE / "bearoff_two_sided/6x9").is_dir():
        print("error: expected the default warehouse, found none; try: make build", file=sys.stderr)
        return 1
    print("| work, all cores unless said | peer | ours | ratio | goal |\n| - | - | - | - | - |", flush=True)
    groups: dict[str, Callable[[], Iterator[Row]]] = {**GROUPS, "tables": partial(table_rows, options.long)}
    wanted = [*(groups[name] for name in options.only), *([clone_rows] if options.clone else [])]
    for rows in wanted:
        for row in rows():
            print(f"| {row.work} | {row.peer} | {row.ours} | {row.ratio} | {row.goal} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`bgdata selfplay` and `rescore`: a corpus, its labels, summaries, and errors in one line."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

import bgdata
from bgdata.selfplay.commands.selfplay import corpus_command, rescored_lines, summary_text
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.selfplay_labels import DATASET as LABELS
from bgdata.selfplay.kinds.selfplay_labels import SelfPlayLabelParameters
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run

PUBEVAL = ("selfplay", "--player", "pubeval", "--games", "20", "--seed", "3")


def test_selfplay_builds_a_corpus_and_prints_a_summary(small_root: Path, memory_path: Path) -> None:
    """The command builds the smallest corpus, prints its folder and summary, and does not build it twice unless
    forced."""
    expected = bgdata.open_warehouse(small_root).open(SELFPLAY.name, SELFPLAY.slug(SELFPLAY.smallest)).manifest
    result = run(memory_path, *PUBEVAL, "--threads", "1")
    assert result.exit_code == 0, result.output
    table = bgdata.open_warehouse(memory_path).open("selfplay", "pubeval-20-seed-3")
    assert table.manifest.digest == expected.digest
    assert result.stdout == f"{table.folder}\n{summary_text(20, expected.statistics)}\n"
    assert re.fullmatch(rf"selfplay/pubeval-20-seed-3: built {table.folder.name}, 20 rows in .* s\n", result.stderr)
    again = run(memory_path, *PUBEVAL)
    assert again.stdout == result.stdout
    assert again.stderr == f"selfplay/pubeval-20-seed-3: already built ({table.folder.name})\n"
    assert ": built " in run(memory_path, *PUBEVAL, "--force").stderr


SHARES = {"single_share": 0.7, "gammon_share": 0.28, "backgammon_share": 0.02, "turns_per_game": 54.32}
RESULT = {"points_per_game": -0.0123, "standard_error": 0.02}
LUCK_ADJUSTED = {"hedged_points_per_game": 0.001, "hedged_standard_error": 0.005}


@pytest.mark.parametrize(
    ("luck_adjusted", "ending"),
    [
        ({}, ""),
        (LUCK_ADJUSTED, "; luck-adjusted +0.0010 +/- 0.0050, 4.0 times less noise"),
        ({**LUCK_ADJUSTED, "hedged_standard_error": 0.0}, "; luck-adjusted +0.0010 +/- 0.0000"),
    ],
    ids=["plain", "luck-adjusted", "no noise"],
)
def test_summary_has_shares_points_and_luck(luck_adjusted: dict[str, float], ending: str) -> None:
    assert summary_text(1000, SHARES | RESULT | luck_adjusted) == (
        "1,000 games of 54.3 turns: 70.0 % singles, 28.0 % gammons, 2.0 % backgammons\n"
        f"player 0: -0.0123 +/- 0.0200 points per game{ending}"
    )


def test_luck_option_measures_luck(network_root: Path) -> None:
    folder, _, points = output_of(network_root, "selfplay", "--games", "6", "--seed", "4", "--luck").splitlines()
    assert Path(folder).parent.name == "network-6-seed-4-luck"
    assert "; luck-adjusted " in points
    query = "select count(*) from luck_by_game where variant = 'network-6-seed-4-luck'"
    assert output_of(network_root, "query", query, "--format", "csv").split()[1] == "6"


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--player", "gnubg"), 2, "expected the player network, network/NAME, pubeval or random, got 'gnubg'"),
        (("--player", "network/x"), 1, r"no network/x in .* \(have: none\); try: bgdata train td x"),
        (
            ("--player", "pubeval", "--executor", "x"),
            2,
            "expected the executor local, processes:N or dask://HOST:PORT, got 'x'",
        ),
    ],
)
def test_invalid_arguments_are_refused(memory_path: Path, options: tuple[str, ...], code: int, message: str) -> None:
    assert re.fullmatch(message, error_of(run(memory_path, "selfplay", *options), code))
    assert not list(memory_path.glob("selfplay/*"))


CORPUS = "selfplay/pubeval-20-seed-3"


@pytest.fixture
def labels_root(small_root: Path, memory_path: Path) -> Path:
    """A warehouse with a corpus and the tables for its labels, without labels."""
    for kind, parameters in LABELS.inputs(LABELS.smallest).values():
        variant = bgdata.all_kinds()[kind].slug(parameters)
        shutil.copytree(small_root / kind / variant, memory_path / kind / variant)
    return memory_path


def test_rescore_prints_the_removed_variance(small_root: Path, labels_root: Path) -> None:
    """The command builds the smallest labels and prints, in all and by class, how much variance rescoring removes."""
    expected = bgdata.open_warehouse(small_root).open(LABELS.name, LABELS.slug(LABELS.smallest)).manifest
    result = run(labels_root, "rescore", CORPUS, "--combined", "--threads", "1")
    assert result.exit_code == 0, result.output
    table = bgdata.open_warehouse(labels_root).open("selfplay_labels", "pubeval-20-seed-3-6x6-combined-6")
    assert table.manifest.digest == expected.digest
    seconds = result.stderr.split()[-2]
    assert result.stderr.endswith(f": built {table.folder.name}, 1,069 rows in {seconds} s\n")
    in_all, by_class = result.stdout.split("\n\n")
    assert in_all.splitlines() == [str(table.folder), *rescored_lines(LABELS.smallest, expected.statistics)]
    assert len({len(line) for line in by_class.splitlines()}) == 1  # columns are aligned
    heading, *rows = (line.replace(",", "").split() for line in by_class.splitlines())
    assert heading == ["class", "positions", "covered", "rescored", "before", "after", "removed"]
    assert {row[0] for row in rows} == {"contact", "crashed", "race"}
    for column, name in ((1, "positions"), (2, "covered"), (3, "rescored")):
        assert sum(int(row[column]) for row in rows) == expected.statistics[name]
    for row in rows:
        before, after, removed = map(float, row[4:7])
        assert removed == pytest.approx(100 * (1 - after / before), abs=0.1)


def test_labels_are_rescored_once(labels_root: Path) -> None:
    result = run(labels_root, "rescore", CORPUS, "--combined")
    again = run(labels_root, "rescore", CORPUS, "--combined")
    assert again.stdout == result.stdout
    assert re.search(r": already built \(r\d-[0-9a-f]{8}\)\n$", again.stderr)
    assert "-combined-6: built" in run(labels_root, "rescore", CORPUS, "--combined", "--force").stderr


def test_rescore_uses_the_largest_or_the_named_table(labels_root: Path, small_root: Path) -> None:
    shutil.copytree(small_root / "bearoff_two_sided" / "3x3", labels_root / "bearoff_two_sided" / "3x3")
    assert "/pubeval-20-seed-3-6x6/" in output_of(labels_root, "rescore", CORPUS).splitlines()[0]
    assert "/pubeval-20-seed-3-3x3/" in output_of(labels_root, "rescore", CORPUS, "--table", "3x3").splitlines()[0]


def test_rescored_lines_name_the_tables_and_the_variance() -> None:
    statistics = {
        "positions": 1069, "covered": 75, "rescored": 666,
        "variance_before": 2.24, "variance_after": 2.12, "removed_share": 0.0536,
    }  # fmt: skip
    assert rescored_lines(SelfPlayLabelParameters(), statistics) == [
        "1,069 positions of 10,000 games, by bearoff_two_sided/6x9:",
        "75 covered, 666 rescored (62.3 %); the others keep the outcome of their game",
        "label variance 2.2400 before, 2.1200 after: 5.4 % removed",
    ]
    lines = rescored_lines(SelfPlayLabelParameters(one_sided_points=10), {**statistics, "variance_hedged": 0.56})
    assert lines[0].endswith(", by bearoff_two_sided/6x9 and, combined, bearoff_one_sided/10x15:")
    assert lines[2].endswith(" after: 5.4 % removed; luck-adjusted 0.5600: 75.0 %")


@pytest.mark.parametrize(
    ("variant", "command"),
    [
        ("network-10000-seed-1", "selfplay --games 10000 --seed 1"),
        ("network-500-seed-2-luck", "selfplay --games 500 --seed 2 --luck"),
        ("network-my-net-7-seed-0", "selfplay --player network/my-net --games 7 --seed 0"),
        ("random-7-seed-0", "selfplay --player random --games 7 --seed 0"),
        ("pubeval", "selfplay"),
    ],
)
def test_every_corpus_has_a_command_that_makes_it(variant: str, command: str) -> None:
    assert corpus_command(variant) == command


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("pubeval-20-seed-3",), 2, "expected a corpus such as selfplay/network-10000-seed-1, got 'pubeval-20-seed-3'"),
        (("matches/session",), 2, "expected a corpus such as .*, got 'matches/session'"),
        (
            (f"{CORPUS}/r1-01234567",),
            1,
            r"no selfplay/pubeval-20-seed-3/r1-01234567 in .* \(have: r2-\w+\); try: bgdata use .*",
        ),
        (
            ("selfplay/random-9-seed-1",),
            1,
            r"no selfplay/random-9-seed-1 in .* \(have: pubeval-20-seed-3\); "
            "try: bgdata selfplay --player random --games 9 --seed 1",
        ),
        (
            (CORPUS, "--table", "6x9"),
            1,
            r"expected bearoff_two_sided/6x9 in .* to rescore by \(have: 6x6\); "
            "try: bgdata build bearoff_two_sided --points 6 --checkers 9",
        ),
        ((CORPUS, "--table", "large"), 2, "expected a size such as 6x9, got 'large'"),
    ],
)
def test_invalid_arguments_of_rescore_are_refused(
    labels_root: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    assert re.fullmatch(message, error_of(run(labels_root, "rescore", *arguments), code))
    assert not (labels_root / "selfplay_labels").exists()


def test_missing_one_sided_tables_are_refused(labels_root: Path) -> None:
    shutil.rmtree(labels_root / "bearoff_gammon")
    message = error_of(run(labels_root, "rescore", CORPUS, "--combined"), 1)
    assert message.startswith("expected bearoff_one_sided and bearoff_gammon of the same size in ")
    assert message.endswith(" to combine, found none; try: bgdata build bearoff_gammon --points 10")


def test_missing_warehouse_is_refused(tmp_path: Path) -> None:
    assert error_of(run(tmp_path / "none", "rescore", CORPUS), 1).startswith("expected a warehouse in ")


def test_truncated_corpus_is_refused(labels_root: Path) -> None:
    (path,) = (labels_root / "selfplay").rglob("turn_boards.npy")
    size = path.stat().st_size
    path.chmod(0o644)
    os.truncate(path, size // 2)
    message = error_of(run(labels_root, "rescore", CORPUS), 1)
    assert message == f"expected {size} bytes in {path}, found {size // 2}; try: bgdata verify --repair"
    path.unlink()
    message = error_of(run(labels_root, "rescore", CORPUS), 1)
    assert re.fullmatch(r"expected .*turn_boards.npy, found no such file; try: .*", message)


def test_corpus_of_another_player_version_is_refused(labels_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Warehouse, "find", lambda *_: None)
    message = error_of(run(labels_root, "rescore", CORPUS), 1)
    assert re.fullmatch(
        f"expected {CORPUS} as the player plays now, found r2-[0-9a-f]{{8}} by another network or tables; "
        "try: bgdata selfplay --player pubeval --games 20 --seed 3",
        message,
    )

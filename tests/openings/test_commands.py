"""`bgdata openings`: the book, a roll, a reply, comparisons, a plot, and invalid arguments."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bgdata.evaluation.players import DEFAULT_NETWORK
from bgdata.openings.kinds.openings import FIRST_ROLLS, OBJECTIVES, OpeningParameters, published_openings
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run
from tests.measures.commands.test_compare import texts

TINY = ("openings", "--network", "tiny", "--trials", "72", "--truncate", "1", "--only", "31")
TWO_ROLLS = (*TINY, "--until", "9", "--only", "2-1", "--sensible-plays", "0")
REPLIES = (*TINY, "--until", "9", "--sensible-plays", "1", "--reply-until", "9")


def network_version(table: Table) -> str:
    """The name and version of the network that rolled out a table."""
    return table.array("network").tobytes().decode()


def json_rows(warehouse: Warehouse, *arguments: str) -> Any:
    return json.loads(output_of(warehouse.root, *arguments, "--format", "json"))


def test_book_lists_first_rolls(warehouse: Warehouse, tmp_path: Path) -> None:
    """With the values of the view `opening_book`."""
    picture = tmp_path / "openings.svg"
    title, header, *lines = output_of(warehouse.root, *TWO_ROLLS, "--plot", picture).splitlines()
    table = warehouse.open("openings", "money-by-tiny-seed-0-31")
    assert title == f"first rolls, money, rolled out by {network_version(table)}"
    assert header.split() == ["roll", "best", "play", "equity", "+/-", "second", "best", "loss", "+/-", "games"]
    with warehouse.connect() as connection:
        book = connection.sql(
            "select first_roll, play, equity, standard_error, second_play, second_loss, second_loss_standard_error, "
            "n_candidates, games from opening_book where variant in "
            "('money-by-tiny-seed-0-31', 'money-by-tiny-seed-0-21') order by first_roll desc"
        )
        expected = [dict(zip(book.columns, row, strict=True)) for row in book.fetchall()]
    assert [row["first_roll"] for row in expected] == ["31", "21"]
    assert json_rows(warehouse, *TWO_ROLLS) == expected
    for row, line in zip(expected, lines, strict=True):
        assert re.split(r"  +", line)[:2] == [row["first_roll"], row["play"]]
        assert f"{row['equity']:+8.4f}{row['standard_error']:8.4f}" in line
        assert f"{row['second_loss']:7.4f}" in line
    assert {title, "31", "21", "best play", expected[0]["play"]} <= texts(picture)


def test_shipped_book_has_every_first_roll_and_objective() -> None:
    shipped = OpeningParameters(network=DEFAULT_NETWORK)
    assert set(published_openings()) == {
        replace(shipped, objective=objective, first_roll=roll) for objective in OBJECTIVES for roll in FIRST_ROLLS
    }


def test_shipped_book_is_shown_without_rollouts(tmp_path: Path) -> None:
    result = run(tmp_path / "warehouse", "openings", "31")
    *_, note = result.stderr.splitlines()
    assert note.startswith(f"openings/money-by-{DEFAULT_NETWORK}-seed-0-31: comes with the package (r")
    first, _, best, *_ = result.stdout.splitlines()
    assert first.startswith(f"first roll 31, money, rolled out by network/{DEFAULT_NETWORK}/")
    assert best.split()[1:3] == ["8/5", "6/5"]


def test_shown_book_becomes_current(warehouse: Warehouse) -> None:
    """So SQL shows it too."""
    output_of(warehouse.root, *TWO_ROLLS, "31")
    first = warehouse.open("openings", "money-by-tiny-seed-0-31")
    output_of(warehouse.root, *TWO_ROLLS, "31", "--trials", "108")
    assert warehouse.open("openings", "money-by-tiny-seed-0-31").name != first.name
    result = run(warehouse.root, *TWO_ROLLS, "31")
    assert result.exit_code == 0
    assert result.stderr == "", "nothing is rolled out again"
    assert warehouse.open("openings", "money-by-tiny-seed-0-31").name == first.name


@pytest.mark.slow
def test_roll_shows_candidates(warehouse: Warehouse) -> None:
    """In either order of dice."""
    rows = json_rows(warehouse, *REPLIES, "13")
    for row in rows:
        assert row["first_roll"] == "31"
        assert row["reply_roll"] is None
    title, header, *lines = output_of(warehouse.root, *REPLIES, "13").splitlines()
    table = warehouse.open("openings", "money-by-tiny-seed-0-31")
    assert title == f"first roll 31, money, rolled out by {network_version(table)}"
    assert header.split()[:5] == ["play", "equity", "+/-", "loss", "+/-"]
    for row, line in zip(rows, lines, strict=False):
        assert line.split()[0] == str(row["rank"] + 1)
        assert row["play"] in line
    assert lines[-1].strip() == f"and {16 - len(rows)} more that were not rolled out"


@pytest.mark.slow
def test_reply_is_to_the_best_play_by_default(warehouse: Warehouse) -> None:
    best, *_ = json_rows(warehouse, *REPLIES, "13")
    for row in json_rows(warehouse, *REPLIES, "31", "4-6"):
        assert row["first_play"] == best["play"]
        assert row["reply_roll"] == "64"
        assert row["position_id"] == best["next_position_id"]


@pytest.mark.slow
def test_reply_is_to_a_named_play_in_any_order_of_moves(warehouse: Warehouse, tmp_path: Path) -> None:
    best = json_rows(warehouse, *REPLIES, "13")[0]["play"]
    reversed_moves = " ".join(reversed(best.split()))
    assert reversed_moves != best
    reply = (*REPLIES, "31", "64", "--after")
    output = output_of(warehouse.root, *reply, reversed_moves)
    assert output == output_of(warehouse.root, *reply, best, "--plot", tmp_path / "reply.png")
    assert output.startswith(f"reply 64 to 31 {best}, money, ")
    assert (tmp_path / "reply.png").read_bytes().startswith(b"\x89PNG")


def test_double_match_point_counts_wins_only(warehouse: Warehouse) -> None:
    for row in json_rows(warehouse, *TWO_ROLLS, "31", "--objective", "double-match-point"):
        assert row["objective"] == "double-match-point"
        assert row["equity"] == pytest.approx(2 * row["win"] - 1, abs=1e-6)


def test_beside_lists_differences_of_players_and_published_tables(warehouse: Warehouse) -> None:
    arguments = (*TWO_ROLLS, "--beside", "published", "--beside", "network/tiny:1")
    title, _, *lines = output_of(warehouse.root, *arguments).splitlines()
    rows = list(csv.DictReader(output_of(warehouse.root, *arguments, "--format", "csv").splitlines()))
    network = network_version(warehouse.open("openings", "money-by-tiny-seed-0-31"))
    expected = "differences of more than 3 standard errors, or unknown, in 2 decisions rolled out by"
    assert title == f"{len(rows)} {expected} {network}"
    assert {"Woolsey 1995", "gnubg, as quoted"} <= {row["source"] for row in rows}
    for row, line in zip(rows, lines, strict=True):
        assert line.startswith(row["source"])
        assert ("not rolled out" in line) == (row["difference"] == "")


def test_beside_refuses_unknown_players_and_other_objectives(warehouse: Warehouse) -> None:
    unknown = run(warehouse.root, *TWO_ROLLS, "--beside", "published", "--beside", "pubeval-like")
    assert error_of(unknown, 2).startswith("expected a player among ")
    result = run(warehouse.root, *TWO_ROLLS, "--objective", "double-match-point", "--beside", "published")
    expected = "expected --objective money beside published tables, got double-match-point"
    assert error_of(result, 2) == expected


def test_missed_standard_errors_are_reported(warehouse: Warehouse) -> None:
    unreachable = ("--truncate", "2", "--until", "1e-30", "--most-trials", "72", "--sensible-plays", "0")
    *_, line = output_of(warehouse.root, *TINY, *unreachable).splitlines()
    assert line.startswith("expected standard errors within the limits, got larger ones for ")
    assert line.endswith(" after 72 trials; try: --most-trials 288")


@pytest.mark.parametrize(
    ("code", "arguments", "message"),
    [
        (2, ("37",), "expected two dice such as '31', got '37'"),
        (2, ("33",), "expected a first roll of two different dice, got 33"),
        (2, ("31", "70"), "expected two dice such as '31', got '70'"),
        (2, ("31", "--after", "8/5 6/5"), "expected a reply with --after, such as 31 64 --after PLAY, got '8/5 6/5'"),
        (2, ("--only", "44"), "expected a first roll of two different dice, got 44"),
        (2, ("--until", "inf"), "expected finite numbers as until, got inf"),
        (2, ("--reply-until", "1e200"), "expected a standard error from 1e-50 to 1000, got 1e+200"),
        (2, ("--until", "1e-200"), "expected a standard error from 1e-50 to 1000, got 1e-200"),
        (2, ("31", "64", "--after", "nonsense"), "expected checker moves such as"),
        (2, ("31", "64", "--after", "24/18"), "expected a legal play"),
        (2, ("--plot", "no/such/x.png"), "invalid value for '--plot': expected a file in a folder that is there"),
        (2, ("--beside", "published", "--plot", "x.svg"), "expected either --plot or --beside, got both"),
        (2, ("31", "64", "--beside", "published"), "expected either a reply or --beside, got both"),
        (2, ("--plot", "x.pdf"), "invalid value for '--plot': expected a file that ends in .png or .svg, got 'x.pdf'"),
        (1, ("--network", "none"), "no network/none in"),
    ],
)
def test_invalid_arguments_are_refused(small_root: Path, code: int, arguments: tuple[str, ...], message: str) -> None:
    assert error_of(run(small_root, "openings", *arguments), code).startswith(message)


def test_rolls_outside_the_book_are_refused(warehouse: Warehouse) -> None:
    result = run(warehouse.root, *TWO_ROLLS, "62")
    assert result.exit_code == 2
    expected = "error: expected a first roll of --only (31, 21), got 62\n"
    assert result.stderr == expected, "and nothing is rolled out before"


@pytest.mark.parametrize("after", [(), ("--after", "24/20")])
def test_replies_to_plays_outside_the_book_are_refused(warehouse: Warehouse, after: tuple[str, ...]) -> None:
    *_, line = run(warehouse.root, *TWO_ROLLS, "31", "64", *after).stderr.splitlines()
    assert line.startswith("error: expected a play of 31 that this book answers (none), got ")


def test_only_names_the_first_rolls_to_roll_out(warehouse: Warehouse) -> None:
    without_only = TWO_ROLLS[: TWO_ROLLS.index("--only")]
    output = output_of(warehouse.root, *without_only, "--until", "9", "--sensible-plays", "0", "4-1")
    assert output.startswith("first roll 41, money, ")
    variants = {table.manifest.variant for table in warehouse.versions("openings")}
    assert "money-by-tiny-seed-0-41" in variants
    assert "money-by-tiny-seed-0-31" not in variants

"""`bgdata openings`: the book, a roll, a reply, comparisons, a plot, and invalid arguments."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bgdata.evaluation.players import DEFAULT_NETWORK
from bgdata.openings.kinds.openings import FIRST_ROLLS, OBJECTIVES, OpeningParameters, published_openings
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.command_line import error_of, output_of, run
from tests.measures.commands.test_compare import texts
from tests.subtests import each

TINY = ("openings", "--network", "tiny", "--trials", "72", "--truncate", "1", "--only", "31")
TWO_ROLLS = (*TINY, "--until", "9", "--only", "2-1", "--sensible-plays", "0")
REPLIES = (*TINY, "--until", "9", "--sensible-plays", "1", "--reply-until", "9")


def network_of(table: Table) -> str:
    """The name and version of the network that rolled out a table."""
    return table.array("network").tobytes().decode()


def test_book_lists_first_rolls(warehouse: Warehouse, tmp_path: Path) -> None:
    """The command lists the best plays of the first rolls, as the view `opening_book` has them, and draws them."""
    picture = tmp_path / "openings.svg"
    title, heads, *rows = output_of(warehouse.root, *TWO_ROLLS, "--plot", picture).splitlines()
    tables = [warehouse.open("openings", f"money-by-tiny-seed-0-{roll}") for roll in ("31", "21")]
    assert title == f"first rolls, money, rolled out by {network_of(tables[0])}"
    assert heads.split() == ["roll", "best", "play", "equity", "+/-", "second", "best", "loss", "+/-", "games"]
    assert [row.split()[0] for row in rows] == ["31", "21"]
    with warehouse.connect() as connection:
        book = connection.sql(
            "select first_roll, play, equity, standard_error, second_play, second_loss, second_loss_standard_error, "
            "n_candidates, games from opening_book where variant in "
            "('money-by-tiny-seed-0-31', 'money-by-tiny-seed-0-21') order by first_roll desc"
        )
        expected = [dict(zip(book.columns, row, strict=True)) for row in book.fetchall()]
    assert json.loads(output_of(warehouse.root, *TWO_ROLLS, "--format", "json")) == expected
    for row, line in zip(expected, rows, strict=True):
        assert re.split(r"  +", line)[:2] == [row["first_roll"], row["play"]]
        assert f"{row['equity']:+8.4f}{row['standard_error']:8.4f}" in line
        assert f"{row['second_loss']:7.4f}" in line
    assert {title, "31", "21", "best play", expected[0]["play"]} <= texts(picture)


def test_shipped_book_is_shown_without_rollouts(tmp_path: Path) -> None:
    """The command without options shows the shipped book, and rolls nothing out."""
    shipped = published_openings()
    usual = OpeningParameters(network=DEFAULT_NETWORK)
    expected = {replace(usual, objective=each, first_roll=roll) for each in OBJECTIVES for roll in FIRST_ROLLS}
    assert set(shipped) == expected
    result = run(tmp_path / "warehouse", "openings", "31")
    *_, note = result.stderr.splitlines()
    assert note.startswith(f"openings/money-by-{DEFAULT_NETWORK}-seed-0-31: comes with the package (r")
    first, _, best, *_ = result.stdout.splitlines()
    assert first.startswith(f"first roll 31, money, rolled out by network/{DEFAULT_NETWORK}/")
    assert best.split()[1:3] == ["8/5", "6/5"]


def test_shown_book_becomes_current(warehouse: Warehouse) -> None:
    """After a book with other options is shown, SQL shows it too."""
    output_of(warehouse.root, *TWO_ROLLS, "31")
    first = warehouse.open("openings", "money-by-tiny-seed-0-31")
    output_of(warehouse.root, *TWO_ROLLS, "31", "--trials", "108")
    assert warehouse.open("openings", "money-by-tiny-seed-0-31").name != first.name
    result = run(warehouse.root, *TWO_ROLLS, "31")
    assert (result.exit_code, result.stderr) == (0, "")
    assert warehouse.open("openings", "money-by-tiny-seed-0-31").name == first.name


@pytest.mark.slow
def test_roll_shows_candidates(warehouse: Warehouse) -> None:
    """With a roll, in either order of dice, all its candidates are listed, and how many were not rolled out."""
    rows = json.loads(output_of(warehouse.root, *REPLIES, "13", "--format", "json"))
    assert {row["first_roll"] for row in rows} == {"31"}
    assert {row["reply_roll"] for row in rows} == {None}
    title, heads, *lines = output_of(warehouse.root, *REPLIES, "13").splitlines()
    table = warehouse.open("openings", "money-by-tiny-seed-0-31")
    assert title == f"first roll 31, money, rolled out by {network_of(table)}"
    assert heads.split()[:5] == ["play", "equity", "+/-", "loss", "+/-"]
    for row, line in zip(rows, lines, strict=False):
        assert line.split()[0] == str(row["rank"] + 1)
        assert row["play"] in line
    assert lines[-1].split() == ["and", str(16 - len(rows)), *["more", "that", "were", "not", "rolled", "out"]]


@pytest.mark.slow
def test_reply_is_to_the_best_or_the_named_play(warehouse: Warehouse, tmp_path: Path) -> None:
    """A reply is to the best play of the first roll, or to the play after `--after` in any order of moves."""
    first = json.loads(output_of(warehouse.root, *REPLIES, "13", "--format", "json"))[0]
    best = first["play"]
    replies = json.loads(output_of(warehouse.root, *REPLIES, "31", "4-6", "--format", "json"))
    assert {(row["first_play"], row["reply_roll"]) for row in replies} == {(best, "64")}
    assert {row["position_id"] for row in replies} == {first["next_position_id"]}
    moves = " ".join(reversed(best.split()))  # the same play in another order
    assert moves != best
    shown = output_of(warehouse.root, *REPLIES, "31", "64", "--after", moves)
    assert shown == output_of(warehouse.root, *REPLIES, "31", "64", "--after", best)
    given = (*REPLIES, "31", "64", "--after", best, "--plot", tmp_path / "reply.png")
    assert output_of(warehouse.root, *given).startswith(f"reply 64 to 31 {best}, money, ")
    assert (tmp_path / "reply.png").read_bytes().startswith(b"\x89PNG")


def test_double_match_point_counts_wins_only(warehouse: Warehouse) -> None:
    rows = json.loads(
        output_of(warehouse.root, *TWO_ROLLS, "31", "--objective", "double-match-point", "--format", "json")
    )
    for row in rows:
        assert row["objective"] == "double-match-point"
        assert row["equity"] == pytest.approx(2 * row["win"] - 1, abs=1e-6)


def test_differences_of_players_and_published_tables(warehouse: Warehouse) -> None:
    """`--beside` lists where players and published tables differ from the book."""
    others = ("--beside", "published", "--beside", "pubeval-like")
    assert error_of(run(warehouse.root, *TWO_ROLLS, *others), 2).startswith("expected a player among ")
    given = (*TWO_ROLLS, "--beside", "published", "--beside", "network/tiny:1")
    first, *lines = output_of(warehouse.root, *given).splitlines()
    rows = list(csv.DictReader(output_of(warehouse.root, *given, "--format", "csv").splitlines()))
    table = warehouse.open("openings", "money-by-tiny-seed-0-31")
    words = "differences of more than 3 standard errors, or unknown, in 2 decisions rolled out by"
    assert first == f"{len(rows)} {words} {network_of(table)}"
    assert len(lines) == len(rows) + 1  # a bad network differs from every source
    assert {"Woolsey 1995", "gnubg, as quoted"} <= {row["source"] for row in rows}
    for row, line in zip(rows, lines[1:], strict=True):
        assert line.startswith(row["source"])
        assert ("not rolled out" in line) == (row["difference"] == "")
    money = error_of(run(warehouse.root, *TWO_ROLLS, "--objective", "double-match-point", "--beside", "published"), 2)
    assert money == "expected --objective money beside published tables, got double-match-point"


def test_missed_standard_errors_are_reported(warehouse: Warehouse) -> None:
    given = (*TINY, "--truncate", "2", "--until", "1e-30", "--most-trials", "72", "--sensible-plays", "0")
    *_, line = output_of(warehouse.root, *given).splitlines()
    assert line.startswith("expected standard errors within the limits, got larger ones for ")
    assert line.endswith(" after 72 trials; try: --most-trials 288")


@each(
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
        (2, ("--until", "0"), "expected a standard error above 0, got 0.0"),
        (2, ("--beside", "published", "--plot", "x.svg"), "expected either --plot or --beside, got both"),
        (2, ("31", "64", "--beside", "published"), "expected either a reply or --beside, got both"),
        (2, ("--plot", "x.pdf"), "invalid value for '--plot': expected a file that ends in .png or .svg, got 'x.pdf'"),
        (1, ("--network", "none"), "no network/none in"),
    ],
)
def test_invalid_arguments_are_refused(small_root: Path, code: int, arguments: tuple[str, ...], message: str) -> None:
    assert error_of(run(small_root, "openings", *arguments), code).startswith(message)


def test_plays_outside_the_book_are_refused(warehouse: Warehouse) -> None:
    wrong = run(warehouse.root, *TWO_ROLLS, "62")
    assert wrong.exit_code == 2
    assert wrong.stderr == "error: expected a first roll of --only (31, 21), got 62\n"  # before anything is rolled out
    for arguments in (("31", "64"), ("31", "64", "--after", "24/20")):
        *_, line = run(warehouse.root, *TWO_ROLLS, *arguments).stderr.splitlines()
        assert line.startswith("error: expected a play of 31 that this book answers (none), got ")


def test_only_rolls_out_named_first_rolls(warehouse: Warehouse) -> None:
    given = (*TWO_ROLLS[:7], "--until", "9", "--sensible-plays", "0")
    assert output_of(warehouse.root, *given, "4-1").startswith("first roll 41, money, ")
    found = {table.name.split("/")[1] for table in warehouse.versions("openings")}
    assert "money-by-tiny-seed-0-41" in found
    assert "money-by-tiny-seed-0-31" not in found

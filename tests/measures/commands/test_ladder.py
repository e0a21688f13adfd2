"""Tests of `bgdata ladder`: rated players, reused games, and output as text, data and picture."""

import csv
import shutil
from itertools import combinations
from pathlib import Path

import pytest

import bgdata
from bgdata.errors import InvalidParameterError, UnknownPlayerError
from bgdata.evaluation import gnubg, programs
from bgdata.measures.kinds.ladder import Entrant
from bgdata.measures.steps.ladder import check_games, dice_seed, ladder_players, series_of
from tests.command_line import error_of, output_of, run

FEW_GAMES = ("--games", "4", "--seed", "1")


@pytest.fixture
def root(network_root: Path, tmp_path: Path) -> Path:
    """A copy of the warehouse with the network of the package, without the hidden files that other tests write."""
    return Path(shutil.copytree(network_root, tmp_path / "warehouse", ignore=shutil.ignore_patterns(".*")))


def game_versions(root: Path) -> set[str]:
    """The versions with games of ladders in the warehouse `root`."""
    warehouse = bgdata.open_warehouse(root)
    return {table.name for kind in ("game_scores", "cubeful_scores") for table in warehouse.versions(kind)}


def test_new_player_adds_only_its_own_games(root: Path) -> None:
    """A new player costs the games of its own pairings; a second run plays nothing."""
    lines = output_of(root, "ladder", "pubeval", "--alone", *FEW_GAMES).splitlines()
    assert lines[0].endswith(": 4 games of 1 pairings")
    assert [line.split()[1] for line in lines[2:4]] == ["diverse-19", "pubeval"]
    before = game_versions(root)
    repeated = run(root, "ladder", *FEW_GAMES)
    assert repeated.exit_code == 0
    assert repeated.stdout.splitlines() == lines
    assert game_versions(root) == before
    lines_with_random = output_of(root, "ladder", "random", *FEW_GAMES).splitlines()
    assert lines_with_random[0].endswith(": 12 games of 3 pairings")
    assert len(game_versions(root) - before) == 2
    assert before < game_versions(root)
    players = {name for name, _ in ladder_players(bgdata.open_warehouse(root), "cubeless")}
    assert players == {"network/diverse-19", "pubeval", "random"}


def test_more_games_are_added_as_new_parts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bgdata.measures.steps import ladder

    monkeypatch.setattr(ladder, "CUBELESS_GAMES", 4)
    output_of(root, "ladder", "pubeval", "--alone", *FEW_GAMES)
    before = game_versions(root)
    output = output_of(root, "ladder", "--games", "12", "--seed", "1")
    assert ": 12 games of 1 pairings" in output
    assert len(game_versions(root)) == len(before) + 2
    assert before < game_versions(root)


def test_cube_ladder_leaves_out_players_without_evaluations(root: Path, tmp_path: Path) -> None:
    """In ladders with the cube, players that only choose plays are left out, and a line says so."""
    arguments = ("network/contact-160", "pubeval", "--alone", "--for", "money", "--for", "match-2", *FEW_GAMES)
    result = run(root, "ladder", *arguments, "--plot", tmp_path / "a.svg", "--format", "csv")
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert [(row["play"], row["rank"]) for row in rows] == [
        ("money", "1"),
        ("money", "2"),
        ("match-2", "1"),
        ("match-2", "2"),
    ]
    assert {row["games"] for row in rows} == {"4"}
    assert result.stderr.count("left out of ") == 2
    assert "left out of money: pubeval (0-ply): expected a player that evaluates positions" in result.stderr
    picture = (tmp_path / "a.svg").read_text()
    assert ">contact-160 0-ply<" in picture
    assert ">wins minus losses<" in picture


def test_low_rating_is_written_as_a_number_in_the_picture(root: Path, tmp_path: Path) -> None:
    stdout = output_of(root, "ladder", "random", "--alone", *FEW_GAMES, "--plot", tmp_path / "a.svg")
    rating = next(line.split()[3] for line in stdout.splitlines() if " random " in line)
    assert f">← {float(rating):.2f}" in (tmp_path / "a.svg").read_text()


def test_missing_programs_are_left_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise UnknownPlayerError("expected it to be installed, found none")

    monkeypatch.setattr(gnubg.GnubgPlayer, "__init__", missing)
    monkeypatch.setattr(programs.BgsagePlayer, "__init__", missing)
    result = run(root, "ladder", "gnubg", "pubeval", "--alone", *FEW_GAMES)
    assert result.exit_code == 0
    assert "left out of cubeless: gnubg (0-ply): expected it to be installed" in result.stderr
    assert "installed" in error_of(run(root, "ladder", "gnubg:3", "pubeval", "--alone", *FEW_GAMES), 2)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--for", "chouette"), 2, "expected cubeless, money or match-N with up to 25 points, got 'chouette'"),
        (("--games", "3"), 2, "expected an even number of at least 4 games, in parts of 60, got 3"),
        (("--games", "62"), 2, "in parts of 60, got 62"),
        (("--for", "match-3", "--games", "12"), 2, "in parts of 10, got 12"),
        (("nobody", "--alone"), 2, "expected a player among"),
        (("network/nobody", "--alone"), 1, "no network/nobody in"),
        (("gnubg:x", "--alone"), 2, "expected a player such as gnubg or gnubg:2, got 'gnubg:x'"),
        (("network", "--alone"), 2, "expected two players to rate, got one"),
        (("pubeval", "--alone", "--for", "money"), 2, "expected two players to rate, got one; pubeval (0-ply): exp"),
    ],
)
def test_invalid_arguments_are_refused(root: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    assert message in error_of(run(root, "ladder", *arguments), code)


@pytest.mark.parametrize(("games", "part"), [(2, 100), (5, 100), (101, 100), (122, 20)])
def test_number_of_games_without_whole_parts_raises(games: int, part: int) -> None:
    with pytest.raises(InvalidParameterError, match=f"in parts of {part}, got {games}"):
        check_games(games, part)


def test_each_part_of_each_pairing_has_its_own_dice() -> None:
    entrants = [Entrant("a", 0, "1"), Entrant("a", 1, "1"), Entrant("b", 0, "2")]
    pairs = list(combinations(entrants, 2))
    seeds = [dice_seed(*pair, seed, part) for pair in pairs for seed in (1, 2) for part in (0, 1)]
    assert len(set(seeds)) == len(seeds)
    later = [entrant._replace(version="3") for entrant in entrants]
    assert dice_seed(later[0], later[1], 1, 0) == seeds[0], "a new version plays with the dice of the one before"


def test_part_has_the_recipe_of_its_games() -> None:
    player, opponent = Entrant("a", 0, "1"), Entrant("b", 1, "2")
    assert vars(series_of(player, opponent, "match-5", 20, 3)) == {
        "player": "a", "ply": 0, "version": "1", "opponent": "b", "opponent_ply": 1, "opponent_version": "2",
        "length": 5, "games": 20, "seed": 3, "luck": True, "tables": True,
    }  # fmt: skip

"""Tests of `bgdata study` and `selfplay --cube-model`: figures beside published ones, and errors."""

import re
from math import nan
from pathlib import Path

import pytest

import bgdata
from bgdata.evaluation.players import DEFAULT_NETWORK
from bgdata.studies.commands.studies import Series, draw_study, series_to_draw
from bgdata.studies.kinds.shared.cube_arms import NAMES
from tests.command_line import error_of, output_of, run


def test_study_prints_all_settings(network_root: Path) -> None:
    lines = output_of(network_root, "study", "index", "--games", "4", "--seed", "3").splitlines()
    assert re.fullmatch(
        r"a cube life index against 0\.7: 4 games each, .*/index-[a-z0-9-]+-4-seed-3/r2-[0-9a-f]{8}", lines[0]
    )
    assert lines[1].split() == ["money", "0", "0.25", "0.5", "0.75", "1"]
    assert re.fullmatch(r"points_per_game( +[+-]\d+\.\d{4} \+/- \d+\.\d{4}){5}", lines[2])
    assert lines[3].split() == ["(published)", "(-0.3000)", "(-0.1400)", "(-0.0400)", "(+0.0000)", "(-0.0900)"]
    shares = next(line for line in lines if line.startswith("win_share"))
    assert re.fullmatch(r"win_share( +\d+\.\d\d \+/- \d+\.\d\d){5}", shares)
    assert output_of(network_root, "study", "index", "--games", "4", "--seed", "3").splitlines() == lines


def test_luck_option_adds_luck_adjusted_points(network_root: Path) -> None:
    lines = output_of(network_root, "study", "index", "--games", "4", "--luck").splitlines()
    assert "-4-seed-1-luck/" in lines[0]
    assert re.fullmatch(r"hedged_points_per_game( +[+-]\d+\.\d{4} \+/- \d+\.\d{4}){5}", lines[2])
    assert lines[4].startswith("points_per_game")


def test_studies_of_the_first_rule_have_their_own_default_network(network_root: Path) -> None:
    """Studies of Janowski's first rule use a network of their own by default, other studies the one called
    `network`."""
    players = {
        (study, *chosen): output_of(network_root, "study", study, *chosen, "--games", "4").partition("\n")[0]
        for study, *chosen in (("first-index",), ("first-index", "--player", "network"), ("fine-index",))
    }
    assert "/first-index-contact-160-4-seed-1/" in players["first-index",]
    assert f"/first-index-{DEFAULT_NETWORK}-4-seed-1/" in players["first-index", "--player", "network"]
    assert f"/fine-index-{DEFAULT_NETWORK}-4-seed-1/" in players["fine-index",]


@pytest.mark.parametrize("study", [("index", "--luck"), ("match",), ("statistics",)])
def test_picture_is_drawn(network_root: Path, tmp_path: Path, study: tuple[str, ...]) -> None:
    pictures = [tmp_path / f"{name}.png" for name in "ab"]
    for picture in pictures:
        result = run(network_root, "study", *study, "--games", "4", "--plot", picture)
        assert result.exit_code == 0, result.output
        assert result.stderr.splitlines()[-1] == f"wrote {picture}"
    assert pictures[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert pictures[0].read_bytes() == pictures[1].read_bytes()


def test_every_series_is_drawn(tmp_path: Path) -> None:
    """Every series is drawn even if there are more series than colours."""
    names = [f"to {length} points" for length in range(3, 23)]
    series = [Series(name, [0.0, 1.0], [height, height], [0.1, 0.1], [nan, nan]) for height, name in enumerate(names)]
    draw_study("lengths", "index", "points", series, tmp_path / "x.svg")
    picture = (tmp_path / "x.svg").read_text()
    assert [name for name in names if f">{name}<" not in picture] == []


@pytest.mark.parametrize(
    ("study", "measure"),
    [("statistics", "mean cube value"), ("first-statistics", "mean cube value"), ("index", "points per game")],
)
def test_picture_shows_the_measure_of_the_study(study: str, measure: str) -> None:
    series = {(0, name): Series(name, [0.5], [1.0], [0.1], [nan]) for name in ("points_per_game", "mean_cube_value")}
    assert series_to_draw(study, series) == (measure, [series[0, measure.replace(" ", "_")]])


def self_play(root: Path, *options: str) -> list[str]:
    """The lines of `bgdata selfplay` of two games or matches."""
    return output_of(root, "selfplay", *options, "--games", "2").splitlines()


def test_self_play_of_matches_with_two_cube_models(network_root: Path) -> None:
    folder, games, points = self_play(network_root, "--cube-model", "0.7,money:0.6", "--match-length", "3")
    assert re.search(r"-match-3-cube-0-7-money-0-6-2-seed-1/r4-[0-9a-f]{8}$", folder)
    assert re.fullmatch(r"\d+ games of \d+\.\d turns: \d+\.\d % passed, average cube \d\.\d\d", games)
    assert re.fullmatch(r"player 0: \d+\.\d \+/- \d+\.\d % of matches won", points)
    variant = Path(folder).parent.name
    (summary,) = bgdata.open_warehouse(network_root).rows(f"from cube_summary where variant = '{variant}'")
    assert summary["games"] > 1
    assert summary["doubles"] >= summary["takes"]


def test_self_play_for_money_with_a_cube_model(network_root: Path) -> None:
    *_, points = self_play(network_root, "--cube-model", "0.7")
    assert re.fullmatch(r"player 0: [+-]\d+\.\d{4} \+/- \d+\.\d{4} points per game", points)


def test_self_play_looks_ahead_with_the_cube(network_root: Path) -> None:
    folder, *_ = self_play(network_root, "--cube-model", "cubeful:0.7", "--ply", "1")
    assert re.search(r"/[a-z0-9-]+-1ply-money-cube-cubeful-0-7-2-seed-1/r4-[0-9a-f]{8}$", folder)


WRONG_ARGUMENTS = [
    (("selfplay", "--match-length", "3"), "expected --cube-model with --match-length, got none"),
    (("selfplay", "--jacoby"), "expected --cube-model with --jacoby, got none"),
    (("selfplay", "--ply", "1"), "expected --cube-model with --ply, got none"),
    (("selfplay", "--cube-model", "0.7", "--ply", "3"), "invalid value for '--ply': 3 is not in the range 0<=x<=2"),
    (("selfplay", "--cube-model", "0.7", "--luck"), "expected --cube-model or --luck, which is that of "),
    (("selfplay", "--cube-model", "0.7", "--player", "pubeval"), "expected a network to handle the cube, got "),
    (("selfplay", "--cube-model", "1.7"), "expected a cube life index from 0 to 1, got 1.7"),
    (("selfplay", "--cube-model", "0.7,0.7,0.7"), "expected one cube model, or two with a space between"),
    (
        ("selfplay", "--cube-model", "0.7", "--jacoby", "--match-length", "3"),
        "expected the jacoby rule in money play only, got it in a match to 3",
    ),
    (("selfplay", "--cube-model", "money:cubeful:0.7"), "expected cube models such as 0.7, jump:0.08, money:0.7 or "),
    (("study", "cubes"), f"expected a study among {', '.join(NAMES)}, got 'cubes'"),
    (("study", "index", "--games", "7"), "expected an even number of at least 4 games, got 7"),
    (("study", "index", "--player", "random"), "expected a network to handle the cube, got 'random'"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), WRONG_ARGUMENTS)
def test_invalid_arguments_are_refused(memory_path: Path, arguments: tuple[str, ...], message: str) -> None:
    result = run(memory_path, *arguments)
    assert error_of(result, result.exit_code).startswith(message)
    assert result.exit_code in (1, 2)
    assert list(memory_path.iterdir()) == []

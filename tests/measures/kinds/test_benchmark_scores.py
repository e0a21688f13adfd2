"""Tests of the kind `benchmark_scores`: small sets by hand, and players on the published rows."""

from pathlib import Path

import numpy as np
import pytest

from bgdata.errors import InvalidParameterError, MissingTableError, UnknownPlayerError
from bgdata.evaluation.gnubg import gnubg_version
from bgdata.evaluation.player import open_named_player
from bgdata.game.position import Position, parse_key20
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.measures.kinds.benchmark_scores_compute import (
    RolledOutDecisions,
    decisions_of,
    losses_of,
    rank_choices,
    score_of,
)
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from tests.formats import samples
from tests.imports.importing import Imports
from tests.oracles import needs_gnubg_tool

KEYS = ["JIGHPAABDAOAHDPAABDA", "OAHDOEABCBOAHDPAABDA", "OAHDOBABCEOAHDPAABDA", "OAHDMJABDAOAHDPAABDA"]
BOARDS = [list(parse_key20(key).board) for key in KEYS]
UNLISTED = list(parse_key20("OAHDPAABAJOAHDPAABDA").board)
START = list(parse_key20("OAHDPAABDAOAHDPAABDA").board)


def decisions(*losses: list[float]) -> RolledOutDecisions:
    """Decisions with the same position and roll, and one rolled-out play for each loss."""
    counts = [len(some) for some in losses]
    return RolledOutDecisions(
        boards=np.array([START] * len(losses), np.int8),
        rolls=np.array([[2, 4]] * len(losses), np.int8),
        first_plays=np.array([0, *np.cumsum(counts)]),
        play_boards=np.array([board for count in counts for board in BOARDS[:count]], np.int8),
        losses=np.array([loss for some in losses for loss in some]),
    )


THREE_DECISIONS = decisions([0, 0.25, 0.5], [0, 0.125], [0, 0, 1.5, 2])


@pytest.mark.parametrize(
    ("chosen", "ranks", "losses"),
    [
        ([BOARDS[0], BOARDS[0], BOARDS[0]], [0, 0, 0], [0, 0, 0]),
        ([BOARDS[1], BOARDS[1], BOARDS[1]], [1, 1, 1], [0.25, 0.125, 0]),
        ([BOARDS[2], BOARDS[2], BOARDS[2]], [2, -1, 2], [0.5, 0.125, 1.5]),
        ([UNLISTED, UNLISTED, UNLISTED], [-1, -1, -1], [0.5, 0.125, 2]),
        ([BOARDS[3], BOARDS[0], BOARDS[3]], [-1, 0, 3], [0.5, 0, 2]),
    ],
)
def test_choices_lose_as_much_as_their_rollouts(chosen: list[list[int]], ranks: list[int], losses: list[float]) -> None:
    """A choice loses what its rollout says; one that was not rolled out loses as much as the worst that was."""
    found_ranks = rank_choices(THREE_DECISIONS, np.array(chosen, np.int8))
    assert found_ranks.tolist() == ranks
    assert losses_of(THREE_DECISIONS, found_ranks).tolist() == losses


@pytest.mark.parametrize(
    ("losses", "ranks", "rate", "error", "unlisted", "best", "interval"),
    [
        # standard error: sqrt((0.0625 + 0 + 0 + 0.0625) / 3) / sqrt(4), in thousandths
        ([0, 0.25, 0.25, 0.5], [0, 1, 2, -1], 250, 102.062073, 0.25, 0.25, (49.962013, 450.037987)),
        # cut off at 0; plays that lose nothing count as best at any rank
        ([0, 0, 0.3], [3, -1, 1], 100, 100, 1 / 3, 2 / 3, (0, 295.996398)),
        ([0.2], [0], 200, 0, 0, 0, (200, 200)),
        ([], [], 0, 0, 0, 0, (0, 0)),
    ],
)
def test_score_statistics_match_values_by_hand(
    losses: list[float],
    ranks: list[int],
    rate: float,
    error: float,
    unlisted: float,
    best: float,
    interval: tuple[float, float],
) -> None:
    statistics = list(score_of(np.array(losses, np.float64), np.array(ranks, np.int16)).values())
    assert statistics == pytest.approx([len(losses), rate, error, unlisted, best, *interval])


# ----------------------------------------------------------------- the dataset kind

BENCHMARK = b"".join(samples.BENCHMARK_ROWS.splitlines(keepends=True)[:2])


def scores(
    imports: Imports, player: str = "pubeval", ply: int = 0, version: str = "2", class_: str = "contact"
) -> Table:
    benchmark = imports.warehouse.open("gnubg_benchmark", class_)
    return imports.warehouse.build("benchmark_scores", ScoreParameters.on(benchmark, player, ply, version))


@pytest.fixture
def imports(memory_path: Path) -> Imports:
    """A warehouse with an imported benchmark of two decisions."""
    imports = Imports(memory_path)
    imports.text("gnubg_benchmark", BENCHMARK)
    return imports


def test_rows_of_pubeval_equal_its_choices(imports: Imports) -> None:
    table = scores(imports)
    benchmark = imports.warehouse.open("gnubg_benchmark", "contact")
    assert table.folder.parent.name == "pubeval-0ply-imported-contact"
    assert table.manifest.parameters["benchmark"]["version"] == benchmark.folder.name
    assert table.manifest.inputs == {"benchmark": f"gnubg_benchmark/contact@{benchmark.manifest.digest}"}
    rows = imports.warehouse.rows("from benchmark_scores order by decision")
    assert len(rows) == 2
    for decision, row in enumerate(rows):
        assert row["decision"] == decision
        assert row["next_position_id"] == Position(table.array("chosen")[decision].tolist()).id
        rank = table.array("ranks")[decision]
        assert row["rank"] == (rank if rank >= 0 else None)
        assert row["loss"] == table.array("losses")[decision]
        (judged,) = imports.warehouse.rows(f"from benchmark_decisions where decision = {decision}")
        assert row["class"] == judged["class"]
        plays = imports.warehouse.rows(f"from benchmark_plays where decision = {decision}")
        ranks = {play["position_id"]: play["rank"] for play in plays}
        assert row["rank"] == ranks.get(row["next_position_id"])


def test_summary_has_the_statistics_of_the_manifest(imports: Imports) -> None:
    table = scores(imports)
    statistics = table.manifest.statistics
    assert statistics["error_rate"] == pytest.approx(1000 * np.mean(table.array("losses")))
    (summary,) = imports.warehouse.rows("from benchmark_summary")
    names = ("error_rate", "standard_error", "error_rate_low", "error_rate_high", "unlisted_share", "best_share")
    assert list(summary.values()) == [
        "pubeval",
        0,
        "2",
        "gnubg_benchmark/contact",
        imports.warehouse.open("gnubg_benchmark", "contact").folder.name,
        None,
        "contact",
        2,
        *(statistics[name] for name in names),
    ]


def test_new_benchmark_version_has_new_scores(imports: Imports) -> None:
    """After a benchmark is imported again, its old scores stay, but views do not show them."""
    old_scores = scores(imports)
    assert scores(imports).folder == old_scores.folder
    imports.text("gnubg_benchmark", BENCHMARK + b"# more\n" + BENCHMARK, "contact.bm")
    new_scores = scores(imports)
    assert [table.manifest.statistics["decisions"] for table in (old_scores, new_scores)] == [2, 4]
    versions = {table.manifest.parameters["benchmark"]["version"] for table in (old_scores, new_scores)}
    assert versions == {table.folder.name for table in imports.warehouse.versions("gnubg_benchmark", "contact")}
    (summary,) = imports.warehouse.rows("from benchmark_summary")
    assert summary["decisions"] == 4


def test_smallest_parameters_name_the_sample(imports: Imports) -> None:
    """The smallest parameters name the version of the sample, because scores always name a version."""
    sample = Imports(imports.folder / "sample").sample("gnubg_benchmark")
    kind = imports.warehouse.kind("benchmark_scores")
    assert kind.smallest == ScoreParameters.on(sample, "pubeval", 0, "2")


def test_benchmark_without_decisions_has_no_error_rate(imports: Imports) -> None:
    """The scores on a benchmark without decisions, such as a file with rollouts only, have no error rate."""
    imports.text("gnubg_benchmark", "#R JIGHPAABDAOAHDPAABDA 0.47 0.12 0.005 0.14 0.006\n")
    assert scores(imports).manifest.statistics["decisions"] == 0
    (summary,) = imports.warehouse.rows("from benchmark_summary")
    assert summary["decisions"] == 0
    assert summary["error_rate"] == 0
    assert summary["class"] is None


@pytest.mark.parametrize(
    ("benchmark", "message"),
    [
        (VersionRef("positions", "x"), r"expected a benchmark such as gnubg_benchmark/contact or .*, got positions/x"),
        (VersionRef("contact", ""), "expected a benchmark such as .*, got contact"),
        (VersionRef("rollout_decisions", "", "r1-00000000"), "expected a benchmark such as .*, got rollout_decisions/"),
        (VersionRef("rollout_decisions", "x"), "expected the version of rollout_decisions/x, got none"),
        (VersionRef("gnubg_benchmark", "contact"), "expected the version of gnubg_benchmark/contact, got none"),
        (
            VersionRef("gnubg_benchmark", "contact", "../.."),
            r"expected the version of gnubg_benchmark/contact, got \.\./\.\.",
        ),
        (
            VersionRef("gnubg_benchmark", "../../evil", "r1-00000000"),
            "expected a benchmark such as .*, got gnubg_benchmark/../../evil",
        ),
    ],
)
def test_invalid_benchmark_is_refused(imports: Imports, benchmark: VersionRef, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        imports.warehouse.build("benchmark_scores", ScoreParameters("pubeval", 0, benchmark, "2"))
    assert imports.warehouse.variants("benchmark_scores") == []


def test_missing_benchmark_is_refused(imports: Imports) -> None:
    with pytest.raises(MissingTableError, match=r"no gnubg_benchmark/x in .* \(have: contact\)"):
        scores(imports, class_="x")
    parameters = ScoreParameters("pubeval", 0, VersionRef("gnubg_benchmark", "contact", "r2-00000000"), "2")
    with pytest.raises(MissingTableError, match="no gnubg_benchmark/contact/r2-00000000 in "):
        imports.warehouse.build("benchmark_scores", parameters)


def test_invalid_player_is_refused(imports: Imports) -> None:
    with pytest.raises(InvalidParameterError, match="expected the name of a player, got 'a b'"):
        scores(imports, "a b")
    with pytest.raises(UnknownPlayerError, match=r"expected a player among random, pubeval, .*, got nobody"):
        scores(imports, "nobody")


# ----------------------------------------------------------------- on the published rows


def import_published(imports: Imports) -> None:
    """Import the 43 published rows, one file per class."""
    rows = samples.shared_file("gnubg", "benchmark_samples.bm").read_bytes().splitlines(keepends=True)
    for class_, count in (("contact", 15), ("race", 14), ("crashed", 14)):
        text = b"".join(row.split(b" ", 2)[2] for row in rows if row.startswith(class_.encode()))
        assert imports.text("gnubg_benchmark", text, f"{class_}.bm").manifest.rows == count


def test_pubeval_loses_less_than_random_on_the_published_rows(imports: Imports) -> None:
    import_published(imports)
    for class_ in ("contact", "race", "crashed"):
        pubeval = scores(imports, "pubeval", class_=class_).manifest.statistics
        random = scores(imports, "random", version="1", class_=class_).manifest.statistics
        assert 0 <= pubeval["error_rate"] < random["error_rate"]


def test_best_plays_of_the_published_rows_lose_nothing(imports: Imports) -> None:
    import_published(imports)
    for class_ in ("contact", "race", "crashed"):
        decisions = decisions_of(imports.warehouse.open("gnubg_benchmark", class_))
        best = decisions.play_boards[decisions.first_plays[:-1]]
        assert not losses_of(decisions, rank_choices(decisions, best)).any()


@needs_gnubg_tool("gnubg")
@pytest.mark.parametrize(
    ("ply", "expected"),
    [
        (0, {"contact": 1.92941, "race": 0.425645, "crashed": 8.072597}),
        (1, {"contact": 4.73353, "race": 0.234013, "crashed": 5.834688}),
    ],
)
def test_gnubg_has_known_error_rates_on_the_published_rows(
    imports: Imports, ply: int, expected: dict[str, float]
) -> None:
    """gnubg 1.07 has the error rates that an independent script computed."""
    if not gnubg_version().startswith("1.07"):
        pytest.skip(f"the figures are of gnubg 1.07, this is {gnubg_version()}")
    import_published(imports)
    for class_, error_rate in expected.items():
        statistics = scores(imports, "gnubg", ply, f"{gnubg_version()}-external", class_).manifest.statistics
        assert statistics["error_rate"] == pytest.approx(error_rate, rel=2e-6)
        assert statistics["unlisted_share"] == 0
    assert open_named_player("gnubg", ply).label == f"gnubg-{ply}ply"

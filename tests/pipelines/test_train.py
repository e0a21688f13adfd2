"""The training flow: every step builds a version, and no version is built twice."""

import re

import pytest

import bgdata
from bgdata.store.parameters import VersionRef
from tests.pipelines.conftest import Run

STEPS = ("selfplay", "play_sample", "lookahead_labels", "supervised_network", "scores")
NOTES = (
    r"[a-z_]+/[\w-]+: (built|already built) |epoch \d, |left out: (error rates|values by theme): |going on with "
    r"|compil(ing|ed) kernels[ ,]"
)


@pytest.mark.prefect
def test_each_step_builds_a_version(flows: Run) -> None:
    """Each step of the training pipeline builds a version from that of the step before. The scores are printed."""
    case = flows.cases["train"]
    assert case.result == 0, case.errors
    learned, first, *rows = case.output.splitlines()
    warehouse = bgdata.open_warehouse(flows.folder / "trained")
    tables = {name: list(warehouse.versions(name)) for name in STEPS}
    assert learned == tables["supervised_network"][0].name
    assert re.fullmatch(r"network/mine \(0-ply\), version \w+: .*/scores/network-mine-0ply/r1-\w+", first)
    assert {tuple(row.split()[:2]) for row in rows} >= {
        ("points_per_game", "pubeval-0ply"),
        ("points_per_game", "network-tiny-0ply"),
        ("gammon_share", "network-mine-0ply"),
        ("bearoff_loss", "bearoff_two_sided/6x6"),
    }
    (labels,) = tables["lookahead_labels"]
    (plays,) = tables["play_sample"]
    assert labels.manifest.inputs["source"].endswith(f"@{plays.manifest.digest}")
    assert plays.manifest.inputs["games"].startswith("selfplay/network-tiny-20-seed-1@")
    parameters = tables["supervised_network"][0].manifest.parameters
    assert parameters["labels"] == [{"versions": [vars(VersionRef.parse(labels.name))], "weight": 1.0}]
    assert (parameters["start"]["kind"], parameters["start"]["variant"]) == ("network", "tiny")
    assert parameters["epochs"] == 1


@pytest.mark.prefect
def test_unchanged_steps_are_skipped(flows: Run) -> None:
    """A second run of the training flow builds nothing; a flow with a wrong argument prints one line."""
    again = flows.cases["train again"]
    assert (again.result, again.output) == (0, flows.cases["train"].output)
    assert ": built " not in again.errors
    for step in STEPS:
        assert f"{step}/" in flows.cases["train"].errors
        assert re.search(rf"^{step}/[\w-]+: already built ", again.errors, re.MULTILINE), step
    wrong = flows.cases["train wrong"]
    assert (wrong.result, wrong.output) == (1, "")
    message = "error: expected a name that no network has that learned by self-play, got 'tiny'"
    assert wrong.errors.splitlines()[-1] == message
    for name in ("train", "train again"):
        for line in flows.cases[name].errors.splitlines():
            assert re.match(NOTES, line), (name, line)

"""Steps from games to a scored network, one by one."""

import re
from dataclasses import replace

import pytest

from bgdata.errors import MissingTableError, UnknownPlayerError, UsageError
from bgdata.store.parameters import VersionRef
from bgdata.training.steps import (
    TrainingPlan,
    build_corpus,
    build_lookahead,
    build_network,
    build_plays,
    build_score,
    scores_text,
)
from bgdata.warehouse import Warehouse

PLAN = TrainingPlan("mine", "network/tiny", games=20, epochs=1, score_games=4, luck_adjusted_games=0, decisions=20)


@pytest.mark.slow
def test_steps_lead_to_a_scored_network(warehouse: Warehouse) -> None:
    """Each step uses the version that the step before has built, and a second run builds nothing again."""
    corpus = build_corpus(warehouse, PLAN)
    plays = build_plays(warehouse, PLAN, corpus.name)
    labels = build_lookahead(warehouse, PLAN, plays.name)
    network = build_network(warehouse, PLAN, labels.name)
    scores = build_score(warehouse, PLAN, network.name)
    assert len(corpus.array("outcomes")) == PLAN.games
    assert corpus.manifest.parameters["player"] == PLAN.start
    assert plays.manifest.inputs["games"].endswith(f"@{corpus.manifest.digest}")
    assert labels.manifest.inputs["source"].endswith(f"@{plays.manifest.digest}")
    assert labels.manifest.parameters["network"] == plays.manifest.parameters["network"] == "tiny"
    source = {"versions": [vars(VersionRef.parse(labels.name))], "weight": 1.0}
    assert network.manifest.parameters["labels"] == [source]
    assert scores.folder.parent.name == "network-mine-0ply"
    assert "points_per_game_against_network_tiny_0ply" in scores.manifest.statistics
    assert scores_text(warehouse, scores.name).startswith("network/mine (0-ply), version ")
    # existing versions are reused
    assert build_network(warehouse, PLAN, labels.name).name == network.name
    assert build_score(warehouse, PLAN, network.name).name == scores.name
    retrained = build_network(warehouse, replace(PLAN, epochs=2), labels.name)
    with pytest.raises(
        UsageError, match=f"expected {network.name} to be what plays as network/mine, found {retrained.name}"
    ):
        build_score(warehouse, PLAN, network.name)


def test_start_without_a_network_is_refused(warehouse: Warehouse) -> None:
    with pytest.raises(UnknownPlayerError, match="expected network, network/NAME or network/NAME/VERSION, got pubeval"):
        build_corpus(warehouse, replace(PLAN, start="pubeval"))
    with pytest.raises(MissingTableError, match="no network/none in "):
        build_corpus(warehouse, replace(PLAN, start="network/none"))


def test_scores_text_of_another_kind_is_refused(warehouse: Warehouse) -> None:
    with pytest.raises(UsageError, match=re.escape("expected a version of scores, got selfplay/x/r1-01234567")):
        scores_text(warehouse, "selfplay/x/r1-01234567")

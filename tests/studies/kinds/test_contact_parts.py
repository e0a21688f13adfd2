"""Tests of the kind `contact_parts`: digest, resuming, rows and errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.kernel import threads
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCE
from bgdata.store import job
from bgdata.studies.kinds.contact_parts import DATASET, ContactPartsParameters
from bgdata.studies.kinds.contact_parts_compute import groups_of, stored_arms
from bgdata.training.supervised.parts import Scheme
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted, smallest_version
from tests.imports.killer import ReportKiller
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
# of SMALLEST on any machine; if it changes, raise the revision
DIGEST = "f124e677382b6d8eacd3f3e1414c1d6b8f5366ad0e5da2b3e9609ec7dd158355"


def test_digest_is_the_same_on_one_thread_and_after_a_kill(
    warehouse_with_labels: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    warehouse_with_labels.build(REFERENCE.name, REFERENCE.smallest)
    with threads(1):
        with pytest.raises(KeyboardInterrupt):
            warehouse_with_labels.build(DATASET.name, SMALLEST, progress=ReportKiller(2))
        progress = ReportKiller(99)
        assert warehouse_with_labels.build(DATASET.name, SMALLEST, progress=progress).manifest.digest == DIGEST
    assert f"going on with contact_parts/{DATASET.slug(SMALLEST)} after step 1 of 2" in progress.notes


def test_parts_and_themes_count_each_position_once(small_root: Path) -> None:
    """In every division, the rows by part and by theme count each position once, and as many positions are learned."""
    divisions = bgdata.open_warehouse(small_root).rows(
        "select arm, grouping, count(*) as groups, sum(tested)::int as tested, sum(learned)::int as learned "
        f"from contact_parts where variant = '{DATASET.slug(SMALLEST)}' group by all"
    )
    sizes = dict(zip(SMALLEST.arms, SMALLEST.sizes, strict=True))
    (all_tested,) = {division["tested"] for division in divisions if division["grouping"] == "all"}
    (all_learned,) = {division["learned"] for division in divisions if division["grouping"] == "all"}
    assert all_tested > 0
    assert all_learned > 0
    rolled_out = 12 * REFERENCE.smallest.positions // 2  # those for validation
    for division in divisions:
        grouping = division["grouping"]
        groups = {"all": 1, "part": sizes[division["arm"]], "theme": 12, "reference": 1, "reference-theme": 12}
        assert division["groups"] == groups[grouping]
        assert division["tested"] == (rolled_out if grouping.startswith("reference") else all_tested)
        assert division["learned"] == (all_learned if grouping in ("all", "part") else None)


def test_stored_arms_and_networks_are_read_back(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    arms = stored_arms(table, SMALLEST)
    assert [(arm.scheme, arm.size, len(arm.centres)) for arm in arms] == [
        (Scheme.ONE, 1, 0),
        (Scheme.CLASSES, 2, 0),
        (Scheme.THEMES, 12, 0),
        (Scheme.K_MEANS, 2, 2),
        (Scheme.K_MEANS, 3, 3),
    ]
    assert [group.network for group in groups_of(SMALLEST) if group.grouping == "part"] == list(range(20))


def test_verify_says_that_networks_are_not_trained_again(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = warehouse.open(DATASET.name, DATASET.slug(SMALLEST))
    inputs = inputs_of(warehouse, DATASET, SMALLEST)
    message = f"all {len(groups_of(SMALLEST))} rows, by the stored networks; they were not trained again"
    assert check_sample(DATASET, table, inputs, 2, np.random.default_rng(0)) == message


def test_verify_names_a_changed_figure(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    errors = np.array(table.array("errors"))
    errors[0, 0] += 1e-9
    with pytest.raises(CheckFailedError, match=r"of one, all all in contact_parts/.*, found"):
        check_sample(DATASET, Corrupted(table, "errors", errors), inputs, 2, np.random.default_rng(0))


def test_parameters_give_slug_and_arms() -> None:
    assert DATASET.slug(SMALLEST) == "parts-2-3-units-4-epochs-2-seed-1"
    assert ContactPartsParameters(parts=(5,)).arms == ("one", "classes", "themes", "k-means 5")
    assert DATASET.defaults == ()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"labels": ()}, "expected labels KIND/VARIANT/VERSION:WEIGHT, got none"),
        (
            {"labels": SMALLEST.labels * 2},
            f"expected labels once, with one weight, got {SMALLEST.labels[0].name} twice",
        ),
        ({"parts": ()}, "expected 1 to 10 different numbers of parts, got none"),
        ({"parts": (3, 3)}, "expected 1 to 10 different numbers of parts, got 3 3"),
        ({"parts": (0,)}, "expected 1 to 100 parts, got 0"),
        ({"parts": (101,)}, "expected 1 to 100 parts, got 101"),
        ({"units": 2049}, "expected 1 to 2048 hidden units, got 2049"),
        ({"epochs": 0}, "expected epochs from 1 to 2,147,483,647, got 0"),
        ({"learning_rate": 1.0}, "expected a learning_rate above 0, up to 0.1 for adam, got 1.0"),
        ({"seed": -1}, "expected a seed from 0 to 2^63 - 1, got -1"),
    ],
)
def test_invalid_parameters_are_refused(changes: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        DATASET.check_parameters(SMALLEST.with_changes(changes))
    assert str(caught.value) == error

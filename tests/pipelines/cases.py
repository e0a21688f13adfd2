"""The smallest work of two steps for each flow, of which tests finish one and hold the other."""

from pathlib import Path
from typing import Any, NamedTuple

import bgdata
from tests.formats.samples import BENCHMARK_ROWS

TINY = "network/tiny"
PLAN = """
[[part]]
name = "one-sided"
makes = "bearoff_one_sided/2x15"
minutes = 1
command = "build bearoff_one_sided --points 2"

[[part]]
name = "two-sided"
makes = "bearoff_two_sided/2x2"
minutes = 1
needs = ["one-sided"]
command = "build bearoff_two_sided --points 2 --checkers 2"
"""


class Case(NamedTuple):
    """How a flow begins, the step that it finishes before the kill, and the step that it waits for."""

    parameters: dict[str, Any]
    finished: str  # kind/variant
    held: str


def cases(folder: Path) -> dict[str, Case]:
    """The case of each flow, by name; files that are imported are written to the folder."""
    files = [folder / f"{name}.bm" for name in ("mine", "yours")]
    for path in files:
        path.write_bytes(BENCHMARK_ROWS)
    shipped = [
        f"{name}/{kind.slug(kind.basic[-1])}"  # the first one is in the small warehouse
        for name in ("network", "supervised_network")
        for kind in [bgdata.all_kinds()[name]]
    ]
    corpus = {"player": TINY, "games": 40, "seed": 3, "cubeful_games": 0, "most": 2, "trials": 72}
    training = {"name": "mine", "start": TINY, "games": 20, "epochs": 1, "score_games": 4, "luck_adjusted_games": 0}
    mets = {"player": TINY, "plies": [0, 1], "length": 5}
    plan = folder / "plan.toml"
    plan.write_text(PLAN)
    imported = {"files": [f"gnubg_benchmark:{path}" for path in files]}
    return {
        "build-warehouse": Case({"kinds": ["network", "supervised_network"]}, *shipped),
        "import-files": Case(imported, "gnubg_benchmark/mine", "gnubg_benchmark/yours"),
        "make-corpora": Case(
            {"plan": corpus}, "selfplay/network-tiny-40-seed-3", "position_sample/network-tiny-40-seed-3-most-2"
        ),
        "match-equity": Case({"plan": mets}, "match_equity/tiny-1ply-5", "match_equity/tiny-0ply-5"),
        "rebuild-from-nothing": Case({"plan": str(plan)}, "bearoff_one_sided/2x15", "bearoff_two_sided/2x2"),
        "train-network": Case(
            {"plan": training | {"decisions": 20}}, "selfplay/network-tiny-20-seed-1", "supervised_network/mine"
        ),
    }

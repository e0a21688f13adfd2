"""The flow of match equity tables: `python -m pipelines.match_equity`. It builds a table for each ply of a network side
by side, and compares them with the published table."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bgdata.process import run

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow
from prefect.artifacts import create_table_artifact

from bgdata import open_warehouse
from bgdata.equity import steps
from bgdata.equity.steps import MatchEquityPlan

from .tasks import RETRIED, build_step, check_pictures, flow_parser, processes, publish_picture, run_flow, tell_finished

USUAL = MatchEquityPlan()


@flow(name="match-equity", task_runner=processes(), **RETRIED)
def make_mets(root: str = "warehouse", plan: MatchEquityPlan = USUAL) -> list[str]:
    """Build the match equity tables that a plan describes, and return the names of their versions, that of the
    published table first."""
    check_pictures()
    warehouse = open_warehouse(root)
    build = build_step.with_options(name="build_met")
    futures = [build.submit(root, steps.build_met, recipe) for recipe in steps.recipes(warehouse, plan)]
    list(tell_finished(futures, "match equity tables"))
    versions = [future.result().name for future in futures]
    rows = steps.differences(warehouse, versions)
    create_table_artifact(rows, key="match-equity", description="Beside the published table, in percentage points")
    first, *_, last = (version.split("/")[1] for version in versions)
    words = ["met", "plot", last, "--minus", first, "-o"]
    publish_picture(root, words, "match-equity-picture", f"{last} minus {first}")
    return versions


def parse_arguments(arguments: Sequence[str]) -> tuple[str, MatchEquityPlan]:
    """Parse the command line: the folder of the warehouse, and the plan."""
    parser = flow_parser("match_equity", __doc__)
    parser.add_argument("--player", default=USUAL.player, metavar="PLAYER", help="network or network/NAME")
    parser.add_argument("--plies", default=USUAL.plies, type=int, nargs="+", metavar="N", help="a table for each ply")
    help_ = "cube life index of the tables, 0 (dead) to 1 (live)"
    parser.add_argument("--cube-life-index", default=USUAL.cube_life_index, type=float, metavar="X", help=help_)
    parser.add_argument("--length", default=USUAL.length, type=int, metavar="N", help="points to go")
    found = vars(parser.parse_args(arguments))
    return found.pop("warehouse"), MatchEquityPlan(**found | {"plies": tuple(found["plies"])})


def main(arguments: Sequence[str]) -> int:
    """Run the flow, print the names of the versions and how far each table is from the published one, and return the
    exit code."""
    root, plan = parse_arguments(arguments)

    def build_and_tell() -> None:
        versions = make_mets(root, plan)
        print("\n".join(versions))
        for row in steps.differences(open_warehouse(root), versions):
            most, mean = row["largest"], row["mean"]
            print(f"{row['met']} minus {row['beside']}: at most {most} percentage points, {mean} on average")

    return run_flow(build_and_tell)


if __name__ == "__main__":
    run(lambda: main(sys.argv[1:]))

"""The flow that makes everything that comes with bgdata again, from nothing: `python -m pipelines.rebuild`.

A part is one command of a plan, and one task, in the order of the plan; each uses all cores. Finished parts are found
by the same record as in `bgdata rebuild --from-nothing`, so either can continue what the other began."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from bgdata.process import run

from . import begin_flow

if __name__ == "__main__":
    begin_flow()

from prefect import flow, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE

from bgdata import open_warehouse
from bgdata.errors import CheckFailedError
from bgdata.process import keep
from bgdata.warehouse import Row, from_nothing

from .tasks import RETRIED, flow_parser, run_flow


class Made(NamedTuple):
    """A finished part of a plan: its version, how it compares with the version in the package (see
    `from_nothing.compare`), and published figures beside bgdata's."""

    part: str
    version: str
    verdict: str
    figures: list[Row]


@task(**RETRIED, cache_policy=NO_CACHE)
def make(root: str, plan: str, name: str) -> Made:
    """Run the part `name` of a plan, or find its version if it is finished. The parts that it needs must be
    finished."""
    warehouse, parts = open_warehouse(root), from_nothing.read_plan(from_nothing.plan_path(plan))
    part, made = next(each for each in parts if each.name == name), from_nothing.finished_parts(warehouse, parts)
    table = made.get(name) or from_nothing.make_part(warehouse, part, made)
    return Made(
        name, table.name, from_nothing.compare(warehouse, part, table), from_nothing.figures_of(warehouse, part, table)
    )


@flow(name="rebuild-from-nothing", **RETRIED)
def rebuild_from_nothing(root: str = "again", plan: str = "from-nothing", parts: Sequence[str] = ()) -> list[Made]:
    """Run the named parts of a plan, with the parts that they need, or all parts if none is named. Returns their
    versions. Raises CheckFailedError at the end if a version differs from the one in the package."""
    chosen = from_nothing.select_parts(from_nothing.read_plan(from_nothing.plan_path(plan)), parts)
    found = []
    for part in chosen:
        found.append(make.with_options(name=part.name)(root, plan, part.name))
        keep("finished parts are kept")
    publish(chosen, found)
    if different := [f"{made.part}: {made.verdict}" for made in found if made.verdict not in ("", "same")]:
        raise CheckFailedError(f"expected the digests of the package, found {'; '.join(different)}")
    return found


def publish(parts: Sequence[from_nothing.Part], found: Sequence[Made]) -> None:
    """Publish a table of the parts and their versions to Prefect, with published figures beside bgdata's."""
    rows = [
        {"part": part.name, "needs": ", ".join(part.all_needs), "minutes": part.minutes, "version": made.version}
        | {"as in the package": made.verdict or "not in the package"}
        for part, made in zip(parts, found, strict=True)
    ]
    create_table_artifact(rows, key="parts", description="Versions that were made again")
    if figures := [row for made in found for row in made.figures]:
        create_table_artifact(figures, key="figures", description="Published figures, and those of the new versions")


def parse_arguments(arguments: Sequence[str]) -> tuple[str, str, list[str]]:
    """Parse the command line: the folder of the warehouse, the name of the plan, and the names of the parts."""
    parser = flow_parser("rebuild", __doc__)
    parser.set_defaults(warehouse="again")
    parser.add_argument(
        "--plan", default="from-nothing", metavar="NAME", help="from-nothing, player-33, or a file of parts in TOML"
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="this part and those that it needs; default: all")
    found = parser.parse_args(arguments)
    return found.warehouse, found.plan, found.parts


def main(arguments: Sequence[str]) -> int:
    """Run the flow, print the names of the versions, and return the exit code."""
    root, plan, parts = parse_arguments(arguments)

    def rebuild() -> None:
        for made in rebuild_from_nothing(root, plan, parts):
            print(made.version, made.verdict)

    return run_flow(rebuild)


if __name__ == "__main__":
    run(lambda: main(sys.argv[1:]))

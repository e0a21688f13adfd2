"""Copies versions that took long to compute into the package: `python -m docs.ship KIND/VARIANT... [--warehouse DIR]`.

They replace all versions in their folder of the package, and of their kinds in warehouse/warehouse.lock. So networks
must be named together with the networks that they started from, unless recipes name these by version, and with those
that other versions of the package need. The first network becomes `network`, and pages, claims and tests that name its
predecessor are changed. Scores of networks in the warehouse (`bgdata benchmark network/NAME --games 40000`, `bgdata
benchmark network/NAME`) are copied too, because evaluations quote them. Every version is verified first: hashes,
values, SQL checks, a recomputed sample, and that this code would compute it; versions that the package already has,
only by hashes and code.

`python -m docs.ship --follow` builds the benchmarks (rollout_decisions), studies of the cube (cube_studies), opening
books (openings) and reference positions of the package again with the current `network`, and those whose kind has a
newer revision; studies with another player (`usual_network`) keep it. Benchmarks are replaced together, then each of
the others, the quickest of each kind first: some take an hour. A stopped run resumes; until then the package has the
versions of the previous network. `make generation NETWORK=KIND/VARIANT` does both, and then `make build`, the lock, the
pictures, and the output on pages.

`python -m docs.ship --tables` rewrites the Parquet files of all versions in the package from their arrays, with the
current declarations of columns; names, recipe keys and digests of values stay.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bgdata
from bgdata.errors import BgdataError, CheckFailedError, UsageError
from bgdata.evaluation.bearoff import open_bearoff
from bgdata.evaluation.networks.player import FILE as SCORES
from bgdata.evaluation.networks.player import MappedNetwork, NetworkScore, recorded_name, scores_in, shipped_scores
from bgdata.evaluation.players import DEFAULT_NETWORK, NETWORK_KINDS, SHIPPED
from bgdata.measures.kinds import cube_benchmark, reference_positions, rollout_decisions
from bgdata.openings.kinds import openings
from bgdata.store.build import write_tables
from bgdata.store.dataset import Computed, Dataset
from bgdata.store.lockfile import LockEntry, read_lock, write_lock
from bgdata.store.manifest import FILE_NAME, FileEntry, load_manifest
from bgdata.store.progress import Silence, progress_bars
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.store.verify import check_hashes, verify
from bgdata.studies.kinds import cube_studies
from bgdata.warehouse import Warehouse

LOCK = Path(__file__).parents[1] / "warehouse" / "warehouse.lock"
FOLDERS = {  # folders of the package, by kind
    **dict.fromkeys(NETWORK_KINDS, SHIPPED),
    "rollout_decisions": rollout_decisions.PUBLISHED,
    "cube_benchmark": cube_benchmark.PUBLISHED,
    "cube_studies": cube_studies.PUBLISHED,
    "openings": openings.PUBLISHED,
    "reference_positions": reference_positions.PUBLISHED,
}
MAX_BYTES = 5_000_000  # size of all files in a folder: a network has up to 4 MB
NAMING = ("README.md", "docs", "bgdata", "sql", "tests", ":!docs/research", ":!bgdata/**/*.json")
"""What names the network that plays as `network`, for git; pages of research tell how it came about."""


def ship(
    names: Sequence[str], root: str = "warehouse", folders: Mapping[str, Path] = FOLDERS, lock: Path = LOCK
) -> list[Path]:
    """Copy the newest version of each KIND/VARIANT into the package, and return their folders there.

    Raises UsageError for a kind that does not come with the package, CheckFailedError for versions that are too large,
    damaged, or of another recipe than this code's, and DigestMismatchError for damaged ones that the package has.
    """
    warehouse = bgdata.open_warehouse(root)
    tables: dict[Path, list[Table]] = {}
    for name in names:
        kind, _, variant = name.partition("/")
        if kind not in folders or not variant:
            raise UsageError(f"expected {' or '.join(f'{known}/VARIANT' for known in folders)}, got {name}")
        tables.setdefault(folders[kind], []).append(warehouse.open(kind, variant))
    for folder, versions in tables.items():
        check_versions(warehouse, versions, folder)
    for folder, versions in tables.items():
        scores = measured_scores(warehouse, versions, folder)
        copy_versions(versions, folder)
        write_scores(folder, scores)
        change_lock(lock, [kind for kind in folders if folders[kind] == folder], versions)
    return [shipped_folder(table, folder) for folder, versions in tables.items() for table in versions]


def name_network(root: Path, before: str, name: str, kept: Iterable[str] = ()) -> list[Path]:
    """Make the named network `network`, and return the changed files. Files below `root` that name the one `before` are
    changed to name it, except for variants in `kept`."""
    command = ["git", "grep", "-lI", "-e", before, "--", *NAMING]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)  # 1 without a match
    longest_first = sorted({*kept, before}, key=len, reverse=True)
    names = re.compile("|".join(map(re.escape, longest_first)))
    changed = []
    for path in (root / line for line in found.stdout.splitlines()):
        text = path.read_text()
        named = names.sub(lambda match: name if match[0] == before else match[0], text)
        if named != text:
            path.write_text(named)
            changed.append(path)
    return changed


@dataclass(frozen=True)
class Follower:
    """A benchmark, study, book or set of references of the package: its recipe, and that with the current `network`."""

    kind: Dataset[Any]
    before: Any
    recipe: Any
    seconds: float  # that the one before took
    is_outdated: bool  # whether this code would make the one before otherwise
    is_together: bool  # whether all of its kind are taken in at once

    def variants(self) -> tuple[str, str]:
        """The variants of both recipes."""
        return self.kind.slug(self.before), self.kind.slug(self.recipe)


def followers() -> list[Follower]:
    """The versions of the package that a network makes: benchmarks first, and the quickest of each kind first."""
    published: list[tuple[Dataset[Any], Mapping[Any, Path]]] = [
        (rollout_decisions.DATASET, rollout_decisions.published_decisions()),
        (cube_studies.DATASET, cube_studies.published_studies()),
        (openings.DATASET, openings.published_openings()),
        (reference_positions.DATASET, reference_positions.published_references()),
    ]
    found = []
    for kind, recipes in published:
        manifests = {recipe: load_manifest(folder) for recipe, folder in recipes.items()}
        outdated = {recipe for recipe, manifest in manifests.items() if manifest.revision != kind.revision}
        is_together = bool(outdated) or kind is rollout_decisions.DATASET
        for recipe, manifest in manifests.items():
            after = replace(recipe, network=recipe.usual_network(DEFAULT_NETWORK), network_version="")
            found.append(Follower(kind, recipe, after, manifest.seconds, recipe in outdated, is_together))
    kinds = [kind for kind, _ in published]
    return sorted(found, key=lambda follower: (kinds.index(follower.kind), follower.seconds))


def kept_variants(network: str) -> list[str]:
    """Variants of the package that are made by another network."""
    return [each.kind.slug(each.before) for each in followers() if each.before.network != network]


def follow(root: str = "warehouse", lock: Path = LOCK) -> Iterator[Path]:
    """Build `followers` again, replace the old ones in the package and in pages, and yield changed folders and files.

    Benchmarks are replaced together, because the games of the old ones are gone, and so are kinds whose shipped
    versions this code would not reproduce; others one by one. Raises the errors of `Warehouse.build` and `ship`.
    """
    warehouse = bgdata.open_warehouse(root)
    found = [each for each in followers() if each.recipe != each.before or each.is_outdated]
    groups: dict[object, list[Follower]] = {}
    for each in found:
        groups.setdefault(each.kind if each.is_together else each, []).append(each)
    for group in groups.values():
        kind, replaced = group[0].kind, [each.before for each in group]
        kept = [each.before for each in followers() if each.kind is kind and each.before not in replaced]
        recipes = [*kept, *(each.recipe for each in group)]
        with progress_bars() as progress:
            for recipe in recipes:
                warehouse.build(kind.name, recipe, progress=progress)
        yield from ship([f"{kind.name}/{kind.slug(recipe)}" for recipe in recipes], root, lock=lock)
        for before, after in map(Follower.variants, group):
            yield from name_network(lock.parents[1], before, after)


def check_versions(warehouse: Warehouse, versions: list[Table], folder: Path) -> None:
    """Raise CheckFailedError unless these versions may be shipped in `folder`, and DigestMismatchError for damage.

    Versions that are already shipped were verified before.
    """
    for table in versions:
        declared = warehouse.kind(table.manifest.dataset)
        found = warehouse.find(declared, declared.parameters.from_manifest(table.manifest.parameters))
        if found is None or found.folder != table.folder:
            raise CheckFailedError(
                f"expected {table.name} to have the recipe of this code, found another; build it anew"
            )
    size = sum(entry.bytes for table in versions for entry in table.manifest.files)
    if size > MAX_BYTES:
        raise CheckFailedError(f"expected at most {MAX_BYTES:,} bytes, found {size:,} in {versions[0].name}")
    added = []
    for table in versions:
        if is_shipped(table, folder):
            check_hashes(table)
        else:
            added.append(table)
    for finding in verify(warehouse, added, sample_rows=1, seed=0, progress=Silence()):
        if finding.problem:
            raise CheckFailedError(finding.problem)


def is_shipped(table: Table, folder: Path) -> bool:
    """Whether the package has this version in a folder, by the same manifest."""
    path = shipped_folder(table, folder) / FILE_NAME
    return path.is_file() and path.read_bytes() == (table.folder / FILE_NAME).read_bytes()


def shipped_folder(table: Table, folder: Path) -> Path:
    """The place of a version in a folder of the package: VARIANT/VERSION."""
    return folder / table.folder.parent.name / table.folder.name


def write_scores(folder: Path, scores: Mapping[str, Iterable[NetworkScore]]) -> None:
    """Write the file of scores, or delete it if there are no scores."""
    listed = {name: [each._asdict() for each in found] for name, found in sorted(scores.items())}
    kept = {name: found for name, found in listed.items() if found}
    if kept:
        (folder / SCORES).write_text(json.dumps(kept, indent=1) + "\n")
    else:
        (folder / SCORES).unlink(missing_ok=True)


def copy_versions(versions: list[Table], folder: Path) -> None:
    """Replace the versions of a folder; files stay writable, so that git can replace them."""
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    for table in versions:
        target = shipped_folder(table, partial)
        target.mkdir(parents=True)
        for name in (*(entry.name for entry in table.manifest.files), FILE_NAME):
            shutil.copyfile(table.folder / name, target / name)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def write_tables_anew(folders: Iterable[Path]) -> list[Path]:
    """Rewrite the Parquet files of the versions in these folders, and return changed ones. Raises DigestMismatchError
    for a version with damaged files."""
    changed = []
    for path in sorted(path.parent for folder in set(folders) for path in folder.glob(f"*/*/{FILE_NAME}")):
        table, manifest = Table(path), Table(path).manifest
        kind = bgdata.all_kinds()[manifest.dataset]
        check_hashes(table)
        write_tables(
            kind, Computed(kind.recipe_of(manifest), table.arrays()), path, Silence(),
            version=manifest.version, digest=manifest.digest, recipe_key=manifest.recipe_key,
        )  # fmt: skip
        files = [
            FileEntry(entry.name, (path / entry.name).stat().st_size, sha256_file(path / entry.name))
            for entry in manifest.files
        ]
        if files != manifest.files:
            replace(manifest, files=files).save(path)
            changed.append(path)
    return changed


def measured_scores(warehouse: Warehouse, versions: list[Table], folder: Path) -> dict[str, list[NetworkScore]]:
    """Scores of the networks among these versions, by name, from the warehouse, or else from the package. Of benchmarks
    made here, only those in the package count."""
    decisions = rollout_decisions.DATASET
    sets = {f"{decisions.name}/{decisions.slug(recipe)}" for recipe in rollout_decisions.published_decisions()}
    found = {}
    for table in versions:
        if table.manifest.dataset in NETWORK_KINDS:
            name = table.folder.parent.name
            version = MappedNetwork(table, open_bearoff(warehouse)).version
            scores = (*shipped_scores(table, folder), *scores_in(warehouse, name, version))
            newest = {(each.measure, each.against): each for each in scores}
            found[recorded_name(table)] = [
                each
                for each in newest.values()
                if each.against in sets or not each.against.startswith(f"{decisions.name}/")
            ]
    return found


def change_lock(path: Path, kinds: Sequence[str], versions: list[Table]) -> None:
    """Replace the entries of these kinds in the lock by these versions."""
    entries = read_lock(path)
    shipped = [
        LockEntry(manifest.dataset, manifest.variant, manifest.recipe_key, manifest.digest)
        for manifest in (table.manifest for table in versions)
    ]
    write_lock(path, [*(entry for entry in entries if entry.dataset not in kinds), *shipped])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m docs.ship")
    parser.add_argument("names", nargs="*", metavar="KIND/VARIANT")
    parser.add_argument("--follow", action="store_true", help="build what hangs on the network again, and take it in")
    parser.add_argument("--tables", action="store_true", help="write the Parquet files in the package anew")
    parser.add_argument("--warehouse", default="warehouse")
    arguments = parser.parse_args()
    if bool(arguments.names) + arguments.follow + arguments.tables != 1:
        parser.error("expected one of KIND/VARIANT, --follow and --tables")
    try:
        if arguments.tables:
            written = write_tables_anew(FOLDERS.values())
        elif arguments.follow:
            for path in follow(arguments.warehouse):
                print(f"wrote {path}", flush=True)
            written = []
        else:
            written = ship(arguments.names, arguments.warehouse)
            kind, _, variant = arguments.names[0].partition("/")
            if kind in NETWORK_KINDS:
                written += name_network(LOCK.parents[1], DEFAULT_NETWORK, variant, kept_variants(variant))
        for path in written:
            print(f"wrote {path}")
    except BgdataError as error:
        sys.exit(f"error: {error}")

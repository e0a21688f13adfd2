"""`bgdata verify`, `bgdata rebuild` and `bgdata lock`: proof that a warehouse contains the right numbers."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.completion import complete_scopes
from bgdata.cli.options import format_option, seed_option, threads_option
from bgdata.cli.output import build_version, show_rows, write_rows
from bgdata.errors import (
    BgdataError,
    CorruptFileError,
    ManifestFormatError,
    MissingTableError,
    StorageError,
    UsageError,
    cite,
)
from bgdata.process import keeping_nothing, when_cut_off
from bgdata.rows import Row
from bgdata.store.build import mend_catalog, refresh_catalog
from bgdata.store.dataset import Dataset
from bgdata.store.housekeeping import DAMAGED
from bgdata.store.linked import check_link, move_aside, put_back, require_own
from bgdata.store.lockfile import advice, load_lock, missing_extra_variants, save_lock
from bgdata.store.names import CURRENT, parse_scope
from bgdata.store.parameters import Parameters, VersionRef
from bgdata.store.progress import progress_bars
from bgdata.store.storage import hold_lock, is_locked, storage_errors
from bgdata.store.table import Table, is_published
from bgdata.store.versions import newest
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.store.verify import Finding

PLANS = ("player-33",)  # plans besides that of what comes with the package, see `from_nothing.plan_path`


@click.command()
@click.argument("kind", required=False, shell_complete=complete_scopes)
@click.option(
    "--sample",
    type=click.IntRange(0),
    metavar="ROWS",
    help="Rows of each table to recompute.  [default: all if that takes seconds, else a sample]",
)
@seed_option(0)
@click.option("--repair", is_flag=True, help="Compute damaged rows again, or build versions that fail again.")
@format_option
@click.pass_obj
def verify(warehouse: Warehouse, kind: str | None, sample: int | None, seed: int, repair: bool, form: str) -> None:
    """Prove the warehouse: hashes, values, checks, samples.

    KIND is a kind of dataset, KIND/VARIANT or KIND/VARIANT/VERSION; the default is all kinds. The files of every
    version are hashed, its values are compared with its digest, every SQL check is run on all rows, and all rows or a
    sample of them are computed again. The report says for each version what was recomputed, and what was skipped and
    why. The exit code is 1 if anything fails, or could not be checked, for example if memory is short.

    In place of KIND, a folder that `bgdata publish` wrote is checked instead of the warehouse: hashes, rows, schemas,
    splits, and the digests of all values.

    \b
      bgdata verify
      bgdata verify match_equity --sample 100 --seed 7
      bgdata verify ./published
    """
    if kind and kind.partition("/")[0] not in warehouse.kinds and (Path(kind).is_dir() or kind.startswith(("/", "."))):
        if sample is not None or repair:
            raise UsageError("expected no --sample and no --repair with a published folder, got one")
        if not verify_folder(warehouse, Path(kind), form):
            sys.exit(1)
        return
    warehouse.require()
    if not verify_warehouse(warehouse, kind, sample, seed, form, repair=repair):
        sys.exit(1)


@click.command()
@click.argument("kind", required=False, shell_complete=complete_scopes)
@click.option(
    "--check",
    is_flag=True,
    help="Build in another folder and compare with warehouse.lock; the warehouse is not touched.",
)
@click.option("--all", "is_all", is_flag=True, help="Also compute what comes with the package, which may take hours.")
@click.option(
    "--from-nothing", is_flag=True, help="Make again what comes with the package, from random weights, part by part."
)
@click.option(
    "--plan",
    type=click.Choice(PLANS),
    show_default="none",
    help="Run another plan: Players 3.3 and 3.4 of 2012, with published figures beside ours.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="PART",
    help="With --from-nothing or --plan: this part and those that it needs; can be given several times.",
)
@threads_option
@format_option
@click.pass_obj
def rebuild(
    warehouse: Warehouse,
    kind: str | None,
    check: bool,
    is_all: bool,
    from_nothing: bool,
    plan: str | None,
    dry_run: bool,
    parts: tuple[str, ...],
    form: str,
) -> None:
    """Build the default tables again, and compare them.

    KIND is a kind of dataset or KIND/VARIANT; the default is all kinds. --check proves that the digests come out the
    same, of all that warehouse.lock lists; the exit code is 1 if any differs. Versions that come with the package are
    not computed again unless --all is given: only their hashes are compared. Without --check, what only `bgdata build
    --all` builds is built again where it is there, or where its KIND is given.

    --from-nothing runs the plan of all that took hours, each part a command that resumes, and compares digests with
    those of the package. Finished parts are kept; --dry-run prints the plan. The exit code is 1 if a digest differs, or
    if the plan lacks something that comes with the package. --plan player-33 trains the player of 2012 in the same way:
    by temporal differences, then from rollouts, and prints what was published of it beside ours.

    \b
      bgdata rebuild --check
      bgdata rebuild bearoff_gammon
      bgdata rebuild --from-nothing --dry-run
      bgdata rebuild --from-nothing --part taught-320
      bgdata rebuild --plan player-33 --dry-run
    """
    if from_nothing or plan:
        from bgdata.warehouse.commands.plans import run_plan

        if kind or check or is_all or (from_nothing and plan):
            raise UsageError(
                "expected --from-nothing or --plan without KIND, --check and --all, got several; try: --part PART"
            )
        if not run_plan(warehouse, plan, parts, form, is_dry=dry_run):
            sys.exit(1)
        return
    if dry_run or parts:
        raise UsageError("expected --dry-run and --part together with --from-nothing or --plan, got them alone")
    if not check:
        _rebuild_in_place(warehouse, kind, form, is_all=is_all)
    elif not _rebuild_and_compare(warehouse, kind, form, is_all=is_all):
        sys.exit(1)


@click.command()
@click.pass_obj
def lock(warehouse: Warehouse) -> None:
    """Write warehouse.lock from what is built.

    The file lists the digest of every variant of `bgdata build --all`, for `bgdata rebuild --check` and `bgdata diff`
    to compare with.
    """
    manifests = []
    for kind in warehouse.kinds.values():
        for parameters in kind.defaults:
            table = warehouse.find(kind, parameters)
            if table is None:
                step = "bgdata build --all" if parameters in kind.more else "bgdata build"
                raise MissingTableError(
                    f"expected {kind.name}/{kind.slug(parameters)} in {warehouse.root}, found none; try: {step}"
                )
            current = warehouse.open(kind.name, kind.slug(parameters))
            if current.folder != table.folder:
                raise UsageError(
                    f"expected the default recipe of {kind.name}/{kind.slug(parameters)} to be current, "
                    f"found {current.folder.name}; try: bgdata use {table.name}"
                )
            manifests.append(table.manifest)
    save_lock(warehouse.lock, manifests)
    click.echo(f"wrote {warehouse.lock}: {len(manifests)} variants")


def verify_warehouse(
    warehouse: Warehouse, scope: str | None, sample: int | None, seed: int, form: str = "table", *, repair: bool
) -> bool:
    """Check every version in the scope (KIND, KIND/VARIANT or KIND/VARIANT/VERSION; None for all), print the results,
    and repair failed versions if `repair` is true. `sample` rows of each table, chosen by `seed`, are recomputed.
    Returns whether all versions are correct in the end."""
    from bgdata.store.verify import RECOMPUTED, Origin, Status, origin, verify

    if repair:
        put_back_current(warehouse)
    tables = warehouse.versions_in(scope)
    if not tables and next(warehouse_findings(warehouse, scope, is_whole=False), None) is None:
        raise MissingTableError(f"expected at least one version in {warehouse.root}, found none; try: bgdata build")
    failed: dict[str, Table] = {}
    lost_variants: list[str] = []
    counts = Counter[Status]()
    recomputed: dict[str, str] = {}
    origins = Counter[Origin]()
    rows: list[Row] = []
    with progress_bars() as progress:
        findings = verify(warehouse, tables, sample_rows=sample, seed=seed, progress=progress)
        for finding in chain(findings, warehouse_findings(warehouse, scope)):
            counts[finding.status] += 1
            found = {"subject": finding.subject, "check": finding.check, "status": str(finding.status)}
            rows.append(found | {"finding": finding.text})
            if finding.check == RECOMPUTED and not finding.is_last:
                made_by = origin(warehouse, finding)
                origins[made_by] += 1
                rows[-1] = {**rows[-1], "origin": str(made_by)}
            if finding.is_last:
                progress.note(failure_line(finding))
            if finding.status is Status.FAILED:
                if finding.table:
                    failed[finding.subject] = finding.table
                elif finding.check == CURRENT:
                    lost_variants.append(finding.subject)
            elif finding.check == RECOMPUTED:
                recomputed[finding.subject] = (
                    "recomputing skipped: " if finding.status is Status.SKIPPED else ""
                ) + finding.text
            elif finding.status is Status.SKIPPED:
                progress.note(f"skipped {finding.subject}: {finding.check}: {finding.text}")
            elif finding.check == "lock" and finding.table:
                progress.note(f"ok     {finding.subject}: {recomputed[finding.subject]}")
    passed, skipped, wrong = (counts[status] for status in (Status.PASSED, Status.SKIPPED, Status.FAILED))
    unchecked = counts[Status.UNCHECKED]
    if form != "table":
        write_rows(rows, form)
    summary = f"{len(tables)} versions: {passed} checks passed, {skipped} skipped, {wrong} failed"
    click.echo(summary + (f", {unchecked} could not be made" if unchecked else ""), err=form != "table")
    if origins:
        click.echo("; ".join(f"{each}: {origins[each]}" for each in Origin if origins[each]), err=form != "table")
    missing = [] if scope else missing_extra_variants(warehouse)
    if missing:
        click.echo(advice(missing), err=True)
    if not repair or not wrong:
        return not wrong and not unchecked
    for table in in_order_of_repair(warehouse, failed):
        repair_version(warehouse, table)
    for title in lost_variants:
        repair_current(warehouse, *title.split("/"))
    refresh_catalog(warehouse)
    return check_repaired(warehouse, scope, failed, sample, seed) and not unchecked


def verify_folder(warehouse: Warehouse, folder: Path, form: str) -> bool:
    """Check a folder that `bgdata publish` wrote, and print the results. Returns whether every check passed or was
    skipped."""
    from bgdata.publishing.proof import verify_published
    from bgdata.store.verify import Status

    counts = Counter[Status]()
    rows: list[Row] = []
    with progress_bars() as progress:
        for finding in verify_published(folder, warehouse.kinds, progress):
            counts[finding.status] += 1
            status = str(finding.status)
            rows.append({"subject": finding.subject, "check": finding.check, "status": status, "finding": finding.text})
            if finding.is_last:
                progress.note(failure_line(finding))
    failed = {row["subject"] for row in rows if row["status"] not in (Status.PASSED, Status.SKIPPED)}
    names = dict.fromkeys(row["subject"] for row in rows if row["subject"] not in failed)
    said = {name: "; ".join(row["finding"] for row in rows if row["subject"] == name) for name in names}
    show_rows(rows, form, [f"ok     {name}: {text}" for name, text in said.items()])
    passed, skipped, wrong = (counts[status] for status in (Status.PASSED, Status.SKIPPED, Status.FAILED))
    unchecked = counts[Status.UNCHECKED]
    summary = f"{folder}: {passed} checks passed, {skipped} skipped, {wrong} failed"
    click.echo(summary + (f", {unchecked} could not be made" if unchecked else ""), err=form != "table")
    return not wrong and not unchecked


def warehouse_findings(warehouse: Warehouse, scope: str | None, *, is_whole: bool = True) -> Iterator[Finding]:
    """Yield the results of checks that are not of a single version. If `scope` is None and `is_whole` is true, these
    are all checks of the warehouse. Otherwise they are only the checks of the files `current`, or none if the scope
    names a version."""
    from bgdata.store.verify import verify_current, verify_files

    kind, variant, version = parse_scope(scope)
    if kind is None and is_whole:
        yield from verify_files(warehouse)
    elif version is None:
        for name in [kind] if kind else sorted(warehouse.kinds):
            yield from verify_current(warehouse, name, variant or "")


def check_repaired(
    warehouse: Warehouse, scope: str | None, failed: Iterable[str], sample: int | None, seed: int
) -> bool:
    """Check the variants of the `failed` versions again, and print what still fails. Returns whether all checks
    pass."""
    from bgdata.store.verify import verify

    kind, _, _ = parse_scope(scope)
    variants = {name.rpartition("/")[0] for name in failed}
    tables = [table for table in warehouse.versions(kind) if table.name.rpartition("/")[0] in variants]
    with progress_bars() as progress:
        findings = verify(warehouse, tables, sample_rows=sample, seed=seed, progress=progress)
        wrong = [finding for finding in chain(findings, warehouse_findings(warehouse, scope)) if finding.is_last]
        for finding in wrong:
            progress.note(failure_line(finding))
    return not wrong


def put_back_current(warehouse: Warehouse) -> None:
    """Move back each current version that an interrupted repair has left aside."""
    for kind in sorted(warehouse.kinds):
        for variant, _ in warehouse.lost(kind):
            with suppress(CorruptFileError, StorageError):
                warehouse.check_staging()
                require_own(warehouse.root, kind, variant)
                version = warehouse.pointer(kind, variant)
                aside = warehouse.staging / f"{DAMAGED}{kind}-{variant}-{version}"
                is_being_built = is_locked(warehouse.staging / f"{kind}-{variant}.lock")
                if version and os.path.lexists(aside) and not is_being_built:
                    put_back(warehouse, aside, warehouse.root / kind / variant / version)


def repair_current(warehouse: Warehouse, kind: str, variant: str) -> None:
    """Choose another current version for a variant whose current version is missing or unknown: the default version,
    which is built if it is missing, or else the newest. Raises MissingTableError if there is none, and StorageError if
    the variant is on a disk that is missing."""
    from bgdata.store.catalog_views import is_readable

    check_link(warehouse.root / kind / variant)
    with suppress(BgdataError):
        if warehouse.open(kind, variant):
            return
    declared = warehouse.kind(kind)
    tables = [table for table in warehouse.versions(kind, variant) if is_readable(table)]
    known = [each for each in (*declared.defaults, declared.smallest) if declared.slug(each) == variant]
    if known and not declared.takes_files:
        build_version(warehouse, declared, known[0])
    elif tables:
        warehouse.use(newest(tables))
    else:
        step = f"import {kind} FILE..." if declared.takes_files else f"build {kind}"
        raise MissingTableError(
            f"expected a version of {kind}/{variant} to make current, found none; restore it from a copy, or try: "
            f"bgdata {step}; if it is gone for good, delete {warehouse.root / kind / variant}"
        )
    click.echo(f"repaired {kind}/{variant}: {warehouse.open(kind, variant).folder.name} is current now", err=True)


def failure_line(finding: Finding) -> str:
    """Return a line that tells the user about a check that failed or could not be made."""
    return f"{'FAILED' if finding.problem else 'NOT CHECKED'} {finding.subject}: {finding.check}: {finding.text}"


def in_order_of_repair(warehouse: Warehouse, broken: Mapping[str, Table]) -> list[Table]:
    """Sort broken versions, given by name, for repair: each comes after its inputs. Versions that cannot be built
    because they are imported, and versions made from these, come last."""
    needs: dict[str, list[str]] = {}
    for name, table in broken.items():  # find the broken versions that are its inputs, by version or by variant
        others = [each for each in _inputs_of(warehouse, table) if each != name.rpartition("/")[0]]
        needs[name] = [other for other in broken if any(f"{other}/".startswith(f"{each}/") for each in others)]
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError:  # the names form a cycle: each was made from an older version of the other
        order = list(broken)
    last: dict[str, bool] = {}
    for name in order:
        is_imported = warehouse.kind(broken[name].folder.parts[-3]).takes_files
        last[name] = is_imported or any(last.get(other, False) for other in needs[name])
    return [broken[name] for name in sorted(last, key=last.__getitem__)]


def _inputs_of(warehouse: Warehouse, table: Table) -> list[str]:
    """Return the inputs of a version as KIND/VARIANT or KIND/VARIANT/VERSION; empty if its parameters are unknown."""
    kind = warehouse.kind(table.folder.parts[-3])
    with suppress(BgdataError):
        wanted = kind.inputs(_parameters_of(kind, table)).values()
        return [
            str(each) if isinstance(each, VersionRef) else f"{each[0]}/{warehouse.kind(each[0]).slug(each[1])}"
            for each in wanted
        ]
    return []


def _parameters_of(kind: Dataset[Any], table: Table) -> Parameters:
    """Return the parameters of a version: those in its manifest, or, if the manifest is damaged, those of the default
    variant with the same name. Raises ManifestFormatError if there is no such default variant."""
    try:
        recorded: Parameters = kind.parameters.from_manifest(table.manifest.parameters)
    except (ManifestFormatError, MissingTableError) as error:
        defaults: tuple[Parameters, ...] = (*kind.defaults, kind.smallest)
        for known in defaults:
            if kind.slug(known) == table.folder.parts[-2]:
                return known
        raise ManifestFormatError(
            f"expected the parameters of {table.name} in its manifest, which is broken; "
            f"delete {table.folder} and build it anew"
        ) from error
    return recorded


def repair_version(warehouse: Warehouse, table: Table) -> None:
    """Compute the damaged rows of a version again if they have hashes. Otherwise move the version aside, where it can
    be inspected, and build it again. If the build fails, the version is moved back. The variant's current version stays
    the same. Raises MissingTableError if the version is imported, because only its owner has the files;
    ManifestFormatError if its parameters are unknown; and DigestMismatchError if an input is damaged."""
    from bgdata.store.catalog_views import is_readable
    from bgdata.store.verify import check_hashes

    name, variant = table.folder.parts[-3:-1]
    kind = warehouse.kind(name)
    if kind.takes_files:
        raise MissingTableError(
            f"expected the files that {table.name} was imported from; "
            f"delete {table.folder} and try: bgdata import {name} FILE..."
        )
    parameters = _parameters_of(kind, table)
    kind.check_parameters(parameters)  # raises, if it does, before anything is moved
    if is_readable(table):
        with suppress(CorruptFileError, MissingTableError), progress_bars() as progress:
            rows = kind.computation.repair(parameters, table, progress)
            if rows is not None:
                click.echo(f"repaired {table.name}: {rows:,} rows computed again", err=True)
                return
    inputs = warehouse.made_from(table) if is_readable(table) else warehouse.find_inputs(kind, parameters)
    for made_from in (inputs or {}).values():
        check_hashes(made_from)
    require_own(warehouse.root, name, variant)
    current: Table | None = None  # the current version of the variant, if it is another version
    with suppress(CorruptFileError, MissingTableError):
        current = warehouse.open(name, variant)
    with storage_errors("move", table.folder):
        aside = move_aside(warehouse, table.folder, f"{DAMAGED}{name}-{variant}-{table.folder.name}")
    try:
        with when_cut_off(partial(put_back, warehouse, aside, table.folder)), progress_bars() as progress:
            built = warehouse.build(name, parameters, progress=progress, inputs=inputs)
    except BaseException:
        put_back(warehouse, aside, table.folder)
        raise
    finally:
        if current and current.folder.name != table.folder.name:
            warehouse.use(current)
    click.echo(f"repaired {built.name}; the damaged files are in {aside}", err=True)


def _rebuild_and_compare(warehouse: Warehouse, scope: str | None, form: str, *, is_all: bool) -> bool:
    """Build every variant in the lock that is in the scope again, in a temporary folder, and compare the digests with
    the lock. Unless `is_all` is true, versions that come with the package are only copied, which checks their hashes.
    Returns whether all digests are equal."""
    entries = [
        entry
        for entry in load_lock(warehouse.lock)
        if scope in (None, entry.dataset, f"{entry.dataset}/{entry.variant}")
    ]
    if scope is not None and not entries:
        warehouse.kind(_kind_and_variant(scope)[0])
        raise MissingTableError(f"expected {scope} in {warehouse.lock}, found none; try: bgdata lock")
    aside_root = warehouse.staging if warehouse.root.is_dir() else None
    if aside_root:
        warehouse.check_staging()
        aside_root.mkdir(exist_ok=True)
    rows: list[dict[str, object]] = []
    with (
        tempfile.TemporaryDirectory(prefix="rebuild-", dir=aside_root) as folder,
        when_cut_off(partial(shutil.rmtree, folder, ignore_errors=True)),
        keeping_nothing(),
        hold_lock(Path(folder).with_suffix(".lock")),  # keeps `bgdata gc` from deleting the folder
        progress_bars() as progress,
    ):
        aside = Warehouse(folder, warehouse.kinds)
        for entry in entries:
            declared = warehouse.kind(entry.dataset)
            parameters = declared.default(entry.variant)
            is_computed = is_all and declared.published_folder(parameters) is not None
            title = f"{entry.dataset}/{entry.variant}"
            try:
                table = aside.build(entry.dataset, parameters, progress=progress, force=is_computed, with_catalog=False)
            except MissingTableError as error:  # a missing input, such as games of a network
                if not is_computed:
                    raise
                rows.append({**vars(entry), "is_same": False, "is_rebuilt": False, "rebuilt_digest": None})
                click.echo(f"NOT REBUILT {title}: {error}", err=form != "table")
                continue
            found, is_copy = table.manifest.digest, is_published(declared, table)
            is_same = found == entry.digest
            rows.append({**vars(entry), "is_same": is_same, "is_rebuilt": not is_copy, "rebuilt_digest": found})
            verdict = "DIFFERS" if not is_same else "copied" if is_copy else "same  "
            how = "copied from the package, has" if is_copy else "rebuilt"
            line = f"{verdict} {title}: locked {entry.digest[:16]}, {how} {found[:16]}"
            if is_copy:
                line += (
                    f"\n        not computed again, which took {duration_text(table.manifest.seconds)}; --all does it"
                )
            click.echo(line, err=form != "table")
    if form != "table":
        write_rows(rows, form)
    return all(row["is_same"] for row in rows)


def duration_text(seconds: float) -> str:
    """Return a time as a string in hours, minutes or seconds."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _kind_and_variant(scope: str) -> tuple[str, str]:
    """Split KIND/VARIANT; for KIND alone the variant is empty. Raises UsageError for any other string."""
    kind, variant, version = parse_scope(scope)
    if kind is None or version is not None:
        raise UsageError(f"expected KIND or KIND/VARIANT, got {cite(scope)}: what is built again may be a new version")
    return kind, variant or ""


def _rebuild_in_place(warehouse: Warehouse, scope: str | None, form: str, *, is_all: bool) -> None:
    """Build the default variants (all, or those of KIND or KIND/VARIANT) again, replace the versions in the warehouse,
    and print a row for each. Versions that come with the package are built only if `is_all` is true. Variants that only
    `bgdata build --all` builds are built only if they exist or their kind is named."""
    kind, variant = _kind_and_variant(scope) if scope is not None else (None, "")
    kinds = [warehouse.kind(kind)] if kind is not None else list(warehouse.kinds.values())
    recipes = [(declared, each) for declared in kinds for each in declared.defaults]
    if variant:
        declared = kinds[0]
        if declared.takes_files:
            step = f"bgdata import {kind} FILE..."
            raise UsageError(f"expected a kind that is computed, got {declared.name}; try: {step}")
        recipes = [each for each in recipes if declared.slug(each[1]) == variant]
        if not recipes:
            recipes = [(declared, declared.recipe_of(warehouse.open(declared.name, variant).manifest))]
    missing = [] if scope is not None else missing_extra_variants(warehouse)
    rows: list[Row] = []
    with progress_bars() as progress:
        for declared, parameters in recipes:
            if f"{declared.name}/{declared.slug(parameters)}" in missing:
                continue
            force = is_all or declared.published_folder(parameters) is None
            table = warehouse.build(declared.name, parameters, progress=progress, force=force, with_catalog=False)
            found = table.manifest
            names = {"dataset": found.dataset, "variant": found.variant, "version": found.version}
            rows.append({**names, "rows": found.rows, "digest": found.digest, "is_rebuilt": force})
    mend_catalog(warehouse)
    if form != "table":
        write_rows(rows, form)
    if missing:
        click.echo(advice(missing), err=True)

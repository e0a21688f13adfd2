"""`bgdata push` and `bgdata pull`: versions to and from a warehouse in another place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bgdata.cli.completion import complete_folders, complete_scopes
from bgdata.cli.options import add_options, format_option, value_option
from bgdata.cli.output import write_rows
from bgdata.errors import MissingFileError, MissingTableError
from bgdata.store.plan import readable_bytes
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.store.places import Place
    from bgdata.store.transfer import Moved, Transfer

transfer_options = add_options(
    click.option("--use", is_flag=True, help="Make what is current in the one place current in the other."),
    click.option("--dry-run", is_flag=True, help="Only say what would be done."),
    value_option("--jobs", 8, "N", "Files at once.", type=click.IntRange(1, 64)),
    format_option,
)


@click.command()
@click.argument("address", shell_complete=complete_folders)
@click.argument("kind", nargs=-1, shell_complete=complete_scopes)
@transfer_options
@click.pass_obj
def push(
    warehouse: Warehouse, address: str, kind: tuple[str, ...], use: bool, dry_run: bool, jobs: int, form: str
) -> None:
    """Send versions to a store such as S3, or to a folder.

    ADDRESS is s3://BUCKET/PATH, file:///PATH, a folder, or that of any store which fsspec has a package for. KIND is a
    kind of dataset, KIND/VARIANT or KIND/VARIANT/VERSION; the default is all that is there. What is in the store
    already is not sent again, and the same command goes on where another one stopped. The first version of a variant
    becomes current there.

    \b
      bgdata push s3://tables/backgammon
      bgdata push file:///mnt/disk/warehouse bearoff_two_sided network/tiny
    """
    move("push", warehouse, address, kind, use, dry_run, jobs, form)


@click.command()
@click.argument("address", shell_complete=complete_folders)
@click.argument("kind", nargs=-1, shell_complete=complete_scopes)
@transfer_options
@click.pass_obj
def pull(
    warehouse: Warehouse, address: str, kind: tuple[str, ...], use: bool, dry_run: bool, jobs: int, form: str
) -> None:
    """Fetch versions from a store such as S3, or from a folder.

    ADDRESS is s3://BUCKET/PATH, https://HOST/PATH (with the index.json that `bgdata push` writes), file:///PATH, a
    folder, or that of any store which fsspec has a package for. KIND is a kind of dataset, KIND/VARIANT or
    KIND/VARIANT/VERSION; the default is all that is there. Every file is checked against the hash in its manifest. The
    first version of a variant becomes current. A folder that `bgdata publish` wrote is taken too: its arrays are
    restored from the rows, and their digests checked.

    \b
      bgdata pull s3://tables/backgammon bearoff_two_sided/6x6
      bgdata pull https://example.org/warehouse
      bgdata pull ./published
    """
    move("pull", warehouse, address, kind, use, dry_run, jobs, form)


def move(
    verb: str,
    warehouse: Warehouse,
    address: str,
    scopes: tuple[str, ...],
    use: bool,
    is_dry: bool,
    jobs: int,
    form: str,
) -> None:
    """Copy versions to (`push`) or from (`pull`) the place at an address, and print what was copied. Raises the same
    exceptions as `Transfer`."""
    from bgdata.store.places import open_place
    from bgdata.store.transfer import Transfer

    place = open_place(address)
    with progress_bars() as progress:
        transfer = Transfer(progress, jobs, is_dry, use)
        if verb == "push":
            moved = transfer.push(warehouse, place, scopes)
        else:
            moved = pull_versions(transfer, warehouse, place, scopes)
    done = f"would {verb}" if is_dry else f"{verb}ed"
    new = [each for each in moved if each.is_moved]
    if form == "table":
        for each in new:
            click.echo(f"{readable_bytes(each.bytes):>8}  {each.name}")
    else:
        names = ("dataset", "variant", "version")
        rows = (
            dict(zip(names, each.name.split("/"), strict=True))
            | {"state": done if each.is_moved else "there", "files": each.files, "bytes": each.bytes}
            for each in moved
        )
        write_rows(rows, form)
    files, size = sum(each.files for each in new), readable_bytes(sum(each.bytes for each in new))
    there = len(moved) - len(new)
    was = "was" if there == 1 else "were"
    line = f"{done} {count_text(len(new), 'version')}, {count_text(files, 'file')}, {size}; {there} {was} there"
    click.echo(line, err=form != "table")


def pull_versions(transfer: Transfer, warehouse: Warehouse, place: Place, scopes: tuple[str, ...]) -> list[Moved]:
    """Copy versions into the warehouse from another warehouse, or from a folder that `bgdata publish` wrote."""
    from bgdata.publishing.pull import PublishedPull, published_contents

    try:
        return transfer.pull(warehouse, place, scopes)
    except (MissingFileError, MissingTableError):
        contents = published_contents(place)
        if contents is None:
            raise
        return PublishedPull(warehouse, place, contents, transfer.progress, transfer.use, transfer.is_dry).pull(scopes)


def count_text(count: int, what: str) -> str:
    """Return a count with its noun, in the singular or plural: `1 version`, `2 versions`."""
    return f"{count:,} {what}{'s' * (count != 1)}"

"""`bgdata export gnubg-bd`: makebearoff's files with makebearoff's arithmetic, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

from bgdata.bearoff.index import check_size
from bgdata.errors import UsageError, shown


def write_gnubg_bearoff(
    one_sided: int | None,
    two_sided: str | None,
    output: Path,
    *,
    no_gammons: bool = False,
    uncompressed: bool = False,
    normal: bool = False,
    cubeless: bool = False,
) -> str:
    """Compute and write one file; returns a line that says what was written. Raises UsageError for options that do
    not belong together, StorageError when the file cannot be written."""
    if (one_sided is None) == (two_sided is None):
        raise UsageError("expected either --one-sided POINTS or --two-sided POINTSxCHECKERS")
    if two_sided is not None:
        if no_gammons or uncompressed or normal:
            raise UsageError("expected -g, -c and -n with --one-sided only")
        write_two_sided_file(*parse_size(two_sided), output, cubeless=cubeless)
    elif one_sided is not None:
        if cubeless:
            raise UsageError("expected -C with --two-sided only")
        write_one_sided_file(one_sided, output, gammons=not no_gammons, compressed=not uncompressed, normal=normal)
    from bgdata.store.storage import sha256_file

    return f"wrote {output}: {output.stat().st_size:,} bytes, SHA-256 {sha256_file(output)}"


def parse_size(text: str) -> tuple[int, int]:
    """(points, checkers) of `6x9`. Raises UsageError."""
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if match is None:
        raise UsageError(f"expected POINTSxCHECKERS such as 6x6, got {shown(text)}")
    points, checkers = int(match[1]), int(match[2])
    check_size(points, checkers)
    return points, checkers


def write_one_sided_file(points: int, output: Path, *, gammons: bool, compressed: bool, normal: bool) -> None:
    """`makebearoff -o POINTS`: integer distributions, or the moments of normal ones."""
    from bgdata.bearoff.gnubg_counts import one_sided_counts
    from bgdata.bearoff.gnubg_normal import normal_moments
    from bgdata.formats.gnubg_bearoff_write import write_one_sided, write_one_sided_normal

    if normal:
        write_one_sided_normal(output, points, normal_moments(points))
        return
    counts = one_sided_counts(points)
    gammon_counts = one_sided_counts(points, is_gammon=True) if gammons else None
    write_one_sided(output, points, counts, gammon_counts, compressed=compressed)


def write_two_sided_file(points: int, checkers: int, output: Path, *, cubeless: bool) -> None:
    """`makebearoff -t POINTSxCHECKERS`, cubeful or not."""
    from bgdata.bearoff.gnubg_counts import two_sided_codes
    from bgdata.formats.gnubg_bearoff_write import write_two_sided

    write_two_sided(output, points, checkers, two_sided_codes(points, checkers, is_cubeless=cubeless))

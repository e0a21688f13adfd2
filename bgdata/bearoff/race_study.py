"""What combining the distributions of two sides gets wrong in races, as it was measured; needs no compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bgdata.store.table import Table


class RaceStudy(NamedTuple):
    """Combined minus exact cubeless equity of the player on roll, without gammons, over all pairs of layouts."""

    size: str  # POINTSxCHECKERS
    mean_absolute: float
    smallest: float
    largest: float


RACE_STUDY = RaceStudy("6x9", 0.001687, -0.027900, 0.023626)  # what `bearoff_error` measured


def race_study(error: Table | None) -> RaceStudy:
    """The study of a `bearoff_error` table, or else the published one. Raises ManifestFormatError."""
    if error is None:
        return RACE_STUDY
    found = error.manifest.statistics
    names = ("mean_absolute_difference", "smallest_difference", "largest_difference")
    return RaceStudy(error.manifest.variant, *(found[name] for name in names))


def measured_error(error: Table | None, what: str = "cubeless equity") -> str:
    """The error of combining two one-sided distributions, in words."""
    study = race_study(error)
    return (
        f"over all pairs of {study.size} the error of the {what} is {study.mean_absolute:.4f} on average, "
        f"{study.smallest:+.4f} to {study.largest:+.4f}"
    )

"""The type of corruptions, which a check must find."""

from typing import NamedTuple


class Corruption(NamedTuple):
    """Damage to a table, values of the row that the check must return, and the number of returned rows."""

    damage: str
    row: dict[str, object]
    rows: int = 1


def changed(table: str, change: str, **key: float | str | bool) -> Corruption:
    """A changed value in the row with this key."""
    where = " and ".join(f"{column} = {value!r}" for column, value in key.items())
    return Corruption(f"update {table} set {change} where {where}", dict(key))

"""Rows of each kind, read from its arrays one at a time, to compare with its Parquet files."""

from collections.abc import Callable, Mapping
from math import comb
from typing import Any

from bgdata.store.arrays import Array
from tests.reference.bearoff import layouts

Row = dict[str, Any]
EQUITIES = ("cubeless", "owned", "centered", "opponent_owned")


def race_row(points: int, first_index: int, arrays: Mapping[str, Array], row: int) -> Row:
    layout = layouts(points, 15)[row + first_index]
    packed = arrays["chances"][arrays["offsets"][row] : arrays["offsets"][row + 1]]
    return {
        "position_index": row + first_index,
        "points": list(layout),
        "checkers": sum(layout),
        "pip_count": sum(point * count for point, count in enumerate(layout, start=1)),
        "chances": [0.0] * int(arrays["first_roll"][row]) + packed.tolist(),
        "mean_rolls": float(arrays["mean_rolls"][row]),
        "sd_rolls": float(arrays["sd_rolls"][row]),
    }


def one_sided_row(parameters: Any, arrays: Mapping[str, Array], row: int) -> Row:
    return race_row(parameters.points, 0, arrays, row)


def gammon_row(parameters: Any, arrays: Mapping[str, Array], row: int) -> Row:
    return race_row(parameters.points, comb(parameters.points + 14, 14), arrays, row)


def two_sided_row(parameters: Any, arrays: Mapping[str, Array], row: int) -> Row:  # noqa: ARG001
    on_roll, opponent = divmod(row, len(arrays["equities"]))
    values = arrays["equities"][on_roll, opponent].tolist()
    if arrays["equities"].dtype == "uint16":
        values = [code / 32767.5 - 1 for code in values]
    return {"on_roll_index": on_roll, "opponent_index": opponent, **dict(zip(EQUITIES, values, strict=True))}


def error_row(parameters: Any, arrays: Mapping[str, Array], row: int) -> Row:  # noqa: ARG001
    on_roll, opponent = divmod(row, len(arrays["exact"]))
    exact = float(arrays["exact"][on_roll, opponent]) / 32767.5 - 1
    difference = float(arrays["difference"][on_roll, opponent])
    return {
        "on_roll_index": on_roll + 1,
        "opponent_index": opponent + 1,
        "one_sided_equity": exact + difference,
        "exact_equity": exact,
        "difference": difference,
    }


def cube_life_row(parameters: Any, arrays: Mapping[str, Array], row: int) -> Row:
    pair = divmod(row, len(arrays["indexes"]))
    pips = [
        sum(point * count for point, count in enumerate(layout, start=1))
        for layout in layouts(parameters.points, parameters.checkers)[1:]
    ]
    indexes = [float(index) if 0 <= index <= 1 else None for index in arrays["indexes"][pair]]
    actions = ("double", "redouble", "take")
    losses = [f"{source}_{action}_loss" for source in ("janowski", "one_sided") for action in actions]
    cubes = ("centered", "owned", "opponent_owned")
    return {
        "on_roll_index": pair[0] + 1,
        "opponent_index": pair[1] + 1,
        "on_roll_pip_count": pips[pair[0]],
        "opponent_pip_count": pips[pair[1]],
        **dict(zip(("win_chance", "one_sided_win_chance"), arrays["chances"][pair].tolist(), strict=True)),
        **dict(zip([f"{cube}_cube_life_index" for cube in cubes], indexes, strict=True)),
        **dict(zip([f"{action}_margin" for action in actions], arrays["margins"][pair].tolist(), strict=True)),
        **dict(zip(losses, arrays["losses"][pair].tolist(), strict=True)),
    }


ROWS: dict[str, Callable[[Any, Mapping[str, Array], int], Row]] = {
    "bearoff_one_sided": one_sided_row,
    "bearoff_gammon": gammon_row,
    "bearoff_two_sided": two_sided_row,
    "bearoff_error": error_row,
    "cube_life": cube_life_row,
}

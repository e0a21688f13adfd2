"""What options and identifiers say of a game: its stakes, and the rules and the model that its cube is handled by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgdata.cli.own_tables import build_default_met
from bgdata.errors import CorruptFileError, UsageError
from bgdata.game.match import MatchScore, Stakes
from bgdata.store.manifest import unpacked_name
from bgdata.store.names import is_name
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeRules
    from bgdata.equity.doubling import Strategy
    from bgdata.equity.match_equity import MatchEquity


def chosen_rules(
    warehouse: Warehouse, stakes: Stakes, options: Mapping[str, Any], *, has_beavers: bool = False
) -> CubeRules:
    """The cube model, the match equity table and the rules; `has_beavers` holds unless an option says otherwise. Raises
    UsageError, InvalidParameterError, and what `find_met_or_file` raises."""
    from bgdata.equity.cube import CubeRules

    strategy, is_match = chosen_strategy(options), isinstance(stakes.score, MatchScore)
    if options.get("beavers") is not None:
        has_beavers = options["beavers"]
    elif is_match:
        has_beavers = False
    if not is_match:
        for name in ("met", "as_money"):
            if options[name]:
                raise UsageError(f"expected a match with --{name.replace('_', '-')}, got money play")
    if options["as_money"] and options["met"]:
        raise UsageError("expected either --as-money or --met, got both")
    met = find_met_or_file(warehouse, options["met"] or "") if is_match and not options["as_money"] else None
    return CubeRules(strategy, met, has_beavers, options["as_money"], by_model=options["model"] is not None)


def chosen_strategy(options: Mapping[str, Any]) -> Strategy:
    """The model with its settings. Raises UsageError for a setting of the other model, and InvalidParameterError for
    one out of range."""
    from bgdata.equity.cube_models import DEFAULT_INDEX, JANOWSKI, JANOWSKI_FIRST, JUMP, MODEL_NAMES
    from bgdata.equity.curves import DEFAULT_VOLATILITY
    from bgdata.equity.doubling import janowski, janowski_first, jump

    index, volatility = options["index"], options["volatility"]
    number = MODEL_NAMES.index(options["model"] or MODEL_NAMES[JANOWSKI])
    if number == JUMP:
        if index is not None:
            raise UsageError(f"expected --index with the janowski model, got it with jump: {index:g}")
        return jump(DEFAULT_VOLATILITY if volatility is None else volatility)
    if volatility is not None:
        raise UsageError(f"expected --volatility with --model jump, got it with janowski: {volatility:g}")
    model = {JANOWSKI: janowski, JANOWSKI_FIRST: janowski_first}[number]
    return model(DEFAULT_INDEX if index is None else index)


def find_met_or_file(warehouse: Warehouse, text: str) -> MatchEquity:
    """The match equity table of this name in the warehouse (the default one for an empty name), or that of an .xml or
    .met file.

    Raises MissingTableError, StorageError, and CorruptFileError for a file that holds no table of chances.
    """
    from bgdata.equity.kinds.met_xml import DATASET, met_name

    if not text:
        build_default_met(warehouse)
    is_named_so = unpacked_name(text.lower()).endswith(DATASET.endings)
    if not text or not (is_named_so or (not is_name("variant", text) and Path(text).is_file())):
        from bgdata.equity.match_equity import find_met

        return find_met(warehouse, text)
    from bgdata.equity.kinds.met_xml_compute import describe_table
    from bgdata.formats.lines import read_bytes
    from bgdata.formats.met_files import parse_met

    path = Path(text)
    found = parse_met(read_bytes(path))
    for problem in found.quarantined:
        if not problem.reason.startswith("expected a table that is whole"):
            raise CorruptFileError(f"expected a match equity table in {path}, found in {problem}")
    table = describe_table(met_name(path.name), found.table) if found.table else None
    if table is None or table.met is None:
        what = f"a formula ({table.form})" if table else "none"
        raise CorruptFileError(f"expected a match equity table of chances in {path}, found {what}")
    return table.met

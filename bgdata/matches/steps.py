"""Steps of the analysis of recorded matches: from the turns of files to judged games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bgdata.equity.cube import CubeRules, check_rules
from bgdata.errors import BgdataError, InvalidGameError
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.formats.matches import Game, Match, missing_parts
from bgdata.imports.steps import STANDARD_INPUT
from bgdata.matches.acts import JudgedGame
from bgdata.matches.judging import Analyst, judge_game, whole_game
from bgdata.matches.kinds.matches import DATASET as MATCHES
from bgdata.matches.situations import Situation
from bgdata.selfplay.series import CubefulRules
from bgdata.store.progress import Progress
from bgdata.warehouse import Warehouse


@dataclass(frozen=True)
class AnalysedGame:
    """A judged game. `match` and `game` are as in the record, with the points won."""

    match: Match
    game: Game
    judged: JudgedGame


def matches_at(warehouse: Warehouse, source: str) -> list[Match]:
    """Read the matches of a file, of standard input for `-`, or of an imported version `matches/NAME`. Raises
    InvalidGameError if the file has bad lines, and the errors of `read_matches`."""
    from bgdata.formats.match_files import read_matches
    from bgdata.matches.kinds.matches_compute import matches_of

    kind, _, variant = source.partition("/")
    path = Path(source)
    if kind == MATCHES.name and variant and not path.exists():
        return list(matches_of(warehouse.open_reference(source).arrays()))
    file = read_matches(Path(STANDARD_INPUT) if source == "-" else path)
    for line in file.rejects:
        raise InvalidGameError(f"expected a record of whole games in {source}, found in {line}")
    return list(file.matches)


def notes_on(match: Match, games: Sequence[Game]) -> list[list[str]]:
    """Return notes on each replayed game of a match: repairs, lenient readings, and missing games before or after
    it."""
    missing = missing_parts(replace(match, games=tuple(games)))
    return [
        [f"game {game.number}: {note.text}" for note in game.notes] + [note.text for note in others]
        for game, others in zip(games, missing, strict=True)
    ]


def judge_all(
    player: LookaheadPlayer,
    rules: CubeRules,
    found: Sequence[Situation],
    progress: Progress,
    *,
    beavers_as_played: bool = False,
) -> list[AnalysedGame]:
    """Judge games by a player and the cube model of `rules`, with a progress bar over turns. If `beavers_as_played` is
    true, beavers are allowed in the sessions in which somebody beavers, whatever the rules say. Raises UsageError for a
    match equity table that is too short or asymmetric, and InvalidParameterError for rules that do not fit the
    games."""
    for each in found:
        check_rules(each.record.stakes, rules)
        if each.match.length:
            CubefulRules(each.match.length, met=rules.met).check_met()
    analysts = [Analyst(player, replace(rules, has_beavers=beavers)) for beavers in (False, True)]
    judged = []
    progress.start(f"analysing {len(found)} games", sum(len(each.record.acts) for each in found), "turns")
    for each in found:
        acts, analyst = [], analysts[each.has_beavers if beavers_as_played else rules.has_beavers]
        for act in judge_game(analyst, each.record):
            acts.append(act)
            progress.advance(1)
        judged.append(AnalysedGame(each.match, each.game, whole_game(analyst, each.record, acts)))
    return judged


def import_of(warehouse: Warehouse, analysis: str) -> str:
    """Return the import whose games a variant of match_analysis is about, as kind/variant. The text is empty if the
    import cannot be read, or was built again since."""
    try:
        source = warehouse.made_from(warehouse.open_reference(f"match_analysis/{analysis}"))["source"].name
        kind, variant, version = source.split("/")
        is_current = warehouse.open(kind, variant).folder.name == version
    except (BgdataError, ValueError):
        return ""
    return f"{kind}/{variant}" if is_current else ""

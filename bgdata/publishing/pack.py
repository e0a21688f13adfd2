"""The pack: one published folder with the tables that an author of an engine wants. Missing tables are built first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bgdata.bearoff.kinds.bearoff_gammon import DATASET as GAMMON
from bgdata.bearoff.kinds.bearoff_one_sided import DATASET as ONE_SIDED
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import DATASET as TWO_SIDED
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.endgames.kinds.contact_endgame import DATASET as ENDGAME
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.measures.kinds.reference_positions import DATASET as REFERENCES
from bgdata.measures.kinds.rollout_decisions import DATASET as DECISIONS
from bgdata.openings.kinds.openings import DATASET as OPENINGS
from bgdata.publishing import publish
from bgdata.publishing.contents import Contents
from bgdata.selfplay.kinds.lookahead_labels import DATASET as LABELS
from bgdata.selfplay.kinds.lookahead_labels import LookaheadParameters
from bgdata.selfplay.kinds.play_sample import DATASET as PLAYS
from bgdata.selfplay.kinds.play_sample import PlaySampleParameters
from bgdata.store.parameters import Given, Parameters, VersionRef
from bgdata.store.progress import Progress, Silence
from bgdata.warehouse import Warehouse

_HERE = Path(__file__).parent
# the folder is beside the documentation in a checkout, and inside the package in a wheel (see pyproject.toml)
SCRIPTS = next(place for place in (_HERE / "scripts", _HERE.parents[1] / "docs" / "scripts") if place.is_dir())
TITLE = "The bgdata pack"
ABOUT = """\
What the author of a backgammon engine needs: exact tables to look races and endgames up, decisions and positions to
measure by, and positions to learn from.

## Use it

With NumPy and PyArrow, without bgdata: `python DIR/scripts/score_an_engine.py DIR` scores an engine, which is a
function in it, and `python DIR/scripts/train_a_player.py DIR` trains a network, scores it and lets it play.

## How to read it

* A **board** is 26 integers, as the player who is about to roll sees it: place 0 has the opponent's checkers on the
  bar, places 1 to 24 the points (own checkers positive, the opponent's negative), place 25 the own checkers on the bar.
  Checkers that are missing to 15 have been borne off. The own home is 1 to 6. To see a position as the opponent does,
  reverse the order, and the signs of places 1 to 24.
* **Chances** are cumulative: `win_gammon` includes backgammons. An equity without a cube is
  2 win + win_gammon + win_backgammon - lose_gammon - lose_backgammon - 1 points.
* `rollout_decisions_benchmark_decisions-*` has positions with a roll, `rollout_decisions_benchmark_plays-*` the board
  after each play that was rolled out, **of the opponent**, who is to roll, with the equity of the player who made the
  play, and what it loses against the best, in points. Plays are in order, the best first, so do not take the first of
  equal ones. The column `network` of the decisions names the network that played both sides, so the judge of each.
* `lookahead_labels-*` has boards with the chances of a network that looks one roll ahead (the column `network`), split
  by game.
* `bearoff_two_sided-6x8` has in each row a pair of layouts with at most 8 checkers on points 1 to 6, by their indexes,
  `contact_endgame-2` one with at most 2 on points 1 to 24 and the bar, which is point 25; each player counts from the
  own side. Layouts are numbered by the number of checkers, then with the most checkers on the lowest points first. In
  Python, this list has the points of the checkers of each index, with `places, most` of `6, 8` and `25, 2`; the column
  `points` of `bearoff_one_sided-6x15` shows it:
  `[c for n in range(most + 1) for c in combinations_with_replacement(range(1, places + 1), n)]`.
* `owned`, `centered` and `opponent_owned` are equities with the cube there, if the player does not double now."""


def _labels(sample: PlaySampleParameters) -> LookaheadParameters:
    """Return the parameters of the chances that are computed for the positions of this sample."""
    source = VersionRef(PLAYS.name, PLAYS.slug(sample))
    return LookaheadParameters(source=source, source_recipe=Given.of(sample.to_json()))


def pack_plan() -> Iterator[tuple[str, Parameters]]:
    """Yield the kind and parameters of each version that the pack contains."""
    yield TWO_SIDED.name, TwoSidedParameters(6, 6)
    yield TWO_SIDED.name, TwoSidedParameters(6, 8)
    yield ONE_SIDED.name, RaceParameters(6)
    yield GAMMON.name, RaceParameters(6)
    yield ENDGAME.name, EndgameParameters(2)
    for kind in (REFERENCES, DECISIONS, OPENINGS, MATCH_EQUITY):
        for parameters in kind.defaults:
            yield kind.name, parameters
    yield LABELS.name, _labels(PlaySampleParameters(most=175_000))  # a million positions


def publish_pack(
    warehouse: Warehouse,
    folder: Path,
    *,
    title: str = TITLE,
    plan: Sequence[tuple[str, Parameters]] = (),
    explorer: Callable[[Warehouse, Path], object] | None = None,
    progress: Progress | None = None,
) -> Contents:
    """Build the missing versions of the pack, a fixed selection of tables, and publish them as a folder; returns its
    contents. If `plan` is given, it replaces the selection. An interrupted call is resumed by the same call. `title`
    and `explorer` are as for `publish`. Raises the errors of `Warehouse.build` and `publish`."""
    progress = progress or Silence()
    tables = [warehouse.build(kind, parameters, progress=progress) for kind, parameters in plan or pack_plan()]
    names = [table.name for table in tables]
    scripts = sorted(SCRIPTS.glob("*.py"))
    return publish(
        warehouse, folder, names, title=title, about=ABOUT, scripts=scripts, explorer=explorer, progress=progress
    )

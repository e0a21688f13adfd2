"""Compare PR of imported .xg files: by the values that eXtreme Gammon wrote into them, and by our analysis.

    python -m tests.beside_xg session.xg

A file does not have eXtreme Gammon's PR, but the values of all choices. Both sides are counted by the same published
rules (`match_analysis_compute.counts_for_pr`), decisions without a value of eXtreme Gammon by neither.
"""

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bgdata
from bgdata.matches.acts import Act, ActKind, CubeValues, JudgedAct
from bgdata.matches.kinds.match_analysis import MatchAnalysisParameters
from bgdata.matches.kinds.match_analysis_compute import ANSWER, DOUBLE, SAME, counts_for_pr
from bgdata.store.parameters import VersionRef
from tests.imports.importing import IMPORTED

DECISIONS = """
with said as (
    select game, turn, if(subject = 'play', subject, 'cube') as subject,
        count(*) as choices, max(value) - min(value) as spread, max(value) as best,
        any_value(value) filter (where is_made) as made_value,
        any_value(value) filter (where text = 'no double') as no_double,
        any_value(value) filter (where text = 'double, take') as double_take
    from foreign_analysis where analyst = 'xg' and unit = 'points' and subject in ('play', 'cube') group by all
)
select m.game, m.turn, m.subject, player_name, made, loss, counts_for_pr, said.* exclude (game, turn, subject)
from match_analysis m left join said
    on (m.game, m.turn, if(m.subject = 'play', m.subject, 'cube')) = (said.game, said.turn, said.subject)
order by m.game, m.turn, m.subject
"""


@dataclass
class Rating:
    """Decisions that count and their losses, by our values and by those of eXtreme Gammon."""

    own_decisions: int = 0
    own_loss: float = 0.0
    decisions: int = 0
    loss: float = 0.0

    @property
    def own_pr(self) -> float:
        """PR by our values."""
        return 500 * self.own_loss / self.own_decisions

    @property
    def pr(self) -> float:
        """PR by the values of eXtreme Gammon."""
        return 500 * self.loss / self.decisions


def ratings(files: Sequence[Path], folder: Path, ply: int = 1) -> dict[str, Rating]:
    """The ratings of each player of .xg files of money sessions, imported into a new warehouse in `folder`."""
    warehouse = bgdata.open_warehouse(folder / "warehouse")
    warehouse.build("matches", IMPORTED["matches"].parameters_of(files, "xg"), files=files)
    warehouse.build("match_analysis", MatchAnalysisParameters(source=VersionRef("matches", "xg"), ply=ply))
    by_player: dict[str, Rating] = defaultdict(Rating)
    offered: Mapping[str, Any] = {}  # an answer has no values of its own
    for row in warehouse.rows(DECISIONS):
        offered = row if row["no_double"] is not None else offered
        counts, loss = count_play(row) if row["subject"] == "play" else count_cube(row, offered)
        if loss is None:
            continue
        rating = by_player[str(row["player_name"])]
        rating.own_decisions += bool(row["counts_for_pr"])
        rating.own_loss += row["loss"] if row["counts_for_pr"] else 0.0
        rating.decisions += counts
        rating.loss += loss if counts else 0.0
    return by_player


def count_play(row: Mapping[str, Any]) -> tuple[bool, float | None]:
    """Whether a play counts by eXtreme Gammon's values, and what it lost; None without a value."""
    if row["made_value"] is None:
        return False, None
    return row["choices"] > 1 and row["spread"] >= SAME, row["best"] - row["made_value"]


def count_cube(row: Mapping[str, Any], offered: Mapping[str, Any]) -> tuple[bool, float | None]:
    """Whether a cube action counts by eXtreme Gammon's values, and what it lost; None without a value."""
    values = offered if row["subject"] == "answer" else row
    if values.get("no_double") is None:
        return False, None
    cube = CubeValues(values["no_double"], values["double_take"], 1.0)
    if row["subject"] == "answer":
        taken = row["made"] != ActKind.PASS
        loss = max(-cube.double_take, -1.0) - (-cube.double_take if taken else -1.0)
    else:
        made = cube.no_double if row["made"] == "no double" else cube.double_worth
        loss = max(cube.no_double, cube.double_worth) - made
    act: Act = object.__new__(Act)
    judged = JudgedAct(act, 1.0, 0.0, 0.0, 0.0, None, cube, loss)
    return counts_for_pr(judged, ANSWER if row["subject"] == "answer" else DOUBLE), loss


def main() -> None:
    """Print PR of each player by both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--ply", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        by_player = ratings(options.files, Path(folder), options.ply)
    print(f"{'':<20}{'decisions':>10}{'of XG':>8}{'PR':>8}{'of XG':>8}")
    for name, each in by_player.items():
        print(f"{name:<20}{each.own_decisions:>10}{each.decisions:>8}{each.own_pr:>8.2f}{each.pr:>8.2f}")
    print(f"mean difference {sum(each.own_pr - each.pr for each in by_player.values()) / len(by_player):+.2f}")


if __name__ == "__main__":
    main()

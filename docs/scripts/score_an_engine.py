"""Score an engine by the pack: what its plays lose, in thousandths of a point a decision: `score_an_engine.py PACK`"""

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq


def equities(boards):
    """Put your engine here: what it says of each position, for the player who is to roll, in points."""
    own = boards[:, 1:].clip(0) @ np.arange(1, 26)  # pip counts; place 25 is the bar of the player
    other = (-boards).clip(0) @ (25 - np.arange(26)) + 25 * boards[:, 0]  # place 0 is the bar of the opponent
    return (other - own) / 100


def losses(plays, equities):
    """What the engine loses in each decision, the mean if it likes several plays best. `plays` has the positions after
    them, best first."""
    loss, begins = plays["loss"].to_numpy(), np.unique(plays["decision"].to_numpy(), return_index=True)[1]
    boards = plays["board"].combine_chunks().flatten().to_numpy().reshape(-1, 26).astype(np.int64)
    found = equities(boards)  # of the opponent, who is to roll: the least is best for the player
    least = np.repeat(np.minimum.reduceat(found, begins), np.diff([*begins, len(found)]))
    return np.add.reduceat(loss * (found == least), begins) / np.add.reduceat(1.0 * (found == least), begins)


def decisions(pack):
    """The name of each set of decisions, and its rolled-out plays."""
    paths = sorted(Path(pack).glob("data/rollout_decisions_benchmark_plays-*/test-*.parquet"))
    if not paths:
        sys.exit(f"expected a folder of `bgdata publish FOLDER --pack`, got {pack}")
    return [(path.parent.name.split("-", 1)[1], pq.read_table(path)) for path in paths]


if __name__ == "__main__":
    for name, plays in decisions(sys.argv[1]):
        found = 1000 * losses(plays, equities)
        print(f"{name}: loses {found.mean():.1f} +/- {found.std(ddof=1) / len(found) ** 0.5:.1f} a decision")

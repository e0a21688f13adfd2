"""Train a network that plays, from the pack alone, and let it play. `python train_a_player.py PACK [EPOCHS] [GAMES]`

The network has one hidden layer and five outputs, the chances to win, to win a gammon or more, to win a backgammon, to
lose a gammon or more, and to lose a backgammon. It learns by Adam from positions labelled by looking ahead, is scored
on rolled-out decisions, and plays against a racer, which minds the pip count alone. `player.npz` keeps its weights.
"""

import os
import sys
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # matrices are small: several threads would wait for each other
import numpy as np
import pyarrow.dataset as ds
from score_an_engine import decisions, losses
from score_an_engine import equities as race

CHANCES = ["win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon"]
POINTS = np.array([2, 1, 1, -1, -1], np.float32)  # equity = POINTS @ chances - 1
START = np.array([0, -2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0])
HIDDEN, BATCH = 128, 256


def flip(boards):
    """The same positions as the other player sees them."""
    flipped = -boards[..., ::-1]
    flipped[..., [0, 25]] *= -1  # bars count from 0 up on both sides
    return flipped


def inputs(boards):
    """For each side and place: a blot, a point, three, the rest; and the checkers borne off."""
    sides = np.stack([boards[:, 1:], flip(boards)[:, 1:]], axis=1).clip(0)
    counts = [sides == 1, sides >= 2, sides == 3, (sides - 3).clip(0) / 2]
    off = (15 - sides.sum(axis=2)) / 15
    return np.concatenate([*(each.reshape(len(boards), -1) for each in counts), off], axis=1, dtype=np.float32)


def forward(net, x):
    """The hidden layer and the five chances."""
    hidden = np.maximum(x @ net[0] + net[1], 0)
    return hidden, 1 / (1 + np.exp(-(hidden @ net[2] + net[3]).clip(-50)))  # less would overflow


def train(boards, chances, epochs, rng):
    """A network that was trained on all positions, in a new order each epoch."""
    count = inputs(boards[:1]).shape[1]
    net = [rng.normal(0, 0.1, (count, HIDDEN)), np.zeros(HIDDEN), rng.normal(0, 0.1, (HIDDEN, 5)), np.zeros(5)]
    net = [each.astype(np.float32) for each in net]
    mean, square, step = [0 * each for each in net], [0 * each for each in net], 0
    for epoch in range(epochs):
        order, rate = rng.permutation(len(boards)), 0.002 * (1 - epoch / epochs)
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            x = inputs(boards[chosen])
            hidden, found = forward(net, x)
            out = (found - chances[chosen]) / len(chosen)  # gradient of cross-entropy
            back = (out @ net[2].T) * (hidden > 0)
            step += 1
            for place, slope in enumerate((x.T @ back, back.sum(0), hidden.T @ out, out.sum(0))):
                mean[place] += 0.1 * (slope - mean[place])
                square[place] += 0.001 * (slope**2 - square[place])
                scale = rate * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step)
                net[place] -= scale * mean[place] / (np.sqrt(square[place]) + 1e-8)
    return net


def read(pack, tables, columns=()):
    """Boards of tables, such as `lookahead_labels-*/test`, and columns side by side, without finished games."""
    files = sorted(map(str, Path(pack).glob(f"data/{tables}-*.parquet")))
    rows = ds.dataset(files).to_table(["board", *columns], filter=ds.field("class") != "over" if columns else None)
    boards = rows["board"].combine_chunks().flatten().to_numpy().reshape(-1, 26)
    return boards, np.array([rows[name].to_numpy() for name in columns]).T


def unseen(pack, boards):
    """Which boards are not among those that the network is scored on, from either side."""
    scored = [read(pack, f"{tables}-*/*")[0] for tables in ("rollout_decisions_benchmark_*s", "reference_positions")]
    known = {board.tobytes() for each in scored for side in (each, flip(each)) for board in side}
    return np.array([board.tobytes() not in known for board in boards])


def moves(board, die):
    """Boards after one checker of the player on roll has moved."""
    is_home = not board[7:].clip(0).any()
    for source in [25] if board[25] > 0 else range(24, 0, -1):
        target = source - die
        if board[source] <= 0 or (target > 0 and board[target] < -1):
            continue
        if target <= 0 and not (is_home and (target == 0 or not board[source + 1 : 7].clip(0).any())):
            continue
        after = board.copy()
        after[source] -= 1
        if target > 0:
            if after[target] == -1:  # hit: the checker goes to the bar
                after[target], after[0] = 0, after[0] + 1
            after[target] += 1
        yield after


def plays(board, dice):
    """All boards after a legal play: as many dice as possible, and the higher one if only one can be played."""
    low, high = sorted(dice)
    most, found = 0, {board.tobytes(): board}
    for order in [[low] * 4] if low == high else [[high, low], [low, high]]:
        boards, used = {board.tobytes(): board}, 0
        for die in order:
            later = {after.tobytes(): after for each in boards.values() for after in moves(each, die)}
            if not later:
                break
            boards, used = later, used + 1
        if used > most:
            most, found = used, boards
        elif used == most == 2:
            found |= boards
    return list(found.values())


def play_game(first, second, rng):
    """Points of the first player in a game without a cube; a player is a function like `equities`. Players who hit
    each other for ever have a draw."""
    board, players, begins = START, (first, second), int(rng.integers(2))
    for turn in range(begins, 1000):
        dice = rng.integers(1, 7, 2)
        after = flip(np.stack(plays(board, dice.tolist())))
        board = after[np.argmin(players[turn % 2](after))]
        if not board[0] and not (board < 0).any():  # all checkers of the player are off
            points = 1 + (board.sum() == 15) * (1 + board[19:].any())  # a gammon, a backgammon
            return int(-points if turn % 2 else points)
    return 0


def main(pack, epochs=20, games=200):
    """Train, score, keep and play."""
    rng = np.random.default_rng(1)
    boards, chances = read(pack, "lookahead_labels-*/train", CHANCES)
    fresh = unseen(pack, boards)
    net = train(boards[fresh], chances[fresh], epochs, rng)
    np.savez("player.npz", *net)

    def player(boards):
        return forward(net, inputs(boards))[1] @ POINTS - 1

    boards, chances = read(pack, "lookahead_labels-*/test", CHANCES)
    error = player(boards) - (chances @ POINTS - 1)
    print(f"test positions: equity within {np.sqrt((error**2).mean()):.4f} points (root mean square)")
    for name, rows in decisions(pack):
        found = [1000 * losses(rows, each).mean() for each in (player, race)]
        print(f"{name}: loses {found[0]:.1f} a decision, the racer {found[1]:.1f}")
    points = np.array([play_game(player, race, rng) for _ in range(games)])
    print(f"{points.mean():+.2f} +/- {points.std(ddof=1) / games**0.5:.2f} points a game against the racer")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

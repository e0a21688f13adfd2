"""Timed workloads. Every function returns seconds without compilation: a tiny size runs first."""

import tempfile
from math import comb
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bgdata
from tests.benchmarks.measure import WAREHOUSE, best_of


def two_sided(points: int, checkers: int, repeats: int) -> float:
    """Four exact equities of every pair."""
    from bgdata.bearoff.two_sided import equity_rows

    def solve(points: int, checkers: int) -> None:
        for _ in equity_rows(points, checkers):
            pass

    solve(2, 2)
    return best_of(repeats, lambda: solve(points, checkers))


def match_two_sided(points: int, checkers: int, away: int, opponent_away: int, repeats: int) -> float:
    """Exact MWC of every pair, with every cube that the score can reach."""
    from bgdata.bearoff.match_table import MatchCube
    from bgdata.bearoff.match_two_sided import solve_match
    from bgdata.game.match import MatchScore

    def mwc(score: MatchScore) -> float:
        return score.opponent_away / (score.away + score.opponent_away)

    cube = MatchCube(MatchScore(away, opponent_away), mwc)
    solve_match(2, 2, cube, 1)
    return best_of(repeats, lambda: solve_match(points, checkers, cube, 1))


def one_sided(points: int, repeats: int) -> float:
    """Both distributions of every position of 15 checkers: bearing off, and saving the gammon."""
    from bgdata.bearoff.race import distributions, solve_race, start_race

    def solve(points: int) -> None:
        for goal in (1, comb(points + 14, points)):
            distributions(solve_race(start_race(points, goal)), 0)

    solve(2)
    return best_of(repeats, lambda: solve(points))


def open_table(repeats: int) -> float:
    """Map the 200 MB of the 6x9 table, read its manifest, and probe one position."""
    return best_of(repeats, lambda: bgdata.open_two_sided(WAREHOUSE, 6, 9).probe(1234, 2345))


def probe_index(repeats: int) -> float:
    """One position by its two indexes, in a loop over random ones."""
    table = bgdata.open_two_sided(WAREHOUSE, 6, 9)
    pairs = np.random.default_rng(0).integers(1, 5005, (100_000, 2)).tolist()
    return best_of(repeats, lambda: [table.probe(a, b) for a, b in pairs]) / len(pairs)


def probe_layout(repeats: int) -> float:
    """One position by its two layouts of six points."""
    table = bgdata.open_two_sided(WAREHOUSE, 6, 9)
    layouts = [bgdata.layout_at(index, 6) for index in range(1, 5005)]
    pairs = [(layouts[a], layouts[b]) for a, b in np.random.default_rng(0).integers(0, 5004, (50_000, 2)).tolist()]
    return best_of(repeats, lambda: [table.probe(a, b) for a, b in pairs]) / len(pairs)


def probe_bulk(repeats: int) -> float:
    """Stored values of three million random pairs on one core; seconds per row."""
    table = bgdata.open_two_sided(WAREHOUSE, 6, 9)
    on_roll, opponent = np.random.default_rng(0).integers(0, 5005, (2, 3_000_000))
    return best_of(repeats, lambda: table.probe_stored(on_roll, opponent)) / len(on_roll)


def sql(query: str, repeats: int) -> float:
    """One query on an open catalog, all rows fetched."""
    with bgdata.open_warehouse(WAREHOUSE).connect() as connection:
        return best_of(repeats, lambda: connection.sql(query).fetchall())


def plays(games: int, repeats: int) -> float:
    """All boards after every roll of random games, one core; seconds per roll."""
    from bgdata.game.play_kernels import batch_plays
    from bgdata.kernel import threads
    from tests.random_games import random_game_positions

    _, boards, rolls = random_game_positions(games, seed=1)
    with threads(1):
        batch_plays(boards[:1], rolls[:1])
        return best_of(repeats, lambda: batch_plays(boards, rolls)) / len(boards)


def random_games(games: int, repeats: int) -> float:
    """Complete random games; seconds a game."""
    from tests.random_games import random_games

    random_games(1, seed=1)
    return best_of(repeats, lambda: random_games(games, seed=1)) / games


def sample_boards(count: int) -> NDArray[np.int8]:
    """int8[count, 26]: contact positions of random games."""
    from bgdata.game.board_kernels import position_classes
    from bgdata.game.classes import PositionClass
    from tests.random_games import random_game_positions

    boards = random_game_positions(count // 20, seed=1).boards
    boards = boards[position_classes(boards) == PositionClass.CONTACT]
    return np.resize(boards, (count, boards.shape[1]))


def encode(count: int, repeats: int) -> float:
    """Position IDs of boards, in bulk; seconds a position."""
    from bgdata.game.codec import format_position_ids

    boards = sample_boards(count)
    return best_of(repeats, lambda: format_position_ids(boards)) / count


def decode(count: int, repeats: int) -> float:
    """Boards of Position IDs, in bulk, every rule checked; seconds a position."""
    from bgdata.game.codec import format_position_ids, parse_position_ids

    ids = format_position_ids(sample_boards(count))
    return best_of(repeats, lambda: parse_position_ids(ids)) / count


def read_training(rows: int, whole: bool, repeats: int) -> float:
    """A training file read and checked; `whole`: imported as a version of a warehouse."""
    from bgdata.formats.lines import read_bytes, split_lines
    from bgdata.formats.position_files import training_rows

    with tempfile.TemporaryDirectory() as folder:
        path = training_file(Path(folder), rows)
        if not whole:
            return best_of(repeats, lambda: training_rows(split_lines(read_bytes(path))))
        return best_of(repeats, lambda: import_labels(path))


def training_file(folder: Path, rows: int) -> Path:
    """A file of gnubg's training data."""
    from bgdata.formats.lines import write_bytes
    from bgdata.formats.position_files import format_gnubg_training

    path = folder / "contact-train-data"
    chances = np.tile(np.array([0.6, 0, 0, 0, 0], np.float32), (rows, 1))
    write_bytes(path, format_gnubg_training(sample_boards(rows), chances))
    return path


def import_labels(path: Path) -> bgdata.Warehouse:
    """Import a training file into a warehouse beside it."""
    warehouse = bgdata.open_warehouse(path.parent / "warehouse")
    kind = warehouse.kind("gnubg_training")
    warehouse.build(kind.name, kind.smallest, files=[path], force=True)
    return warehouse

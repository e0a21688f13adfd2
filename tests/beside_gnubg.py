"""Compare gnubg's analysis of matches with `bgdata analyze`, for matches that gnubg plays with noise, or for files.

    python -m tests.beside_gnubg --matches 24 --ply 0 1 --gnubg-ply 2
    python -m tests.beside_gnubg games.mat folder --ply 1 --keep answers

Each match gives two players. The script prints both means over players, their difference with its 95 % interval, the
correlation, and the root mean square and largest differences. Both use the match equity table Kazaross-XG2. With
`--keep`, gnubg's statistics of each match are kept as a file, so that the same command continues an interrupted run.
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import bgdata
from bgdata.cli.defaults import find_met_or_file
from bgdata.equity.cube import CubeRules
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.player import map_player
from bgdata.formats.lines import read_bytes
from bgdata.formats.mat import format_mat
from bgdata.formats.match_files import holds_matches, read_matches
from bgdata.formats.matches import Match
from bgdata.formats.sgf import parse_sgf
from bgdata.matches.acts import Score, rating, totals_of
from bgdata.matches.situations import replayed_situations
from bgdata.matches.steps import judge_all
from bgdata.store.progress import Silence
from tests.oracles import ask_gnubg

MET = "/usr/share/gnubg/met/Kazaross-XG2.xml"
PLAY = """
import gnubg
for place in (0, 1):
    gnubg.command("set player %d gnubg" % place)
    for decision in ("chequerplay", "cubedecision"):
        gnubg.command("set player %d %s evaluation plies 0" % (place, decision))
for command in ["set automatic game on", "set automatic roll on", "set automatic move on", "set automatic bearoff on",
                "set display off", "set rng mersenne"]:
    gnubg.command(command)
for seed in range(COUNT):
    noises = (0.02 * (seed % 3), 0.02 * (seed % 4))
    for place in (0, 1):
        gnubg.command("set player %d chequerplay evaluation noise %g" % (place, noises[place]))
        gnubg.command("set player %d cubedecision evaluation noise %g" % (place, 2 * noises[place]))
    for command in ["set seed %d" % seed, "new match LENGTH", "play", "save match %d.sgf" % seed]:
        gnubg.command(command)
"""
ANALYSE = """
import gnubg, json
for command in ["set met MET", "set analysis chequerplay evaluation plies PLY",
                "set analysis cubedecision evaluation plies PLY"]:
    gnubg.command(command)
gnubg.command("import mat match.mat")
gnubg.command("analyse match")
tell(json.dumps(gnubg.match(1, 0, 1, 0)["stats"]))
"""
Stats = Mapping[str, Any]
Figure = tuple[Callable[[Score], float], Callable[[Stats], float]]
FIGURES: Mapping[str, Figure] = {  # name: (value of a Score, value of gnubg's statistics)
    "luck, mwc": (lambda score: score.luck, lambda found: found["dice"]["luck-cost"]),
    "luck, points": (lambda score: score.normalised_luck, lambda found: found["dice"]["luck"]),
    "lost by plays, mwc": (lambda score: score.play_loss, lambda found: found["moves"]["error-cost"]),
    "lost by plays, points": (lambda score: score.normalised_play_loss, lambda found: found["moves"]["error-skill"]),
    "lost by the cube, mwc": (lambda score: score.cube_loss, lambda found: cube_total(found, "cost")),
    "lost by the cube, points": (lambda score: score.normalised_cube_loss, lambda found: cube_total(found, "skill")),
    "rolls": (lambda score: score.rolls, lambda found: found["moves"]["total-moves"]),
    "unforced plays": (lambda score: score.unforced_plays, lambda found: found["moves"]["unforced-moves"]),
    "cube decisions": (lambda score: score.cube_decisions, lambda found: found["cube"]["close-cube"]),
    "performance rating": (lambda score: score.performance_rating, lambda found: gnubg_rating(found)),
}


def cube_total(stats: Stats, unit: str) -> float:
    """The loss of a player by cube actions in gnubg, which divides its total by the number of decisions."""
    return float(sum(value for name, value in stats["cube"].items() if name.startswith("err-") and name.endswith(unit)))


def gnubg_rating(stats: Stats) -> float:
    """gnubg's overall error rate, from its parts."""
    loss = stats["moves"]["error-skill"] + cube_total(stats, "skill")
    return rating(loss, stats["moves"]["unforced-moves"] + stats["cube"]["close-cube"])


def noisy_matches(count: int, length: int, folder: Path) -> list[Match]:
    """Matches that gnubg plays against itself at 0-ply with several noise levels."""
    ask_gnubg(PLAY.replace("COUNT", str(count)).replace("LENGTH", str(length)), folder)
    return [match for seed in range(count) for match in parse_sgf(read_bytes(folder / f"{seed}.sgf")).matches]


def gnubg_stats(matches: Sequence[Match], ply: int, folder: Path, keep: Path | None = None) -> list[Stats]:
    """gnubg's statistics for both players of each match, player 0 first. In the folder `keep`, the answer about each
    match is a file, which is not asked for again."""
    script = ANALYSE.replace("PLY", str(ply)).replace("MET", MET)
    answers = []
    for match in matches:
        text = b"".join(format_mat(match))
        path = (keep or folder) / f"{hashlib.sha256(text).hexdigest()[:16]}-{ply}ply.json"
        if not path.exists():
            (folder / "match.mat").write_bytes(text)
            path.write_text(ask_gnubg(script, folder)[0])
        answers.append(json.loads(path.read_text()))
    return [stats[side] for stats in answers for side in ("X", "O")]


def our_scores(player: LookaheadPlayer, matches: Iterable[Match], warehouse: bgdata.Warehouse) -> list[Score]:
    """The scores of `bgdata analyze` for both players of each match."""
    rules = CubeRules(met=find_met_or_file(warehouse, MET))
    scores: list[Score] = []
    for match in matches:
        judged = judge_all(player, rules, replayed_situations([match], "a match"), Silence())
        scores += totals_of([game.judged for game in judged]).scores
    return scores


def compare_figures(ours: Sequence[Score], theirs: Sequence[Stats]) -> dict[str, dict[str, float]]:
    """For each figure: our mean and gnubg's, the mean difference with half its 95 % interval, the correlation, and the
    root mean square and largest differences. Players are independent in this interval."""
    figures = {}
    for name, (own, other) in FIGURES.items():
        pairs = np.array(
            [(float(own(score)), float(other(stats))) for score, stats in zip(ours, theirs, strict=True)], np.float64
        )
        difference = pairs[:, 0] - pairs[:, 1]
        figures[name] = {
            "ours": pairs[:, 0].mean(),
            "gnubg": pairs[:, 1].mean(),
            "difference": difference.mean(),
            "interval": 1.96 * difference.std(ddof=1) / np.sqrt(len(difference)),
            "correlation": float(np.asarray(np.corrcoef(pairs.T))[0, 1]),
            "rms": np.sqrt((difference**2).mean()),
            "largest": np.abs(difference).max(),
        }
    return figures


def files_below(folder: Path) -> list[Path]:
    """The match files in a folder and its subfolders, in order of their names."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and holds_matches(path))


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="files or folders of matches; without any, gnubg plays")
    parser.add_argument("--matches", type=int, default=24)
    parser.add_argument("--keep", type=Path, help="folder for gnubg's statistics")
    parser.add_argument("--length", type=int, default=7)
    parser.add_argument("--ply", type=int, nargs="*", default=[1], help="ours, one table for each")
    parser.add_argument("--gnubg-ply", type=int, default=2)
    parser.add_argument("--warehouse", default="warehouse")
    options = parser.parse_args()
    warehouse = bgdata.open_warehouse(options.warehouse)
    with tempfile.TemporaryDirectory() as folder:
        files = [
            path for argument in options.files for path in ([argument] if argument.is_file() else files_below(argument))
        ]
        matches = [match for path in files for match in read_matches(path).matches if match.length]
        matches = matches[: options.matches] or noisy_matches(options.matches, options.length, Path(folder))
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
        theirs = gnubg_stats(matches, options.gnubg_ply, Path(folder), options.keep)
    for ply in options.ply:
        ours = our_scores(map_player(warehouse, "", ply), matches, warehouse)
        print(f"\n{len(matches)} matches, ours at {ply}-ply, gnubg at {options.gnubg_ply}-ply")
        print(f"{'':<26}{'ours':>9}{'gnubg':>9}{'difference':>20}{'correlation':>13}{'rms':>9}{'largest':>9}")
        for name, row in compare_figures(ours, theirs).items():
            print(f"{name:<26}{row['ours']:>9.4f}{row['gnubg']:>9.4f}", end="")
            print(f"{row['difference']:>+11.4f} +-{row['interval']:.4f}{row['correlation']:>13.4f}", end="")
            print(f"{row['rms']:>9.4f}{row['largest']:>9.4f}", flush=True)


if __name__ == "__main__":
    main()

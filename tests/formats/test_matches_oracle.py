"""The readers of .mat and .sgf against gnubg, which plays matches and saves both."""

from pathlib import Path

import pytest

from bgdata.formats.lines import read_bytes
from bgdata.formats.mat import format_mat, parse_mat
from bgdata.formats.matches import Game, Match, TurnKind
from bgdata.formats.sgf import parse_sgf
from tests.oracles import ask_gnubg, needs_gnubg_tool

PREAMBLE = """
import gnubg
def do(*commands):
    for command in commands:
        gnubg.command(command)
def save(name):
    do(f"export match mat {name}.mat", f"save match {name}.sgf")
do("set rng mersenne", "set display off", "set automatic bearoff on", "set confirm new off", "set confirm save off")
"""
MATCHES = """
for player in (0, 1):
    do(f"set player {player} gnubg")
    for part in ("chequerplay", "cubedecision"):
        do(f"set player {player} {part} evaluation plies 0")
do("set automatic game on", "set automatic roll on", "set automatic move on")
names = [("alice", "bob"), ("Ann Lee", "B"), ("abcdefghijklmnopqrstuvwxyz01", "zzzzzzzzzzzzzzzzzzzzzzzzzz")]
for number, (mine, yours) in enumerate(names):
    do(f"set seed {number + 1}", f'set defaultnames "{mine}" "{yours}"', f"new match {3 + 2 * number}", "play")
    save(f"match{number}")
"""
SESSION = """
do("set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off")
do("set automatic move off", "set seed 7", "set beavers 3", "new session")
def play(turns):
    for _ in range(turns):
        if gnubg.posinfo()["dice"] == (0, 0):
            do("roll")
        board, dice = gnubg.board(), gnubg.posinfo()["dice"]
        best = gnubg.findbestmove(board, gnubg.cubeinfo(), gnubg.evalcontext(0, 0, 1, 0, 0.0), dice)
        do("move " + gnubg.movetupletostring(best, board))
play(3); do("double", "redouble", "take"); play(3); do("resign 2", "agree", "new game")
play(4); do("double", "drop", "new game")
play(3); do("roll", "resign 1", "agree", "new game")
play(4); do("resign 3", "agree", "new game"); play(3)
save("session")
"""


def summary(game: Game) -> tuple[object, ...]:
    """What both formats say of a game, without the order of checker moves, which differs."""
    turns = []
    for turn in game.turns:
        moves = sorted(move[:2] for move in turn.checker_moves)
        kind = TurnKind.PLAY if turn.kind is TurnKind.ROLL else turn.kind
        if kind is not TurnKind.RESIGN:
            turns.append((turn.player, turn.dice, moves, kind, turn.cube_value))
    return game.number, game.score, game.winner, game.points, turns


def read_both(folder: Path, name: str) -> tuple[Match, Match]:
    """The match as gnubg wrote it in .mat and in .sgf."""
    mat, sgf = parse_mat(read_bytes(folder / f"{name}.mat")), parse_sgf(read_bytes(folder / f"{name}.sgf"))
    assert mat.rejects == sgf.rejects == []
    (mat_match,), (sgf_match,) = mat.matches, sgf.matches
    return mat_match, sgf_match


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with matches that gnubg played against itself."""
    folder = tmp_path_factory.mktemp("played")
    ask_gnubg(f"{PREAMBLE}{MATCHES}", folder)
    return folder


@needs_gnubg_tool("gnubg")
def test_both_formats_of_gnubg_matches_agree(played: Path) -> None:
    for number in range(3):
        mat, sgf = read_both(played, f"match{number}")
        assert (mat.players, mat.length) == (sgf.players, sgf.length)
        assert list(map(summary, mat.games)) == list(map(summary, sgf.games))
        last = mat.games[-1]
        assert max(last.score) + (last.points or 0) >= mat.length
        assert b"".join(format_mat(mat)) == (played / f"match{number}.mat").read_bytes()


@needs_gnubg_tool("gnubg")
def test_both_formats_of_a_session_with_beavers_agree(tmp_path: Path) -> None:
    """gnubg writes the take of a beaver and resignations only to .sgf."""
    ask_gnubg(f"{PREAMBLE}{SESSION}", tmp_path)
    mat, sgf = read_both(tmp_path, "session")
    assert mat.length == 0
    assert len(mat.games) == len(sgf.games) == 5
    assert list(map(summary, mat.games[1:])) == list(map(summary, sgf.games[1:]))
    mat_kinds = [turn.kind for turn in mat.games[0].turns]
    beaver = mat_kinds.index(TurnKind.BEAVER)
    assert mat_kinds[beaver - 1] == TurnKind.DOUBLE
    assert mat.games[0].turns[beaver].cube_value == 4
    sgf_kinds = [turn.kind for turn in sgf.games[0].turns]
    assert sgf_kinds.pop(beaver + 1) is TurnKind.TAKE
    assert sgf_kinds == [*mat_kinds, TurnKind.RESIGN]
    assert mat.games[-1].winner is sgf.games[-1].winner is None


@needs_gnubg_tool("gnubg")
def test_gnubg_reads_our_files(tmp_path: Path, played: Path) -> None:
    (match,) = parse_mat(read_bytes(played / "match0.mat")).matches
    (tmp_path / "ours.mat").write_bytes(b"".join(format_mat(match)))
    ask_gnubg(f"{PREAMBLE}do('import mat ours.mat')\nsave('again')\n", tmp_path)
    (again,) = parse_sgf(read_bytes(tmp_path / "again.sgf")).matches
    assert list(map(summary, again.games)) == list(map(summary, match.games))

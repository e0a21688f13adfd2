"""Match files in the Smart Game Format: gnubg's files, every rule."""

import pytest

from bgdata.formats.lines import LineCounts
from bgdata.formats.matches import JACOBY, Flaw, Game, Match, RecordedMove, Turn, TurnKind
from bgdata.formats.sgf import parse_sgf, parse_sgf_nodes
from tests.subtests import each

# a session saved by gnubg, without statistics: beavers, a resignation, a drop, an unplayed roll
EXAMPLE = r"""
(;FF[4]GM[6]CA[UTF-8]AP[GNU Backgammon:1.07.001]MI[length:0][game:0][ws:0][bs:0]PW[gnubg]PB[r\]oo\\t]DT[2026-11-21]
RU[Jacoby]RE[W+16R]GS[M:0 0 3 3 0 0.000000][C:0 0]
;B[21lnab]
;W[52mhxv]A[0][mhxv E ver 3 0.510349 0.134556 0.006264 0.128723 0.003999 0.039739 0C 0 1 0.000000 1]
;B[63ntqt]C[with ) and ( and \] inside]
;W[double]DA[E ver 3]
;B[double]
;W[double]
;B[take]
;W[33yzdadbz]
)
(;FF[4]GM[6]MI[length:0][game:1][ws:16][bs:0]PW[gnubg]PB[r\]oo\\t]RU[Jacoby]RE[W+1]
;W[31yxhe]
;B[66]
;W[double]
;B[drop])
(;FF[4]GM[6]MI[length:0][game:2][ws:17][bs:0]PW[gnubg]PB[r\]oo\\t]RU[Jacoby]RE[B+1R]CV[2]
;PL[W]AE[a:y]AW[aabb][z]DI[36]CV[4]CP[b]
;B[42qusu]
;PL[W]DI[51])
""".replace("33yzdadbz", "33yvyvheif")
ROOT = "FF[4]GM[6]MI[length:7][game:0][ws:0][bs:0]PW[a]PB[b]"
MONEY_ROOT = ROOT.replace("length:7", "length:0")


def test_session_of_gnubg_is_read() -> None:
    file = parse_sgf(EXAMPLE.encode())
    assert file.counts == LineCounts(lines=3, rows=3, comments=0, quarantined=0)
    (match,) = file.matches
    assert (match.players, match.length, match.info) == (("gnubg", r"r]oo\t"), 0, (("DT", "2026-11-21"), JACOBY))
    assert [(game.number, game.score, game.winner, game.points, game.is_crawford) for game in match.games] == [
        (1, (0, 0), 0, 16, False),
        (2, (16, 0), 0, 1, False),
        (3, (17, 0), 1, 1, False),
    ]
    assert match.games[0].turns == (
        Turn(1, TurnKind.PLAY, (2, 1), (RecordedMove(13, 11), RecordedMove(24, 23))),
        Turn(0, TurnKind.PLAY, (5, 2), (RecordedMove(13, 8), RecordedMove(24, 22))),
        Turn(1, TurnKind.PLAY, (6, 3), (RecordedMove(11, 5), RecordedMove(8, 5))),
        Turn(0, TurnKind.DOUBLE, cube_value=2),
        Turn(1, TurnKind.BEAVER, cube_value=4),
        Turn(0, TurnKind.BEAVER, cube_value=8),
        Turn(1, TurnKind.TAKE),
        Turn(
            0,
            TurnKind.PLAY,
            (3, 3),
            (RecordedMove(25, 22), RecordedMove(25, 22), RecordedMove(8, 5), RecordedMove(9, 6)),
        ),
        Turn(1, TurnKind.RESIGN),
    )
    assert match.games[1].turns == (
        Turn(0, TurnKind.PLAY, (3, 1), (RecordedMove(25, 24), RecordedMove(8, 5))),
        Turn(1, TurnKind.PLAY, (6, 6)),
        Turn(0, TurnKind.DOUBLE, cube_value=2),
        Turn(1, TurnKind.PASS),
    )
    assert match.games[2].turns == (
        Turn(0, TurnKind.SETUP, text="AE[a:y]AW[aabb][z]PL[W]DI[36]CV[4]CP[b]"),
        Turn(1, TurnKind.PLAY, (4, 2), (RecordedMove(8, 4), RecordedMove(6, 4))),
        Turn(0, TurnKind.ROLL, (5, 1)),
        Turn(0, TurnKind.RESIGN),
    )
    assert [game.turns[0].line for game in match.games] == [2, 13, 18]


def test_nodes_have_the_analysis() -> None:
    nodes = parse_sgf_nodes(EXAMPLE.strip().encode().split(b"\n)\n")[0] + b")")
    assert len(nodes) == 9
    assert nodes[2]["A"][0] == "0"
    assert nodes[2]["A"][1].startswith("mhxv E ver 3 0.510349")
    assert nodes[3]["C"] == ["with ) and ( and ] inside"]


def parse_match(text: str) -> Match:
    """The match of one tree with these properties and nodes after the root."""
    file = parse_sgf(f"(;{ROOT}{text})".encode())
    assert file.rejects == []
    (match,) = file.matches
    return match


def test_only_main_line_of_a_tree_is_read() -> None:
    (game,) = parse_match("(;W[31hefe];B[21lnab])(;W[21mlff])").games
    assert [turn.dice for turn in game.turns] == [(3, 1), (2, 1)]


def test_doubles_have_the_value_of_the_cube() -> None:
    (game,) = parse_match("CV[2];W[double];B[take];B[double];W[take];W[double]").games
    assert [turn.cube_value for turn in game.turns] == [4, None, 8, None, 16]


@pytest.mark.parametrize("result", ["?", "Void", ""])
def test_result_may_be_unknown(result: str) -> None:
    (game,) = parse_match(f"RE[{result}];W[31hefe]").games
    assert (game.winner, game.points) == (None, None)
    assert len(game.turns) == 1


@pytest.mark.parametrize(("result", "winner"), [("W+R", 0), ("W+Resign", 0), ("B+R", 1), ("B+Resign", 1)])
def test_points_of_a_resignation_may_be_unknown(result: str, winner: int) -> None:
    (game,) = parse_match(f"RE[{result}];W[31hefe]").games
    assert (game.winner, game.points) == (winner, None)
    assert game.turns[-1] == Turn(1 - winner, TurnKind.RESIGN)


@each(
    ("root", "is_crawford", "variation"),
    [
        ("", None, None),
        ("RU[]", False, None),
        ("RU[Crawford]", False, None),
        ("RU[Crawford:CrawfordGame]", True, None),
        ("AP[GNU Backgammon:1.07.001]", False, None),  # gnubg leaves out RU if no rule applies
        ("AP[x]", None, None),
        ("RU[Crawford:Nackgammon]", False, "Nackgammon"),
        ("RU[Jacoby:Hypergammon1]", False, "Hypergammon1"),
    ],
)
def test_crawford_rule_and_variation_are_read(root: str, is_crawford: bool | None, variation: str | None) -> None:
    match = parse_match(f"{root};W[31hefe]")
    assert match.games[0].is_crawford == is_crawford
    assert match.variation == variation


@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("line_end", ["\n", "\r"])
def test_text_of_other_systems_is_decoded(coding: str, line_end: str) -> None:
    second_root = ROOT.replace("game:0", "game:1")
    (match,) = parse_sgf(f"(;{ROOT};W[31hefe]){line_end}(;{second_root}){line_end}".encode(coding)).matches
    assert [len(game.turns) for game in match.games] == [1, 0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [(b"\xe4", "ä"), (b"O\x92Neil", "O\u2019Neil"), (b"\x81x", "\x81x")],
    ids=["latin-1", "apostrophe of Windows", "not in the code page of Windows"],
)
def test_names_in_other_encodings_are_decoded(name: bytes, expected: str) -> None:
    (match,) = parse_sgf(f"(;{ROOT})".encode().replace(b"PW[a]", b"PW[" + name + b"]")).matches
    assert match.players[0] == expected


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", " \t\n"])
def test_blank_file_has_no_match(text: str) -> None:
    file = parse_sgf(text.encode())
    assert file.matches == ()
    assert file.counts == LineCounts(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("rules", "is_jacoby"),
    [
        ("", False),
        ("RU[]", False),
        ("RU[NoCube]", False),
        ("RU[Jacoby]", True),
        ("RU[Crawford:Jacoby]", True),
        ("RU[NoCube][Jacoby]", True),
    ],
)
def test_jacoby_rule_is_read_for_money_play(rules: str, is_jacoby: bool) -> None:
    (session,) = parse_sgf(f"(;{MONEY_ROOT}{rules})".encode()).matches
    assert session.is_jacoby == is_jacoby
    assert session.info == ((JACOBY,) if is_jacoby else ())
    match = parse_match(rules)
    assert not match.is_jacoby
    assert match.info == ()


def test_another_rule_begins_another_session() -> None:
    rules = ["RU[Jacoby]", "RU[Jacoby]", "", "RU[Jacoby]"]
    trees = [f"(;{MONEY_ROOT.replace('game:0', f'game:{number}')}{rule})\n" for number, rule in enumerate(rules)]
    first, second, third = parse_sgf("".join(trees).encode()).matches
    assert [game.number for game in first.games] == [1, 2]
    assert [game.number for game in second.games] == [3]
    assert [game.number for game in third.games] == [4]
    assert (first.is_jacoby, second.is_jacoby, third.is_jacoby) == (True, False, True)


def test_match_ends_where_players_length_or_number_change() -> None:
    trees = [
        ROOT,
        ROOT.replace("game:0", "game:1"),
        ROOT.replace("game:0", "game:4"),
        ROOT,
        ROOT.replace("PB[b]", "PB[c]").replace("game:0", "game:1"),
        ROOT.replace("length:7", "length:5").replace("game:0", "game:2"),
    ]
    matches = parse_sgf("\n".join(f"(;{root})" for root in trees).encode()).matches
    assert [[game.number for game in match.games] for match in matches] == [[1, 2, 5], [1], [2], [3]]


NODES = "expected nodes of properties such as ;B[31hefe] and ) at the end of the tree"
TURNS = "expected turns such as 31hefe, double, take and drop"
FORWARDS = "expected checker moves from a higher point to a lower one"
WHOLE = "expected whole numbers as match length, game, scores and cube"
GAME = "expected a game of backgammon, GM[6]"
BEGIN = "expected a game tree that begins with ("
BAD_TREES = {
    f"(;{ROOT}": NODES,
    f"(;{ROOT};W[31hefe)": NODES,
    f"(;{ROOT};W31hefe)": NODES,
    f"(;{ROOT};1[x])": NODES,
    "(FF[4])": "expected a ; before the first property",
    "()": GAME,
    "(;FF[4]GM[1])": GAME,
    "text": BEGIN,
    ")": BEGIN,
    "[": BEGIN,
    f"(;{ROOT};W[71hefe])": TURNS,
    f"(;{ROOT};W[31hef])": TURNS,
    f"(;{ROOT};W[31hefehefehefe])": TURNS,
    f"(;{ROOT};W[beaver])": TURNS,
    f"(;{ROOT};W[31eh])": FORWARDS,
    f"(;{ROOT};B[31hefe])": FORWARDS,
    f"(;{ROOT};W[31zh])": TURNS,
    f"(;{ROOT};W[31hy])": TURNS,
    f"(;{ROOT}RE[W+x])": "expected a result such as W+2 or B+4R",
    f"(;{ROOT}CV[x])": WHOLE,
    f"(;{ROOT};CV[-2])": WHOLE,
    "(;GM[6]MI[length:x])": WHOLE,
}


@each(("tree", "reason"), BAD_TREES.items())
def test_malformed_tree_is_refused_with_its_reason(tree: str, reason: str) -> None:
    file = parse_sgf(f"(;{ROOT})\n\n{tree}".encode())
    assert [(bad.line, bad.reason) for bad in file.rejects] == [(3, reason)]
    assert file.counts == LineCounts(2, 1, 0, 1)


@pytest.mark.parametrize("cut", [")", "])", "]", "6]", "["])
def test_unfinished_game_ends_before_the_next(cut: str) -> None:
    """A game that is not closed ends where the next game begins, even inside a value."""
    trees = [f"(;{ROOT.replace('game:0', f'game:{number}')}CV[16])\n" for number in range(4)]
    trees[1] = "".join(trees[1].rsplit(cut, 1))
    file = parse_sgf("".join(trees).encode())
    assert [game.number for game in file.matches[0].games] == [1, 3, 4]
    assert [(bad.line, bad.reason) for bad in file.rejects] == [(2, NODES)]


QUOTED_GAME = f"(;{ROOT})\n".replace("]", r"\]")


@pytest.mark.parametrize("comment", [QUOTED_GAME, f"look:\n{QUOTED_GAME}", "\n(;FF[4\\]", "\n(;C["])
def test_comments_may_quote_a_game(comment: str) -> None:
    file = parse_sgf(f"(;{ROOT}C[{comment}];W[31hefe])\n(;{ROOT})".encode())
    assert file.counts == LineCounts(2, 2, 0, 0)
    assert len(file.matches[0].games[0].turns) == 1


def test_game_that_cannot_be_replayed_is_removed() -> None:
    def check(match: Match, game: Game) -> Game | Flaw:
        return Flaw(0, f"expected more than {len(match.games)} games") if game.number == 2 else game

    remaining = parse_sgf(EXAMPLE.encode()).quarantine_games(check)
    assert [game.number for game in remaining.matches[0].games] == [1, 3]
    assert remaining.counts == LineCounts(3, 2, 0, 1)
    assert [(bad.line, bad.reason) for bad in remaining.rejects] == [(13, "expected more than 3 games")]


@each("text", ["[" * 200_000, "(" * 200_000, "(;A" * 100_000, f"(;{ROOT}" + "[\\" * 100_000])
def test_hostile_text_is_quarantined(text: str) -> None:
    assert parse_sgf(text.encode()).counts.rows == 0


def test_nodes_that_end_in_an_escape_are_refused() -> None:
    with pytest.raises(ValueError, match="at the end of the tree"):
        parse_sgf_nodes(b"(;DT[2005][\\[\\[\\")

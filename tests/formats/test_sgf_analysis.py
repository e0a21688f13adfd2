"""Tests of the analysis in .sgf files, with nodes that gnubg 1.07 saved (shortened)."""

from bgdata.formats.sgf import parse_sgf
from bgdata.formats.sgf_analysis import analyses_of
from tests.subtests import each

ROOT = "(;FF[4]GM[6]AP[GNU Backgammon:1.07.001]MI[length:{}][game:0][ws:0][bs:0]PW[ann]PB[bob]"
PLAYS = (
    "A[1][loab E ver 3 0.550952 0.173708 0.012809 0.124388 0.005021 0.243305 0C 0 1 0.000000 1]"
    "[qtst X ver 3 Score -0.3974680603 -0.2226860076 Trials 36 Output 0.4344679415 0.1240616143 0.006832911167 "
    "0.1765509248 0.005002221558 -0.2226860076 0.4604638517 StdDev 0.0088 0.0067 0.0012 0.0072 0.0019 0.02 0.0057 SK 0]"
)
CUBE = (
    "DA[E ver 3 2C 1 0.000000 1 0.449048 0.124388 0.005021 0.173708 0.012809 -0.196433 0.475798 "
    "0.449048 0.124388 0.005021 0.173708 0.012809 -0.196433 0.420630]"
)
ROLLED_OUT = (
    "DA[X ver 3 Eq Trials 36 NoDouble Output 0.491976887 0.1436025798 0.01037213486 0.145383805 0.004439415876 "
    "-0.04409373179 0.4997358918 StdDev 0.01 0.01 0.004 0.01 0.001 0.03 0.008 DoubleTake Output 0.486390233 "
    "0.1180149987 0.003931715619 0.1424937546 0.008762208745 -0.004694374278 0.4464276135 StdDev 0.008 0.009 0.01]"
)


def analysis_of_node(more: str, length: int = 3) -> dict[str, tuple[object, ...]]:
    """What the node of an opening says, by subject: (level, is_mwc, (text or moves, value) of each choice)."""
    (match,) = parse_sgf(f"{ROOT.format(length)}\n;B[31qtst]{more})".encode()).matches
    (turn,) = match.games[0].turns
    by_subject: dict[str, tuple[object, ...]] = {}
    for analysis in turn.analyses:
        choices = [(choice.text or tuple(choice.moves or ()), choice.equity) for choice in analysis.choices]
        by_subject[analysis.subject] = (analysis.level, analysis.is_mwc, *choices)
    return by_subject


def test_plays_with_a_rollout_are_read() -> None:
    (match,) = parse_sgf(f"{ROOT.format(3)}\n;B[31qtst]{PLAYS})".encode()).matches
    (plays,) = match.games[0].turns[0].analyses
    first, second = plays.choices
    assert plays.analyst == "gnubg"
    assert first.level == "0-ply"
    assert second.level == "rollout of 36 trials"
    assert first.equity == 0.243305
    assert second.equity == -0.3974680603
    assert not first.is_made
    assert second.is_made
    assert first.chances == (0.550952, 0.173708, 0.012809, 0.124388, 0.005021)
    assert second.chances == (0.4344679415, 0.1240616143, 0.006832911167, 0.1765509248, 0.005002221558)
    assert [move[:2] for move in second.moves or ()] == [(8, 5), (6, 5)]


@each(
    ("text", "level", "values"),
    [(CUBE, "2-ply", (0.475798, 0.42063)), (ROLLED_OUT, "rollout of 36 trials", (0.4997358918, 0.4464276135))],
)
def test_cube_actions_are_read(text: str, level: str, values: tuple[float, float]) -> None:
    """Cube actions have their values: mwc in a match, points in money play."""
    choices = tuple(zip(("no double", "double, take"), values, strict=True))
    assert analysis_of_node(text) == {"cube": (level, True, *choices)}
    assert analysis_of_node(text, 0) == {"cube": (level, False, *choices)}


@each(
    ("text", "luck"),
    [("LU[0.24330]", 0.2433), ("LU[-0.5]", -0.5), ("LU[very lucky 1.25]", 1.25), ("LU[-inf]", None), ("LU[nan]", None),
     ("LU[]", None), ("LU[inf]", None)],
)  # fmt: skip
def test_luck_is_finite(text: str, luck: float | None) -> None:
    assert analysis_of_node(text) == ({} if luck is None else {"luck": ("", False, ((), luck))})


def test_comments_are_read() -> None:
    assert analysis_of_node("C[Why not \\] 24/23?]") == {"comment": ("", False, ("Why not ] 24/23?", None))}
    assert analysis_of_node("C[ ]") == {}


@each(
    "text",
    ["A[0]", "A[]", "A[x E ver 3 1 2]", "A[0][qtst E ver 3 0.5 0.1]", "A[0][tqst E ver 3 0.5 0.1 0 0.1 0 0.2 0C]",
     "A[0][qtst X ver 3 Score 0.1 Output 0.4]", "DA[E ver 3 0C 0.1 0.2]", "DA[]", "DA[X ver 3 Output 1 2 3]"],
)  # fmt: skip
def test_malformed_analysis_is_left_out(text: str) -> None:
    assert analysis_of_node(text) == {}


def test_nodes_without_analysis_give_none() -> None:
    assert analyses_of({"B": ["31qtst"]}, lambda _: (), is_match=True) == ()

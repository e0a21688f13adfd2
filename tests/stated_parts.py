"""Parts of a game that a position can state: pairs of states that differ in one part, and its name in messages.

Every answer about a position uses each part or says that it was left out.
"""

from bgdata.game.dice import parse_roll
from bgdata.game.match_state import MatchState, Side
from tests.command_line import position_id

SIDE = [3, 0, 3, 3, 3, 2] + [0] * 16 + [1]
CONTACT = position_id(SIDE, SIDE)  # both sides may win or lose a gammon
ROLL = parse_roll("31")
MONEY = MatchState(roll=ROLL)
MATCH = MatchState(length=7, scores=(3, 2), roll=ROLL)
CHANGES = {  # by part: two states that differ in it, and its name in messages
    "score": (MATCH, MatchState(length=7, scores=(5, 4), roll=ROLL), "3-away 2-away"),
    "match": (MONEY, MATCH, "5-away 4-away"),
    "crawford": (
        MatchState(length=7, scores=(6, 2), is_crawford=True, roll=ROLL),
        MatchState(length=7, scores=(6, 2), roll=ROLL),
        "5-away 1-away",
    ),
    "cube": (MONEY, MatchState(cube_value=2, cube_owner=Side.BOTTOM, roll=ROLL), "a cube of 2"),
    "owner": (
        MatchState(cube_value=2, cube_owner=Side.TOP, roll=ROLL),
        MatchState(cube_value=2, cube_owner=Side.BOTTOM, roll=ROLL),
        "owned by the player on roll",
    ),
    "jacoby": (MONEY, MatchState(is_jacoby=True, roll=ROLL), "the Jacoby rule"),
    "beavers": (MONEY, MatchState(has_beavers=True, roll=ROLL), "beavers"),
    "roll": (MatchState(), MatchState(roll=ROLL), "the roll 31"),
}

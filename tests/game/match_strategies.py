"""Hypothesis strategies for all match states that identifiers can hold."""

from typing import Any

from hypothesis import strategies as st

from bgdata.game.dice import ROLLS
from bgdata.game.match_state import GameState, MatchState, Side

sides = st.sampled_from(Side)


@st.composite
def _cubes(draw: st.DrawFn, is_match: bool) -> dict[str, Any]:
    owner = draw(st.none() | sides)
    lowest, highest = (0, 0) if owner is None and is_match else (0 if owner is None else 1, 10)
    return {"cube_value": 1 << draw(st.integers(lowest, highest)), "cube_owner": owner}


@st.composite
def _stakes(draw: st.DrawFn) -> dict[str, Any]:
    """Score and cube: money play, a match, or its Crawford game."""
    if draw(st.booleans()):
        scores = (draw(st.integers(0, 99)), draw(st.integers(0, 99)))
        return {"scores": scores, "is_jacoby": draw(st.booleans())} | draw(_cubes(False))
    length = draw(st.integers(1, 64))
    scores = draw(st.integers(0, length - 1)), draw(st.integers(0, length - 1))
    may_be_crawford = (scores[0] == length - 1) != (scores[1] == length - 1)
    if may_be_crawford and draw(st.booleans()):
        return {"length": length, "scores": scores, "is_crawford": True}
    return {"length": length, "scores": scores} | draw(_cubes(True))


@st.composite
def states_without_offer(draw: st.DrawFn) -> MatchState:
    """A game in progress in which nothing is offered."""
    on_roll, roll = draw(sides), draw(st.none() | st.sampled_from(ROLLS))
    return MatchState(roll=roll, on_roll=on_roll, to_decide=on_roll, **draw(_stakes()))


@st.composite
def offers(draw: st.DrawFn) -> MatchState:
    """An unanswered double, beaver or raccoon."""
    on_roll = draw(sides)
    stakes = draw(_stakes().filter(lambda stakes: not stakes.get("is_crawford")))
    to_decide = on_roll.other
    if stakes.get("cube_owner") == on_roll.other:  # the player on roll doubled before, and the opponent beavered
        if stakes.get("length"):
            stakes["cube_owner"] = on_roll
        elif stakes["cube_value"] < 4 or draw(st.booleans()):
            to_decide = on_roll
    return MatchState(on_roll=on_roll, to_decide=to_decide, is_double_offered=True, **stakes)


@st.composite
def resignations(draw: st.DrawFn) -> MatchState:
    """An unanswered resignation, which may itself answer a double."""
    match = draw(states_without_offer() | offers())
    fields = {name: getattr(match, name) for name in MatchState.__dataclass_fields__}
    return MatchState(**fields | {"resigned": draw(st.integers(1, 3)), "to_decide": match.to_decide.other})


@st.composite
def finished_games(draw: st.DrawFn) -> MatchState:
    """A game that is over. Its score may be that of a won match, with the dice of the last roll."""
    length = draw(st.integers(1, 64))
    state = draw(st.sampled_from([GameState.OVER, GameState.RESIGNED, GameState.DROPPED]))
    scores = (draw(st.integers(0, 100)), draw(st.integers(0, 100)))
    return MatchState(
        roll=draw(st.none() | st.sampled_from(ROLLS)),
        on_roll=draw(sides),
        to_decide=draw(sides),
        length=length,
        scores=scores,
        is_crawford=draw(st.booleans()),
        game_state=state,
        **draw(_cubes(True)),
    )


running_states = states_without_offer() | offers()
match_states = running_states | resignations() | finished_games()

"""A cube decision as a row of data and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bgdata.errors import UsageError
from bgdata.game.match import CubeOwner, MatchScore, Money, Stakes
from bgdata.game.match_state import MatchState, Offer
from bgdata.game.position import Position

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeDecision, CubeRules
    from bgdata.evaluation.lookahead_player import Evaluation


WORDS = {
    "NO_DOUBLE": "no double",
    "DOUBLE_TAKE": "double, take",
    "DOUBLE_PASS": "double, pass",
    "TOO_GOOD": "too good to double",
    "DOUBLE_BEAVER": "double, beaver",
}


def check_offer(match: MatchState | None, text: str) -> None:
    """Raise UsageError for a match, named by a text, in which a beaver or raccoon waits for its answer: decisions are
    about doubles."""
    if match is not None and match.offer not in (Offer.NONE, Offer.DOUBLE):
        raise UsageError(f"expected a position before a double or its answer, got a {match.offer} in {text}")


def best_words(decision: CubeDecision, stakes: Stakes) -> str:
    """`double, take`, or all actions that are worth the same as the best."""
    if not decision.may_double:
        return f"no cube decision: {decision.why_not}"
    words = " or ".join(WORDS[action.name] for action in decision.best)
    return words.replace("double", "redouble") if stakes.cube.owner == CubeOwner.ON_ROLL else words


def ends_of(stakes: Stakes, rules: CubeRules) -> tuple[float, float]:
    """The mwc after losing and after winning a single game at the current cube; on this scale equity goes from -1 to
    1."""
    assert isinstance(stakes.score, MatchScore)
    assert rules.met is not None
    lose, win = (rules.met.after(stakes.score, points * stakes.cube.value) for points in (-1, 1))
    return lose, win


def chances_of(evaluation: Evaluation) -> dict[str, Any]:
    """The chances behind a decision, and their source, as columns."""
    own = {"source", "ply", "accuracy"}
    return {f"chances_{name}" if name in own else name: value for name, value in vars(evaluation).items()}


def decision_row(decision: CubeDecision, stakes: Stakes) -> dict[str, Any]:
    """A decision as one row of data, by column name."""
    from bgdata.equity.curves import NEVER

    score = stakes.score
    played_for = dict.fromkeys(("away", "opponent_away", "is_crawford", "is_jacoby")) | (
        {"is_jacoby": score.is_jacoby}
        if isinstance(score, Money)
        else {"away": score.away, "opponent_away": score.opponent_away, "is_crawford": score.is_crawford}
    )
    names = ("no_double", "double_take", "double_beaver", "double_pass", "unit", "method", "accuracy", "why_not")
    points = {name: None if chance >= NEVER else chance for name, chance in decision.points._asdict().items()}
    return (
        played_for
        | {"cube_value": stakes.cube.value, "cube_owner": stakes.cube.owner}
        | {"best": list(decision.best), "equity": decision.equity}
        | {"double_gain": decision.double_gain, "take_gain": decision.take_gain}
        | {name: getattr(decision, name) for name in names}
        | points
    )


def cube_row(position: Position, decision: CubeDecision, stakes: Stakes, evaluation: Evaluation) -> dict[str, Any]:
    """A decision, and the chances behind it, as one row of data."""
    return {"position_id": position.id} | decision_row(decision, stakes) | chances_of(evaluation)

"""The notes beside a drawn board: the score and the race; and the whole position in words, for people who cannot see
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bgdata.game.dice import Roll
from bgdata.game.match import OWNER_WORDS, MatchScore, Stakes

if TYPE_CHECKING:
    from bgdata.game.position import Position


def describe_stakes(stakes: Stakes | None) -> tuple[tuple[str, str], str]:
    """((score of the player on roll, of the opponent), kind of game): (("3-away", "1-away"), "crawford game").

    Texts are empty where there is nothing to say: scores in money play, everything without stakes.
    """
    if stakes is None:
        return ("", ""), ""
    score = stakes.score
    if isinstance(score, MatchScore):
        kind = "crawford game" if score.is_crawford else "post-crawford" if score.is_post_crawford else "match"
        return (f"{score.away}-away", f"{score.opponent_away}-away"), kind
    return ("", ""), "money with jacoby rule" if score.is_jacoby else "money"


def describe_race(pip_count: int, off: int) -> str:
    """Pips to go and checkers borne off: "167 pips", "1 pip, 14 off"."""
    return f"{pip_count} pip{'s' * (pip_count != 1)}" + f", {off} off" * (off > 0)


def describe_board(position: Position, roll: Roll | None, stakes: Stakes | None) -> tuple[str, str]:
    """(title, description) of a picture: where each side's checkers stand by its own points, and the stakes."""
    title = f"Backgammon position {position.id}, " + (f"{roll} to play" if roll else "on roll")
    opponent, on_roll = position.rows
    sentences = [
        f"On roll: {_checkers(on_roll)}; {describe_race(position.pip_count, position.off)}.",
        f"Opponent: {_checkers(opponent)}; {describe_race(position.opponent_pip_count, position.opponent_off)}.",
    ]
    if stakes:
        (score, opponent_score), kind = describe_stakes(stakes)

        sentences += [f"Score: on roll {score}, opponent {opponent_score}."] * bool(score)
        sentences.append(f"Kind of game: {kind}.")
        sentences.append(f"Cube: {stakes.cube.value}, {OWNER_WORDS[stakes.cube.owner]}.")
    return title, " ".join(sentences)


def _checkers(row: Sequence[int]) -> str:
    """Where a side's checkers stand on its own points, the bar first: "1 on the bar, 2 on point 24"."""
    places = [(row[24], "on the bar"), *((row[point - 1], f"on point {point}") for point in range(24, 0, -1))]
    return ", ".join(f"{count} {place}" for count, place in places if count) or "no checker on the board"

"""The analysis in a node of an .sgf file, as gnubg 1.07 saves it.

`A[0][qtst E ver 3 0.55... 0.243 0C...]` are the plays, best first, after the number of the chosen play: letters of the
moves, five chances, the equity with the cube in normalised points, plies looked ahead and C with the cube. `X... Score
-0.39 -0.22 Trials 36 Output 0.43...` is a rollout. `DA` is the cube: chances, equity, and the equity with the cube (mwc
in a match), twice (for no double, and for double and take). `LU[0.243]` is luck, `C` a comment. Source: files that
gnubg saves; no program text was used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from bgdata.formats.matches import CUBE_CHOICES, Analysis, Choice, RecordedMove

Node = dict[str, list[str]]  # by property: its values in order, unescaped
ANALYST = "gnubg"
_NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w.])", re.IGNORECASE)
_PLY = re.compile(r"(?<!\S)(?<!ver )(\d)(C?)(?!\S)")
_PLAY = re.compile(r"([a-z]*)\s+(?=[EX] )")
_TRIALS = re.compile(r"Trials (\d+)")
_OUTPUTS = re.compile(r"Output((?: [+-]?[\d.einfa+-]+){7})")
_SCORE = re.compile(r"Score ([+-]?[\d.e+-]+)")
_WORTHS = 7  # number of values: five chances, cubeless equity, equity with the cube


def analyses_of(
    node: Node, moves_of: Callable[[str], tuple[RecordedMove, ...]], *, is_match: bool
) -> tuple[Analysis, ...]:
    """Parse the analyses of a turn in its node. `moves_of` parses the letters of a play. Values that are not finite,
    and plays that cannot be read, are left out."""
    found: list[Analysis] = []
    if plays := _plays(node.get("A", []), moves_of):
        found.append(Analysis("play", ANALYST, plays[0].level, tuple(plays)))
    for text in node.get("DA", []):
        worths = _cube_worths(text)
        if len(worths) == 2:
            chances = (worths[0][:5], worths[1][:5])
            cube = map(Choice, CUBE_CHOICES, (values[-1] for values in worths), chances)
            found.append(Analysis("cube", ANALYST, _level(text), tuple(cube), is_mwc=is_match))
    for text in node.get("LU", []):
        if luck := _numbers(text):
            found.append(Analysis("luck", ANALYST, "", (Choice("", luck[-1]),)))
    found += [Analysis("comment", "", "", (Choice(text, None),)) for text in node.get("C", []) if text.strip()]
    return tuple(found)


def _plays(values: list[str], moves_of: Callable[[str], tuple[RecordedMove, ...]]) -> list[Choice]:
    """Parse the plays in an analysis. Plays that cannot be read are left out."""
    made = int(values[0]) if values and values[0].isdigit() else None
    found = []
    for number, text in enumerate(value for value in values if not value.isdigit()):
        head = _PLAY.match(text)
        chances, equity = _play_worths(text[head.end() :]) if head else ((), None)
        try:
            moves = moves_of(head[1]) if head else None
        except ValueError:
            continue
        if moves is None or equity is None:
            continue
        found.append(Choice("", equity, chances, number == made, moves, _level(text)))
    return found


def _play_worths(text: str) -> tuple[tuple[float, ...], float | None]:
    """Parse the chances and the equity of a play."""
    if text.startswith("X"):
        outputs, score = _OUTPUTS.search(text), _SCORE.search(text)
        numbers = _numbers(outputs[1]) if outputs else []
        return tuple(numbers[:5]), _numbers(score[1])[0] if score and len(numbers) == _WORTHS else None
    numbers = _numbers(text.partition("ver 3")[2])
    return tuple(numbers[:5]), numbers[5] if len(numbers) > 5 else None


def _cube_worths(text: str) -> list[tuple[float, ...]]:
    """Parse the values of no double, and of double and take."""
    if text.startswith("X"):
        found = [_numbers(outputs) for outputs in _OUTPUTS.findall(text)]
    else:
        numbers = _numbers(text)[-2 * _WORTHS :]  # settings come before the values
        found = [numbers[:_WORTHS], numbers[_WORTHS:]]
    return [tuple(values) for values in found if len(values) == _WORTHS]


def _numbers(text: str) -> list[float]:
    """Parse the finite numbers in a text."""
    return [value for value in map(float, _NUMBER.findall(text)) if math.isfinite(value)]


def _level(text: str) -> str:
    """Say how deep gnubg looked, from the text of an analysis."""
    if trials := _TRIALS.search(text):
        return f"rollout of {trials[1]} trials"
    ply = _PLY.search(text)
    return f"{ply[1]}-ply{'' if ply[2] else ' cubeless'}" if ply else ""

"""The list of cube models for kernels, command options, recipes and documentation. It is fast to import; `doubling`
computes the models."""

from __future__ import annotations

from typing import NamedTuple

from bgdata.errors import InvalidParameterError


class CubeModel(NamedTuple):
    """A model of the cube's value. Kernels use its index in CUBE_MODELS."""

    name: str  # name in the option --model, and in the method of a decision
    setting: str  # meaning of its number
    prefix: str  # before the number in recipes: jump:0.08
    knows_matches: bool = True  # supports match scores
    knows_jacoby: bool = True  # supports the Jacoby rule


CUBE_MODELS = (
    CubeModel("janowski", "cube life index", ""),
    CubeModel("jump", "volatility", "jump:"),
    CubeModel("janowski-first", "cube life index", "first:", knows_matches=False, knows_jacoby=False),
)
JANOWSKI, JUMP, JANOWSKI_FIRST = range(len(CUBE_MODELS))
MODEL_NAMES = tuple(model.name for model in CUBE_MODELS)


DEFAULT_INDEX = 0.7  # the best constant index in self-play, according to the blog Computational Backgammon (2012)
# A double is free if losing the present cube already loses the match: the player doubles at the next turn anyway, and
# loses only by jumps past the cash point. Rollouts of 47 positions after the Crawford game give 0.967.
FREE_INDEX = 0.97


def check_cube_life_index(index: float) -> None:
    """Raise InvalidParameterError unless a cube life index is from 0 (dead) to 1 (live)."""
    if not 0 <= index <= 1:
        raise InvalidParameterError(f"expected a cube life index from 0 to 1, got {index}")

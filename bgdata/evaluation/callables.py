"""Python callables as evaluators: `module:name`, or a name that a package gives by an entry point `bgdata.players`.

A callable takes int8[n, 26] boards of the player on roll, before the roll, and gives float32[n, 5] chances, those of
`chances.CHANCES`; the same board always has the same answer. It has an attribute `version`, a text that changes
whenever the answers may. A function without one is never called: recipes of a warehouse that came from somebody else
may name any function of this machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from bgdata.errors import ExternalProgramError, PluginError, shown
from bgdata.evaluation.chances import CHANCES, Chances
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.players import is_callable
from bgdata.evaluation.programs import answers_of_program
from bgdata.game.codec import Boards

GROUP = "bgdata.players"


def added_player(name: str) -> str:
    """The `module:name` that an installed package gives for the name of a player; empty if none does."""
    from importlib.metadata import entry_points

    found = [each.value for each in entry_points(group=GROUP, name=name) if is_callable(each.value)]
    return found[0] if found else ""


class CallableEvaluator:
    """A callable `module:name` as an evaluator; the rules evaluate finished games. Pickled, it is only its names.

    Raises PluginError for what cannot be imported, is not callable, or has no `version`.
    """

    def __init__(self, place: str, name: str = "") -> None:
        self.place = place
        self.name = name or place
        self._call = load_callable(place)
        self.version: str = self._call.version

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.name)

    @property
    def label(self) -> str:
        """The name, in letters, digits and -."""
        return re.sub("[^A-Za-z0-9]+", "-", self.name).strip("-")

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """Name and version; see `evaluator.Evaluator`."""
        return {AnswerSource.PROGRAM: f"{self.name}, version {self.version}"}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See `evaluator.Evaluator`. Raises ExternalProgramError for answers that are no chances."""
        return answers_of_program(boards, self._chances, self.name)

    def _chances(self, boards: Boards) -> Chances:
        if not len(boards):
            return np.empty((0, len(CHANCES)), np.float32)
        try:
            chances = np.asarray(self._call(boards.copy()), np.float32)
        except Exception as error:  # whatever a stranger's function does
            reason = f"{type(error).__name__}: {shown(str(error))}"
            raise ExternalProgramError(f"expected chances of {self.name}, got {reason}") from error
        if chances.shape != (len(boards), len(CHANCES)):
            raise ExternalProgramError(
                f"expected float32[{len(boards)}, {len(CHANCES)}] of {self.name}, got an array of shape {chances.shape}"
            )
        return chances


def load_callable(place: str) -> Any:
    """The callable `module:name`. Raises PluginError."""
    module, _, name = place.partition(":")
    try:
        found: Callable[[Boards], Chances] | None = getattr(import_module(module), name, None)
    except Exception as error:  # whatever a stranger's module does
        reason = f"{type(error).__name__}: {shown(str(error))}"
        raise PluginError(
            f"expected a module of Python for the player {shown(place)}, got {reason}; try: PYTHONPATH=its folder"
        ) from error
    if found is None:
        raise PluginError(f"expected a function {shown(name)} in the module {shown(module)}, found no such name")
    version = getattr(found, "version", None)
    if not callable(found) or not isinstance(version, str) or not version:
        raise PluginError(
            f"expected a function with an attribute version, a text that changes with its answers, as the player "
            f'{shown(place)}, got {shown(type(found).__name__)}; try: {name}.version = "1"'
        )
    return found

"""The input sets of networks, by name; `inputs` computes them."""

from __future__ import annotations

from enum import IntEnum

from bgdata.errors import UnknownInputSetError


class InputSet(IntEnum):
    """The set of inputs that a network computes from a board; the number is stored with the network."""

    TESAURO_196 = 0
    TESAURO_198 = 1  # Tesauro's 196 and two for the turn: always 1 and 0, since boards are for the player on roll
    RACE = 2  # Tesauro's 196 and `inputs.RACE_INPUTS`
    CONTACT = 3  # Tesauro's 196 and `contact_inputs.CONTACT_INPUTS`

    @property
    def label(self) -> str:
        """The name of the set in recipes and on the command line, such as tesauro-196."""
        return self.name.lower().replace("_", "-")

    @property
    def revision(self) -> int:
        """The revision of the inputs, which is raised whenever an input changes on any board. A network trained with
        one revision cannot be used with another."""
        return _REVISIONS[self]


_REVISIONS = {InputSet.TESAURO_196: 1, InputSet.TESAURO_198: 1, InputSet.RACE: 1, InputSet.CONTACT: 1}


def input_set_named(label: str) -> InputSet:
    """The input set with this label. Raises UnknownInputSetError if there is none."""
    for input_set in InputSet:
        if input_set.label == label:
            return input_set
    raise UnknownInputSetError(f"expected inputs among {', '.join(e.label for e in InputSet)}, got {label}")

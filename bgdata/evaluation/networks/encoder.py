"""The names of what a network sees of a board; `encoders` computes them."""

from __future__ import annotations

from enum import IntEnum

from bgdata.errors import UnknownEncoderError


class Encoder(IntEnum):
    """Which inputs a network has; the numbers are stored with it."""

    TESAURO_196 = 0
    TESAURO_198 = 1  # and two that say whose turn it is: always 1 and 0, since boards face the player on roll
    RACE = 2  # Tesauro's 196 and `race_inputs.RACE_INPUTS`
    CONTACT = 3  # Tesauro's 196 and `contact_inputs.CONTACT_INPUTS`

    @property
    def label(self) -> str:
        """Name in recipes and on the command line, such as tesauro-196."""
        return self.name.lower().replace("_", "-")

    @property
    def revision(self) -> int:
        """Raised whenever an input changes its value on any board: what learned from one cannot go on with another."""
        return _REVISIONS[self]


_REVISIONS = {Encoder.TESAURO_196: 1, Encoder.TESAURO_198: 1, Encoder.RACE: 1, Encoder.CONTACT: 1}


def encoder_named(label: str) -> Encoder:
    """The encoder of a label. Raises UnknownEncoderError."""
    for encoder in Encoder:
        if encoder.label == label:
            return encoder
    raise UnknownEncoderError(f"expected inputs among {', '.join(e.label for e in Encoder)}, got {label}")

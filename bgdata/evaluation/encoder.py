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


def encoder_named(label: str) -> Encoder:
    """The encoder of a label. Raises UnknownEncoderError."""
    for encoder in Encoder:
        if encoder.label == label:
            return encoder
    raise UnknownEncoderError(f"expected inputs among {', '.join(e.label for e in Encoder)}, got {label}")

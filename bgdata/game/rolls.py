"""The 21 rolls of two dice as arrays, in the order of `dice.ROLLS`."""

from __future__ import annotations

import numpy as np

from bgdata.game.dice import ROLLS

DICE = np.array([(roll.high, roll.low) for roll in ROLLS], np.int8)  # [21, 2], the higher die first
WAYS = np.array([roll.weight for roll in ROLLS], np.float64)  # [21], how many of the 36 ordered rolls: 1, 2
CHANCES = WAYS / 36  # [21]

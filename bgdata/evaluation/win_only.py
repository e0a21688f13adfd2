"""Play for wins alone, as at double match point, where a gammon counts as much as any other win.

No kernel knows of it: the four gammon outputs of every network are fixed at nearly 0 (below a millionth), so that the
play with the highest equity is the one with the highest chance to win. Games that are over are worth what the rules
say, gammons included, which can weigh near the end of a game where plays are chosen one roll ahead. Bearoff tables
answer only where no gammon is possible; other races are left to the networks.
"""

from __future__ import annotations

from itertools import pairwise

from bgdata.evaluation.choices import Chooser
from bgdata.evaluation.networks.inference import ACTIVATION, OUTPUTS, Activation, Networks
from bgdata.evaluation.networks.mapped import layer_sizes
from bgdata.kernel import read_only

_NEVER = -16  # the sum of an output that says never


def win_only(networks: Networks) -> Networks:
    """The same networks without gammons: their chances to win are the same, to the last bit."""
    weights, biases = networks.weights.copy(), networks.biases.copy()
    for row in networks.shapes.tolist():
        sizes = layer_sizes(row)
        place = row[2] + sum(below * units for below, units in pairwise([row[1], *sizes]))  # behind the last weight
        bias, below = row[3] + sum(sizes), sizes[-2]
        weights[place - (OUTPUTS - 1) * below : place] = 0
        biases[bias - (OUTPUTS - 1) : bias] = _NEVER * Activation(row[ACTIVATION]).later_sum
    return Networks(networks.shapes, read_only(weights), read_only(biases))


def win_only_chooser(chooser: Chooser) -> Chooser:
    """A player of the kind NETWORK that plays for wins alone."""
    networks = win_only(Networks(chooser.shapes, chooser.weights, chooser.biases))
    return chooser._replace(**networks._asdict(), gammon_points=0)

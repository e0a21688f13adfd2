"""Networks for tests: random ones of every input set and depth, a hand-made one with known answers, and the default
one. Each is made once and read-only."""

from functools import cache

import numpy as np

from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.networks.inference import LATER_WEIGHT, Activation, Networks
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.player import NetworkPlayer, find_network, open_networks
from bgdata.kernel import read_only
from bgdata.training.networks import FloatNetworks, new_networks, rounded_networks
from bgdata.warehouse import Warehouse

# input sets and layers of the networks for race, crashed and contact
SHAPES: tuple[tuple[tuple[InputSet, ...], tuple[tuple[int, ...], ...]], ...] = (
    ((InputSet.RACE, InputSet.CONTACT, InputSet.CONTACT), ((8,), (7,), (9,))),
    ((InputSet.RACE, InputSet.TESAURO_196, InputSet.CONTACT), ((6, 4), (16,), (5, 3, 4))),
    ((InputSet.TESAURO_198, InputSet.RACE, InputSet.TESAURO_196), ((1,), (20, 20), (33,))),
    ((InputSet.CONTACT, InputSet.TESAURO_198, InputSet.TESAURO_198), ((3, 1), (4,), (2, 7))),
    ((InputSet.TESAURO_196, InputSet.RACE, InputSet.CONTACT), ((16, 9), (20, 8), (19, 7, 6))),
)
RECTIFIED = 4  # the number of the networks with rectified units
PIPS_PER_UNIT = 16


def random_floats(number: int, size: float = 10.0, seed: int = 1) -> FloatNetworks:
    """Networks of SHAPES[number] with weights and biases uniform in -size / 10 to size / 10; rectified ones with a size
    of 10 have weights of realistic size."""
    if number == RECTIFIED:
        networks = new_networks(*SHAPES[number], seed, Activation.RECTIFIED)
        networks = networks._replace(weights=networks.weights / np.float32(10))
    else:
        networks = new_networks(*SHAPES[number], seed)
    biases = np.random.default_rng(seed).uniform(-size / 10, size / 10, len(networks.biases)).astype(np.float32)
    return FloatNetworks(networks.shapes, networks.weights * np.float32(size), biases)


@cache
def random_networks(number: int, size: float = 10.0, seed: int = 1) -> Networks:
    """The networks of `random_floats` in integers."""
    return rounded_networks(random_floats(number, size, seed))


@cache
def pips_networks(sign: int = 1) -> Networks:
    """Networks that only know the race: the hidden unit is the logistic function of the lead of the player on roll
    (with sign -1, of the opponent) in pips over PIPS_PER_UNIT, and the winning chance that of 4 unit - 2; no
    gammons."""
    shapes = np.array([[InputSet.TESAURO_196, 196, 201 * which, 6 * which, 0, 2, 1, 5] for which in range(3)], np.int64)
    weights, biases = np.zeros((3, 201), np.int16), np.zeros((3, 6), np.int32)
    pip = sign * (1 << 12) // PIPS_PER_UNIT
    for point in range(1, 25):
        for side, distance in ((0, -point), (4, 25 - point)):
            first = 8 * (point - 1) + side
            weights[:, first : first + 4] = np.array([1, 1, 1, 2]) * pip * distance  # checkers from the fourth on: 1/2
    weights[:, 192:194] = pip * 50 * np.array([-1, 1])  # 1/2 for each checker on the bar
    weights[:, 196] = 4 * LATER_WEIGHT
    biases[:, 1:] = np.array([-2, -20, -20, -20, -20]) * Activation.LOGISTIC.later_sum
    return Networks(read_only(shapes), read_only(weights.ravel()), read_only(biases.ravel()))


@cache
def shipped_networks() -> Networks:
    return open_networks(find_network("network", Warehouse("nowhere", {})))


@cache
def random_player(number: int) -> NetworkPlayer:
    return NetworkPlayer(random_networks(number), NO_TABLES)


@cache
def pips_player() -> NetworkPlayer:
    return NetworkPlayer(pips_networks(), NO_TABLES)


@cache
def shipped_player() -> NetworkPlayer:
    return NetworkPlayer(shipped_networks(), NO_TABLES)

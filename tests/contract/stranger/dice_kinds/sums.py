"""How often two dice have a sum."""

from dataclasses import dataclass

from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters


@dataclass(frozen=True)
class DiceParameters(Parameters):
    """How many sides each die has."""

    sides: int = 6


class DiceSums(Dataset[DiceParameters]):
    """One row a sum."""

    name = "dice_sums"
    revision = 1
    summary = "How often two dice have a sum, of all their rolls."
    source = "Computed: counted over all rolls"
    columns = (
        Column("pip_count", "INTEGER", "pips", "Sum of both dice"),
        Column("rolls", "INTEGER", "rolls", "Rolls with this sum"),
    )
    key = ("pip_count",)
    arrays = (FlatArray("rolls", "int32", "sum from 2", "Rolls with this sum"),)
    parameters = DiceParameters
    defaults = ()
    smallest = DiceParameters(3)

    def slug(self, parameters: DiceParameters) -> str:
        return f"{parameters.sides}-sides"

    def estimate(self, parameters: DiceParameters) -> Estimate:
        return Estimate(2 * parameters.sides - 1, 10_000, 1 << 20)


DATASET = DiceSums()

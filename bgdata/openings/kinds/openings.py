"""The opening book, one table per first roll: its candidates, and the candidates of the replies to its sensible plays,
rolled out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from bgdata.errors import InvalidParameterError, InvalidRollError, UsageError, cite
from bgdata.game.dice import ROLLS, parse_roll
from bgdata.kinds.columns import CHANCE_COLUMNS
from bgdata.selfplay.kinds.shared.rollouts import ERROR_COLUMNS, NETWORK_ARRAY, NETWORK_COLUMN, RollerParameters
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters
from bgdata.store.table import published_folder, published_versions

if TYPE_CHECKING:
    from bgdata.openings.candidates import RolloutTarget

PUBLISHED = Path(__file__).parents[1] / "versions"  # <variant>/<version>/, see docs/ship.py
OBJECTIVES = ("money", "double-match-point")  # in the order of `openings.candidates.Objective`, which imports kernels
FIRST_ROLLS = tuple(str(roll) for roll in ROLLS if not roll.is_double)
REPLY_ROLLS = tuple(map(str, ROLLS))
MAX_PLAYS = 30  # maximum number of candidates of a roll
MAX_SENSIBLE = 10  # maximum number of answered plays of a first roll; the dice of replies depend on it


@dataclass(frozen=True)
class OpeningParameters(RollerParameters):
    """Parameters of `openings`: the network that rolls out, the objective, the first roll, and the precision of
    candidates and replies. Candidates are within `within` points of the best play. Because the evaluation one roll
    ahead is not exact, it may leave out only plays that are `margin` points further behind. The plays of the first roll
    that lose up to `sensible` points are answered, at most `sensible_plays` of them."""

    trials: int = 432
    until: float | None = 0.002
    most_trials: int = 46_656
    objective: str = "money"
    first_roll: str = FIRST_ROLLS[0]
    within: float = 0.1
    margin: float = 0.04
    most_plays: int = 12
    sensible: float = 0.02
    sensible_plays: int = 3
    reply_until: float = 0.005
    reply_within: float = 0.05
    seed: int = 0

    def target(self, *, is_reply: bool) -> RolloutTarget:
        """Return the precision that the candidates of a first roll, or of a reply if `is_reply` is true, must reach."""
        from bgdata.openings.candidates import RolloutTarget

        limits = self.limits()
        if is_reply:
            return RolloutTarget(limits._replace(until=self.reply_until), self.reply_within)
        return RolloutTarget(limits, self.within)


def published_openings() -> dict[OpeningParameters, Path]:
    """Return the folders of the opening tables in the package, by parameters. Tables with a damaged manifest are left
    out."""
    return published_versions(PUBLISHED, OpeningParameters)


class Openings(Dataset[OpeningParameters]):
    """Kind `openings`: the opening book for one first roll. One row per candidate, of the first roll and then of the
    replies, by rank."""

    name = "openings"
    revision = 3  # 2: likely plays measure luck in races too; 3: a table for each first roll
    summary = "The opening book of a first roll: its candidates and those of the replies to it, rolled out."
    source = "Computed: rollouts with stratified rolls and variance reduction by luck (Zare 2000, Montgomery 2000)"
    columns = (
        Column("decision", "INTEGER", "", "Number of the decision: 0 for the first roll, then the replies"),
        Column("rank", "SMALLINT", "", "0 for the best play"),
        Column("objective", "VARCHAR", "", f"What is at stake: {' or '.join(OBJECTIVES)}"),
        Column("first_roll", "VARCHAR", "", "Roll of the player who begins, the higher die first"),
        Column("first_play", "VARCHAR", "", "How it was played, null where that is the decision"),
        Column("reply_roll", "VARCHAR", "", "Roll of the player who replies, null where the first roll is played"),
        Column("position_id", "VARCHAR", "", "gnubg's Position ID, 14 characters, of the player on roll"),
        Column("play", "VARCHAR", "", "The play in the usual notation"),
        Column("next_position_id", "VARCHAR", "", "Position after the play, the OPPONENT on roll"),
        *CHANCE_COLUMNS,
        *ERROR_COLUMNS,
        Column("equity", "DOUBLE", "points", "Of who plays: without a cube, or 1 for a win and -1 for a loss"),
        Column("standard_error", "DOUBLE", "points", "Standard error of equity"),
        Column("loss", "DOUBLE", "points", "Equity that the play loses against the best"),
        Column("loss_standard_error", "DOUBLE", "points", "Standard error of loss, from games with the same dice"),
        Column("trials", "BIGINT", "games", "Games played"),
        Column("is_reached", "BOOLEAN", "", "Whether the standard error is as small as was wanted"),
        Column("n_legal_plays", "INTEGER", "plays", "All legal plays of the roll"),
        NETWORK_COLUMN,
    )
    key = ("decision", "rank")
    arrays = (
        FlatArray("decisions_reply_rolls", "int8", "decision, 2", "Roll of the reply, zeros for the first roll"),
        FlatArray("decisions_answered", "int64", "decision", "The play that is answered, -1 for the first roll"),
        FlatArray("decisions_n_plays", "int64", "decision", "Candidates"),
        FlatArray("decisions_n_legal_plays", "int64", "decision", "All legal plays"),
        FlatArray("boards_before", "int8", "decision, 26 integers", "Boards of the player on roll"),
        FlatArray("plays_decisions", "int64", "play", "Its decision"),
        FlatArray("plays_ranks", "int64", "play", "Its place, 0 for the best"),
        FlatArray(
            "boards_after", "int8", "play, 26 integers", "Boards after the play, of the opponent, who is on roll"
        ),
        FlatArray("plays_chances", "float32", "play, chance", "Cumulative chances of who plays"),
        FlatArray("plays_chance_errors", "float32", "play, chance", "Standard errors of `plays_chances`"),
        FlatArray("plays_equities", "float64", "play", "Equities of who plays"),
        FlatArray("plays_standard_errors", "float64", "play", "Standard errors of `plays_equities`"),
        FlatArray("plays_losses", "float64", "play", "Behind the best play"),
        FlatArray("plays_loss_standard_errors", "float64", "play", "Standard errors of `plays_losses`"),
        FlatArray("plays_trials", "int64", "play", "Games played"),
        NETWORK_ARRAY,
    )
    sample_rows = 16  # decisions
    parameters = OpeningParameters
    defaults = tuple(published_openings())
    smallest = OpeningParameters(
        *("tiny", "", 3, 3, 72, 0.00002, 144), turns=2, objective="double-match-point", first_roll="31",
        most_plays=3, sensible=1.0, sensible_plays=1, reply_until=0.00002,
    )  # fmt: skip

    def slug(self, parameters: OpeningParameters) -> str:
        by = f"{parameters.network}{parameters.how_text}"
        return f"{parameters.objective}-by-{by}-seed-{parameters.seed}-{parameters.first_roll}"

    def check_parameters(self, parameters: OpeningParameters) -> None:
        parameters.check_roller(parameters.seed)
        if parameters.objective not in OBJECTIVES:
            raise InvalidParameterError(
                f"expected an objective of {', '.join(OBJECTIVES)}, got {cite(parameters.objective)}"
            )
        if first_roll_of(parameters.first_roll) != parameters.first_roll:
            raise InvalidParameterError(f"expected the higher die first, got {parameters.first_roll}")
        check_numbers(parameters)

    def inputs(self, parameters: OpeningParameters) -> Mapping[str, tuple[str, Parameters]]:
        return parameters.network_inputs()

    def published_folder(self, parameters: OpeningParameters) -> Path | None:
        return published_folder(PUBLISHED, parameters, self.slug(parameters))

    def estimate(self, parameters: OpeningParameters) -> Estimate:
        plays = (1 + parameters.sensible_plays * len(REPLY_ROLLS)) * parameters.most_plays
        return Estimate(plays, 50_000 + 200 * plays, (1 << 28) + 2000 * plays, 20_000 + 150 * plays)


def first_roll_of(text: str) -> str:
    """Return the first roll that a string means, with the higher die first, as in `FIRST_ROLLS`. Raises
    InvalidParameterError if it is not a first roll."""
    try:
        roll = parse_roll(text)
    except InvalidRollError as error:
        raise InvalidParameterError(str(error)) from None
    if roll.is_double:
        raise InvalidParameterError(f"expected a first roll of two different dice, got {roll}")
    return str(roll)


def check_numbers(parameters: OpeningParameters) -> None:
    """Raise InvalidParameterError if a number among the parameters is out of range."""
    distances = (parameters.within, parameters.margin, parameters.sensible, parameters.reply_within)
    if not all(0 <= each < inf for each in distances):
        raise InvalidParameterError(
            f"expected within, margin, sensible and reply_within of 0 points or more, got {cite(str(distances))}"
        )
    if not 1 <= parameters.most_plays <= MAX_PLAYS or not 0 <= parameters.sensible_plays <= MAX_SENSIBLE:
        raise InvalidParameterError(
            f"expected 1 to {MAX_PLAYS} plays of a roll, of which 0 to {MAX_SENSIBLE} are answered, "
            f"got {parameters.most_plays} and {parameters.sensible_plays}"
        )
    try:
        parameters.target(is_reply=True).limits.check()
    except UsageError as error:
        raise InvalidParameterError(str(error)) from None


DATASET = Openings()

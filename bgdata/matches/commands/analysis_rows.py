"""Results of `bgdata analyze`: turns, games and players of each match as rows and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from bgdata.game.dice import to_roll
from bgdata.game.match import MatchScore, Money, Stakes
from bgdata.game.plays import Play, legal_plays
from bgdata.game.position import Position
from bgdata.matches.acts import NO_DOUBLE, ActKind, JudgedAct, Score, Totals, error_mark, luck_mark, totals_of
from bgdata.rows import COUNT, Column, Quantity, table_lines

if TYPE_CHECKING:
    from bgdata.matches.steps import AnalysedGame


SCORE_COLUMNS = (
    *("rolls", "unforced_plays", "cube_decisions", "doubles", "takes", "passes", "luck", "play_loss", "cube_loss"),
    *("normalised_luck", "normalised_play_loss", "normalised_cube_loss"),
    *("play_rating", "cube_rating", "performance_rating"),
)


@dataclass(frozen=True)
class Turn:
    """One judged act of a match. Its `number` counts from 0 in its game, as in the table `turns`; users see
    `shown_number`."""

    game: AnalysedGame
    number: int
    judged: JudgedAct

    @property
    def shown_number(self) -> int:
        """The number of the act in its game, counted from 1, as in tables and lists."""
        return self.number + 1

    @property
    def player(self) -> str:
        """The name of the player who acts."""
        return self.game.match.players[self.judged.act.player]

    @property
    def position(self) -> Position:
        """The position before the act, for the player on roll."""
        return Position(self.judged.act.board.tolist())

    @cached_property
    def plays(self) -> dict[tuple[int, ...], Play]:
        """The legal plays of the roll, by the board after them."""
        dice = self.judged.act.dice
        assert dice is not None
        return {play.after_play.board: play for play in legal_plays(self.position, to_roll(dice))}

    @property
    def play(self) -> Play | None:
        """The play that was made; None if no play was made."""
        act = self.judged.act
        return None if act.dice is None or act.after_play is None else self.plays.get(tuple(act.after_play.tolist()))

    @property
    def best_play(self) -> Play | None:
        """The best play that the analyst found; None if there is no play."""
        roll = self.judged.roll
        return self.plays[tuple(roll.candidates[0].after_play.tolist())] if roll and roll.candidates else None

    @property
    def best_cube_action(self) -> str:
        """The best cube action. For the player on roll it includes the answer; for the other player it is the best
        answer."""
        cube = self.judged.cube
        if cube is None:
            return ""
        if self.judged.best_answer:
            return str(self.judged.best_answer)
        return cube.best_action

    @property
    def made_cube_action(self) -> str:
        """The cube action that was taken."""
        return NO_DOUBLE if self.judged.act.kind is ActKind.ROLL else str(self.judged.act.kind)


@dataclass(frozen=True)
class Loss:
    """What one decision lost, in points of normalised equity."""

    turn: Turn
    is_cube: bool
    size: float

    @property
    def act_text(self) -> str:
        """The play or cube action that was made, as text."""
        return self.turn.made_cube_action if self.is_cube else str(self.turn.play)

    @property
    def best(self) -> str:
        """The best play or cube action, as text."""
        return self.turn.best_cube_action if self.is_cube else str(self.turn.best_play)


@dataclass(frozen=True)
class MatchAnalysis:
    """A match, or a money session, with all its acts judged by an analyst."""

    number: int  # number in its file, from 0, as in the table `imported_matches`
    games: Sequence[AnalysedGame]
    analyst: str

    @property
    def players(self) -> tuple[str, str]:
        """The names of both players."""
        return self.games[0].match.players

    @property
    def length(self) -> int:
        """The points that win the match; 0 for money play."""
        return self.games[0].match.length

    @property
    def is_jacoby(self) -> bool:
        """Whether the match was judged with the Jacoby rule."""
        return any(turn.judged.act.stakes.score == Money(is_jacoby=True) for turn in self.turns)

    @cached_property
    def notes(self) -> list[list[str]]:
        """Notes on each game about repairs and missing games; see `steps.notes_on`."""
        from bgdata.matches.steps import notes_on

        return notes_on(self.games[0].match, [game.game for game in self.games])

    def notes_of(self, game: AnalysedGame) -> str:
        """Return the notes on one game, joined in one string."""
        (found,) = (notes for each, notes in zip(self.games, self.notes, strict=True) if each is game)
        return "; ".join(found)

    @cached_property
    def turns(self) -> list[Turn]:
        """All judged acts of the match, game by game."""
        return [Turn(game, number, act) for game in self.games for number, act in enumerate(game.judged.acts)]

    @cached_property
    def totals(self) -> Totals:
        """The luck, losses and results of all games, added up."""
        return totals_of([game.judged for game in self.games])

    @cached_property
    def losses(self) -> list[Loss]:
        """All errors that have a mark, the largest loss first."""
        found = [
            Loss(turn, is_cube, size / turn.judged.point)
            for turn in self.turns
            for is_cube, size in ((True, turn.judged.cube_loss), (False, turn.judged.play_loss))
        ]
        return sorted((loss for loss in found if error_mark(loss.size)), key=lambda loss: -loss.size)


def analysed_matches(games: Sequence[AnalysedGame], analyst: str) -> list[MatchAnalysis]:
    """Return the judged games, grouped by match. `analyst` is the name of the player that judged them."""
    found = [list(group) for _, group in groupby(games, key=lambda game: id(game.match))]
    return [MatchAnalysis(number, group, analyst) for number, group in enumerate(found)]


def stakes_columns(stakes: Stakes) -> dict[str, Any]:
    """Return the columns of a row that describe the stakes for the player on roll. In money play the points to go are
    None."""
    score = stakes.score
    away, opponent_away = (score.away, score.opponent_away) if isinstance(score, MatchScore) else (None, None)
    return {
        "away": away,
        "opponent_away": opponent_away,
        "is_crawford": stakes.is_crawford,
        "is_jacoby": score.is_jacoby if isinstance(score, Money) else None,
        "cube_value": stakes.cube.value,
        "cube_owner": str(stakes.cube.owner),
    }


def turn_row(analysis: MatchAnalysis, turn: Turn) -> dict[str, Any]:
    """Return one act as a row of data, in mwc or points of the player who acts; values of cube actions are for the
    player on roll."""
    judged, cube = turn.judged, turn.judged.cube
    luck, play_loss, cube_loss = (value / judged.point for value in (judged.luck, judged.play_loss, judged.cube_loss))
    return {
        "match": analysis.number,
        "game_number": turn.game.game.number,
        "turn": turn.number,
        "turn_number": turn.shown_number,
        "player_number": judged.act.player,
        "player": turn.player,
        "act": str(judged.act.kind),
        "position_id": turn.position.id,
        **stakes_columns(judged.act.stakes),
        "roll": "".join(map(str, judged.act.dice or ())),
        "play": str(turn.play or ""),
        "best_play": str(turn.best_play or ""),
        "best_cube_action": turn.best_cube_action,
        "unit": "mwc" if analysis.length else "points",
        "worth_before": judged.start,
        "worth_after": judged.end,
        "luck": judged.luck,
        "play_loss": judged.play_loss,
        "cube_loss": judged.cube_loss,
        "drift": judged.drift + judged.correction,
        "no_double": cube.no_double if cube else None,
        "double_take": cube.double_take if cube else None,
        "double_pass": cube.double_pass if cube else None,
        "normalised_luck": luck,
        "normalised_play_loss": play_loss,
        "normalised_cube_loss": cube_loss,
        "is_play_decision": judged.is_play_decision,
        "is_cube_decision": judged.is_cube_decision,
        "play_mark": error_mark(play_loss),
        "cube_mark": error_mark(cube_loss),
        "luck_mark": luck_mark(luck),
    }


def game_row(analysis: MatchAnalysis, game: AnalysedGame) -> dict[str, Any]:
    """Return one game as a row of data, in mwc or points of player 0. Figures of an unfinished game are None."""
    found = totals_of([game.judged])
    return {
        "match": analysis.number,
        "game_number": game.game.number,
        "player_0": analysis.players[0],
        "player_1": analysis.players[1],
        "score_0": game.game.score[0],
        "score_1": game.game.score[1],
        "turns": len(game.judged.acts),
        "unit": "mwc" if analysis.length else "points",
        "initial": game.judged.initial,
        "result": found.result,
        "net_luck": found.net_luck,
        "net_skill": found.net_skill,
        "net_drift": found.net_drift,
        "luck_adjusted": found.luck_adjusted,
        "performance_rating_0": found.scores[0].performance_rating,
        "performance_rating_1": found.scores[1].performance_rating,
        "notes": analysis.notes_of(game),
    }


def player_rows(analysis: MatchAnalysis) -> Iterator[dict[str, Any]]:
    """Yield a row of data for each player of a match, with that player's own result."""
    found = analysis.totals
    for player, score in enumerate(found.scores):
        sign = 1 - 2 * player
        marked = {mark.replace(" ", "_"): count for mark, count in score.marked.items()}
        yield {
            "match": analysis.number,
            "player_number": player,
            "player": analysis.players[player],
            "match_length": analysis.length,
            "unit": "mwc" if analysis.length else "points",
            "result": None if found.result is None else sign * found.result,
            "luck_adjusted": None if found.luck_adjusted is None else sign * found.luck_adjusted,
            **{name: getattr(score, name) for name in SCORE_COLUMNS},
            **marked,
            "notes": "; ".join(note for notes in analysis.notes for note in notes),
        }


POINTS, AMOUNT = Quantity(3, sign="+"), Quantity(3)
SIGNS = {"doubtful": "?!", "bad": "?", "very bad": "??", "": ""}
NOTE = (
    "luck and losses in points of normalised equity: 1 is half of what lies between winning and losing the cube\n"
    "?! doubtful from 0.03, ? bad from 0.06, ?? very bad from 0.12; rating: thousandths lost per decision\n"
    "luck-adj. = result - net luck; drift: changed evaluations, and what a resignation settled"
)


def describe_match(analysis: MatchAnalysis, most_errors: int, *, with_turns: bool, with_games: bool) -> str:
    """Return the analysis of a match as lines of text: figures, then, if requested, turns and games, then the worst
    errors."""
    lines = [headline(analysis), ""]
    if with_turns:
        for game in analysis.games:
            lines += [*turn_lines(analysis, game), ""]
    if with_games:
        lines += [*game_lines(analysis), ""]
    lines += [*table_lines(*player_table(analysis)), ""]
    if analysis.losses and most_errors:
        lines += [*error_lines(analysis, most_errors), ""]
    return "\n".join([*lines, NOTE])


def headline(analysis: MatchAnalysis) -> str:
    """Return a line of text with the players, the match length and the analyst."""
    money = "for money with the Jacoby rule" if analysis.is_jacoby else "for money"
    what = f"a match to {analysis.length}" if analysis.length else money
    return f"{analysis.players[0]} against {analysis.players[1]}, {what}; analysed by {analysis.analyst}"


def worth_quantity(analysis: MatchAnalysis, *, is_change: bool = True) -> Quantity:
    """Return the number format of values in a match (mwc in percent) or in money play (points). `is_change` adds a
    sign."""
    sign = "+" if is_change or not analysis.length else ""
    return Quantity(2, 100, sign, " %") if analysis.length else Quantity(3, sign=sign)


def worth_text(analysis: MatchAnalysis, worth: float | None, *, is_change: bool = True) -> str:
    """Return a value as text with its unit; `-` for None."""
    return "-" if worth is None else worth_quantity(analysis, is_change=is_change).text(worth)


def net_columns(quantity: Quantity, width: int) -> list[Column]:
    """Return the columns of a table of games that show the result of player 0 and its parts."""
    heads = {"result": "result", "net_luck": "net luck", "net_skill": "net skill", "net_drift": "net drift"}
    heads["luck_adjusted"] = "luck-adj."
    return [Column(name, quantity, head, width=width, missing="-") for name, head in heads.items()]


def turn_lines(analysis: MatchAnalysis, game: AnalysedGame) -> Iterator[str]:
    """Yield lines of text for the turns of one game. A missed cube action has a line of its own."""
    players, score = analysis.players, game.game.score
    for_points = f": {players[0]} {score[0]}, {players[1]} {score[1]}" if analysis.length else ""
    columns = (
        Column("turn", COUNT),
        Column("player", heading="", width=max(map(len, players))),
        Column("act", heading="", width=6),
        Column("play", width=26),
        Column("worth", worth_quantity(analysis, is_change=False), "mwc" if analysis.length else "points", width=8),
        Column("luck", POINTS, width=6),
        Column("loss", AMOUNT, width=5),
        Column("mark", heading="", width=2, gap=1),
        Column("best"),
    )
    yield f"game {game.game.number}{for_points}"
    turns = (turn for turn in analysis.turns if turn.game is game)
    yield from table_lines(columns, (row for turn in turns for row in turn_cells(turn)))


def turn_cells(turn: Turn) -> Iterator[dict[str, Any]]:
    """Yield the rows that show a turn: one, or two if a double was missed before the roll and that was an error."""
    judged, act = turn.judged, turn.judged.act
    row = {"turn": turn.shown_number, "player": turn.player, "worth": judged.start}
    cube_loss, play_loss = judged.cube_loss / judged.point, judged.play_loss / judged.point
    if act.kind is not ActKind.ROLL:
        yield row | {"act": act.kind, "best": turn.best_cube_action if cube_loss else "", **loss_cells(cube_loss)}
        return
    if loss_cells(cube_loss):
        yield row | {"play": NO_DOUBLE, "best": turn.best_cube_action, **loss_cells(cube_loss)}
    row |= {"act": "".join(map(str, act.dice or ())), "play": turn.play, "luck": judged.luck / judged.point}
    yield row | {"best": turn.best_play if play_loss else "", **loss_cells(play_loss)}


def loss_cells(loss: float) -> dict[str, Any]:
    """Return the cells `loss` and `mark` of a row; empty if the loss rounds to 0."""
    return {"loss": loss, "mark": SIGNS[error_mark(loss)]} if loss >= 5e-4 else {}


def game_lines(analysis: MatchAnalysis) -> Iterator[str]:
    """Yield the games as lines of text, from player 0's point of view, and their sum."""
    rows = [game_row(analysis, game) for game in analysis.games]
    for row in rows:
        row["ratings"] = " ".join(f"{row[f'performance_rating_{player}']:>6.1f}" for player in (0, 1))
    if len(rows) > 1:
        rows.append({"game_number": "sum", **vars(analysis.totals)})
    columns = [Column("game_number", heading="game", is_right=True), Column("turns", COUNT)]
    columns += net_columns(worth_quantity(analysis), 10)
    columns.append(Column("ratings", width=13, is_right=True))
    head, *lines = table_lines(columns, rows)
    yield f"{head}  (to {analysis.players[0]})"
    yield from lines


def player_table(analysis: MatchAnalysis) -> tuple[list[Column], list[dict[str, str]]]:
    """Return the columns and rows of a table with both players side by side."""
    first, second = (score_items(analysis, score) for score in analysis.totals.scores)
    rows = [{"name": name, "0": left, "1": right} for (name, left), (_, right) in zip(first, second, strict=True)]
    players = (Column(str(n), heading=name, is_right=True) for n, name in enumerate(analysis.players))
    return [Column("name", heading="", width=18), *players], rows


def score_items(analysis: MatchAnalysis, score: Score) -> list[tuple[str, str]]:
    """Return the figures of one player, as pairs of name and text."""
    return [
        ("rolls", str(score.rolls)),
        ("luck", sum_text(analysis, score.normalised_luck, score.luck, sign="+")),
        ("unforced plays", str(score.unforced_plays)),
        ("lost by plays", sum_text(analysis, score.normalised_play_loss, score.play_loss)),
        ("cube decisions", str(score.cube_decisions)),
        ("lost by the cube", sum_text(analysis, score.normalised_cube_loss, score.cube_loss)),
        *((f"{mark} {SIGNS[mark]}", str(count)) for mark, count in score.marked.items()),
        ("rating of plays", f"{score.play_rating:.1f}"),
        ("rating of the cube", f"{score.cube_rating:.1f}"),
        ("performance rating", f"{score.performance_rating:.1f}"),
    ]


def sum_text(analysis: MatchAnalysis, normalised: float, worth: float, sign: str = "") -> str:
    """Return a sum as text: in points of normalised equity, and in mwc or points."""
    other = f"{100 * worth:{sign}.2f} % mwc" if analysis.length else f"{worth:{sign}.3f} points"
    return f"{normalised:{sign}.3f} ({other})"


def error_lines(analysis: MatchAnalysis, most: int) -> Iterator[str]:
    """Yield lines of text about the worst errors, at most `most`."""
    shown: Sequence[Loss] = analysis.losses[:most]
    total = len(analysis.losses)
    rows = (
        {
            **loss_cells(loss.size),
            "where": f"game {loss.turn.game.game.number} turn {loss.turn.shown_number:<3}",
            "player": loss.turn.player,
            "roll": "" if loss.is_cube else "".join(map(str, loss.turn.judged.act.dice or ())),
            "made": loss.act_text,
            "best": f"best: {loss.best}",
        }
        for loss in shown
    )
    columns = (
        Column("loss", AMOUNT, ""),
        Column("mark", heading="", width=2, gap=1),
        *(Column(name, heading="", width=2) for name in ("where", "player", "roll", "made", "best")),
    )
    yield f"the {len(shown)} worst of {total} marked errors" if len(shown) < total else f"{total} marked errors"
    yield from table_lines(columns, rows)

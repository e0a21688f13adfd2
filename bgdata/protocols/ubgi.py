"""UBGI, the Universal Backgammon Interface: programs talk to engines in lines, as with UCI in chess.

    position gnubgid 4HPwATDgc/ABMA
    dice 3 1
    go chequer
    bestmove 8/5 6/5

This is version 0.2, which counts plies from 1: its `engine.ply` is one more than bgdata's ply. Commands of 0.1 work too
(`setoption name engine.ply value 2`, `go role chequer`). There are three extensions: the answer to a double, if the
position of a gnubg ID or XGID contains one; `go eval`, which replies with the five chances; and
`go ... ply N trials N seed N`, which are settings for one question. Source: the specification of 0.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bgdata.equity.doubling import NOT_ALLOWED
from bgdata.errors import BgdataError, EngineRefusedError, InvalidMessageError, cite
from bgdata.evaluation.chances import CHANCES
from bgdata.evaluation.lookahead import MAX_PLY
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.talk import Talk
from bgdata.game.board import BAR
from bgdata.game.classes import check_in_progress
from bgdata.game.dice import Roll, roll_of
from bgdata.game.identifiers import parse_identifier
from bgdata.game.match import Money, Stakes
from bgdata.game.match_state import MatchState, Offer
from bgdata.game.plays import OFF, Play
from bgdata.game.position import Position
from bgdata.protocols.decisions import Decisions
from bgdata.version import __version__

PROTOCOL = "0.2"
PASS = "pass"
_INTEGER = re.compile(r"\d{1,19}", re.ASCII)
_SWITCHES = {"true": 1, "on": 1, "1": 1, "false": 0, "off": 0, "0": 0}
_SHOWN_PLAYS = 5


def protocol_error(code: str, detail: str) -> EngineRefusedError:
    """Return an error of the protocol, with a code and an explanation."""
    return EngineRefusedError(f"error {code} {detail}")


@dataclass(frozen=True)
class Key:
    """A setting of the engine: its type, its range and default, and its meaning."""

    kind: str
    least: int
    most: int
    default: int
    text: str
    is_minor: bool = False

    def parse(self, name: str, text: str) -> int:
        """Convert the text of a value to a number. Raises EngineRefusedError if the text is not a value of this
        setting; the message names the setting `name`."""
        number = _SWITCHES.get(text) if self.kind == "bool" else int(text) if _INTEGER.fullmatch(text) else None
        if number is None or not self.least <= number <= self.most:
            expected = "true or false" if self.kind == "bool" else f"{self.least}..{self.most}"
            raise protocol_error("bad_value", f"{name} expected {expected}, got {cite(text)}")
        return number

    def show(self, number: int) -> str:
        """Convert a number to the text of a value of this setting."""
        return ("false", "true")[number] if self.kind == "bool" else str(number)


KEYS = {
    "engine.ply": Key("int", 1, MAX_PLY + 1, 1, "rolls looked ahead, and one"),
    "engine.trials": Key("int", 0, 1 << 20, 0, "games of a rollout, a multiple of 36 from 72; 0: none"),
    "engine.seed": Key("int", 0, 1 << 62, 0, "of the dice of rollouts", is_minor=True),
    "game.jacoby": Key("bool", 0, 1, 0, "the Jacoby rule, where an identifier does not say"),
    "game.beavers": Key("bool", 0, 1, 0, "beavers, in money play, also where an identifier does not say so"),
}
_OF_GO = {"ply": "engine.ply", "trials": "engine.trials", "rollout": "engine.trials", "seed": "engine.seed"}


class UbgiEngine:
    """The engine's side of a UBGI conversation. `is_quit` is True after the command `quit`."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions
        self._settings = {name: key.default for name, key in KEYS.items()}
        self._settings["engine.ply"] = decisions.player.ply + 1
        self._players = {decisions.player.ply: decisions.player}
        self._commands: dict[str, Callable[[list[str]], list[str]]] = {
            "ubgi": self._hello, "isready": lambda _: ["readyok"], "newgame": self._new_game, "quit": self._quit,
            "stop": lambda _: [], "position": self._set_position, "dice": self._set_dice, "go": self._go,
            "set": self._set, "setoption": self._set_option, "get": self._get, "keys": self._keys,
        }  # fmt: skip
        self.is_quit = False
        self._new_game([])

    def answers(self, line: str) -> list[str]:
        """Return the lines that answer a line; empty for a blank line or a setting."""
        command, *words = line.split() or [""]
        if not command:
            return []
        try:
            if command not in self._commands:
                raise protocol_error(
                    "bad_command", f"expected one of {' '.join(self._commands)}, got {cite(command, 40)}"
                )
            return self._commands[command](words)
        except EngineRefusedError as error:
            return [str(error)]
        except BgdataError as error:
            return [f"error bad_value {error}"]

    def conversation(self, talk: Talk) -> Iterator[tuple[str, list[str]]]:
        """Answer every line until the other side ends or sends `quit`. Yields each line with its answer. Raises
        ExternalProgramError if the other side does not read."""
        while not self.is_quit:
            try:
                line = talk.read_line()
                if line is None:
                    return
                answers = self.answers(line)
            except InvalidMessageError as error:
                line, answers = "", [f"error bad_command {error}"]
            for answer in answers:
                talk.write_line(answer)
            yield line, answers

    def _hello(self, _: list[str]) -> list[str]:
        label = self._decisions.player.evaluator.label
        return [f"id name bgdata {label}", "id author bgdata", f"id version {__version__}",
                f"proto {PROTOCOL}", "ubgiok"]  # fmt: skip

    def _quit(self, _: list[str]) -> list[str]:
        self.is_quit = True
        return []

    def _new_game(self, _: list[str]) -> list[str]:
        self._position: Position | None = None
        self._match: MatchState | None = None
        self._roll: Roll | None = None
        return []

    def _set_position(self, words: list[str]) -> list[str]:
        if not words or words[0] not in ("gnubgid", "xgid"):
            raise protocol_error("bad_command", f"expected position gnubgid ID or position xgid ID, got {cite(words)}")
        position, match = parse_identifier(" ".join(words[1:]))
        self._position, self._match = check_in_progress(position), match
        self._roll = match.roll if match else None
        return []

    def _set_dice(self, words: list[str]) -> list[str]:
        if len(words) != 2 or not all(word in "123456" and len(word) == 1 for word in words):
            raise protocol_error("bad_value", f"expected dice of 1 to 6, such as dice 3 1, got {cite(' '.join(words))}")
        self._roll = roll_of(int(words[0]), int(words[1]))
        return []

    def _set(self, words: list[str]) -> list[str]:
        if len(words) != 2:
            raise protocol_error("bad_command", f"expected set KEY VALUE, got {cite(' '.join(words))}")
        name, text = words
        if name == "game.variant":
            if text != "backgammon":
                raise protocol_error("unsupported", f"game.variant expected backgammon, got {cite(text)}")
        else:
            self._settings[name] = self._key(name).parse(name, text)
        return []

    def _set_option(self, words: list[str]) -> list[str]:
        if len(words) != 4 or words[::2] != ["name", "value"]:
            raise protocol_error("bad_command", f"expected setoption name KEY value VALUE, got {cite(' '.join(words))}")
        _, name, _, text = words
        return self._set(["game.variant" if name == "Variant" else name, text])

    def _get(self, words: list[str]) -> list[str]:
        if len(words) != 1:
            raise protocol_error("bad_command", f"expected get KEY, got {cite(' '.join(words))}")
        (name,) = words
        if name == "game.variant":
            return [f"value {name} backgammon"]
        return [f"value {name} {self._key(name).show(self._settings[name])}"]

    def _keys(self, _: list[str]) -> list[str]:
        lines = ["key game.variant enum backgammon backgammon"]
        for name, key in KEYS.items():
            bounds = "" if key.kind == "bool" else f" {key.least}..{key.most}"
            lines.append(f"key {name} {key.kind}{bounds} {key.show(key.default)}{' !' * key.is_minor} {key.text}")
        return lines

    @staticmethod
    def _key(name: str) -> Key:
        if name not in KEYS:
            raise protocol_error("unsupported", f"expected a key among {' '.join(KEYS)}, got {cite(name, 40)}")
        return KEYS[name]

    def _go(self, words: list[str]) -> list[str]:
        words = words[1:] if words[:1] == ["role"] else words
        roles = {"chequer": self._best_move, "cube": self._best_cube, "turn": self._best_turn, "eval": self._chances}
        role, *words = words if words and words[0] not in _OF_GO else ["chequer", *words]
        if role not in roles:
            raise protocol_error("bad_command", f"expected go {'|'.join(roles)}, got {cite(role, 40)}")
        position = self._position
        if position is None:
            raise protocol_error("bad_state", "missing position")
        return roles[role](self._decisions_for(words), position)

    def _decisions_for(self, words: list[str]) -> Decisions:
        """Return a player with the engine's settings, except those that the words of this question change."""
        settings = dict(self._settings)
        names = [_OF_GO.get(word) for word in words[::2]]
        if len(words) % 2 or not all(names):
            raise protocol_error("bad_command", f"expected ply, trials or seed and N, got {cite(' '.join(words))}")
        for name, text in zip(names, words[1::2], strict=True):
            assert name
            settings[name] = KEYS[name].parse(name, text)
        ply, first = settings["engine.ply"] - 1, self._decisions.player
        if ply not in self._players:
            self._players[ply] = LookaheadPlayer(first.evaluator, ply, first.filters, first.cubes)
        has_beavers = bool(settings["game.beavers"]) or bool(self._match and self._match.has_beavers)
        rules = replace(self._decisions.rules, has_beavers=has_beavers)
        return Decisions(self._players[ply], rules, settings["engine.trials"], settings["engine.seed"])

    @property
    def _stakes(self) -> Stakes:
        if self._match is None:
            return Stakes(Money(is_jacoby=bool(self._settings["game.jacoby"])))
        return self._match.stakes

    def _best_move(self, decisions: Decisions, position: Position) -> list[str]:
        play, infos = self._rank(decisions, position)
        return [*infos, f"bestmove {format_moves(play)}"]

    def _rank(self, decisions: Decisions, position: Position) -> tuple[Play, list[str]]:
        """Return the best play of the position's roll, and info lines about the best plays."""
        if self._roll is None:
            raise protocol_error("bad_state", "missing dice")
        ranked = decisions.rank(position, self._roll, self._stakes)
        unit = "points" if isinstance(self._stakes.score, Money) else "mwc"
        infos = [
            f"info multipv {place} score {worth.value:.6f} {unit} error {worth.standard_error:.6f}"
            f" pv {format_moves(play)}"
            for place, (play, worth) in enumerate(ranked[:_SHOWN_PLAYS], start=1)
        ]
        return ranked[0].play, infos

    def _best_cube(self, decisions: Decisions, position: Position) -> list[str]:
        stakes = self._stakes
        equities, error = decisions.equities(position, stakes)
        told = " ".join(f"{name} {value:.6f}" for name, value in equities._asdict().items() if value > NOT_ALLOWED)
        if self._match and self._match.offer != Offer.NONE:
            best: Any = decisions.answer(position, stakes, by_roller=self._match.offer == Offer.BEAVER)
        else:
            best = "double" if decisions.doubles(position, stakes) else "nodouble"
        return [f"info cube {told} error {error:.6f}", f"bestcube {best}"]

    def _best_turn(self, decisions: Decisions, position: Position) -> list[str]:
        play, infos = self._rank(decisions, position)
        cube = "double" if decisions.doubles(position, self._stakes) else "nodouble"
        return [*infos, f"bestturn cube={cube} move={format_moves(play)}"]

    def _chances(self, decisions: Decisions, position: Position) -> list[str]:
        found = decisions.player.evaluate(position)
        return ["chances " + " ".join(f"{getattr(found, name):.9g}" for name in CHANCES)]


def format_moves(play: Play) -> str:
    """Return checker moves in UBGI notation, each written separately: `bar/22 13/10`; `pass` if there are none."""
    names = {BAR: "bar", OFF: "off"}
    moves = [f"{names.get(start, start)}/{names.get(end, end)}" for start, end, _ in play.moves]
    return " ".join(moves) or PASS

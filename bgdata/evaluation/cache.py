"""Looking ahead with a cache: a position that is asked for again has the same answer, without computing."""

from __future__ import annotations

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.evaluator import Evaluations, Evaluator
from bgdata.evaluation.lookahead import evaluate_ahead
from bgdata.game.codec import Boards

MOST_ANSWERS = 1 << 16  # some 20 MB

_Answer = tuple[NDArray[np.float32], int]


class EvaluationCache:
    """A `lookahead.Look` that keeps at most `most` answers of ply 1 and up, and empties itself when it is full.

    The answer of an evaluator depends on the board alone, to the last bit, so a cached answer is the same as a new one.
    """

    def __init__(self, evaluator: Evaluator, most: int = MOST_ANSWERS) -> None:
        self.evaluator, self.most = evaluator, most
        self._answers: dict[bytes, _Answer] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def __call__(self, boards: Boards, ply: int) -> Evaluations:
        """Evaluations of int8[n, 26] boards at a ply: see `lookahead.evaluate_ahead`."""
        if ply == 0:
            return self.evaluator.evaluate_many(boards)
        keys = [bytes([ply]) + board.tobytes() for board in boards]
        known = [self._answers.get(key) for key in keys]
        unknown = {key: row for row, (key, answer) in enumerate(zip(keys, known, strict=True)) if answer is None}
        found = evaluate_ahead(self.evaluator, boards[list(unknown.values())], ply)
        fresh = dict(zip(unknown, zip(found.chances, found.sources.tolist(), strict=True), strict=True))
        self._remember(fresh)
        answers = [answer or fresh[key] for key, answer in zip(keys, known, strict=True)]
        chances = np.array([chances for chances, _ in answers], np.float32).reshape(-1, 5)
        return Evaluations(chances, np.array([source for _, source in answers], np.int8))

    def _remember(self, fresh: dict[bytes, _Answer]) -> None:
        if len(self._answers) + len(fresh) > self.most:
            self._answers.clear()
        self._answers.update(islice(fresh.items(), self.most))

"""ONNX files as evaluators, run by onnxruntime. It is in the optional extra `onnx`; nothing else here needs it.

A file takes `int8[N, 26]` boards of the player on roll before the roll, and gives `float32[N, 5]` chances. Or it takes
`float32[N, k]`, the inputs of a set that its metadata names in the property `inputs`, such as `tesauro-196`: they are
computed here. It must be whole: data in other files, and operations of other libraries, are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bgdata.errors import (
    CorruptFileError,
    ExternalProgramError,
    MissingFileError,
    UsageError,
    needing,
    shown,
)
from bgdata.evaluation.chances import Chances, ordered_chances
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.evaluation.networks.inputs import UNIT, encode, input_count
from bgdata.evaluation.programs import answers_of_program, check_chances
from bgdata.game.codec import Boards
from bgdata.kernel import thread_count
from bgdata.store.storage import storage_errors

BATCH = 1 << 10  # positions asked about at a time: bounds the memory, and fits caches
INPUTS = "inputs"  # property of a file that takes other inputs than boards
_FORM = "int8[N, 26] -> float32[N, 5], or float32[N, k] of a set of inputs that its metadata names"


class OnnxEvaluator:
    """A file as an evaluator of positions; the rules evaluate finished games. Pickled, it is only its path.

    Raises MissingFileError, UsageError for a folder or for other inputs or outputs, UnknownInputSetError,
    CorruptFileError for what is no ONNX file, StorageError, and MissingExtraError without onnxruntime.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        content = content_of(self.path)
        self.version = hashlib.sha256(content).hexdigest()
        self._session = open_session(self.path, content)
        self._input_set = check_form(self.path, self._session)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    @property
    def label(self) -> str:
        """The name of the file, in letters, digits and -."""
        return re.sub("[^A-Za-z0-9]+", "-", self.path.stem).strip("-") or "onnx"

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """Name and digest of the file; see `evaluator.Evaluator`."""
        return {AnswerSource.PROGRAM: f"{self.path.name}, SHA-256 {self.version[:8]}"}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        """See `evaluator.Evaluator`. Raises ExternalProgramError for answers that are no chances, and where the file
        cannot be run."""
        return answers_of_program(boards, self._chances, str(self.path))

    def _chances(self, boards: Boards) -> Chances:
        parts = [self._ask(boards[start : start + BATCH]) for start in range(0, len(boards), BATCH)]
        return np.concatenate([np.empty((0, 5), np.float32), *parts])

    def _ask(self, boards: Boards) -> Chances:
        given = boards if self._input_set is None else encode(self._input_set, boards) / np.float32(UNIT)
        try:
            (chances,) = self._session.run(None, {self._session.get_inputs()[0].name: given})
        except Exception as error:  # onnxruntime has no class for its errors
            raise ExternalProgramError(f"expected answers of {self.path}, got {first_line(error)}") from error
        check_answers(self.path, boards, chances, has_order=self._input_set is None)
        return ordered_chances(chances)


def content_of(path: Path) -> bytes:
    """The bytes of a file. Raises MissingFileError, UsageError for a folder, and StorageError."""
    if path.is_dir():
        raise UsageError(f"expected an ONNX file, got the folder {path}")
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise UsageError(f"expected an ONNX file, got {path}, which is no regular file")
    if not path.exists():
        raise MissingFileError(f"expected an ONNX file, found nothing at {path}; try: bgdata export onnx -o {path}")
    with storage_errors("read", path):
        return path.read_bytes()


def open_session(path: Path, content: bytes) -> Any:
    """A session of onnxruntime on the processor, with as many threads as kernels have, whose sums do not depend on
    time. Raises CorruptFileError, and MissingExtraError where onnxruntime is not installed."""
    with needing("onnx", f"to run {path}"):
        runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = thread_count(), 1
    options.use_deterministic_compute, options.log_severity_level = True, 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other threads compute in between
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except MemoryError:
        raise
    except Exception as error:  # onnxruntime has no class for its errors
        raise CorruptFileError(
            f"expected an ONNX file that onnxruntime can run, got {path}: {first_line(error)}"
        ) from (error)


class Form(NamedTuple):
    """What goes into a file or comes out of it: a type, and the sizes after the number of positions."""

    dtype: str
    sizes: tuple[object, ...]

    def __str__(self) -> str:
        return f"{'float32' if self.dtype == 'float' else self.dtype}[{', '.join(map(str, self.sizes))}]"


def form_of(value: Any) -> Form:
    """The form of an input or output of a session; N is any number."""
    return Form(re.sub(r"tensor\((.*)\)", r"\1", value.type), tuple(value.shape))


def check_form(path: Path, session: Any) -> InputSet | None:
    """The set of inputs that a session takes, None for boards. Raises UsageError for another form, and
    UnknownInputSetError."""
    given, found = ([form_of(each) for each in values] for values in (session.get_inputs(), session.get_outputs()))
    label = session.get_modelmeta().custom_metadata_map.get(INPUTS, "")
    wanted = Form("int8", (26,)) if not label else Form("float", (input_count(input_set_named(label)),))
    pairs = ((given, wanted), (found, Form("float", (5,))))
    if not all(len(forms) == 1 and fits(forms[0], form) for forms, form in pairs):
        text = " -> ".join(", ".join(map(str, forms)) for forms in (given, found))
        said = f" with {INPUTS}={label}" if label else ""
        raise UsageError(f"expected an ONNX file {_FORM}, got {path}: {shown(text + said, 160)}")
    return input_set_named(label) if label else None


def fits(form: Form, wanted: Form) -> bool:
    """Whether a form takes any number of rows of what is wanted; outputs may leave sizes open."""
    if len(form.sizes) != 2 or isinstance(form.sizes[0], int):
        return False
    return form.dtype == wanted.dtype and (form.sizes[1] == wanted.sizes[0] or not isinstance(form.sizes[1], int))


def check_answers(path: Path, boards: Boards, chances: Chances, *, has_order: bool) -> None:
    """Raise ExternalProgramError unless these are chances float32[n, 5] of the boards, as `check_chances` says."""
    if np.shape(chances) != (len(boards), 5):
        raise ExternalProgramError(f"expected chances [{len(boards)}, 5] from {path}, got {list(np.shape(chances))}")
    check_chances(boards, chances, str(path), has_order=has_order)


def first_line(error: Exception) -> str:
    """The first line of what onnxruntime says, without its own marks and the place in its source."""
    marks = r"\[ONNXRuntimeError\] : \d+ : (?:[A-Z_]+ : (?=/))?|/\S+\.(?:cc|h):\d+ .*?\) (?=[A-Z])"
    return shown(re.sub(marks, "", str(error)).strip().partition("\n")[0], 160)

"""ONNX files as evaluators. They are run by onnxruntime, from the optional extra `onnx`.

A file takes `int8[N, 26]` boards of the player on roll before the roll, and returns `float32[N, 5]` chances. Or it
takes `float32[N, k]`, inputs that are computed here; the metadata property `inputs` names their set, such as
`tesauro-196`. External data files and operations of other libraries are refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bgdata.errors import CorruptFileError, ExternalProgramError, MissingFileError, UsageError, cite, needing
from bgdata.evaluation.chances import AnswerSource, Chances, ordered_chances
from bgdata.evaluation.networks.contact_inputs import UNIT
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.evaluation.networks.inputs import encode, input_count
from bgdata.evaluation.programs import ProgramEvaluator, check_chances
from bgdata.game.codec import Boards
from bgdata.kernel import thread_count
from bgdata.store.storage import storage_errors

BATCH = 1 << 10  # number of positions at a time, to limit memory and to fit caches
INPUTS = "inputs"  # metadata property of files that do not take boards
_FORM = "int8[N, 26] -> float32[N, 5], or float32[N, k] of a set of inputs that its metadata names"


class OnnxEvaluator(ProgramEvaluator):
    """Evaluates positions with the network in an ONNX file; the rules evaluate finished games. A pickle contains only
    the path.

    Raises MissingFileError if there is no file; UsageError for a folder, or for other inputs or outputs;
    UnknownInputSetError for an unknown input set; CorruptFileError if the file is not ONNX; StorageError if it cannot
    be read; and MissingExtraError if onnxruntime is not installed. Evaluations raise ExternalProgramError if the file
    cannot be run."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        super().__init__(re.sub("[^A-Za-z0-9]+", "-", self.path.stem).strip("-") or "onnx", str(path))
        if not self.path.exists():
            raise MissingFileError(f"expected an ONNX file, found nothing at {path}; try: bgdata export onnx -o {path}")
        if not self.path.is_file():  # reading a pipe would block
            what = f"the folder {path}" if self.path.is_dir() else f"{path}, which is not a regular file"
            raise UsageError(f"expected an ONNX file, got {what}")
        with storage_errors("read", self.path):
            content = self.path.read_bytes()
        self.version = hashlib.sha256(content).hexdigest()
        self._session = open_session(self.path, content)
        self._input_set = check_form(self.path, self._session)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path,)

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        """The name and digest of the file, as the accuracy of its answers; see `chances.Evaluator`."""
        return {AnswerSource.PROGRAM: f"{self.path.name}, SHA-256 {self.version[:8]}"}

    def chances(self, boards: Boards) -> Chances:
        found = np.empty((len(boards), 5), np.float32)
        for start in range(0, len(boards), BATCH):
            some = boards[start : start + BATCH]
            given = some if self._input_set is None else encode(self._input_set, some) / np.float32(UNIT)
            try:
                (chances,) = self._session.run(None, {self._session.get_inputs()[0].name: given})
            except Exception as error:  # onnxruntime has no class for its errors
                raise ExternalProgramError(f"expected answers of {self.path}, got {first_line(error)}") from error
            if np.shape(chances) != (len(some), 5):
                shape = list(np.shape(chances))
                raise ExternalProgramError(f"expected chances [{len(some)}, 5] from {self.path}, got {shape}")
            check_chances(some, chances, self.name, has_order=self._input_set is None)
            found[start : start + BATCH] = ordered_chances(chances)
        return found


def open_session(path: Path, content: bytes) -> Any:
    """Open an onnxruntime session on the CPU that uses as many threads as our kernels and gives repeatable sums.
    `content` is the content of the file at `path`. Raises CorruptFileError if it is not ONNX, and MissingExtraError if
    onnxruntime is not installed."""
    with needing("onnx", f"to run {path}"):
        runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = thread_count(), 1
    options.use_deterministic_compute, options.log_severity_level = True, 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # lets other threads compute in between
    try:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except MemoryError:
        raise
    except Exception as error:  # onnxruntime has no class for its errors
        message = f"expected an ONNX file that onnxruntime can run, got {path}: {first_line(error)}"
        raise CorruptFileError(message) from error


class Form(NamedTuple):
    """The form of an input or output in an ONNX file: its type, and the dimensions after the number of positions."""

    dtype: str
    sizes: tuple[object, ...]

    def __str__(self) -> str:
        return f"{'float32' if self.dtype == 'float' else self.dtype}[{', '.join(map(str, self.sizes))}]"

    def fits(self, dtype: str, count: int) -> bool:
        """Whether this form accepts any number of rows of `count` numbers of type `dtype`. An output may leave the
        count open."""
        if self.dtype != dtype or len(self.sizes) != 2 or isinstance(self.sizes[0], int):
            return False
        return self.sizes[1] == count or not isinstance(self.sizes[1], int)


def check_form(path: Path, session: Any) -> InputSet | None:
    """Check the inputs and outputs of an onnxruntime session. Returns the input set that it takes, or None if it takes
    boards. Raises UsageError for another form of inputs or outputs, and UnknownInputSetError for an unknown input
    set."""
    inputs, outputs = (
        [Form(re.sub(r"tensor\((.*)\)", r"\1", each.type), tuple(each.shape)) for each in values]
        for values in (session.get_inputs(), session.get_outputs())
    )
    label = session.get_modelmeta().custom_metadata_map.get(INPUTS, "")
    input_set = input_set_named(label) if label else None
    wanted = ("int8", 26) if input_set is None else ("float", input_count(input_set))
    if (len(inputs), len(outputs)) != (1, 1) or not inputs[0].fits(*wanted) or not outputs[0].fits("float", 5):
        text = " -> ".join(", ".join(map(str, forms)) for forms in (inputs, outputs))
        option = f" with {INPUTS}={label}" if label else ""
        raise UsageError(f"expected an ONNX file {_FORM}, got {path}: {cite(text + option, 160)}")
    return input_set


def first_line(error: Exception) -> str:
    """The first line of an error message of onnxruntime, without its tags and source locations."""
    marks = r"\[ONNXRuntimeError\] : \d+ : (?:[A-Z_]+ : (?=/))?|/\S+\.(?:cc|h):\d+ .*?\) (?=[A-Z])"
    return cite(re.sub(marks, "", str(error)).strip().partition("\n")[0], 160)

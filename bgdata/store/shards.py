"""Computes work in ranges of items: in this process, in others, or on a cluster. Each finished range is saved as a
file, a shard.

After a build was killed, the finished ranges remain, and any number of workers can share the rest. The shard
`000000000-000002000.<SHA-256>.npz` contains the arrays of the items 0 to 1,999. It is written to a temporary file and
renamed. The hash in its name covers the recipe's key, the range and the bytes. So a shard that was damaged or renamed,
or comes from another recipe, is reported and computed again.

Workers get the name of a function, settings, a range, and versions by name and hash, never arrays: see `worker_inputs`.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bgdata.errors import BgdataError, CorruptFileError, WorkerError
from bgdata.store.arrays import Array
from bgdata.store.dataset import Build, Context, Dataset
from bgdata.store.executors import MAX_PROCESSES, Cluster, worker_name
from bgdata.store.job import SHARDS, Job, kernel_fingerprint
from bgdata.store.parameters import Parameters
from bgdata.store.progress import Progress
from bgdata.store.storage import open_regular, remove_folder, storage_errors, write_file
from bgdata.store.table import Table
from bgdata.store.versions import Versions
from bgdata.store.worker_inputs import ROLES, WAREHOUSE, Settings, WorkerInputs, locate_inputs, worker_inputs

MAX_ASKED = 2 * MAX_PROCESSES  # most parts in an executor at a time: two for each worker
MAX_RESULT_BYTES = 1 << 24  # most bytes of a shard as the result of a task, which stays in the cluster's memory
_NAME = re.compile(r"(\d{9,})-(\d{9,})\.([0-9a-f]{64})\.npz")
_ONE_AT_A_TIME = threading.Lock()  # a worker of a cluster may have several threads; kernels start their own
NO_KINDS: Mapping[str, Dataset[Any]] = {}
T = TypeVar("T")
R = TypeVar("R", bound=Parameters)


@dataclass(frozen=True)
class Work:
    """What workers do with each range of items. They call the function `module:function` with the settings, the begin
    and the end of the range. The function returns arrays by name, which may depend only on these arguments and the
    kernels. The settings contain, by role, the folder of each version that the function reads."""

    function: str
    settings: Settings
    kernels: str = field(default_factory=kernel_fingerprint)  # of the process that requests the work
    inputs: WorkerInputs = field(default_factory=WorkerInputs)

    def compute(self, begin: int, end: int) -> Mapping[str, Array]:
        """Call the function for the items `begin` to before `end`. Raises WorkerError if the kernels of this process
        differ from those of the process that requested the work, or if a version is missing."""
        if kernel_fingerprint() != self.kernels:
            raise WorkerError(
                f"expected a worker with the kernels {self.kernels}, found {kernel_fingerprint()} on {worker_name()}; "
                "install the same bgdata everywhere, or end that worker"
            )
        if _opened.work != self:
            _opened.forget()
            with _on_worker():
                _opened.settings = locate_inputs(self.inputs, self.settings)
            _opened.work = self
        module, _, name = self.function.partition(":")
        found: Mapping[str, Array] = getattr(import_module(module), name)(_opened.settings, begin, end)
        return found


class _Opened:
    """The objects that this process has opened for its current work. All ranges of that work share them."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all opened objects, because other work begins."""
        self.work: Work | None = None
        self.settings: Settings = {}
        self.found: dict[Any, Any] = {}


_opened = _Opened()


def opened_once(function: Callable[[Settings], T], settings: Settings) -> T:
    """Call a function that opens something by the settings, such as a player, and return its result. A worker calls it
    only once, and uses the result for all ranges."""
    if settings is not _opened.settings:
        return function(settings)
    if function not in _opened.found:
        _opened.found[function] = function(settings)
    found: T = _opened.found[function]
    return found


def work_of(
    build: Build[Any], function: str, tables: Mapping[str, Table], players: Iterable[Table] = (), **settings: str | int
) -> Work:
    """Describe the work of a build for workers. There the function `module:function` gets its inputs with `context_of`.
    `tables` are the versions that the function reads, by role, and `players` the versions of players that it opens by
    name."""
    part = {"begin": build.part.start, "end": build.part.stop} if build.part else {}
    own = {"parameters": json.dumps(build.parameters.to_json()), **part, **settings}
    return Work(function, own, inputs=worker_inputs(tables, players, build.warehouse.root))


def context_of(settings: Settings, recipe: type[R], kinds: Mapping[str, Dataset[Any]] = NO_KINDS) -> Context[R]:
    """Return, on a worker, the parameters and inputs of a version, from the settings that `work_of` made. `recipe` is
    the class of the parameters. `kinds`, all kinds of dataset, is only needed by a function that opens players by
    name."""
    parameters = recipe.from_manifest(json.loads(str(settings["parameters"])))
    tables = {role: Table(Path(str(settings[role]))) for role in str(settings[ROLES]).split()}
    part = range(int(settings["begin"]), int(settings["end"])) if "begin" in settings else None
    return Context(parameters, tables, Versions(str(settings[WAREHOUSE]), kinds), part=part)


def ranges(items: range | int, size: int) -> list[range]:
    """Divide a range of items, or `range(items)`, into ranges of `size` items; the last may be shorter."""
    whole = range(items) if isinstance(items, int) else items
    return [range(begin, min(whole.stop, begin + size)) for begin in range(whole.start, whole.stop, size)]


def runs(items: Iterable[int], size: int) -> list[range]:
    """Divide ascending numbers of items into ranges of consecutive numbers. A new range begins at every multiple of
    `size`. So an item is always in the same block, whichever other items are left to compute, and an interrupted build
    can resume with fewer or more items."""
    found: list[range] = []
    for item in items:
        if found and found[-1].stop == item and item % size:
            found[-1] = range(found[-1].start, item + 1)
        else:
            found.append(range(item, item + 1))
    return found


def compute_shards(job: Job, unit: str, work: Work, parts: Sequence[range]) -> Iterator[dict[str, Array]]:
    """Yield the arrays of each range, in order. `job.executor` computes the ranges, except those that an earlier,
    killed build has finished, which are read from their files. Raises WorkerError if workers are lost, and the errors
    of the function. Finished shards are kept."""
    folder, store = job.folder / SHARDS, job.executor.store if isinstance(job.executor, Cluster) else ""
    with storage_errors("create", folder):
        folder.mkdir(exist_ok=True)
    if store:
        work = replace(work, inputs=work.inputs.sent_to(store))
        _fetch_left(job.progress, folder, job.recipe, store)
    job.progress.start(job.title, sum(map(len, parts)), unit)
    found = intact_shards(job.progress, folder, job.recipe)
    missing = [part for part in parts if (part.start, part.stop) not in found]
    if len(missing) < len(parts):
        job.progress.note(f"going on with {job.title}: {len(parts) - len(missing)} of {len(parts)} parts are there")
        job.progress.advance(sum(map(len, parts)) - sum(map(len, missing)))
    try:
        for part, path in _written_shards(job.executor, work, missing, folder, job.recipe):
            found[part.start, part.stop] = path
            job.progress.advance(len(part))
    finally:
        _opened.forget()
    for part in parts:
        yield read_shard(found[part.start, part.stop], job.recipe)


def fill_shards(job: Job, unit: str, state: Mapping[str, Array], size: int, work: Work) -> None:
    """Fill the arrays of `state`, which have the same number of rows, with computed values. Each range has `size` rows.
    Raises the errors of `compute_shards`."""
    parts = ranges(len(next(iter(state.values()))), size)
    for part, found in zip(parts, compute_shards(job, unit, work, parts), strict=True):
        for name, values in found.items():
            state[name][part.start : part.stop] = values


def intact_shards(progress: Progress, folder: Path, key: str) -> dict[tuple[int, int], Path]:
    """The paths of the undamaged shards in a folder, by the begin and end of their ranges. Damaged shards, and shards
    with another key, are reported and deleted."""
    found = {}
    for path in sorted(folder.iterdir()):
        match = _NAME.fullmatch(path.name)
        if match and path.is_file() and _seal(key, match[1], match[2], _read_bytes(path)) == match[3]:
            found[int(match[1]), int(match[2])] = path
            continue
        if match:
            progress.note(f"expected SHA-256 {match[3][:16]}... of {path}, found another; computing it anew")
        with storage_errors("delete", path):
            if path.is_dir() and not path.is_symlink():
                remove_folder(path)
            else:
                path.unlink()
    return found


def _store_folder(key: str) -> str:
    """The folder in a store that contains the shards with this key."""
    return f"shards/{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _fetch_left(progress: Progress, folder: Path, key: str, store: str) -> None:
    """Fetch into `folder` the shards that workers have written to a store after their build was killed, and delete them
    there."""
    from bgdata.store.exchange import names_in, read_and_delete

    for name in names_in(store, _store_folder(key)):
        data = read_and_delete(store, f"{_store_folder(key)}/{name}")
        if _NAME.fullmatch(name):  # the bytes are checked later, as for all shards
            write_file(folder / name, data, is_durable=False)
        else:
            progress.note(f"deleted {name} in {_store_folder(key)}, which is not a shard")


class ShardReturn(NamedTuple):
    """How a shard returns from a worker of a cluster. If the worker sees the mark file in `folder`, both machines share
    that folder, and it writes the shard there. Otherwise it writes the shard to the store, or, without a store, returns
    the bytes as the result of its task."""

    folder: str
    key: str
    mark: str
    store: str  # address; empty if there is none

    @classmethod
    def into(cls, folder: Path, key: str, store: str) -> ShardReturn:
        """Write a mark file to `folder`, and describe how shards return there, or through the store at the address
        `store`. Raises StorageError if the mark file cannot be written."""
        mark = f".{secrets.token_hex(8)}"
        write_file(folder / mark, b"", is_durable=False)
        return cls(str(folder.absolute()), key, mark, store)

    def send(self, name: str, data: bytes) -> bytes | None:
        """On a worker, write the file of a shard to the folder or the store, and return None, or else return its bytes.
        Raises StorageError if it cannot be written, and WorkerError if it is too large to be returned."""
        if self._is_seen():
            write_file(Path(self.folder) / name, data, is_durable=False)
            return None
        if self.store:
            from bgdata.store.exchange import write

            write(self.store, f"{_store_folder(self.key)}/{name}", data)
            return None
        if len(data) > MAX_RESULT_BYTES:
            raise WorkerError(
                f"expected shards of at most {MAX_RESULT_BYTES >> 20} MiB where machines share no disk, got one of "
                f"{len(data) >> 20} MiB; try: --through ADDRESS, a store that all machines reach"
            )
        return data

    def _is_seen(self) -> bool:
        try:
            with open_regular(Path(self.folder) / self.mark):
                return True
        except (BgdataError, OSError):
            return False

    def receive(self, name: str, data: bytes | None) -> Path:
        """The path of a shard that a worker has sent; `data` are its bytes if the worker returned them. Raises
        CorruptFileError if the bytes do not match the hash in its name."""
        path = Path(self.folder) / name
        where = f"the shard {name} from a worker"
        if data is None and self.store and not path.exists():
            from bgdata.store.exchange import read_and_delete

            where = f"{self.store}/{_store_folder(self.key)}/{name}"
            data = read_and_delete(self.store, f"{_store_folder(self.key)}/{name}")
        if data is not None:
            check_seal(name, self.key, data, where)
            write_file(path, data, is_durable=False)
        return path


def _written_shards(
    executor: Executor, work: Work, parts: Iterable[range], folder: Path, key: str
) -> Iterator[tuple[range, Path]]:
    """Have shards computed and written, and yield the range and path of each as soon as it is finished. At most
    MAX_ASKED ranges are requested at a time. Raises WorkerError if workers are lost."""
    asked: dict[Future[Any], range] = {}
    done: SimpleQueue[Future[Any]] = SimpleQueue()  # waiting for all futures each time would take quadratic time
    back = ShardReturn.into(folder, key, executor.store) if isinstance(executor, Cluster) else None

    def submit(part: range) -> Future[Any]:
        if back:
            return executor.submit(send_shard, work, part.start, part.stop, back)
        return executor.submit(write_shard, work, part.start, part.stop, str(folder), key)

    def shard_path(future: Future[Any]) -> tuple[range, Path]:
        part, found = asked.pop(future), future.result()
        return part, back.receive(*found) if back else folder / found

    try:
        for part in parts:
            future = submit(part)
            asked[future] = part
            future.add_done_callback(done.put)
            while len(asked) >= MAX_ASKED or not done.empty():
                yield shard_path(done.get())
        while asked:
            yield shard_path(done.get())
    except BgdataError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, BrokenExecutor | CancelledError) or type(error).__module__.startswith("distributed"):
            raise WorkerError(
                f"expected workers to finish, lost one; finished parts are kept, and the same command resumes: {reason}"
            ) from error
        if back and isinstance(error, ImportError | AttributeError | TypeError):  # errors of loading the task
            raise WorkerError(
                f"expected the same bgdata on all workers, found one that cannot read what it is given: {reason}"
            ) from error
        raise
    finally:
        for future in asked:
            future.cancel()


def write_shard(work: Work, begin: int, end: int, folder: str, key: str) -> str:
    """Compute the shard of the items `begin` to before `end`, write it to a folder, and return the file name. Raises
    StorageError if it cannot be written, and the errors of the work."""
    with _ONE_AT_A_TIME:
        arrays = work.compute(begin, end)
    return save_shard(arrays, begin, end, Path(folder), key)


def send_shard(work: Work, begin: int, end: int, back: ShardReturn) -> tuple[str, bytes | None]:
    """Compute the shard of the items `begin` to before `end` on a worker of a cluster, and send it back. Returns its
    file name, and its bytes unless they were written. Raises WorkerError if it cannot be sent, and the errors of the
    work."""
    with _ONE_AT_A_TIME:
        arrays = work.compute(begin, end)
    name, data = packed_shard(arrays, begin, end, back.key)
    with _on_worker():
        return name, back.send(name, data)


class _on_worker:  # noqa: N801 (a context, in which an error says on which worker it happened)
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, BgdataError) and (name := worker_name()):
            raise WorkerError(f"{error}; on {name}") from error


def _read_bytes(path: Path) -> bytes:
    with storage_errors("read", path):
        return path.read_bytes()


def _seal(key: str, begin: str, end: str, data: bytes) -> str:
    """The hash in the file name of a shard, over its key, its range and its bytes."""
    return hashlib.sha256(f"{key} {begin} {end}\n".encode() + data).hexdigest()


def packed_shard(arrays: Mapping[str, Array], begin: int, end: int, key: str) -> tuple[str, bytes]:
    """The file name and the bytes of the shard that contains these arrays."""
    packed = io.BytesIO()
    np.savez(packed, **{name: np.ascontiguousarray(values) for name, values in arrays.items()})  # type: ignore[arg-type]
    data = packed.getvalue()
    first, last = f"{begin:09d}", f"{end:09d}"
    # the hash in the name verifies a shard without a second file and without syncing, which would take long
    return f"{first}-{last}.{_seal(key, first, last, data)}.npz", data


def save_shard(arrays: Mapping[str, Array], begin: int, end: int, folder: Path, key: str) -> str:
    """Write a shard with these arrays to a folder, and return the file name. Raises StorageError if it cannot be
    written."""
    name, data = packed_shard(arrays, begin, end, key)
    write_file(folder / name, data, is_durable=False)
    return name


def check_seal(name: str, key: str, data: bytes, what: str) -> None:
    """Raise CorruptFileError unless the bytes of a shard match the hash in its file name. The message calls the shard
    `what`."""
    match = _NAME.fullmatch(name)
    if not match or _seal(key, match[1], match[2], data) != match[3]:
        raise CorruptFileError(f"expected {what} as it was written, found it changed; try the same command again")


def read_shard(path: Path, key: str) -> dict[str, Array]:
    """Read the arrays of a shard by name. Raises StorageError if the file cannot be read, and CorruptFileError if it
    has changed since it was written."""
    data = _read_bytes(path)
    check_seal(path.name, key, data, str(path))
    with np.load(io.BytesIO(data), allow_pickle=False) as packed:
        return dict(packed)

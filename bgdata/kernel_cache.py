"""Where compiled kernels are kept: in files named by all that their machine code depends on."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numba
from numba.core import event as numba_event
from numba.core import serialize
from numba.core.caching import CompileResultCacheImpl, FunctionCache

from bgdata.process import compilation

events: Any = numba_event
pickled: Any = serialize.dumps
_PACKAGE = Path(__file__).parent
# an import at the top of a module, where its kernels can see what it names: `from a.b import c, d` or `import a.b`
_IMPORT = re.compile(
    rb"^(?:from[ ]+(bgdata[\w.]*)[ ]+import[ ]+(\([^)]*\)|[^\n(]+)|import[ ]+(bgdata[\w.]*))", re.MULTILINE
)
# exceptions, signals and this file, which no kernel can use
_WITHOUT_KERNELS = {"errors.py", "process.py", "kernel_cache.py"}
_KERNEL = re.compile(rb"^@kernel", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")


def kernel_sources() -> list[Path]:
    """Every module of the package that defines a kernel, and `kernel.py` with the options of all, sorted."""
    found = {path for path in _PACKAGE.rglob("*.py") if _KERNEL.search(path.read_bytes())}
    return sorted(found | {_PACKAGE / "kernel.py"})


@functools.cache
def kernel_fingerprint() -> str:
    """Twelve hex digits that change whenever any kernel's source changes; recorded in every manifest."""
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def source(module: Path) -> bytes:
    """A module's file, read once: closures share most of theirs."""
    return module.read_bytes()


@functools.cache
def imported_modules(module: Path) -> tuple[Path, ...]:
    """Files of the package that a module imports at its top, sorted; imports inside functions are not for kernels."""
    found: set[Path] = set()
    for home, names, whole in _IMPORT.findall(source(module)):
        parts = (home or whole).decode().split(".")[1:]
        inside = [] if whole else re.findall(r"\w+", _COMMENT.sub(b"", names).decode())
        # what is imported from a package may be a module of it
        for path in (_PACKAGE.joinpath(*parts), *(_PACKAGE.joinpath(*parts, name) for name in inside)):
            found.update(file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file())
    return tuple(sorted(found))


def import_closure(module: Path) -> list[Path]:
    """A module and all of the package that it imports at its top, directly or not, sorted: whatever its kernels call
    or take constants from is written in one of these files."""
    found, new = {module}, [module]
    while new:
        imported = set().union(*map(imported_modules, new))
        new = [path for path in imported - found if path.name not in _WITHOUT_KERNELS]
        found.update(new)
    return sorted(found)


def closure_fingerprint(module: Path) -> str:
    """Twelve hex digits that change whenever a file of the module's import closure does."""
    digest = hashlib.sha256()
    for path in import_closure(module):
        name = path.relative_to(_PACKAGE).as_posix() if path.is_relative_to(_PACKAGE) else path.name
        digest.update(name.encode() + b"\0" + source(path))
    return digest.hexdigest()[:12]


def kernel_cache() -> Path:
    """Folder of compiled kernels: `$BGDATA_CACHE`, else `$XDG_CACHE_HOME/bgdata`, else `~/.cache/bgdata`; in it
    `kernels`."""
    root = os.environ.get("BGDATA_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bgdata"
    return Path(root) / "kernels"


@functools.cache
def module_cache(module: Path) -> Path:
    """Folder of the compiled kernels of one module.

    Numba only notices changes of the file that holds the decorated function, not of what it uses from other files; so
    the folder carries the fingerprint of them all. Stale code can never run, and an edit makes those modules compile
    anew that can reach it, no others.
    """
    return kernel_cache() / f"{module.stem}-{closure_fingerprint(module)}"


@functools.cache
def can_cache() -> bool:
    """Whether compiled kernels can be kept: a folder for them can be made and written."""
    try:
        kernel_cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=kernel_cache()):
            return True
    except OSError:
        return False


class _Result(CompileResultCacheImpl):
    """How Numba makes a compiled function bytes and back; where they are kept is `KernelCache`'s business."""

    def __init__(self) -> None:
        pass


class KernelCache(FunctionCache):
    """Compiled specialisations of one kernel: a file for each, named by all that its machine code depends on.

    Numba's own cache numbers its files in an index, and knows functions by the path of their source. Two processes that
    compile the same kernel for other types at the same time could then take the same number, and a copy of the package
    would compile everything anew. Here files are named by what is in them: writers cannot meet, and copies share them.
    A process that needs what another one compiles at this moment waits for it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function
        self._impl = _Result()
        self._cache_path = str(module_cache(Path(function.__code__.co_filename)))
        self._enabled = True
        self._locks: dict[
            Path, IO[bytes]
        ] = {}  # held while we compile; kernels do not recur, so nobody waits in a ring

    def _file(self, signature: Any, codegen: Any) -> Path:
        """The file of one specialisation on one kind of processor."""
        index_key: Any = self._index_key
        key = (numba.__version__, sys.version_info[:2], *index_key(signature, codegen))
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:20]
        return Path(self._cache_path) / f"{self._py_func.__qualname__}-{digest}.nbc"

    def _load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled before, or by another process just now; None where it is our turn to compile."""
        file = self._file(signature, target.codegen())
        if not file.exists():
            self._lock(file)
        try:
            content = file.read_bytes()
        except OSError:
            return None
        try:
            found = self._impl.rebuild(target, pickle.loads(content))
        except Exception:  # cut off, or of another Numba: whatever is in it, it is compiled anew
            with suppress(OSError):
                file.unlink()
            return None  # with its lock, if we have it
        self._unlock(file)
        return found

    def _save_overload(self, signature: Any, compiled: Any) -> None:
        file = self._file(signature, compiled.codegen)
        with suppress(OSError):  # a full disk costs time, and nothing else
            if self._impl.check_cachable(compiled):
                with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as aside:
                    aside.write(pickled(self._impl.reduce(compiled)))
                Path(aside.name).replace(file)
        self._unlock(file)

    def _lock(self, file: Path) -> None:
        """Wait until nobody else compiles what the file is for; where files cannot be locked, everybody compiles."""
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            self._locks[file] = file.with_suffix(".lock").open("wb")
            fcntl.flock(self._locks[file], fcntl.LOCK_EX)

    def _unlock(self, file: Path) -> None:
        """Let others go on; the lock of a file that is there is of no more use."""
        if lock := self._locks.pop(file, None):
            with suppress(OSError):
                Path(lock.name).unlink()
            lock.close()


class _Listener(events.Listener):  # type: ignore[misc]
    """Tells `process.compilation` when Numba compiles; of kernels that come from the cache it hears nothing."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        compilation.begin(kernel_cache() if can_cache() else None)

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        compilation.end()


events.register("numba:compile", _Listener())

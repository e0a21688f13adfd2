"""Where compiled kernels are kept: in files named by all that their machine code depends on."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import pickle
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, ClassVar

import numba
from numba.core import event as numba_event
from numba.core import serialize
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.runtime import nrt

from bgdata.process import cache_folder, compilation

config: Any = numba.config
config.THREADING_LAYER = "threadsafe"  # with the layer workqueue, two threads in kernels abort the process
events: Any = numba_event
pickled: Any = serialize.dumps
runtime: Any = nrt.rtsys
FORMAT = 3  # of the files of compiled kernels
OURS = "_ZN6bgdata"  # how symbols of kernels begin
LARGE_BYTES = 64 << 10  # of machine code, from which a kernel is called where it is: a call costs nothing beside it
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
def title(module: Path) -> bytes:
    """The path of a module within the package, or its name."""
    return bytes(module.relative_to(_PACKAGE) if module.is_relative_to(_PACKAGE) else Path(module.name))


@functools.cache
def module_files(place: Path) -> frozenset[Path]:
    """The file of a module or package by its path without an ending; none where there is no such module."""
    return frozenset(file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())


@functools.cache
def imported_modules(module: Path) -> tuple[Path, ...]:
    """Files of the package that a module imports at its top, sorted; imports inside functions are not for kernels."""
    found: set[Path] = set()
    for home, names, whole in _IMPORT.findall(source(module)):
        place = _PACKAGE.joinpath(*(home or whole).decode().split(".")[1:])
        files = module_files(place)
        found |= files
        if files != {place.with_suffix(".py")}:  # what is imported from a package may be a module of it
            inside = re.findall(r"\w+", _COMMENT.sub(b"", names).decode())
            found.update(*(module_files(place / name) for name in inside))
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
        digest.update(title(path) + b"\0" + source(path))
    return digest.hexdigest()[:12]


def kernel_cache() -> Path:
    """Folder of compiled kernels."""
    return cache_folder() / "kernels"


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


class KernelLibrary(JITCodeLibrary):
    """Machine code of one function. Large kernels that it calls stay where they are; all else becomes part of it.

    Numba makes whatever a function calls part of that function, and optimises and translates it all again, at each
    level of calls: a game with the cube is nine levels deep, and took minutes. What is apart is called by its symbol,
    so it must be in memory before: `needs` says which.
    """

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)  # type: ignore[no-untyped-call]
        self.kept_in = ""  # for a large kernel: its file below `kernel_cache`
        self.symbols: frozenset[str] = frozenset()  # that a large kernel defines
        self.needs: dict[str, set[str]] = {}  # symbols that are called in large kernels, by the file of each
        self.apart: dict[str, str] = {}  # file of the large kernel that defines a symbol

    def finalize(self) -> None:
        """Link what is not apart, optimise, and translate."""
        for library in self._linking_libraries:
            if kept_in := getattr(library, "kept_in", ""):
                self.apart.update(dict.fromkeys(library.symbols, kept_in))
            else:
                self.apart.update(getattr(library, "apart", {}))
        self._linking_libraries = [each for each in self._linking_libraries if not getattr(each, "kept_in", "")]
        super().finalize()  # type: ignore[no-untyped-call]

    def _verify_declare_only_symbols(self) -> None:
        super()._verify_declare_only_symbols()  # type: ignore[no-untyped-call]
        for function in self._final_module.functions:
            if function.is_declaration and function.name.startswith(OURS):
                # a KeyError where nobody has it: the process would end when it is called
                self.needs.setdefault(self.apart[function.name], set()).add(function.name)

    def is_large(self) -> bool:
        """Whether nothing that calls this contains it."""
        return len(self._get_compiled_object()) >= LARGE_BYTES  # type: ignore[no-untyped-call]

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, Any]]:
        """As Numba does, but what is called where it is needs no bitcode."""
        if not self.is_large():
            return super().serialize_using_object_code()  # type: ignore[no-any-return, no-untyped-call]
        machine_code = self._get_compiled_object()  # type: ignore[no-untyped-call]
        return self.name, "large", (machine_code, self.defined_symbols())

    def defined_symbols(self) -> frozenset[str]:
        """Names of the functions and variables that this library defines."""
        module = self._final_module
        return frozenset(
            each.name for found in (module.functions, module.global_variables) for each in found
            if not each.is_declaration
        )  # fmt: skip

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, tuple[bytes, Any]]) -> Any:
        name, kind, (machine_code, symbols) = state
        if kind != "large":
            return super()._unserialize(codegen, state)  # type: ignore[no-untyped-call]
        library = codegen.create_library(name)
        library.enable_object_caching()
        library._set_compiled_object(machine_code)
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(symbols)
        library.symbols = symbols
        return library


JITCPUCodegen._library_class = KernelLibrary


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

    loaded: ClassVar[dict[str, Any]] = {}  # large kernels that this process has in memory, by their files

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function
        self._impl = _Result()
        self._cache_path = str(module_cache(Path(function.__code__.co_filename)))
        self._enabled = True
        # held while we compile; kernels do not call themselves, so locks cannot deadlock
        self._locks: dict[Path, IO[bytes]] = {}

    def _file(self, signature: Any, codegen: Any) -> Path:
        """The file of one specialisation on one kind of processor."""
        index_key: Any = self._index_key
        key = (FORMAT, numba.__version__, sys.version_info[:2], *index_key(signature, codegen))
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:20]
        return Path(self._cache_path) / f"{self._py_func.__qualname__}-{digest}.nbc"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled before, or by another process just now; None where it is our turn to compile.

        Numba's own method first makes ready to compile, which takes longer than all kernels of a command. Code that is
        kept needs nothing of it but the runtime; the compiler makes ready by itself.
        """
        runtime.initialize(target)
        file = self._file(signature, target.codegen())
        if not file.exists():
            self._lock(file)
        if not file.exists():
            return None
        try:
            found = self._load(file.relative_to(kernel_cache()).as_posix(), target)
        except Exception:  # cut off, of another Numba, or what it calls is gone: whatever it is, it is compiled anew
            with suppress(OSError):
                file.unlink()
            return None  # with its lock, if we have it
        self._unlock(file)
        return found

    def _load(self, name: str, target: Any) -> Any:
        """A compiled kernel from its file below `kernel_cache`, after the large ones that it calls."""
        if name in self.loaded:
            return self.loaded[name]
        with (kernel_cache() / name).open("rb") as file:
            needs: dict[str, set[str]] = pickle.load(file)
            for other, symbols in needs.items():
                if not symbols <= self._load(other, target).library.symbols:
                    raise LookupError(f"expected {sorted(symbols)} in {other}, which was compiled anew since")
            found = self._impl.rebuild(target, pickle.load(file))
        # whoever links it calls them too
        found.library.apart = {symbol: other for other, symbols in needs.items() for symbol in symbols}
        if found.library.symbols:
            found.library.kept_in, self.loaded[name] = name, found
        return found

    def _save_overload(self, signature: Any, compiled: Any) -> None:
        file = self._file(signature, compiled.codegen)
        with suppress(OSError):  # a full disk costs time, and nothing else
            if self._impl.check_cachable(compiled):
                library = compiled.library
                with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as aside:
                    aside.write(pickle.dumps(library.needs) + pickled(self._impl.reduce(compiled)))
                Path(aside.name).replace(file)
                if library.is_large():
                    library.symbols = library.defined_symbols()
                    library.kept_in = file.relative_to(kernel_cache()).as_posix()
                    self.loaded[library.kept_in] = compiled
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

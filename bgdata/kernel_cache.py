"""The cache of compiled kernels: files named by everything that their machine code depends on."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import pickle
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numba
from numba.core import event as numba_event
from numba.core import serialize
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.runtime import nrt
from numba.np import linalg

from bgdata import system
from bgdata.process import cache_folder, compilation

config: Any = numba.config
config.THREADING_LAYER = "threadsafe"  # with the layer workqueue, concurrent kernels abort the process
events: Any = numba_event
pickled: Any = serialize.dumps
runtime: Any = nrt.rtsys
FORMAT = 3  # version of the files of compiled kernels
OURS = "_ZN6bgdata"  # prefix of the symbols of kernels
LARGE_BYTES = 64 << 10  # of machine code; callers do not copy larger kernels, as a call costs them little
_PACKAGE = Path(__file__).parent
# top-level imports, whose names kernels of the module can use: `from a.b import c, d` or `import a.b`
_IMPORT = re.compile(
    rb"^(?:from[ ]+(bgdata[\w.]*)[ ]+import[ ]+(\([^)]*\)|[^\n(]+)|import[ ]+(bgdata[\w.]*))", re.MULTILINE
)
# modules whose code kernels cannot use: exceptions, signals, system calls and this file
_WITHOUT_KERNELS = {"errors.py", "process.py", "system.py", "version.py", "kernel_cache.py"}
_KERNEL = re.compile(rb"^@kernel", re.MULTILINE)
_COMMENT = re.compile(rb"#[^\n]*")


def load_array_functions(linalg: Any) -> None:
    """Load Numba's array functions without SciPy, which no kernel of bgdata needs. Numba would import SciPy only to see
    whether it is installed, which takes longer than loading our kernels. With little memory, SciPy's OpenBLAS would not
    even finish: it would ask for memory again and again. `linalg` is the module of Numba that loads SciPy."""

    def ensure_blas() -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ImportError

    before, linalg.ensure_blas = linalg.ensure_blas, ensure_blas
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = before


load_array_functions(linalg)


def kernel_sources() -> list[Path]:
    """Return the sorted paths of all modules of the package that define a kernel, and of `kernel.py`, which contains
    the options of every kernel."""
    found = {path for path in _PACKAGE.rglob("*.py") if _KERNEL.search(path.read_bytes())}
    return sorted(found | {_PACKAGE / "kernel.py"})


@functools.cache
def kernel_fingerprint() -> str:
    """Return twelve hex digits that change when the source of any kernel changes. Every manifest contains them."""
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def source(module: Path) -> bytes:
    """Return the content of a source file. Each file is read only once, because the import closures of modules share
    most files."""
    return module.read_bytes()


@functools.cache
def title(module: Path) -> bytes:
    """Return the path of a source file within the package, or the name of a file outside the package."""
    return bytes(module.relative_to(_PACKAGE) if module.is_relative_to(_PACKAGE) else Path(module.name))


@functools.cache
def module_files(place: Path) -> frozenset[Path]:
    """Return the source file of the module or package whose path, without its ending, is `place`. The set is empty if
    there is no such module."""
    return frozenset(file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())


@functools.cache
def imported_modules(module: Path) -> tuple[Path, ...]:
    """Return the sorted source files of the package that a module imports at its top. Imports inside functions do not
    count, because kernels cannot use them."""
    found: set[Path] = set()
    for home, names, whole in _IMPORT.findall(source(module)):
        place = _PACKAGE.joinpath(*(home or whole).decode().split(".")[1:])
        files = module_files(place)
        found |= files
        if files != {place.with_suffix(".py")}:  # the imported name may be a module of a package
            inside = re.findall(r"\w+", _COMMENT.sub(b"", names).decode())
            found.update(*(module_files(place / name) for name in inside))
    return tuple(sorted(found))


def import_closure(module: Path) -> list[Path]:
    """Return the sorted source files of a module and of all modules of the package that it imports at its top, directly
    or indirectly. They contain all functions and constants that the module's kernels use."""
    found, new = {module}, [module]
    while new:
        imported = set().union(*map(imported_modules, new))
        new = [path for path in imported - found if path.name not in _WITHOUT_KERNELS]
        found.update(new)
    return sorted(found)


def closure_fingerprint(module: Path) -> str:
    """Return twelve hex digits that change when a source file in the module's `import_closure` changes."""
    digest = hashlib.sha256()
    for path in import_closure(module):
        digest.update(title(path) + b"\0" + source(path))
    return digest.hexdigest()[:12]


def kernel_cache() -> Path:
    """Return the folder that contains all compiled kernels."""
    return cache_folder() / "kernels"


@functools.cache
def module_cache(module: Path) -> Path:
    """Return the folder for the compiled kernels of one module.

    Numba only notices a change of the file that defines a kernel, not of other files whose code the kernel uses. So the
    folder's name contains a fingerprint of all these files: outdated code never runs, and an edit only recompiles the
    modules that import the edited file."""
    return kernel_cache() / f"{module.stem}-{closure_fingerprint(module)}"


@functools.cache
def can_cache() -> bool:
    """Whether a folder for compiled kernels can be created and written."""
    try:
        kernel_cache().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=kernel_cache()):
            return True
    except OSError:
        return False


class KernelLibrary(JITCodeLibrary):
    """The machine code of one function, which includes the code that it calls, except for large kernels: these stay
    separate.

    Numba would copy the code of all called functions into the caller, and optimize and compile it again at each level
    of calls. A game with the cube has nine levels, and took minutes to compile. Separate kernels are called by symbol,
    so they must be loaded into memory first; `needs` lists them."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)  # type: ignore[no-untyped-call]
        self.kept_in = ""  # for a large kernel: its file below `kernel_cache`
        self.symbols: frozenset[str] = frozenset()  # symbols that a large kernel defines
        self.needs: dict[str, set[str]] = {}  # by file of a large kernel: its symbols that are called
        self.apart: dict[str, str] = {}  # by symbol: file of the large kernel that defines it

    def finalize(self) -> None:
        """Link the code that is not kept separate, optimize it, and compile it."""
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
                # a KeyError is raised for an undefined symbol; calling it would end the process
                self.needs.setdefault(self.apart[function.name], set()).add(function.name)

    def is_large(self) -> bool:
        """Whether this function is so large that callers call it instead of copying its code."""
        return len(self._get_compiled_object()) >= LARGE_BYTES  # type: ignore[no-untyped-call]

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, Any]]:
        """Serialize as Numba's method does, but leave out the bitcode of a large kernel, because no caller copies
        it."""
        if not self.is_large():
            return super().serialize_using_object_code()  # type: ignore[no-any-return, no-untyped-call]
        machine_code = self._get_compiled_object()  # type: ignore[no-untyped-call]
        return self.name, "large", (machine_code, self.defined_symbols())

    def defined_symbols(self) -> frozenset[str]:
        """Return the names of the functions and variables that this machine code defines."""
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
    """Converts a compiled function to bytes and back. `KernelCache` decides where the bytes are stored."""

    def __init__(self) -> None:
        pass


class KernelCache(FunctionCache):
    """The cache of one kernel's compiled specializations. Each is a file, named by a hash of everything on which its
    machine code depends.

    Numba's own cache numbers its files in an index, and identifies functions by the path of their source. Two processes
    that compile the same kernel for different types could take the same number, and a copy of the package would compile
    everything again. Here the hash names the files, so two processes that compile different types never write the same
    file, and copies of the package share them. A process that needs a kernel which another process is compiling waits
    for it."""

    loaded: ClassVar[dict[str, Any]] = {}  # by file: large kernels in memory

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function
        self._impl = _Result()
        self._cache_path = str(module_cache(Path(function.__code__.co_filename)))
        self._enabled = True
        # locks held while we compile; kernels do not call themselves, so the locks cannot deadlock
        self._locks: dict[Path, int] = {}

    def _file(self, signature: Any, codegen: Any) -> Path:
        """Return the path of the specialization for these argument types and this kind of processor."""
        index_key: Any = self._index_key
        key = (FORMAT, numba.__version__, sys.version_info[:2], *index_key(signature, codegen))
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:20]
        return Path(self._cache_path) / f"{self._py_func.__qualname__}-{digest}.nbc"

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load a specialization that was compiled before, or wait while another process compiles it. Returns None if
        this process has to compile it.

        Numba's own method would first initialize the compiler. That takes longer than loading all kernels of a command,
        and is only needed for compiling."""
        runtime.initialize(target)
        file = self._file(signature, target.codegen())
        if not file.exists():
            self._lock(file)
        if not file.exists():
            return None
        try:
            found = self._load(file.relative_to(kernel_cache()).as_posix(), target)
        except Exception:  # truncated, from another Numba, or without a callee: compile again
            with suppress(OSError):
                file.unlink()
            return None  # the lock, if any, stays ours
        self._unlock(file)
        return found

    def _load(self, name: str, target: Any) -> Any:
        """Load a compiled kernel from the file `name` in `kernel_cache`, after the large kernels that it calls."""
        if name in self.loaded:
            return self.loaded[name]
        with (kernel_cache() / name).open("rb") as file:
            needs: dict[str, set[str]] = pickle.load(file)
            for other, symbols in needs.items():
                if not symbols <= self._load(other, target).library.symbols:
                    raise LookupError(f"expected {sorted(symbols)} in {other}, which was compiled again since")
            found = self._impl.rebuild(target, pickle.load(file))
        # callers of this kernel also call the kernels that it calls
        found.library.apart = {symbol: other for other, symbols in needs.items() for symbol in symbols}
        if found.library.symbols:
            found.library.kept_in, self.loaded[name] = name, found
        return found

    def _save_overload(self, signature: Any, compiled: Any) -> None:
        file = self._file(signature, compiled.codegen)
        with suppress(OSError):  # a full disk only costs time
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
        """Take the lock for compiling this file, after waiting for any process that has it. If files cannot be locked,
        every process compiles for itself."""
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            self._locks[file] = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o666)
            system.lock(self._locks[file], wait=True)

    def _unlock(self, file: Path) -> None:
        """Release the lock for compiling this file, and delete the lock file."""
        handle = self._locks.pop(file, None)
        if handle is not None:
            with suppress(OSError):
                system.unlock(handle, file.with_suffix(".lock"))


class _Listener(events.Listener):  # type: ignore[misc]
    """Tells `process.compilation` when Numba begins and ends compiling. Loading a compiled kernel is not reported."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        compilation.begin(kernel_cache() if can_cache() else None)

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        compilation.end()


events.register("numba:compile", _Listener())

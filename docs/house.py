"""How the house stands: files, lines, functions, documentation and import circles, measured from the source.

`python -m docs.house` prints the table of CONTRIBUTING.md, and `python -m docs.house --write` puts it there, between
the two comments that name it.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import grimp

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- python -m docs.house: begin -->\n", "<!-- python -m docs.house: end -->\n"
LONG_FUNCTION, LONG_FILE = 25, 400  # lines


@cache
def sources() -> dict[str, Path]:
    """Every module of the library and the pipelines, by name."""
    files = sorted([*(ROOT / "bgdata").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")])
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text())


def room(module: str) -> str:
    """The folder that a module is in; what stands beside the folders is in `bgdata`."""
    parts = sources()[module].relative_to(ROOT).parts[:-1]
    return "/".join(parts[:2]) if len(parts) > 1 else parts[0]


def functions() -> Iterator[ast.FunctionDef]:
    """Every function and method."""
    for path in sources().values():
        yield from (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef))


def body_lines(function: ast.FunctionDef) -> int:
    """Lines of a function's body, its docstring not counted."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


def undocumented() -> list[str]:
    """Public modules, classes, functions and methods without a docstring, as `module:name`. Methods that only carry
    out what a base class documents need none, nor do those with names of Python's own."""
    return [f"{module}:{name}" for module, path in sources().items() for name in without_docstring(tree(path))]


def without_docstring(node: ast.AST, prefix: str = "", *, derived: bool = False) -> Iterator[str]:
    """Names within a module or class that are public and say nothing of themselves."""
    if isinstance(node, ast.Module) and node.body and not ast.get_docstring(node):
        yield "(module)"
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.ClassDef | ast.FunctionDef) or child.name.startswith("_"):
            continue
        if not ast.get_docstring(child) and not (derived and isinstance(child, ast.FunctionDef)):
            yield prefix + child.name
        if isinstance(child, ast.ClassDef):
            yield from without_docstring(child, f"{prefix}{child.name}.", derived=bool(child.bases))


def public_names() -> int:
    """How many modules, classes, functions and methods are public."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    found = [node for path in sources().values() for node in ast.walk(tree(path)) if isinstance(node, kinds)]
    return len(sources()) + sum(not node.name.startswith("_") for node in found)


def circles() -> list[list[str]]:
    """Groups of modules that import one another in a circle, at their top or inside functions; what only type checkers
    read does not count."""
    graph = grimp.build_graph("bgdata", "pipelines", exclude_type_checking_imports=True, cache_dir=None)
    return [sorted(group) for group in strongly_connected(graph) if len(group) > 1]


def strongly_connected(graph: grimp.ImportGraph) -> list[set[str]]:
    """Modules that reach one another (Kosaraju, 1978), by imports of modules; importing a module of a package is no
    import of the package."""
    order: list[str] = []
    seen: set[str] = set()

    def walk(start: str, reached: set[str], forward: bool) -> list[str]:
        found, stack = [], [(start, iter(neighbours(start, forward)))]
        reached.add(start)
        while stack:
            module, left = stack[-1]
            following = next((other for other in left if other not in reached), None)
            if following is None:
                found.append(module)
                stack.pop()
            else:
                reached.add(following)
                stack.append((following, iter(neighbours(following, forward))))
        return found

    def neighbours(module: str, forward: bool) -> list[str]:
        ours = (
            graph.find_modules_directly_imported_by(module)
            if forward
            else graph.find_modules_that_directly_import(module)
        )
        return sorted(ours)

    for module in sorted(graph.modules):
        if module not in seen:
            order += walk(module, seen, forward=True)
    seen.clear()
    return [set(walk(module, seen, forward=False)) for module in reversed(order) if module not in seen]


def table() -> str:
    """The table, as Markdown."""
    lengths = {module: len(path.read_text().splitlines()) for module, path in sources().items()}
    bodies = [body_lines(function) for function in functions()]
    rooms = Counter(room(module) for module in lengths)
    short = sum(length <= LONG_FUNCTION for length in bodies) / len(bodies)
    long = sum(length > LONG_FILE for length in lengths.values())
    files = ", ".join(f"`{name}` {count}" for name, count in sorted(rooms.items()))
    of_files = f"median {median(lengths.values()):.0f}, most {max(lengths.values())}, {long} longer than {LONG_FILE}"
    of_bodies = f"median {median(bodies):.0f}, {100 * short:.1f} % up to {LONG_FUNCTION}, most {max(bodies)}"
    added = "1 or 2 (declaration, computation), with one SQL check and its corruption (`test_added_kind.py` adds both)"
    rows = {
        "files": f"{len(lengths)}: {files}",
        "lines of a file": of_files,
        "lines of a function's body": of_bodies,
        "public names with a docstring": f"{public_names() - len(undocumented())} of {public_names()}",
        "circles of imports between files": str(len(circles())),
        "modules touched by adding a kind of dataset": added,
    }
    return "| what | measured |\n| - | - |\n" + "".join(f"| {what} | {found} |\n" for what, found in rows.items())


def main() -> None:
    """Print the table, or write it into its page."""
    if "--write" not in sys.argv:
        print(table(), end="")
        return
    before, found, rest = PAGE.read_text().partition(BEGIN)
    if not found:
        sys.exit(f"expected a line {BEGIN.strip()} in {PAGE.name}")
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()

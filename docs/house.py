"""Measures the source: lines, files, folders of a subject, names, documentation and import cycles.

`python -m docs.house` prints the table of CONTRIBUTING.md; `--write` writes it there, between its two comments.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import grimp

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- python -m docs.house: begin -->\n", "<!-- python -m docs.house: end -->\n"
LONG_FILE = 600  # lines
SUBJECTS = {  # by words in the names of what belongs to it
    "openings": r"opening",
    "match equity": r"(^|_)mets?(_|$)|match_equity",
    "self-play": r"selfplay|self_play",
}
PARTICIPLES = re.compile(
    r"^(rows_of_\w+|(?!seed)[a-z]+(?<!ee)ed|drawn|shown|kept|given|known|found|taken|sent|said|held|left|made|done)$"
)


@cache
def sources() -> dict[str, Path]:
    """Every module of the library and the pipelines, by name."""
    files = sorted([*(ROOT / "bgdata").rglob("*.py"), *(ROOT / "pipelines").rglob("*.py")])
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text())


def folders_of(words: str) -> set[str]:
    """Folders of the first two levels with files of the library or SQL whose names have one of these words."""
    files = [*(ROOT / "bgdata").rglob("*.py"), *(ROOT / "bgdata").rglob("*.html"), *(ROOT / "sql").rglob("*.sql")]
    named = [path.relative_to(ROOT) for path in files if re.search(words, path.stem)]
    return {"/".join(path.parts[:2]) for path in named}


def functions() -> Iterator[ast.FunctionDef]:
    """Every function and method."""
    for path in sources().values():
        yield from (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef))


def participles() -> list[str]:
    """Names of functions that are participles, or begin with `rows_of`."""
    return sorted({function.name for function in functions() if PARTICIPLES.match(function.name.lstrip("_"))})


def modules_loaded(*arguments: str) -> int:
    """Number of modules of bgdata that a command imports."""
    program = (
        "import sys\nfrom bgdata.__main__ import main\n"
        f"sys.argv = ['bgdata', *{list(arguments)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sum(name.partition('.')[0] == 'bgdata' for name in sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    return int(done.stderr.split()[-1])


def undocumented() -> list[str]:
    """Public modules, classes, functions and methods without a docstring, as `module:name`. Overriding methods, and
    special methods of Python, need none."""
    return [f"{module}:{name}" for module, path in sources().items() for name in without_docstring(tree(path))]


def without_docstring(node: ast.AST, prefix: str = "", *, derived: bool = False) -> Iterator[str]:
    """Public names in a module or class without a docstring."""
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
    """Number of public modules, classes, functions and methods."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    found = [node for path in sources().values() for node in ast.walk(tree(path)) if isinstance(node, kinds)]
    return len(sources()) + sum(not node.name.startswith("_") for node in found)


def circles() -> list[list[str]]:
    """Groups of modules with cyclic imports, at the top or inside functions, without those for type checkers."""
    graph = grimp.build_graph("bgdata", "pipelines", exclude_type_checking_imports=True, cache_dir=None)
    return [sorted(group) for group in strongly_connected(graph) if len(group) > 1]


def strongly_connected(graph: grimp.ImportGraph) -> list[set[str]]:
    """Strongly connected modules (Kosaraju, 1978); importing a module does not count as importing its package."""
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


def lines_of(*folders: str) -> int:
    """Lines of all Python files in some folders."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sum(len(path.read_text().splitlines()) for path in paths)


def table() -> str:
    """The table, as Markdown."""
    lengths = {module: len(path.read_text().splitlines()) for module, path in sources().items()}
    long = sum(length > LONG_FILE for length in lengths.values())
    of_subjects = "; ".join(f"{name}: {len(folders_of(words))}" for name, words in SUBJECTS.items())
    rows = {
        "lines of `bgdata` and `pipelines`": f"{sum(lengths.values()):,} in {len(lengths)} files",
        "lines of a file": (
            f"median {median(lengths.values()):.0f}, most {max(lengths.values())}, {long} above {LONG_FILE}"
        ),
        "lines of `tests`": f"{lines_of('tests'):,}",
        "folders with files of a subject, its own and `sql` among them": of_subjects,
        "names of functions that are participles": str(len(participles())),
        "modules of bgdata that `bgdata eval start` imports": str(modules_loaded("eval", "start")),
        "public names with a docstring": f"{public_names() - len(undocumented())} of {public_names()}",
        "circles of imports between files": str(len(circles())),
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

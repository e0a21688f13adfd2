"""Prepares a release in dist/: both distributions, their SHA-256, and notes. Nothing is uploaded.

`python -m docs.release` (`make release`) needs a tree without changes. It builds wheel and sdist from the commit, twice
and in other folders, and the wheel once more from the sdist: the bytes must be the same. It checks metadata and
content, installs the wheel alone for each Python from 3.11 to 3.14 that it finds, and runs the README's tour there.

`python -m docs.release --version 1.1.0` (`make version VERSION=1.1.0`) writes the version and today's date where they
stand; commit that first.
"""

from __future__ import annotations

import argparse
import doctest
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

from packaging.metadata import Metadata
from packaging.version import Version

ROOT = Path(__file__).parents[1]
VERSION_FILE, CITATION, CHANGELOG = "bgdata/version.py", "CITATION.cff", "CHANGELOG.md"
MINORS = range(11, 15)  # minor versions of Python 3
# where the wheel has the folders of a checkout
PLACES = {"bgdata/": "bgdata/", "docs/scripts/": "bgdata/publishing/scripts/",
          "pipelines/": "bgdata/pipelines/", "sql/": "bgdata/sql/"}  # fmt: skip
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TOUR = """
import doctest, sys
sys.exit(doctest.testfile(sys.argv[1], module_relative=False, optionflags=int(sys.argv[2])).failed)
"""


class ReleaseError(Exception):
    """What is not as a release has to be."""


def shown_by(words: Sequence[str], folder: Path, **variables: str) -> str:
    """What a command of bgdata says on either stream, except that it compiles. Raises ReleaseError if it fails."""
    done = subprocess.run(
        words, cwd=folder, env=os.environ | variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise ReleaseError(f"{shlex.join(words)} failed:\n{done.stdout}")
    return re.sub(r"(?m)^compil(ing|ed) kernels.*\n", "", done.stdout)


def output(*command: str | Path, folder: Path = ROOT, **variables: str) -> str:
    """What a program prints. Raises ReleaseError with its messages if it fails."""
    done = subprocess.run(command, cwd=folder, env=os.environ | variables, capture_output=True, text=True)
    if done.returncode:
        raise ReleaseError(f"{shlex.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def release_version(root: Path = ROOT) -> str:
    """The version of a checkout."""
    (found,) = re.findall(r'^__version__ = "(.+)"', (root / VERSION_FILE).read_text(), re.MULTILINE)
    return str(found)


def distribution_name(root: Path = ROOT) -> str:
    """The name of the distribution of a checkout."""
    (found,) = re.findall(r'^DISTRIBUTION = "(.+)"', (root / VERSION_FILE).read_text(), re.MULTILINE)
    return str(found)


def check_clean(root: Path) -> None:
    """Raise ReleaseError for a tree with changes, or files that git does not know."""
    if changed := output("git", "status", "--porcelain", folder=root).splitlines():
        raise ReleaseError(f"expected a tree without changes, found {len(changed)}, such as {changed[0].split()[-1]}")


def export_commit(root: Path, folder: Path) -> None:
    """Write the files of the last commit into a folder."""
    folder.mkdir(parents=True)
    archive = folder.with_name(f"{folder.name}.tar")
    output("git", "archive", "--output", archive, "HEAD", folder=root)
    with tarfile.open(archive) as found:
        found.extractall(folder)  # by git, of our own files
    archive.unlink()


def build(sources: Path, folder: Path, seconds: str, *targets: str) -> list[Path]:
    """Build distributions of a folder with sources, whose files are all as old as `seconds` says; by name."""
    named = [word for target in targets for word in ("--target", target)]
    command: tuple[str | Path, ...] = (sys.executable, "-m", "hatchling", "build", "--directory", folder, *named)
    output(*command, folder=sources, SOURCE_DATE_EPOCH=seconds)
    return sorted(folder.iterdir(), key=lambda path: path.suffix)  # sdist, wheel


def check_same(first: Sequence[Path], second: Sequence[Path]) -> None:
    """Raise ReleaseError where files of two builds differ, or one is missing."""
    if names(first) != names(second):
        raise ReleaseError(f"expected the same files twice, found {names(first)} and {names(second)}")
    for one, other in zip(first, second, strict=True):
        if one.read_bytes() != other.read_bytes():
            raise ReleaseError(f"expected the same bytes twice, found others in {one.name}")


def names(paths: Sequence[Path]) -> list[str]:
    """The names of files."""
    return [path.name for path in paths]


def build_twice(root: Path, folder: Path) -> list[Path]:
    """Wheel and sdist of the last commit in `folder`, proven to have the same bytes whenever and wherever they are
    built."""
    seconds = output("git", "log", "-1", "--format=%ct", folder=root).strip()
    with tempfile.TemporaryDirectory() as aside:
        builds = []
        for name in ("one", "another/folder"):
            sources, place = Path(aside, name, "sources"), Path(aside, name, "dist")
            export_commit(root, sources)
            builds.append(build(sources, place, seconds, "sdist", "wheel"))
        check_same(*builds)
        sdist, wheel = builds[0]
        if not (sdist.name.endswith(".tar.gz") and wheel.suffix == ".whl"):
            raise ReleaseError(f"expected a sdist and a wheel, found {names(builds[0])}")
        with tarfile.open(sdist) as archive:
            archive.extractall(Path(aside, "unpacked"))  # its own; `filter` is missing in Python 3.11.2
        (sources,) = Path(aside, "unpacked").iterdir()
        check_same([wheel], build(sources, Path(aside, "again"), seconds, "wheel"))
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy2(path, folder)) for path in builds[0]]


def check_metadata(sdist: Path, wheel: Path, root: Path = ROOT) -> None:
    """Raise ReleaseError, or ExceptionGroup for fields that are not valid, unless the metadata of both distributions
    are those of this version."""
    with ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        raw = archive.read(name)
    with tarfile.open(sdist) as unpacked:
        file = unpacked.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/PKG-INFO")
        if file is None or file.read() != raw:
            raise ReleaseError("expected the metadata of the wheel in the sdist, found others")
    found = Metadata.from_email(raw, validate=True)
    expected = (distribution_name(root), Version(release_version(root)))
    if (found.name, found.version) != expected:
        raise ReleaseError(f"expected {expected} in the metadata, found {found.name} {found.version}")
    if found.description != (root / "README.md").read_text() or found.description_content_type != "text/markdown":
        raise ReleaseError("expected README.md as the description, found another")
    if not (found.license_expression and found.license_files and found.requires_python and found.summary):
        raise ReleaseError("expected licence, Python versions and a summary in the metadata, found one missing")


def check_content(wheel: Path, root: Path = ROOT) -> None:
    """Raise ReleaseError unless the wheel has exactly the committed files of the package, the flows and the SQL."""
    with ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    tracked = output("git", "ls-files", "-z", *(place.rstrip("/") for place in PLACES), folder=root).split("\0")[:-1]
    expected = {name.replace(place, inside, 1) for name in tracked for place, inside in PLACES.items()
                if name.startswith(place)}  # fmt: skip
    if found != expected:
        extra, missing = sorted(found - expected), sorted(expected - found)
        raise ReleaseError(
            f"expected the files of the commit in {wheel.name}, found {extra[:3]} more, {missing[:3]} less"
        )


def release_notes(changelog: str, version: str) -> str:
    """What the changelog says of a version, or of the next one while it has no date: Markdown with a heading."""
    sections = {
        title.split()[0]: text.strip()
        for title, text in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    }
    text = sections.get(version) or sections.get("Unreleased")
    if not text:
        raise ReleaseError(f"expected a section {version} in {CHANGELOG}, found none")
    return f"# bgdata {version}\n\n{text}\n"


def pythons() -> Iterator[tuple[int, Path]]:
    """(minor version, program) of one working Python of each supported version on this machine."""
    homes = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions"),
             Path(os.environ.get("UV_PYTHON_INSTALL_DIR", Path.home() / ".local/share/uv/python"))]  # fmt: skip
    for minor in MINORS:
        named = shutil.which(f"python3.{minor}")
        kept = [path for home in homes for path in sorted(home.glob(f"*3.{minor}.*/bin/python3"), reverse=True)]
        for path in (*([Path(named)] if named else []), *kept):
            code = "import ensurepip, sys, venv; print(sys.version_info[1])"
            done = subprocess.run([path, "-c", code], capture_output=True, text=True)
            if done.stdout.strip() == str(minor):
                yield minor, path
                break


def console_steps(page: str) -> list[tuple[list[str], str]]:
    """(words, output) of every step in the console blocks of a page."""
    steps = []
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            steps.append((shlex.split(command), shown))
    return steps


def try_out(python: Path, wheel: Path, folder: Path, built: Path | None = None) -> Path:
    """Install the wheel alone in a new environment in `folder`, build the default warehouse there, or link one that is
    `built`, and run the tour of the README. Returns the warehouse. Raises ReleaseError for another output."""
    folder.mkdir(parents=True)
    output(python, "-m", "venv", folder / "environment")
    programs = folder / "environment" / "bin"
    output(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    reader = folder / "reader"
    reader.mkdir()
    own = {name: str(folder / name.lower()) for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")} | {
        "COLUMNS": "200"
    }
    own |= {"PYTHONPATH": "", "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    if built:
        shutil.copytree(built, reader / "warehouse", copy_function=os.link, ignore=shutil.ignore_patterns("*catalog*"))
        output("bgdata", "catalog", folder=reader, **own)
    else:
        (reader / "warehouse").mkdir()
        output("bgdata", "build", folder=reader, **own)
    page, checker = (ROOT / "README.md").read_text(), doctest.OutputChecker()
    for words, shown in console_steps(page):
        found = shown_by(words, reader, **own)
        if not checker.check_output(shown, found, FLAGS):
            raise ReleaseError(f"expected the README's output of {shlex.join(words)}, found:\n{found}")
    (folder / "tour.txt").write_text("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)))
    output("python", "-c", TOUR, folder / "tour.txt", str(FLAGS), folder=reader, **own)
    return reader / "warehouse"


def write_version(version: str, root: Path = ROOT, today: str = "") -> None:
    """Write a version, and the date, into the package, the citation and the changelog. Raises ReleaseError for one that
    is not newer, or not of three numbers."""
    today = today or datetime.now(UTC).date().isoformat()
    if not re.fullmatch(r"\d+\.\d+\.\d+", version) or Version(version) < Version(release_version(root)):
        raise ReleaseError(f"expected three numbers, {release_version(root)} or newer, got {version}")
    replace(root / VERSION_FILE, r'(?m)^__version__ = ".+?"', f'__version__ = "{version}"')
    replace(
        root / CITATION, r"(?m)^version: .+\n(date-released: .+\n)?", f"version: {version}\ndate-released: {today}\n"
    )
    if f"\n## {version} (" not in (root / CHANGELOG).read_text():
        replace(root / CHANGELOG, r"(?m)^## Unreleased\n", f"## Unreleased\n\n## {version} ({today})\n")


def replace(path: Path, pattern: str, text: str) -> None:
    """Replace the first match of a pattern in a file. Raises ReleaseError if there is none."""
    found, count = re.subn(pattern, lambda _: text, path.read_text(), count=1)
    if not count:
        raise ReleaseError(f"expected {pattern} in {path}, found none")
    path.write_text(found)


def prepare(folder: Path, chosen: Sequence[str]) -> None:
    """Build, prove and try out a release of the last commit, and write its notes; `chosen` are Pythons, such as 3.12,
    or `none`."""
    version, changelog = release_version(), (ROOT / CHANGELOG).read_text()
    check_clean(ROOT)
    sdist, wheel = build_twice(ROOT, folder)
    print(f"built twice, with the same bytes: {sdist.name}, {wheel.name}", flush=True)
    check_metadata(sdist, wheel)
    check_content(wheel)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in (sdist, wheel))
    (folder / "SHA256SUMS").write_text(sums)
    (folder / f"notes-{version}.md").write_text(release_notes(changelog, version))
    built = None
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        for minor, python in pythons():
            if not chosen or f"3.{minor}" in chosen:
                built = try_out(python, wheel, Path(aside, f"3.{minor}"), built)
                print(f"installed alone, and the tour of the README run: Python 3.{minor}, {python}", flush=True)
    print(f"{folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    if f"\n## {version} (" not in changelog:
        print(f"{CHANGELOG} has no date for {version} yet: make version VERSION={version}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Prepare a release; see docs/how_to/publish.md.")
    parser.add_argument("--version", help="only write this version and today's date into the files that name them")
    parser.add_argument("--directory", type=Path, default=ROOT / "dist", help="folder of the results")
    parser.add_argument("--python", nargs="*", default=[], help="try these alone, such as 3.12; none for no trial")
    options = parser.parse_args()
    try:
        if options.version:
            write_version(options.version)
        else:
            prepare(options.directory.absolute(), options.python)
    except ReleaseError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()

"""Attacks on XML readers: each file is quarantined with a reason, in little memory, without opening other files."""

import encodings
import os
import random
import resource
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bgdata.errors import NoRowsError
from bgdata.formats.lines import read_bytes
from bgdata.formats.met_files import parse_met
from tests.faults.campaign import Campaign, shuffled
from tests.formats import test_met_files
from tests.imports.importing import Imports, quarantined, rows
from tests.store import processes

MAX_MEMORY_BYTES = 600_000_000  # above that at the start of the process; files have up to 10 MB
SECRET = "the-secret-of-another-file"
BODY = test_met_files.xml(head="").decode().replace("by hand", "{}")  # a valid table except for the attack


def laughs(chance: random.Random, _: Path) -> str:
    """Entities of entities: three gigabytes and more."""
    depth = chance.randint(9, 40)
    width = chance.randint(10, 30)
    declared = ['<!ENTITY l0 "ha">']
    declared += [f'<!ENTITY l{n} "{f"&l{n - 1};" * width}">' for n in range(1, depth)]
    return doctype("".join(declared), f"&l{depth - 1};")


def quadratic(chance: random.Random, _: Path) -> str:
    """One long entity, many times."""
    return doctype(f'<!ENTITY a "{"x" * chance.randint(10_000, 100_000)}">', "&a;" * 100_000)


def parameter_laughs(chance: random.Random, _: Path) -> str:
    """Parameter entities of parameter entities."""
    width = chance.randint(10, 30)
    declared = ["<!ENTITY % p0 'ha'>"] + [f"<!ENTITY % p{n} '{f'&#37;p{n - 1};' * width}'>" for n in range(1, 12)]
    return doctype("".join(declared) + "%p11;", "x")


def itself(_: random.Random, __: Path) -> str:
    """An entity of itself."""
    return doctype('<!ENTITY a "&b;"><!ENTITY b "&a;">', "&a;")


def other_file(chance: random.Random, secret: Path) -> str:
    """An entity that is another file, or an address."""
    place = chance.choice([secret.as_uri(), str(secret), "file:///dev/zero", "http://127.0.0.1:9/x", str(fifo(secret))])
    kind = chance.choice(["SYSTEM", 'PUBLIC "-//x//y//EN"'])
    return doctype(f'<!ENTITY a {kind} "{place}">', "&a;")


def other_type(chance: random.Random, secret: Path) -> str:
    """A document type in another file."""
    place = chance.choice([secret.as_uri(), str(secret), "http://127.0.0.1:9/x", str(fifo(secret))])
    return f'<!DOCTYPE met SYSTEM "{place}">' + BODY.format("&a;")


def other_declarations(_: random.Random, secret: Path) -> str:
    """Declarations in another file, and at an address."""
    declared = f'<!ENTITY % f SYSTEM "{secret.as_uri()}"><!ENTITY % d SYSTEM "http://127.0.0.1:9/x.dtd">%d;%f;'
    return doctype(declared, "x")


def inclusion(_: random.Random, secret: Path) -> str:
    """XInclude and a style sheet."""
    include = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{secret.as_uri()}" parse="text"/>'
    return f'<?xml-stylesheet href="{secret.as_uri()}"?>' + BODY.format(include)


def deep(chance: random.Random, _: Path) -> str:
    """Elements in elements."""
    depth = chance.randint(101, 1_000_000)
    return "<a>" * depth + "</a>" * chance.choice([depth, 0])


def wide(chance: random.Random, _: Path) -> str:
    """Many elements side by side."""
    return BODY.format("<a/>" * chance.randint(100_000, 500_000))


def large_attribute(chance: random.Random, _: Path) -> str:
    """One attribute, or its name, or a tag, of megabytes."""
    text = "x" * chance.randint(1_000_000, 10_000_000)
    return BODY.format(chance.choice([f'<a b="{text}"/>', f'<a {text}="b"/>', f"<{text}/>"]))


def many_attributes(chance: random.Random, _: Path) -> str:
    """Names of attributes by the ten thousands, one of them twice."""
    names = [f"a{n}" for n in range(chance.randint(10_000, 100_000))]
    return BODY.format(f"<a {' '.join(f'{name}={chr(34)}1{chr(34)}' for name in [*names, names[0]])}/>")


def default_attributes(chance: random.Random, _: Path) -> str:
    """Attributes that the document type gives to every element."""
    names = " ".join(f'a{n} CDATA "{"x" * 100}"' for n in range(chance.randint(100, 1000)))
    return doctype(f"<!ATTLIST a {names}>", "<a/>" * 1000)


def large_remark(chance: random.Random, _: Path) -> str:
    """A comment, instruction or section of megabytes, closed or not."""
    begin, end = chance.choice([("<!--", "-->"), ("<?x ", "?>"), ("<![CDATA[", "]]>"), ("<!DOCTYPE met [", "]>")])
    text = "x" * chance.randint(1_000_000, 10_000_000)
    return f"{begin}{text}{chance.choice([end, ''])}" + BODY.format("y")


def bad_letters(chance: random.Random, _: Path) -> str:
    """Characters that XML forbids, literally and by number."""
    return BODY.format(
        chance.choice(["\0", "\x01", "&#0;", "&#1;", "&#xD800;", "&#x110000;", "&#" + "9" * 100_000 + ";"])
    )


def lies_about_letters(chance: random.Random, _: Path) -> str:
    """An unknown or wrong encoding."""
    name = chance.choice(
        ["utf-16", "utf-7", "rot13", "zlib", "unicode_escape", "idna", "x" * 10_000, "../../x", "punycode"]
    )
    return f'<?xml version="1.0" encoding="{name}"?>' + BODY.format("+ADw-a+AD4-")


def doctype(declared: str, text: str) -> str:
    """A document with declarations of its own."""
    return f'<?xml version="1.0"?><!DOCTYPE met [{declared}]>' + BODY.format(text)


def fifo(secret: Path) -> Path:
    """A pipe without a writer, which blocks readers."""
    path = secret.with_name("pipe")
    if not path.exists():
        os.mkfifo(path)
    return path


OPENING = {"open", "socket.connect", "socket.getaddrinfo", "urllib.Request", "subprocess.Popen", "os.system"}
Attack = Callable[[random.Random, Path], str]
ATTACKS: dict[str, Attack] = {
    attack.__name__.replace("_", " "): attack
    for attack in (
        laughs, quadratic, parameter_laughs, itself, other_file, other_type, other_declarations, inclusion, deep, wide,
        large_attribute, many_attributes, default_attributes, large_remark, bad_letters, lies_about_letters,
    )
}  # fmt: skip
# attacks that may be read as a valid table: large, but without references
HARMLESS = {
    "inclusion", "wide", "large attribute", "many attributes", "default attributes", "large remark",
    "lies about letters",
}  # fmt: skip
ROWS = 7
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-be")


def import_alone(folder: Path) -> None:
    """In another process: import a file in little memory, opening only that file and those of the warehouse."""
    imports = Imports(folder)
    imports.sample("met_xml")  # loads all that is needed
    limit = memory_bytes() + MAX_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    opened: list[str] | None = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if opened is not None and event in OPENING:
            opened.append(f"{event} {arguments[0]!s:.200}")

    sys.addaudithook(note)
    path = folder / "attack.xml"
    parse_met(read_bytes(path))
    codecs = f"open {Path(encodings.__file__).parent}"  # Python's own, loaded when a document names one
    found = [entry for entry in opened or () if entry != f"open {path}" and not entry.startswith(codecs)]
    (folder / "opened").write_text("\n".join(found))
    opened = None
    try:
        table = imports.build("met_xml", [path])
        found = [str(len(rows(table))), *(reason for *_, reason in quarantined(table))]
    except NoRowsError as error:
        found = ["0", str(error)]
    (folder / "found").write_text("\n".join(found))
    for path in imports.warehouse.root.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), f"expected no secret in {path}"


def memory_bytes() -> int:
    """Size of the address space of this process."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


class XmlAttacks(Campaign):
    """Each case is one attack, in some encoding."""

    name = "xml"
    small = len(ATTACKS)
    full = 4 * len(ATTACKS)

    def case(self, number: int, chance: random.Random, folder: Path) -> Iterable[str]:
        name = shuffled(ATTACKS, self.seed)[number % len(ATTACKS)]
        secret = folder / "secret"
        imports = folder / "imports"
        secret.write_text(SECRET)
        imports.mkdir()
        (imports / "attack.xml").write_bytes(ATTACKS[name](chance, secret).encode(chance.choice(ENCODINGS)))
        code = processes.run(import_alone, imports)
        assert code == 0, f"expected the attack {name} to be set aside, found exit code {code}"
        wrong = (imports / "opened").read_text()
        assert not wrong, f"expected nothing to be opened by {name}, found {wrong}"
        count, *reasons = (imports / "found").read_text().split("\n")
        assert all(reason.startswith("expected ") for reason in reasons), (
            f"expected reasons for {name}, found {reasons}"
        )
        is_read = int(count) > 0
        assert is_read != bool(reasons), f"expected rows or reasons of {name}, found {count} and {reasons}"
        assert not is_read or (int(count) == ROWS and name in HARMLESS), f"expected no row of {name}, found {count}"
        return ["attacks", "read all the same" if is_read else "set aside"]

"""XML documents as elements that know their line, read without looking at anything outside of the document.

A document type may be named but is not read, and entities of a document's own are refused: a file cannot make a reader
open other files or grow without limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from bgdata.errors import InvalidElementError

MOST_DEPTH = 100


def flaw(line: int, reason: str) -> InvalidElementError:
    """What is wrong in which line of a document, from 1."""
    return InvalidElementError(reason, line)


@dataclass
class Element:
    """An element: its text without that of the elements in it, stripped."""

    name: str
    attributes: dict[str, str]
    line: int
    texts: list[str] = field(default_factory=list)
    children: list[Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own text, without space around it."""
        return "".join(self.texts).strip()

    def all(self) -> Iterator[Element]:
        """It and everything in it."""
        yield self
        for child in self.children:
            yield from child.all()

    def children_named(self, name: str) -> list[Element]:
        """All elements of a name right below it."""
        return [child for child in self.children if child.name == name]

    def child(self, name: str) -> Element:
        """The only element of a name right below it. Raises InvalidElementError."""
        found = self.children_named(name)
        if len(found) != 1:
            raise flaw(self.line, f"expected one <{name}> in <{self.name}>, found {len(found)}")
        return found[0]


class _Builder:
    """Puts elements together as the parser meets them."""

    def __init__(self, parser: Any) -> None:
        self.parser = parser
        self.open: list[Element] = []
        self.root: Element | None = None
        self.comments: list[str] = []
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler, parser.CommentHandler = self.text, self.comment
        parser.EntityDeclHandler = parser.SkippedEntityHandler = self.refuse

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Called by the parser at an opening tag."""
        element = Element(name, attributes, self.parser.CurrentLineNumber)
        if len(self.open) >= MOST_DEPTH:
            raise flaw(element.line, f"expected at most {MOST_DEPTH} elements in one another")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, name: str) -> None:  # noqa: ARG002
        """Called by the parser at a closing tag."""
        self.open.pop()

    def text(self, text: str) -> None:
        """Called by the parser for a text, or a part of one."""
        if self.open:
            self.open[-1].texts.append(text)

    def comment(self, text: str) -> None:
        """Called by the parser for a comment, wherever it is."""
        self.comments.append("\n".join(line.strip() for line in text.strip().splitlines()))

    def refuse(self, name: str, *_: object) -> None:
        """An entity that the document declares, or that something outside of it would."""
        raise flaw(self.parser.CurrentLineNumber, f"expected no entities but those of XML, found {name}")


def parse_elements(data: bytes) -> tuple[Element, list[str]]:
    """The outermost element of a document, and all comments in order.

    Text in neither UTF-8 nor the encoding that the document names is taken as ISO-8859-1. Raises InvalidElementError
    where the document is not well-formed.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    builder = _Builder(parser)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN] and not _is_utf8(data):
            return parse_elements(data.decode("latin-1").encode("utf-8"))
        raise flaw(error.lineno, f"expected well-formed XML, found: {expat.ErrorString(error.code)}") from error
    except InvalidElementError:
        raise
    except (LookupError, ValueError) as error:  # of a codec that is no codec of text
        raise flaw(1, f"expected an encoding that is known, found: {error}") from error
    assert builder.root is not None  # or the parser had found no element
    return builder.root, builder.comments


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

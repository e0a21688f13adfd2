"""Parameters of every type: as JSON in manifests, and as text from users."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bgdata.errors import InvalidParameterError, ManifestFormatError
from bgdata.store.manifest import canonical_json
from bgdata.store.parameters import NONE_GIVEN, Given, Parameters, VersionRef, number_text, value_text


@dataclass(frozen=True)
class Every(Parameters):
    """One of each type."""

    count: int = 3
    share: float = 0.5
    name: str = "a"
    is_on: bool = False
    until: float | None = None
    sizes: tuple[int, ...] = (1, 2)
    start: VersionRef = VersionRef("network", "tiny")  # noqa: RUF009
    guard: tuple[VersionRef, ...] = ()
    source: VersionRef | None = None
    recipe: Given = NONE_GIVEN


FULL = Every(
    4, 1.0, "b", True, 0.25, (), VersionRef("a", "b", "r1-01234567"), (VersionRef("c", "d"),), VersionRef("e", "f"),
    Given.of(Every(sizes=(7,)).to_json()),
)  # fmt: skip


@pytest.mark.parametrize("parameters", [Every(), FULL], ids=["defaults", "full"])
def test_parameters_round_trip_as_json_and_text(parameters: Every) -> None:
    written = json.loads(json.dumps(parameters.to_json()))
    again = Every.from_manifest(written)
    assert again == parameters
    assert hash(again) == hash(parameters)
    assert again.to_json() == parameters.to_json() == written
    again.check_types()
    texts = {name: value_text(getattr(parameters, name)) for name in Every.names()}
    assert Every().with_texts(texts) == parameters


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("share", float("inf")),
        ("share", float("nan")),
        ("until", -float("inf")),
        ("recipe", Given((("x", float("nan")),))),
    ],
)
def test_nan_and_infinity_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=f"^expected finite numbers as {name}, got "):
        Every().with_changes({name: value}).check_types()
    FULL.check_types()


def test_parameters_have_a_json_form() -> None:
    assert FULL.to_json()["start"] == {"kind": "a", "variant": "b", "version": "r1-01234567"}
    assert FULL.to_json()["sizes"] == []
    assert FULL.to_json()["recipe"]["sizes"] == [7]
    assert Every.from_manifest(FULL.to_json()["recipe"]) == Every(sizes=(7,))


@pytest.mark.parametrize(
    ("name", "value", "type_"),
    [
        ("count", True, "int"),
        ("count", 1.5, "int"),
        ("share", "0.5", "float"),
        ("share", 10**400, "float"),
        ("is_on", 1, "bool"),
        ("until", "1", "float or none"),
        ("sizes", ["1"], "tuple of int"),
        ("sizes", "1 2", "tuple of int"),
        ("start", "a/b", "VersionRef"),
        ("start", {"kind": "a"}, "VersionRef"),
        ("guard", [None], "tuple of VersionRef"),
        ("recipe", [], "Given"),
    ],
)
def test_values_of_wrong_types_are_refused(name: str, value: Any, type_: str) -> None:
    with pytest.raises(ManifestFormatError, match=f"^expected {name} of type {type_}, found "):
        Every.from_manifest({**Every().to_json(), name: value})
    changed = Every().with_changes({name: tuple(value) if isinstance(value, list) and value else value})
    with pytest.raises(InvalidParameterError, match=f"^expected {name} of type {type_}, got "):
        changed.check_types()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("count", "many", "expected int for count, got 'many'"),
        ("share", "half", "expected float for share, got 'half'"),
        ("is_on", "maybe", "expected bool for is_on, got 'maybe'"),
        ("sizes", "1 x", "expected tuple of int for sizes, got '1 x'"),
        ("start", "tiny", "expected KIND/VARIANT/VERSION, got 'tiny'"),
        ("guard", "a/b ../c", "expected KIND/VARIANT/VERSION, got '../c'"),
        ("recipe", "{", "expected parameters as JSON, got '{'"),
        ("recipe", "[]", r"expected parameters as JSON, got '\[\]'"),
        ("colour", "red", "expected a parameter among count, .*, got colour"),
    ],
)
def test_invalid_texts_are_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=f"^{message}$"):
        Every().with_texts({name: text})


@dataclass(frozen=True)
class Weighted:
    """A parameter with a number."""

    name: str = "a"
    weight: float = 1.0


@dataclass(frozen=True)
class Floats(Parameters):
    """Floats in every place that allows them."""

    share: float = 1.0
    until: float | None = None
    row: tuple[float, ...] = ()
    part: Weighted = Weighted()
    parts: tuple[Weighted, ...] = ()
    count: int = 1


FLOATS = Floats(2.0, 1.0, (0.5, 3.0), Weighted("b", 4.0), (Weighted("c", 0.0),), 5)


def test_integers_for_floats_are_the_same_recipe() -> None:
    whole = Floats(2, 1, (0.5, 3), Weighted("b", 4), (Weighted("c", 0),), 5)
    changed = Floats().with_changes(vars(whole))
    read = Floats.from_manifest(json.loads(json.dumps(FLOATS.to_json()).replace(".0", "")))
    for parameters in (whole, changed, read):
        assert canonical_json(parameters.to_json()) == canonical_json(FLOATS.to_json())
        parameters.check_types()


@pytest.mark.parametrize("share", ["1", True, None, (1,), np.float64(1), 10**400])
def test_invalid_numbers_are_refused(share: Any) -> None:
    assert Floats(share).share is share
    with pytest.raises(InvalidParameterError, match=r"^expected share of type float, got "):
        Floats(share).check_types()


def test_booleans_are_written_as_true_and_false() -> None:
    assert [Every.parse("is_on", word) for word in ("true", "1", "Yes", "false", "0", "no")] == [True] * 3 + [False] * 3


def test_texts_of_numbers_are_short() -> None:
    assert [number_text(number) for number in (6.0, 0.16, 1e-30, 0)] == ["6", "0.16", "1e-30", "0"]


def test_versions_are_written_as_names() -> None:
    version = VersionRef.parse("a/b-1/r1-01234567")
    assert (version.kind, version.variant, version.version) == ("a", "b-1", "r1-01234567")
    assert str(version) == "a/b-1/r1-01234567"
    assert version.title == "a/b-1"
    assert str(VersionRef("a", "b")) == "a/b"

"""Parameters of variants: frozen dataclasses with few types, which manifests contain as JSON and users write as
strings.

A parameter is an integer, a float, a string or a boolean; a tuple of these; a dataclass of these that can be parsed
from a string, such as `VersionRef`; or None in place of any of them. `Given` contains the parameters of a variant of
another kind.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from math import isfinite
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from bgdata.errors import InvalidNameError, InvalidParameterError, ManifestFormatError, cite
from bgdata.store.names import parse_reference

WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, order=True)
class VersionRef:
    """A reference to a version by kind, variant and version. If `version` is empty, it is the version with the recipe
    that the variant's name implies."""

    kind: str
    variant: str
    version: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind, self.variant, self.version) if part)

    @property
    def title(self) -> str:
        """KIND/VARIANT, without the version."""
        return f"{self.kind}/{self.variant}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse KIND/VARIANT or KIND/VARIANT/VERSION. Raises InvalidParameterError for any other string."""
        try:
            kind, variant, version = parse_reference(text)
        except InvalidNameError:
            raise InvalidParameterError(f"expected KIND/VARIANT/VERSION, got {cite(text)}") from None
        return cls(kind, variant, version or "")


@dataclass(frozen=True)
class Given:
    """A parameter that contains the parameters of a variant of another kind, as names with values. It is empty if the
    name of that variant implies them."""

    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Make a `Given` from parameters as JSON values, by name."""
        return cls(tuple((name, hashable_value(each)) for name, each in sorted(values.items())))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a JSON object of parameters. Raises InvalidParameterError for any other string."""
        try:
            found = json.loads(text or "{}")
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise InvalidParameterError(f"expected parameters as JSON, got {cite(text)}")
        return cls.of(found)


NONE_GIVEN = Given()


def hashable_value(value: Any) -> Any:
    """Make a JSON value hashable: lists become tuples, and objects become `Given`."""
    if isinstance(value, dict):
        return Given.of(value)
    return tuple(map(hashable_value, value)) if isinstance(value, list) else value


def _all_finite(value: Any) -> bool:
    if isinstance(value, dict | list):
        return all(map(_all_finite, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or isfinite(value)


_HINTS: dict[type, Mapping[str, Any]] = {}


def _hints_of(declared: type) -> Mapping[str, Any]:
    """The types of the fields of a class. They are cached, because importing the kinds creates many parameter
    objects."""
    if declared not in _HINTS:
        _HINTS[declared] = MappingProxyType(get_type_hints(declared))
    return _HINTS[declared]


@dataclass(frozen=True)
class Parameters:
    """Base of the dataclasses with the parameters of a kind. Every parameter has a default. An integer that is given
    for a float is converted, so that 1 and 1.0 give the same recipe. Parameters in `later` were added after versions
    had been published: a recipe omits them if they equal their default, so that older recipes keep their key."""

    later: ClassVar[tuple[str, ...]] = ()
    size_names: ClassVar[tuple[str, ...]] = ()  # parameters to reduce if a build is too large

    def __post_init__(self) -> None:
        for name, declared in self.types().items():
            object.__setattr__(self, name, _with_floats(declared, getattr(self, name)))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the parameters, in the order of their declaration."""
        return tuple(field.name for field in fields(cls))

    @classmethod
    def types(cls) -> dict[str, Any]:
        """The declared type of each parameter, by name."""
        hints = _hints_of(cls)
        return {name: hints[name] for name in cls.names()}

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """A copy in which the parameters named in `changes` have new values. Raises InvalidParameterError for a name
        that is not a parameter."""
        for name in changes:
            if name not in self.names():
                raise InvalidParameterError(f"expected a parameter among {', '.join(self.names())}, got {name}")
        return replace(self, **changes)

    def check_types(self) -> None:
        """Raise InvalidParameterError if the value of a parameter does not have the declared type, or is NaN or
        infinite, which JSON cannot express."""
        for name, declared in self.types().items():
            value = getattr(self, name)
            try:
                from_json(declared, to_json(value))
            except TypeError:
                raise InvalidParameterError(
                    f"expected {name} of type {type_text(declared)}, got {cite(value)}"
                ) from None
            if not _all_finite(to_json(value)):
                raise InvalidParameterError(f"expected finite numbers as {name}, got {cite(value)}")

    def check_determined(self) -> None:
        """Raise InvalidParameterError if a parameter is a name that may later refer to something else, because the same
        recipe would then give other values. The manifest of an existing version records to what the name referred."""

    def to_json(self) -> dict[str, Any]:
        """The parameters by name as JSON values, in the form that manifests and recipes record."""
        defaults = {field.name: field.default for field in fields(self) if field.name in self.later}
        return {
            name: to_json(value)
            for name, value in vars(self).items()
            if name not in defaults or value != defaults[name]
        }

    @classmethod
    def from_manifest(cls, values: Mapping[str, Any]) -> Self:
        """Make parameters from the JSON values in a manifest. Raises ManifestFormatError if their names or types are
        not the declared ones."""
        if not set(cls.names()) - set(cls.later) <= set(values) <= set(cls.names()):
            raise ManifestFormatError(f"expected the parameters {', '.join(cls.names())}, found {cite(dict(values))}")
        found = {}
        for name, declared in cls.types().items():
            if name not in values:
                continue
            try:
                found[name] = from_json(declared, values[name])
            except TypeError:
                raise ManifestFormatError(
                    f"expected {name} of type {type_text(declared)}, found {cite(values[name])}"
                ) from None
        return cls(**found)

    def with_texts(self, changes: Mapping[str, str]) -> Self:
        """A copy in which the parameters named in `changes` have the values that a user wrote as strings. Raises
        InvalidParameterError if a name or a value is invalid."""
        return self.with_changes({name: self.parse(name, text) for name, text in changes.items()})

    @classmethod
    def parse(cls, name: str, text: str) -> Any:
        """Parse the value of the parameter `name`, which a user wrote as the string `text`. The items of a tuple are
        separated by spaces. Raises InvalidParameterError if the string is invalid."""
        declared = cls.types().get(name, str)
        try:
            return _from_text(declared, text)
        except InvalidParameterError:
            raise
        except ValueError:  # raised by int and float
            raise InvalidParameterError(f"expected {type_text(declared)} for {name}, got {cite(text)}") from None


def _with_floats(declared: Any, value: Any) -> Any:
    """Return the value, with integers converted to floats where the declared type has a float."""
    choices = get_args(declared)
    if _is_whole_float(declared, value):
        return float(value)
    if get_origin(declared) is tuple and isinstance(value, tuple):
        return tuple(_with_floats(choices[0], each) for each in value)
    if NoneType in choices:
        return _with_floats(choices[0], value)
    if is_dataclass(declared) and type(value) is declared and declared is not Given:
        types = _hints_of(declared)
        return replace(value, **{name: _with_floats(each, getattr(value, name)) for name, each in types.items()})
    return value


def _is_whole_float(declared: Any, value: Any) -> bool:
    """Whether the value is an integer, the declared type is float, and the integer is exact as a float."""
    return declared is float and type(value) is int and abs(value) <= sys.float_info.max


def to_json(value: Any) -> Any:
    """Convert the value of a parameter to a JSON value."""
    if isinstance(value, Given):
        return {name: to_json(each) for name, each in value.values}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    return [to_json(each) for each in value] if isinstance(value, tuple) else value


def from_json(declared: Any, value: Any) -> Any:
    """Convert a JSON value to a parameter of the declared type. Raises TypeError if it does not fit that type."""
    choices = get_args(declared)
    if declared is Given and isinstance(value, dict):
        return hashable_value(value)
    if get_origin(declared) is tuple and isinstance(value, list):
        return tuple(from_json(choices[0], each) for each in value)
    if NoneType in choices:
        return None if value is None else from_json(choices[0], value)
    if isinstance(declared, type) and is_dataclass(declared) and isinstance(value, dict):
        types = _hints_of(declared)
        if set(value) == set(types):
            return declared(**{name: from_json(types[name], each) for name, each in value.items()})
    if type(value) is declared or _is_whole_float(declared, value):
        return value
    raise TypeError(declared)


def _from_text(declared: Any, text: str) -> Any:
    """Parse a string as a parameter of the declared type. Raises ValueError if it is invalid; InvalidParameterError is
    a ValueError."""
    choices = get_args(declared)
    if get_origin(declared) is tuple:
        return tuple(_from_text(choices[0], word) for word in text.split())
    if NoneType in choices:
        return _from_text(choices[0], text) if text else None
    if declared is bool:
        if text.lower() not in WORDS:
            raise ValueError(text)
        return WORDS[text.lower()]
    if hasattr(declared, "parse"):
        return declared.parse(text)
    return declared(text)


def type_text(declared: Any) -> str:
    """The name of a declared type in words: `float`, `tuple of VersionRef`, `float or none`."""
    choices = get_args(declared)
    if get_origin(declared) is tuple:
        return f"tuple of {type_text(choices[0])}"
    if NoneType in choices:
        return f"{type_text(choices[0])} or none"
    return str(declared.__name__)


def number_text(number: float) -> str:
    """Return the shortest string that gives the same number when parsed: `6`, `0.16`."""
    return repr(float(number)).removesuffix(".0")


def value_text(value: Any) -> str:
    """Write the value of a parameter as a string that `Parameters.parse` converts to the same value."""
    if isinstance(value, tuple):
        return " ".join(map(value_text, value))
    if isinstance(value, Given):
        return json.dumps(to_json(value)) if value.values else ""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else number_text(value) if isinstance(value, float) else str(value)

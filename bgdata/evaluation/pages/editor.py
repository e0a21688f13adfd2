"""The form for setting up a position. If there is no answer for the position, the form is shown again, with the user's
input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from bgdata.equity.pages import names_of
from bgdata.errors import BgdataError, UsageError
from bgdata.game.board import CHECKERS
from bgdata.game.board_svg import format_board_svg
from bgdata.game.identifiers import parse_identifier
from bgdata.game.position import START, Position
from bgdata.web.answer import Page, address, position_path, status_of
from bgdata.web.position_request import LONGEST, SHORT, PositionRequest
from bgdata.web.site import Site

EMPTY = Position([0] * 26)
FIELDS = ("roll", "own", "theirs", *SHORT, "ply")
BOARDS = {"clear": EMPTY, "start": START}  # by the value of a button


def redirect_form(site: Site, request: Request) -> Page | Response:
    """Redirect the form to the page of its position, which was entered in a notation or as counts of checkers. If they
    are invalid, show the form again with the reason. Raises TooBusyError if too many pages are being computed."""
    typed = dict(request.query_params)
    try:
        return RedirectResponse(form_address(typed), 303)
    except BgdataError as error:
        return refusal(site, error, typed.get("q", ""), typed)


def form_address(fields: Mapping[str, str]) -> str:
    """Return the address of the page for the position in a form. Raises UsageError if both the notation and the
    checkers were changed, and the errors of `PositionRequest`."""
    given = dict(fields)
    text, is_ticked = given.pop("q", "").strip(), bool(given.pop("edit", ""))
    filled = dict(parse_qsl(given.pop("filled", "")))
    counts = [given.pop(f"p{point}", "").strip() for point in range(26)]
    is_edited = is_ticked and any(counts)
    if not is_ticked and any(counts) and filled.get("q"):  # the checkers in the form no longer match its notation
        before = [str(count) for count in parse_identifier(filled["q"])[0].board]
        is_edited = [count or "0" for count in counts] != before
        if is_edited and text != filled["q"]:
            raise UsageError("expected another notation or other checkers, got both; tick the box to use the checkers")
    if is_edited:
        if message := why_too_many(counts):
            raise UsageError(message)
        text = ",".join(count or "0" for count in counts)
    elif filled and text == filled.get("q"):  # the fields contain the parts of this notation, perhaps edited
        text = parse_identifier(text)[0].id
    elif filled and parse_identifier(text or "start")[1] is not None:  # a new notation overrides unchanged fields
        own_names = ("roll", "own", "theirs", *SHORT)
        given = {
            name: value for name, value in given.items()
            if name not in own_names or name == "met" or value != filled.get(name, "")
        }  # fmt: skip
    settings = query_settings(given)
    if board := BOARDS.get(given.get("set", "")):
        text = board.id
        settings.pop("roll", "")
    if text and (found := parse_identifier(text))[0] == EMPTY:  # an empty board is allowed in an editor
        return address(position_path(found[0]), settings)
    asked = PositionRequest(text or "start", settings)
    if given.get("flip"):
        return asked.flip_address
    return address(position_path(asked.text.strip() if asked.match else asked.position), settings)


def why_too_many(counts: Sequence[str]) -> str:
    """Say which side has too many checkers; an empty string if none has. `counts` are the texts typed for points 0 to
    25."""
    try:
        bar, *own = [int(count or 0) for count in counts]
    except ValueError:
        return ""  # the error of the position will name what is not a number
    theirs = abs(bar) - sum(min(count, 0) for count in own)
    for name, found in (("the player on roll", sum(max(count, 0) for count in own)), ("the opponent", theirs)):
        if found > CHECKERS:
            return f"expected at most {CHECKERS} checkers of {name}, got {found}"
    return ""


def query_settings(fields: Mapping[str, str]) -> dict[str, str]:
    """The query parameters of a position's address, from the fields of a form: roll, score and cube."""
    given = dict(fields)
    own, theirs = given.get("own", ""), given.get("theirs", "")
    if own or theirs:
        given["away"] = f"{own or theirs}-{theirs or own}"
        given.pop("jacoby", None)  # an unchanged field from money play
    if "own" in given and (own == "1") == (theirs == "1"):
        given.pop("crawford", None)  # an unchanged field from another score
    if "rolled" in given:  # a button
        given["roll"] = given["rolled"]
    return {name: given[name] for name in ("roll", *SHORT, "ply", "setup") if name in given}


def form_values(
    site: Site, text: str, position: Position, values: Mapping[str, str], *, is_setup: bool, is_known: bool = True
) -> dict[str, Any]:
    """The values that the form's template shows: the notation `text`, the checkers of the position, and the other
    fields. If `is_known` is false, there is no notation for these checkers."""
    own, _, theirs = values.get("away", "").partition("-")
    filled = dict.fromkeys(FIELDS, "") | {"q": text, "own": own, "theirs": theirs}
    filled |= {name: values[name] for name in FIELDS if name in values}
    mets: list[str] = []
    with suppress(BgdataError):  # without a warehouse
        mets = names_of(site)
    return {
        "filled": filled,
        "filled_text": urlencode(filled) if is_known else "",
        "counts": [str(count) for count in position.board],
        "too_many": "",
        "is_setup": is_setup,
        "mets": mets,
    }


def refusal(site: Site, error: BgdataError, text: str, values: Mapping[str, str]) -> Page:
    """Return the page for a position without an answer. It shows the reason, and the form with the user's input. Raises
    `error` if it is not about the position."""
    status = status_of(error)
    if status not in (400, 404):
        raise error
    message = site.public(error)
    if text.strip().lower().startswith("xgid="):
        message = message.partition("; as xgid: ")[2] or message  # no other notation was meant
    position, is_known = EMPTY, False
    for notation in (dict(parse_qsl(values.get("filled", ""))).get("q", ""), text[:LONGEST]):  # the last board, the new
        with suppress(BgdataError):
            position, is_known = parse_identifier(notation)[0], notation == text
    form = form_values(site, text, position, values, is_setup=True, is_known=is_known)
    typed = [values.get(f"p{point}", "").strip() for point in range(26)]
    if any(typed):
        form |= {"counts": typed, "too_many": message if message == why_too_many(typed) else ""}
    is_empty = is_known and position == EMPTY
    shown = {"message": message, "is_empty": is_empty, "board": format_board_svg(position), "status": status}
    return Page("refusal.html", shown | form, {"error": message}, status)

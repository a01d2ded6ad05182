"""URIs as they may be shown: what stands before the `@` and behind the `?` may be a key or a token,
and belongs in no output, log, error or document.
"""

from __future__ import annotations

import re
from urllib.parse import unquote, unquote_plus

HIDDEN = "***"
SHORTEST = 4  # characters of a secret that is looked for by itself: fewer stand in any text
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+")
_HARMLESS = {"scheme", "region", "endpoint_override"}  # options that errors may speak of


def is_uri(place: str) -> bool:
    """Is it the address of a store, and no path here?"""
    return "://" in place or place.startswith("file:")


def shown(place: str) -> str:
    """A URI without what may be secret; a path as it is.

    A secret may hold any of `/?#@` where the user forgot to escape it. Where that leaves two
    readings, both are hidden.
    """
    scheme, colon, rest = place.partition("://")
    if not colon:
        return place
    address, mark, query = re.split(r"([?#]|$)", rest, maxsplit=1)
    if "@" in scheme + query:
        return f"{scheme.rpartition('@')[2]}://{HIDDEN}"
    user = f"{HIDDEN}@" if "@" in address else ""
    return f"{scheme}://{user}{address.rpartition('@')[2]}{mark}{HIDDEN if mark else ''}"


def again(place: str) -> str:
    """How to go on with a store, without what may be secret in its URI."""
    if shown(place) == place:
        return f"--resume {place}"
    return f"--resume with the whole URI of {shown(place)}"


def without_secrets(text: str, place: str) -> str:
    """The text of a library about a place, without what may be secret in its URI."""
    for secret in sorted(_secrets(place), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _URI.sub(lambda found: shown(found[0]), text)


def _secrets(place: str) -> set[str]:
    """Everything in a URI that may be secret, as it stands there and decoded."""
    rest = place.partition("://")[2]
    user = rest.rpartition("@")[0]
    query = re.split(r"[?#]", rest, maxsplit=1)[1:]
    options = [option.partition("=") for q in query for option in re.split(r"[&;#]", q)]
    values = [value for name, _, value in options if name not in _HARMLESS]
    raw = [user, *user.split(":", 1), *query, *values]
    every = {form for text in raw for form in (text, unquote(text), unquote_plus(text))}
    return {secret for secret in every if len(secret) >= SHORTEST}

"""An answer goes to standard output: as a document, in colour at a terminal, or as plain text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from groupcheck.oracles.show.document import as_text
from groupcheck.oracles.show.suite import Suite, tell
from groupcheck.oracles.show.text import as_plain


def answered(
    document: Callable[[], dict[str, Any]],
    view: Callable[[], RenderableType],
    suite: Callable[[], Suite],
    *,
    as_json: bool,
    junit: Path | None,
) -> None:
    """Prints the answer in the form that is wanted, and tells its test cases to CI."""
    if as_json:
        sys.stdout.write(as_text(document()))
    elif sys.stdout.isatty():
        Console(highlight=False).print(view())
    else:
        sys.stdout.write(as_plain(view()))
    tell(suite, junit)


def progress(words: str) -> None:
    """A line of progress on standard error."""
    print(f"groupcheck: {words}", file=sys.stderr, flush=True)

"""The messages of a command to people: its answer on stdout, remarks and progress on stderr."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from groupcheck.oracles.printable import not_obeyed, printable

if TYPE_CHECKING:
    from rich.console import RenderableType

EXIT_CODES = {"holds": 0, "violated": 1, "unknown": 3}


def answer(document: Callable[[], Any], view: Callable[[], RenderableType], as_json: bool) -> None:
    """Prints the answer of a command: one JSON document, or a view for people."""
    if as_json:
        from groupcheck.oracles.printable import as_text

        sys.stdout.write(as_text(document()))
    else:
        from groupcheck.oracles.show.text import show

        show(view())


def say(text: str) -> None:
    """Prints a remark on stderr, on one line."""
    print(not_obeyed(f"groupcheck: {printable(text)}"), file=sys.stderr, flush=True)


@contextlib.contextmanager
def live(view: Callable[[], RenderableType]) -> Iterator[None]:
    """Shows how far a run is: draws the view on stderr four times a second, on a terminal only."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.live import Live

    from groupcheck.oracles.show.text import console

    on = console(stderr=True)
    with Live(get_renderable=view, console=on, refresh_per_second=4, transient=True):
        yield

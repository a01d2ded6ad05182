"""`groupcheck explore`: begins a walk, and goes it in a terminal or on a page."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

from groupcheck.model.engine import UserError
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.explore.beginning import walk_from
from groupcheck.oracles.explore.walk import Walk
from groupcheck.oracles.printable import not_obeyed, printable

if TYPE_CHECKING:
    from groupcheck.oracles.explore.questions import Desk

PROMPT = "> "
TAB: ContextVar[Callable[[Desk], None] | None] = ContextVar("tab", default=None)
"""What takes the desk in place of a server, where the page is in the same browser tab."""


def run(
    variant: str | None,
    source: str | None,
    asked: Callable[[], Subject],
    is_asked: bool,
    *,
    group: str | None,
    text: bool,
    do: Sequence[str],
    view: str | None,
    port: int,
    listen: str | None,
    opens: bool,
) -> int:
    """Walks. `source`, `asked`, `is_asked`, `group`: as `walk_from` takes them. `do`: commands for
    the terminal, in place of those that are typed. `view`: FILE.py:NAME of a function that draws a
    state. `port`, `listen`: where the server of the page listens; `opens`: in a browser, too.
    """
    walk = walk_from(source, variant, asked, is_asked, group)
    if text or do:
        if view is not None:
            raise UserError("draws on the page", where="--view", do="leave out --text and --do")
        return converse(walk, _given(do) if do else _typed(), is_strict=bool(do) or not _asks())
    return _serve(walk, view, port, listen, opens)


def _serve(walk: Walk, view: str | None, port: int, listen: str | None, opens: bool) -> int:
    """Shows the page until Ctrl-C."""
    from groupcheck.oracles.explain import own
    from groupcheck.oracles.explore.questions import Desk
    from groupcheck.oracles.explore.server import LOOPBACK, Server
    from groupcheck.oracles.processes.supervisor import until_interrupted
    from groupcheck.oracles.show.terminal import say

    desk = Desk(walk)
    if view is not None:
        if not own.is_own(view):
            raise UserError("is no FILE.py:NAME", where="--view", do="name a function of yours")
        desk.view, desk.view_name = own.named(view, (Callable,), "a function"), printable(view)
    if (take := TAB.get()) is not None:
        take(desk)
        return 0
    with Server(desk, listen or LOOPBACK, port) as server:
        if listen not in (None, LOOPBACK):
            say(f"whoever reaches {listen} and knows the address can walk here")
        print(f"{printable(walk.about.title)} at {server.address}", flush=True)
        say("Ctrl-C ends it")
        if opens:
            _open(server.address)
        with until_interrupted(lambda _: None):
            server.serve_forever(poll_interval=0.2)
    return 0


def _open(address: str) -> None:
    """Opens a page, unless only a browser for terminals is there: that would take this one. It is
    not done unasked: the keeper ends what this process has started (`processes/supervisor.py`), and
    that would be a browser in which somebody has gone on to other pages.
    """
    import webbrowser

    with contextlib.suppress(webbrowser.Error):
        found = webbrowser.get()
        if type(found) is not webbrowser.GenericBrowser:
            found.open(address)


def _asks() -> bool:
    """Does somebody type at a terminal?"""
    return sys.stdin is not None and sys.stdin.isatty()


def _given(do: Sequence[str]) -> Iterator[str]:
    """The commands of `--do`, each shown as if it had been typed."""
    for line in (one for text in do for one in text.split(";")):
        if line.strip():
            print(not_obeyed(f"{PROMPT}{printable(line.strip())}"))
            yield line


def _typed() -> Iterator[str]:
    """The lines of standard input, to their end."""
    if _asks():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401 - `input` edits lines with it

        while True:
            try:
                yield input(PROMPT)
            except EOFError:
                print()
                return
    for line in sys.stdin or ():
        if line.strip() and not line.startswith("#"):
            print(not_obeyed(f"{PROMPT}{printable(line.strip())}"))
            yield line


def converse(walk: Walk, lines: Iterator[str], is_strict: bool) -> int:
    """Answers one command after the other. `is_strict`: a wrong command ends it, as a script wants
    it. Raises `UserError` then.
    """
    from rich.text import Text

    from groupcheck.oracles.explore.conversation import Conversation
    from groupcheck.oracles.show.text import show

    talk = Conversation(walk)
    show(Text(printable(walk.about.title), "bold"))
    if walk.note:
        show(Text(printable(walk.note)))
    show(talk.here())
    for line in lines:
        try:
            shown = talk.answer(line)
        except UserError as error:
            if is_strict:
                where = error.where or printable(line.strip())[:60]
                raise UserError(error.what, where=where, do=error.do) from None
            shown = Text(printable(str(error)), "yellow")
        if shown is None:
            break
        show(shown)
        sys.stdout.flush()
    return 0

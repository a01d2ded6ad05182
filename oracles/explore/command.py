"""`groupcheck explore`: begins a walk, and goes it in a terminal or on a page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from groupcheck.model.engine import UserError
from groupcheck.oracles.explain.subject import Subject
from groupcheck.oracles.explore.beginning import walk_from
from groupcheck.oracles.explore.walk import Walk
from groupcheck.oracles.printable import not_obeyed, printable

PROMPT = "> "


def run(
    variant: str | None,
    source: str | None,
    asked: Callable[[], Subject],
    is_asked: bool,
    *,
    text: bool,
    do: Sequence[str],
) -> int:
    """Walks. `source`, `asked`, `is_asked`: as `walk_from` takes them. `do`: commands for the
    terminal, in place of those that are typed.
    """
    walk = walk_from(source, variant, asked, is_asked)
    return converse(walk, _given(do) if do else _typed(), is_strict=bool(do) or not _asks())


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

"""The path of a walk for elsewhere: a pytest test, a picture, a trace for other tools, a ticket, a
page, command lines. A path on which a promise breaks ends where it first does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.explain.explanation import Explanation, rows
from groupcheck.oracles.explore.walk import Walk
from groupcheck.oracles.printable import as_text, printable
from groupcheck.oracles.show.walk_links import address, command_line

SPECIAL = "\\`*_{}[]<>()#+!|~"  # what Markdown could take for its own, and HTML


def as_pytest(walk: Walk, file: Path | None = None) -> str:
    """A test that follows the path. `file`: where it will lie."""
    from groupcheck.oracles.show.pytest_export import tests_of

    return tests_of(walk.about, walk.told(), file)


def as_svg(walk: Walk, file: Path | None = None) -> str:
    """The swim-lane."""
    from groupcheck.oracles.show.html import image

    return image(walk.told()[0])


def as_itf(walk: Walk, file: Path | None = None) -> str:
    """The path in the Informal Trace Format."""
    from groupcheck.oracles.show.itf import path_trace

    told = walk.told()[0]
    return as_text(
        path_trace(
            walk.about,
            told.path,
            told.key,
            told.headline,
            "violation" if told.invariant else "example",
        )
    )


def as_page(walk: Walk, file: Path | None = None) -> str:
    """The page that `explain --html` writes."""
    from groupcheck.oracles.show.html import page
    from groupcheck.oracles.show.report import Report, scope_words, walk_command

    facts = tuple(f for f in (("scope", scope_words(walk.about)),) if f[1])
    told = walk.told()
    walks = tuple(walk_command(walk.about, one.key) for one in told)
    return page(Report("", walk.about.title, f"key {walk.key}", facts, told, walks=walks))


def as_markdown(walk: Walk, file: Path | None = None) -> str:
    """A text for a ticket: what breaks, the steps as a table, how to come here again."""
    from groupcheck.oracles.show.report import scope_words

    parts = [f"## {_quoted(walk.about.title)}: {_quoted(walk.told()[0].headline)}", ""]
    if scope := scope_words(walk.about):
        parts += [f"Scope: {_quoted(scope)}", ""]
    for told in walk.told():
        parts += _told(told)
    parts += ["To see it again:", "", *(f"    {line}" for line in command_lines(walk)), ""]
    return "\n".join(parts)


def _told(told: Explanation) -> list[str]:
    lines = [f"**{_quoted(told.sentence)}**", ""] if told.sentence else []
    lines += ["| step | who | what happens | what changes |", "|---|---|---|---|"]
    for row in rows(told.story):
        changed = "<br>".join(map(_quoted, row.changes))
        marks = "".join(f" **{_quoted(fact)}**" for fact in (*row.broken, *row.met))
        lines.append(
            f"| {row.steps} | {_quoted(row.who)} | {_quoted(row.words)}{marks} | {changed} |"
        )
    if told.promise:
        source = f" ({_quoted(told.source)})" if told.source else ""
        lines += ["", f"The promise that breaks, {_quoted(told.invariant)}{source}:"
                  f" {_quoted(told.promise)}"]  # fmt: skip
    return [*lines, ""]


def _quoted(text: str) -> str:
    """A text that Markdown shows as it is."""
    return "".join(f"\\{c}" if c in SPECIAL else c for c in printable(text))


def command_lines(walk: Walk) -> tuple[str, ...]:
    """What to type to see the path again."""
    return tuple(command_line(walk.about, command, walk.key) for command in ("explain", "explore"))


def as_link(walk: Walk, file: Path | None = None) -> str:
    """The walk as a line of text, which `--from` takes."""
    return address(walk.about, walk.key) + "\n"


@frozen
class Kind:
    """What is written into a file."""

    # On the button of the page.
    words: str
    # Of a walk, for a file that will lie there.
    text: Callable[[Walk, Path | None], str]


# End of a file's name -> what is written into it.
KINDS: Mapping[str, Kind] = {
    ".py": Kind("pytest", as_pytest),
    ".svg": Kind("SVG", as_svg),
    ".json": Kind("ITF", as_itf),
    ".md": Kind("Markdown", as_markdown),
    ".html": Kind("page", as_page),
    ".link": Kind("link", as_link),
}


def export(walk: Walk, path: Path) -> str:
    """What a file of this name holds. Raises `UserError` for a name with another ending."""
    if path.suffix not in KINDS:
        raise UserError(
            "nothing is written to a file of this name",
            where=printable(str(path))[:60],
            do=f"end it with one of {' '.join(KINDS)}",
        )
    return KINDS[path.suffix].text(walk, path)

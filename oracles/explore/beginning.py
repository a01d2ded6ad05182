"""Where a walk begins: what `--from` names. A key, a link of the explorer, a document that `check
--json`, `explain --json`, `bugs --real --json` or `judge broker --json` printed, or a log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.explain import own
from groupcheck.oracles.explain.subject import Subject, subject
from groupcheck.oracles.explore.walk import Walk
from groupcheck.oracles.printable import plain, printable
from groupcheck.oracles.show.walk_links import LONGEST, WalkStart, parsed
from groupcheck.traces.sample_files import PREFIX

KEY = "gc1-"
LINK = re.compile(r"\bv=[0-9]+&of=")
MUSEUM = "groupcheck.bugs-real/"  # each bug in it has a link
JUDGEMENT = "groupcheck.judge/"
SCHEMAS = ("groupcheck.verdict/", "groupcheck.path/", MUSEUM, JUDGEMENT)
LARGEST = 64 << 20  # bytes of a document
DO = (
    "give a key, a link, a log, or a file of `check --json`, `explain --json`, `bugs --real --json`"
    " or `judge broker --json`"
)
NAMES_IN_DOCUMENTS = (b'"schema"', b'"profile"', b'"row"')  # near their beginning
OF_LINE = re.compile(r"(.+):([0-9]{1,9})")


def walk_from(
    source: str | None,
    variant: str | None,
    asked: Callable[[], Subject],
    is_asked: bool,
    group: str | None = None,
) -> Walk:
    """The walk at the place that `--from` names, or at the beginning. `variant`: VARIANT, if it
    was given. `asked`: the subject of the other options, and `is_asked` whether they choose a scope
    or a mutation. `group`: of a log.

    A link or a document says what it is about. What the command line says besides must agree with
    it. Code of the user's is run only where the command line names it. Raises `UserError` for what
    does not fit.
    """
    source = None if source is None else _link_in(source.strip())
    if source is not None and (log := _log_in(source)) is not None:
        if variant is not None or is_asked:
            raise _says_itself(source)
        return _walk_of_log(*log, group)
    if group is not None:
        raise UserError("is of a log", where="--group", do="give --from a log, or leave it out")
    if source is not None and (schedule := _schedule_in(source)) is not None:
        if variant is not None or is_asked:
            raise _says_itself(source)
        from groupcheck.oracles.explore import judged_walk

        return judged_walk.follow(judged_walk.read(*schedule))
    if source is None or source.startswith(KEY):
        if variant is None:
            raise UserError(
                "nothing says what to explore",
                where="groupcheck explore",
                do="name a variant, or give --from a link or a document",
            )
        return Walk(asked(), source)
    document = None if LINK.search(source) else _read(Path(source))
    if document is not None and str(document["schema"]).startswith(MUSEUM):
        source, document = _link_of_exhibit(document, source), None
    if document is None:
        found = parsed(source)
        about = asked() if is_asked or variant is not None else found.subject()
        if about.title != _title(found, about):
            raise _other(source, about.title)
        if not found.is_own and about.scope() != found.subject().scope():
            raise _other(source, about.title)
        return Walk(about, found.key)
    about = _of_document(document, source, variant, asked, is_asked)
    if document.get("mutation") != (about.mutation.id if about.mutation else None):
        raise _other(source, about.title)
    if about.scope() != document.get("scope"):
        raise _other(source, about.title)
    return Walk(about, _key(document, source))


def _says_itself(source: str) -> UserError:
    return UserError(
        "says itself what is explored",
        where=printable(source)[:60],
        do="leave out VARIANT and the options of the scope",
    )


def _schedule_in(source: str) -> tuple[Mapping[str, Any], str, int | None] | None:
    """The document with schedules of `judge` that a text names, its name, and the number of a
    schedule; None if it names none.
    """
    number = None
    if source.startswith(KEY) or LINK.search(source):
        return None
    if not Path(source).exists() and (found := OF_LINE.fullmatch(source)):
        source, number = found[1], int(found[2])
    if not Path(source).is_file():
        return None
    read = _read(Path(source))
    is_judged = str(read.get("schema")).startswith(JUDGEMENT) or _is_schedule(read)
    return (read, printable(source)[:80], number) if is_judged else None


def _is_schedule(read: Mapping[str, Any]) -> bool:
    """One entry of a judge's document, or its schedule alone?"""
    return "schema" not in read and ("schedule" in read or {"profile", "steps"} <= read.keys())


def _log_in(source: str) -> tuple[str, int | None] | None:
    """The log that a text names, and the line behind it; None if it names none. What is no
    document of groupcheck is read as a log.
    """
    if source.startswith(KEY) or LINK.search(source):
        return None
    line = None
    if not Path(source).exists() and (found := OF_LINE.fullmatch(source)):
        source, line = found[1], int(found[2])
    if source.startswith(PREFIX) or Path(source).is_dir():
        return source, line
    return (source, line) if Path(source).is_file() and not _is_document(Path(source)) else None


def _is_document(path: Path) -> bool:
    """Does a file hold one JSON document?"""
    try:
        with path.open("rb") as file:
            begins = file.read(200).lstrip()
        return begins.startswith(b"{") and any(name in begins for name in NAMES_IN_DOCUMENTS)
    except OSError:
        return True  # whoever reads it as a document says why that is not possible


def _walk_of_log(path: str, line: int | None, group: str | None) -> Walk:
    from groupcheck.oracles.explore.log_lines import read
    from groupcheck.oracles.explore.log_walk import follow

    told = read(path, group, line)
    found = follow(told)
    if line is not None:
        near = [n for n in found.keys if n <= line]
        if near:
            found.walk.follow(found.keys[max(near)])
    return found.walk


def _link_in(source: str) -> str:
    """The link in a file that `save FILE.link` wrote; anything else as it is."""
    if not source.endswith(".link") or LINK.search(source):
        return source
    try:
        with Path(source).open(encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST).strip()
    except OSError as error:
        where = printable(source)[:80]
        raise UserError(f"cannot be read: {error.strerror}", where=where, do=DO) from None


def _title(found: WalkStart, about: Subject) -> str:
    name = about.spec.name if own.is_own(found.of) and found.of == about.origin else found.of
    return name + (f" with {found.mutation}" if found.mutation else "")


def _other(source: str, title: str) -> UserError:
    return UserError(
        f"is about something else than {title} in this scope",
        where=printable(source)[:60],
        do="give the options of the check that wrote it, or leave them out",
    )


def _read(path: Path) -> Mapping[str, Any]:
    """A document. Raises `UserError` for a file that is none."""
    where = printable(str(path))[:80]
    try:
        if path.stat().st_size > LARGEST:
            raise UserError(f"is larger than {LARGEST >> 20} MB", where=where, do=DO)
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=where, do=DO) from None
    except (ValueError, RecursionError):
        raise UserError("is no JSON document", where=where, do=DO) from None
    schema = found.get("schema") if isinstance(found, dict) else None
    if isinstance(found, dict) and _is_schedule(found):
        return found
    if not isinstance(schema, str) or not schema.startswith(SCHEMAS):
        raise UserError("is no verdict and no path of groupcheck", where=where, do=DO)
    return found  # type: ignore[no-any-return]


def _link_of_exhibit(document: Mapping[str, Any], source: str) -> str:
    """The link of the first bug that has one."""
    every = document.get("exhibits")
    for one in every if isinstance(every, list) else ():
        path = one.get("path") if isinstance(one, dict) else None
        link = path.get("link") if isinstance(path, dict) else None
        if isinstance(link, str) and LINK.search(link):
            return link
    raise UserError(
        "has no bug whose path can be walked",
        where=printable(source)[:60],
        do="the path of two bugs together is in no model of the explorer",
    )


def _of_document(
    document: Mapping[str, Any],
    source: str,
    variant: str | None,
    asked: Callable[[], Subject],
    is_asked: bool,
) -> Subject:
    """What a document is about: as it says itself, unless the command line says it."""
    name, mutation, scope = (document.get(x) for x in ("variant", "mutation", "scope"))
    if variant is not None and (is_asked or own.is_own(variant) or "+" in variant):
        return asked()
    if not isinstance(name, str) or not isinstance(scope, dict) or variant not in (None, name):
        raise _other(source, printable(variant or "a variant"))
    if own.is_own(mutation):
        raise UserError(
            f"has a bug of its own, {printable(str(mutation))[:60]}",
            where=printable(source)[:60],
            do="give --mutation and the variant, too",
        )
    fields = {n: _field(v) for n, v in scope.items() if n != "faults" and v is not None}
    faults = scope.get("faults")
    counted = faults if isinstance(faults, dict) and faults else None
    about = subject(name, mutation=mutation, faults=counted, **fields)
    if plain(about.scope()) != scope and counted is None:
        about = subject(name, mutation=mutation, faults={}, **fields)
    return about


def _field(value: Any) -> Any:
    return tuple(map(_field, value)) if isinstance(value, list) else value


def _key(document: Mapping[str, Any], source: str) -> str:
    """The key of the path of a document: its own, that of its first violation, or that of the first
    goal that was asked for.
    """
    paths = [document, *document.get("violations", ()), *document.get("goal_paths", ())]
    keys: list[str] = [
        p["key"] for p in paths if isinstance(p, dict) and isinstance(p.get("key"), str)
    ]
    if not keys:
        verdict = document.get("verdict", "without a path")
        raise UserError(
            f"has no counterexample: the verdict is {printable(str(verdict))[:20]}",
            where=printable(source)[:60],
            do="explore from the beginning: leave --from out",
        )
    return keys[0]

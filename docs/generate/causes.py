"""The page of known causes, written from the knowledge base and the sentences of all libraries."""

from __future__ import annotations

from collections.abc import Iterator

from reference import cell, code, page, table

from groupcheck.traces.causes.knowledge import Cause, Sign, in_general, shipped_knowledge
from groupcheck.traces.clients.sentences import StatementKind, kinds, shipped_sentences
from groupcheck.traces.facts.needs import Need

NAMES = {"group", "client", "member", "instance"}
MOST_TEXTS = 3
"""So many texts of one library are shown for one kind of statement."""
BOUNDS = {"<=": "at most", ">=": "at least", "<": "below", ">": "above"}


def condition(name: str, wanted: str) -> str:
    """One value that a field may have, in words."""
    name = name.removeprefix(".")
    if wanted == "!-":
        return f"the line has `{name}`"
    if wanted == "-":
        return f"the line has no `{name}`"
    for bound, told in BOUNDS.items():
        if wanted.startswith(bound):
            return f"`{name}` is {told} {wanted.removeprefix(bound)}"
    if wanted.startswith("!"):
        return f"`{name}` is not {code(wanted[1:])}"
    return f"`{name}` is {'like ' if '*' in wanted else ''}{code(wanted)}"


def needed(need: Need) -> str:
    """A need in words, with links to what its kind means."""
    told = f"[{need.kind}](statements.md#{need.kind})"
    if need.at_least > 1:
        told += f" at least {need.at_least} times"
    wheres = [
        (" and " if all(v.startswith("!") for v in values) else " or ").join(
            condition(name, v) for v in values
        )
        for name, values in need.where.items()
    ]
    told += f" where {', and '.join(wheres)}" if wheres else ""
    for words, some in (
        ("after", need.after),
        ("before", need.before),
        ("not after", need.not_after),
        ("not before", need.not_before),
    ):
        links = " or ".join(f"[{kind}](statements.md#{kind})" for kind in some)
        told += f" ({words} {links}{f', {need.within} ms at most' * bool(need.within)})" * bool(
            some
        )
    return told


def home(cause: Cause) -> str:
    """Where the cause can be."""
    where = [", ".join(cause.library), ", ".join(cause.context)]
    where += [f"groups of the {cause.protocol} protocol"] if cause.protocol else []
    return f"Only in logs of: {'; '.join(filter(None, where))}.\n" if any(where) else ""


def sign(one: Sign) -> str:
    parts = [" and ".join(map(needed, one.needs))]
    if one.same_member:
        parts.append("of one member")
    if one.without:
        parts.append(
            "without " + ", ".join(f"[{n.kind}](statements.md#{n.kind})" for n in one.without)
        )
    if one.library:
        parts.append(f"in a log of {', '.join(one.library)}")
    if one.context:
        parts.append(f"where {' or '.join(one.context)} shows")
    if one.decide:
        parts.append(f"to decide, look for {one.decide}")
    return f"- **{one.confidence}**: {cell('; '.join(parts))}"


def texts(cause: Cause) -> Iterator[list[str]]:
    """(library, statement, texts) of every sentence that the signs ask for."""
    asked = dict.fromkeys(need.kind for one in cause.signs for need in one.needs)
    for kind in asked:
        by_library: dict[str, list[str]] = {}
        for sentence in shipped_sentences():
            if sentence.kind == kind:
                for library in sentence.libraries or ("any",):
                    by_library.setdefault(library, []).append(sentence.template.text)
        for library, some in sorted(by_library.items()):
            shown = " · ".join(code(cell(text)) for text in some[:MOST_TEXTS])
            more = f" and {len(some) - MOST_TEXTS} more" if len(some) > MOST_TEXTS else ""
            yield [library, f"[{kind}](statements.md#{kind})", shown + more]


def entry(cause: Cause) -> str:
    """The section about one cause."""
    sentences = dict.fromkeys(in_general(s.text or cause.text) for s in cause.signs)
    parts = [f"## {cause.kind}\n", f"{cause.title}. Severity: {cause.severity}.\n"]
    parts += [f"> {cell(text)}\n" for text in sentences]
    if cause.explanation:
        parts.append(cell(cause.explanation) + "\n")
    actions = dict.fromkeys(in_general(s.action or cause.action) for s in cause.signs)
    parts += [f"What to do: {cell(action)}\n" for action in actions]
    if cause.settings:
        rows = ([code(name), cell(value)] for name, value in cause.settings.items())
        parts.append(table(["setting", "value that it should have"], rows))
    parts += [home(cause)] if home(cause) else []
    parts.append("Signs:\n\n" + "\n".join(map(sign, cause.signs)) + "\n")
    rows = list(texts(cause))
    if rows:
        parts.append(table(["library", "statement", "texts"], rows))
    for other, how in cause.confuse.items():
        parts.append(f"Not to be confused with [{other}](#{other}): {cell(how)}.\n")
    for kind, rival in cause.rivals.items():
        parts.append(
            f"The same lines may show [{kind}](#{kind}); to decide: {cell(rival.decide)}.\n"
        )
    if cause.overcome_by:
        some = ", ".join(f"[{need.kind}](statements.md#{need.kind})" for need in cause.overcome_by)
        parts.append(f"It is told as overcome where all its members go on afterwards: {some}.\n")
    if cause.comes_back:
        parts.append("Where all its members join again, it is told that they came back.\n")
    if cause.explains:
        links = ", ".join(f"[{kind}](#{kind})" for kind in cause.explains)
        parts.append(f"Where it is found, these are only its consequences: {links}.\n")
    tickets = (*cause.tickets, *(t for s in cause.signs for t in s.tickets))
    for t in tickets:
        told = [f"affects {t.affects}"] * bool(t.affects) + [f"fixed in {t.fixed}"] * bool(t.fixed)
        parts.append(f"{cell(t.id)}: {cell(', '.join(told))}.\n")
    parts.append(f"*Source: {cell(cause.source)}*\n")
    return "\n".join(parts)


OWN = """
## Your own causes

`groupcheck replay --knowledge FILE` adds the causes of a TOML file; one with the name of a shipped
cause replaces it. This file names a cause for what only your application does:

```toml
[[cause]]
kind = "nightly_export"
severity = "troubled"
title = "The nightly export holds the handler"
text = "{{ who }} was late during the export{% if limit %} ({{ limit | span }}){% endif %}."
action = "Run the export in a process of its own."
explains = ["poll_timeout"]

[[cause.signs]]
needs = [{ kind = "poll_expired", at_least = 2 }]
without = ["session_timed_out"]
confidence = "likely"
```

A sign holds if there are statements for all of its `needs` and for none of `without`. A need names
a kind of statement ([Statements](statements.md)), and may ask for values of its fields (`where`),
for a number of statements (`at_least`) and of members (`members`), and for what stands before and
after it ([Add a cause](../howto/cause.md), with a test in the same file). Values: `a` is this text,
`a*` a beginning, `*a*` a part, `<10` and `>=10` a bound, `-` an absent field, `!a` all but `a`.
`confidence` is `certain`, `likely` or `possible`; a possible cause tells with `decide` what line
would decide. Facts of your own, which follow from several lines, are `[[derived]]` tables of the
same file ([Facts](facts.md)).
"""


def statements() -> str:
    """The page of what a line can say, with the fields that its sentences have."""
    fields: dict[str, set[str]] = {kind: set() for kind in kinds()}
    for sentence in shipped_sentences():
        fields[sentence.kind] |= {*sentence.template.kinds, *sentence.means}
    return page(
        "Statements",
        "For everybody who writes causes of their own ([Known causes](causes.md)). You find what a"
        " line of a log can say, whichever library prints it; the last ones follow from several"
        " lines. `--json` shows them as evidence.",
        *(statement(name, kind, fields[name] - NAMES) for name, kind in kinds().items()),
    )


def statement(name: str, kind: StatementKind, fields: set[str]) -> str:
    """The section about one kind of statement."""
    told = cell(kind.meaning)
    if fields:
        told += f" Fields: {', '.join(map(code, sorted(fields)))}."
    if kind.look_for:
        told += f" If it stands alone, look for {cell(kind.look_for)}."
    return f"## {name}\n\n{told}\n"


def causes() -> str:
    """The page."""
    known = shipped_knowledge().causes
    listed = ([f"[{c.kind}](#{c.kind})", cell(c.title), c.severity] for c in known.values())
    return page(
        "Known causes",
        "For everybody who asks why a group is in trouble, or what a line in a log means. You find"
        " every cause that `replay` can name: what shows it in the logs of each library, what to"
        " do, and what it must not be confused with. A cause is *certain* only if a line names the"
        " rule or setting itself; a *possible* one comes with the line that would decide.",
        table(["cause", "what it is", "severity"], listed),
        *map(entry, known.values()),
        OWN,
    )

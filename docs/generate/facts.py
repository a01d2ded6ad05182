"""The page of facts, written from the tables that declare them."""

from __future__ import annotations

from collections.abc import Iterator

from causes import condition
from reference import cell, code, page, table

from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.facts.needs import ANY, Need
from groupcheck.traces.facts.rules import SORTS, Rule, shipped_rules

LEAD = {
    "went_back": "A value that is lower than before.",
    "stands_still": "A step that does not come, or comes late.",
    "repeats": "The same again and again.",
    "shared": "What several members, brokers or groups have in common.",
    "changed": "A value that differs between two lines, one after the other.",
    "steps": "What a member or a coordinator has done, in the order of the lines.",
}
OWN = """
## Facts of your own

`groupcheck replay --knowledge FILE` reads `[[derived]]` tables beside causes. This one finds every
process that revokes its partitions five times within a minute:

```toml
[[derived]]
kind = "revokes_often"
sort = "repeats"
of = ["revoked"]
at_least = 5
most_span = 60000
timeless = false
alarm = true
fields = { repeats = "n", span = "span" }
text = "{subject} revokes {repeats} times in {span:span}"

[[cause]]
kind = "export_holds_handler"
severity = "troubled"
title = "The export holds the handler"
text = "{{ who }} gave its partitions back {{ repeats }} times."
action = "Run the export in a process of its own."
source = "our runbook"
signs = [{ needs = ["revokes_often"], confidence = "likely" }]
```

`sort` says what is looked for, `per` for whom (`process`, `partition`, `broker`, `group`, `all
groups`), `of` in which statements ([Statements](statements.md); a need is written as in a cause).
`but`, `without`, `never`, `between`, `follows`, `ends` name statements that leave one out, begin
anew, rule it out, have to stand between or before, or end what stands still. Limits are
`at_least`, `least_span`, `most_span`, `every`, `pause`, `within`, `lasts` (ms), `even`. A group
with a fact that is an `alarm` is in trouble, and nothing shows that one with a fact that
`unsettles` is calm. A part of `text` between bars is left out where a value is missing.
"""


def needed(need: Need) -> str:
    told = "every statement" if need.kind == ANY else f"[{need.kind}](statements.md#{need.kind})"
    wheres = [" or ".join(condition(k, v) for v in values) for k, values in need.where.items()]
    return told + (f" where {', and '.join(wheres)}" if wheres else "")


def limits(rule: Rule) -> Iterator[str]:
    """The conditions of a rule, in words."""
    if rule.sort in ("repeats", "shared") and rule.at_least > 1:
        yield f"at least {rule.at_least}"
    for words, ms in (
        ("over {} ms or more", rule.least_span),
        ("within {} ms", rule.most_span or rule.within),
        ("on average {} ms apart or less", rule.every),
        ("each at most {} ms after the one before", rule.pause),
        ("for {} ms or more", rule.lasts),
    ):
        if ms:
            yield words.format(f"{ms:,}")
    if rule.even:
        yield "evenly spaced"
    if rule.in_a_row:
        yield "in a row, with equal values"
    if rule.least_step > 1:
        yield f"by {rule.least_step} or more" + (" upwards" if rule.up else "")
    for words, needs in (("follows", rule.follows), ("between", rule.between)):
        if needs:
            yield f"{words} {' or '.join(map(needed, needs))}"
    for words, needs in (("without", rule.without), ("until", rule.ends), ("never", rule.never)):
        if needs:
            yield f"{words} {', '.join(map(needed, needs))}"


def row(rule: Rule) -> list[str]:
    """Kind, for whom, what it means, and how it is found."""
    found = "; ".join([", ".join(map(needed, rule.of)), *limits(rule)]) if rule.of else "by Python"
    told = kinds()[rule.kind].meaning + (" The group is not calm." if rule.alarm else "")
    return [
        f"[{rule.kind}](statements.md#{rule.kind})",
        rule.per if rule.of else "",
        cell(told),
        cell(found),
    ]


def facts() -> str:
    """The page."""
    rules = shipped_rules().values()
    parts = []
    for sort, word in SORTS.items():
        rows = [row(r) for r in rules if r.sort == sort]
        head = ["fact", "per", "what it means", "how it is found"]
        parts.append(f"## {word.capitalize()}\n\n{LEAD[sort]}\n\n{table(head, rows)}")
    return page(
        "Facts",
        "For everybody who reads an answer of `replay` that names no cause. You find what it says"
        " of a log whatever the cause is: what went back, stands still, repeats, is shared, or is"
        " another than before."
        f" A fact quotes its lines; `--json` lists all of a group as {code('facts')}.",
        *parts,
        OWN,
    )

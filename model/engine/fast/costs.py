"""The notes that a search gives about rules and predicates that need many rows: by name, number and
share of the time, so that an author knows which slots to cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from groupcheck.model.engine.tabled.tables import Table, Tables

TOO_MANY = 0.3  # rows for each state
WORTH = 20_000  # rows below which nobody waits for them
ADVICE = "see “How to cut a model into slots”"


def costly(
    t: Tables, rows: Sequence[int], spent: Mapping[int, float], states: int, seconds: float
) -> Iterator[str]:
    """A sentence for each rule, view or predicate with many rows. `rows` of all tables, `spent`:
    seconds of some of them, of `seconds` in all.
    """
    asked: dict[str, list[int]] = {}
    for number, table in enumerate(t.all):
        asked.setdefault(_named(t, number, table), []).append(number)
    for name, numbers in asked.items():
        count = sum(rows[k] for k in numbers)
        if count >= WORTH and count > TOO_MANY * states:
            share = sum(spent.get(k, 0.0) for k in numbers) / max(seconds, 1e-9)
            yield (
                f"{name} needed {count:,} rows for {states:,} states, {share:.0%} of the time: a"
                f" row serves few states where it reads much ({ADVICE})"
            )


def _named(t: Tables, number: int, table: Table) -> str:
    """The contents of a table, in words: `rule vote`, `view standing`, `kept` for predicates."""
    if table.view is not None:
        return f"view {table.view.view.name}"
    names = [m.rule.name for m in table.members] or [b.predicate.name for b in table.bound]
    kind = "rule" if number < t.urgent else "predicate"
    different = list(dict.fromkeys(names))
    return f"{kind}{'s' * (len(different) > 1)} {', '.join(different)}"

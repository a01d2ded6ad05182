"""Finds facts: follows what rules look at, statement by statement, in bounded memory."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from statistics import median
from typing import Any

from attrs import Factory, define, evolve, field

from groupcheck.traces.clients.statement import Statement, fact, ms_between
from groupcheck.traces.facts.needs import ANY, Need
from groupcheck.traces.facts.rules import Rule, shipped_rules
from groupcheck.traces.facts.values import (
    CLOSE_SHARE,
    committed_offsets,
    known_period,
    named_partitions,
    value_of,
)

MOST_SUBJECTS, IN_FULL = 200_000, 5_000
"""Of each rule: so many are followed, and of so many the lines are kept whole."""
MOST_GAPS, MOST_WINDOW, QUOTED, SHORT = 1_000, 1_000, 4, 120
LEAST_GAP_MS = 1_000
"""Lines that lie closer together tell of one event, as far as an even period goes."""
Key = tuple[tuple[Any, ...], tuple[Any, ...]]
"""Whom a rule is computed for, and what divides the statements further (`same`)."""
Subject = tuple[Key, str, Any]
"""Its key, its name, and the value that is looked at."""


@define
class _Run:
    """What one subject said that a rule looks at."""

    subject: str
    first: Statement
    last: Statement
    n: int = 0
    # The first of them; all of them where the rule quotes all.
    kept: list[Statement] = Factory(list)
    gaps: list[int] = Factory(list)
    # The value that was told last, or what makes the statements the same.
    value: Any = None
    # How often something of `between` was heard when the run began, and at its last statement.
    begun: int = 0
    heard: int = 0
    # Whether something of `follows` was heard before.
    followed: bool = True
    # `shared`: what lies in the window, and the most different values that one had.
    window: deque[tuple[Statement, Any]] = Factory(lambda: deque(maxlen=MOST_WINDOW))
    counts: Counter[Any] = Factory(Counter)
    best: int = 0


@define
class Watch:
    """Follows all rules for one group."""

    rules: Sequence[Rule]
    # Who said a statement.
    writer: Callable[[Statement], str] = lambda said: str(value_of(said, ".who") or "")
    # Kind of statement -> the rules that look at it.
    _looking: dict[str, list[Rule]] = Factory(dict)
    # Kind of fact -> the runs of its subjects.
    _runs: dict[str, dict[Key, _Run]] = field(init=False)
    # Kind of fact -> how often something of `between` was heard, and who said something of
    # `follows` or `never`.
    _between: Counter[str] = Factory(Counter)
    _heard: set[tuple[str, str, tuple[Any, ...]]] = Factory(set)
    # Kind of fact -> what has divided statements so far.
    _sames: dict[str, set[tuple[Any, ...]]] = Factory(dict)
    # Facts that a later line may still rule out, or that a longer one may replace.
    _held: dict[tuple[str, Key], list[Statement]] = Factory(dict)
    # Log -> its last statement with a time.
    _ends: dict[str, Statement] = Factory(dict)

    @_runs.default
    def _no_runs(self) -> dict[str, dict[Key, _Run]]:
        return {rule.kind: {} for rule in self.rules}

    def facts(self, statements: Iterable[Statement]) -> list[Statement]:
        """All facts that follow from these statements."""
        return [*(f for said in statements for f in self.hear(said)), *self.end()]

    def hear(self, said: Statement) -> Iterator[Statement]:
        """Takes the next statement. Yields the facts that are sure with it."""
        rules = self._looking.get(said.kind)
        if rules is None:
            rules = self._looking[said.kind] = [r for r in self.rules if _looks_at(r, said.kind)]
        if rules and said.time is not None:
            self._ends[said.log] = said
        for rule in rules:
            yield from self._follow(rule, said)

    def end(self) -> Iterator[Statement]:
        """The log is over: yields all other facts."""
        for rule in self.rules:
            for key, run in self._runs[rule.kind].items():
                if rule.sort == "stands_still":
                    last = self._ends.get(run.first.log)
                    if last is not None:
                        self._stood(rule, key, run, last, still_open=True)
                else:
                    yield from self._close(rule, key, run)
        for (kind, key), some in self._held.items():
            if ("never", kind, key[0]) not in self._heard:
                yield from some

    def _follow(self, rule: Rule, said: Statement) -> Iterator[Statement]:
        runs, who = self._runs[rule.kind], self._process(said)
        for what in ("never", "follows"):
            needs = rule.never if what == "never" else rule.follows
            if needs and _met(needs, said) and len(self._heard) < MOST_SUBJECTS:
                self._heard.add((what, rule.kind, who))
        self._between[rule.kind] += bool(rule.between) and _met(rule.between, said)
        if rule.ends and _met(rule.ends, said):
            for key in self._keys(rule, said):
                self._stood(rule, key, runs.pop(key), said)
        if rule.without and _met(rule.without, said):
            for key in self._keys(rule, said):
                yield from self._close(rule, key, runs.pop(key))
        if _met(rule.of, said) and not (rule.but and _met(rule.but, said)):
            for key, name, value in self._subjects(rule, said):
                if key in runs or len(runs) < MOST_SUBJECTS:
                    yield from _TAKES[rule.sort](self, rule, key, name, value, said)

    def _keys(self, rule: Rule, said: Statement) -> list[Key]:
        """The runs that a statement ends: those of its subject; all if it names no subject."""
        runs = self._runs[rule.kind]
        bases = [key[0] for key, _, _ in self._subjects(rule, said, named_only=True)]
        if not bases:
            return list(runs)
        sames = self._sames.get(rule.kind, ())
        return [key for base in bases for same in sames if (key := (base, same)) in runs]

    def _process(self, said: Statement) -> tuple[Any, ...]:
        return self.writer(said), said.log, said.process

    def _subjects(self, rule: Rule, said: Statement, named_only: bool = False) -> Iterator[Subject]:
        """Whom the statement is about, as far as the rule goes. `named_only`: whatever it says of
        them.
        """
        value = value_of(said, rule.value) if rule.value else None
        same = () if rule.in_a_row else tuple(_same(said, name) for name in rule.same)
        who = self._process(said)
        if rule.per == "partition":
            alone = () if said.group else who
            if rule.value == "offset" and not named_only:
                same = (said.kind, "offset" in said.fields)  # what is sent, and what is answered
                for partition, offset in committed_offsets(said):
                    yield ((said.log, partition, *alone), same), partition, offset
            else:
                for partition in named_partitions(said):
                    yield ((said.log, partition, *alone), same), partition, value
        elif rule.per == "process":
            yield (who, same), who[0], value
        elif rule.per == "broker":
            name = value_of(said, ".broker")
            if name:
                yield ((name, said.log), same), str(name), value
        else:
            yield ((), same), str(same[0] or "") if same else "", value

    def _start(self, rule: Rule, key: Key, name: str, said: Statement) -> _Run:
        runs = self._runs[rule.kind]
        run = runs[key] = _Run(name, said, said)
        self._sames.setdefault(rule.kind, set()).add(key[1])
        run.begun = self._between[rule.kind]
        run.followed = (
            not rule.follows or ("follows", rule.kind, self._process(said)) in self._heard
        )
        return run

    # -- changed, went_back

    def _changes(
        self, rule: Rule, key: Key, name: str, value: Any, said: Statement
    ) -> Iterator[Statement]:
        if value is None:
            return
        runs = self._runs[rule.kind]
        run = runs.get(key) or self._start(rule, key, name, said)
        before, last = run.value, run.last
        after = ms_between(last, said)
        if after is None and last.time is not None and said.time is not None:
            return  # lines of several writers, in another order
        run.value, run.last = value, said if len(runs) <= IN_FULL else _short(said)
        if before is None or before == value or not _comparable(before, value):
            return
        step = value - before if isinstance(value, int | float) else None
        if rule.sort == "went_back":
            changed = step is not None and step < 0
        else:
            changed = step is None or (abs(step) >= rule.least_step and (step > 0 or not rule.up))
        if changed:
            yield self._fact(
                rule, said, run, (last, said), before=before, now=value, after=after or None
            )

    # -- repeats

    def _repeats(
        self, rule: Rule, key: Key, name: str, value: Any, said: Statement
    ) -> Iterator[Statement]:
        run = self._runs[rule.kind].get(key)
        mark = tuple(_same(said, name) for name in rule.same) if rule.in_a_row else None
        if run is not None:
            gap = ms_between(run.last, said)
            if run.value != mark or (rule.pause and gap is not None and gap > rule.pause):
                yield from self._close(rule, key, run)
                run = None
            elif gap is not None and gap > LEAST_GAP_MS and len(run.gaps) < MOST_GAPS:
                run.gaps.append(gap)
        run = run or self._start(rule, key, name, said)
        run.n, run.last, run.value = run.n + 1, said, mark
        run.heard = self._between[rule.kind]
        if rule.value and len(run.counts) < MOST_WINDOW:
            run.counts[value] += 1
        if len(run.kept) < (MOST_WINDOW if rule.quotes == "all" else QUOTED - 1):
            run.kept.append(said)

    def _close(self, rule: Rule, key: Key, run: _Run) -> Iterator[Statement]:
        """The run is over: it may be a fact."""
        if rule.sort == "shared":
            some = self._shared_facts(rule, run)
        else:
            some = self._repeated_facts(rule, run)
        if rule.never:
            self._held.setdefault((rule.kind, key), []).extend(some)
        else:
            yield from some

    def _repeated_facts(self, rule: Rule, run: _Run) -> Iterator[Statement]:
        span = ms_between(run.first, run.last)
        timed = (rule.least_span, rule.most_span, rule.every)
        if run.n < rule.at_least or not run.followed:
            return
        if rule.between and run.heard <= run.begun:
            return
        if span is None:
            if rule.even or (not rule.timeless and any(limit is not None for limit in timed)):
                return
        elif (
            span < (rule.least_span or 0)
            or (rule.most_span is not None and span > rule.most_span)
            or (rule.every is not None and span > rule.every * (run.n - 1))
        ):
            return
        period = round(median(run.gaps)) if run.gaps else None
        if rule.even and (
            period is None
            or len(run.gaps) < 2
            or any(abs(gap - period) > CLOSE_SHARE * period for gap in run.gaps)
        ):
            return
        values = {
            "n": run.n,
            "span": span,
            "rate": min(round(60_000 * (run.n - 1) / max(span or 1, 1)), 60_000),
            "period": period,
            "setting": (known_period(period) or None) if period else None,
            "distinct": len([v for v in run.counts if v is not None]),
        }
        lines = tuple({s.line: s for s in (*run.kept[: QUOTED - 1], run.last)}.values())
        quoted = {"first": [run.first], "last": [run.last], "all": run.kept}[rule.quotes]
        yield from (self._fact(rule, said, run, lines, **values) for said in quoted)

    # -- shared

    def _shares(
        self, rule: Rule, key: Key, name: str, value: Any, said: Statement
    ) -> Iterator[Statement]:
        if value is None or said.time is None:
            return
        run = self._runs[rule.kind].get(key) or self._start(rule, key, name, said)
        if len(run.window) == MOST_WINDOW:
            _drop(run)
        run.window.append((said, value))
        run.counts[value] += 1
        while abs(said.time - (run.window[0][0].time or 0)) > rule.within:
            _drop(run)
        if len(run.counts) > run.best:
            run.best, run.kept = len(run.counts), [s for s, _ in run.window]
        return
        yield

    def _shared_facts(self, rule: Rule, run: _Run) -> Iterator[Statement]:
        if run.best < rule.at_least or not run.followed:
            return
        firsts = {value_of(s, rule.value): s for s in reversed(run.kept)}
        lines = tuple(sorted(firsts.values(), key=lambda s: (s.time or 0, s.line)))
        names = ", ".join(str(value_of(s, rule.value)) for s in lines[:5])
        span = ms_between(lines[0], lines[-1])
        also = {value_of(s, rule.also) for s in run.kept} - {None, -1}
        values = {
            "n": len(run.kept),
            "distinct": run.best,
            "names": names,
            "span": span,
            "also": len(also),
        }
        quoted = {"first": run.kept[:1], "last": run.kept[-1:], "all": run.kept}[rule.quotes]
        for said in quoted:
            yield self._fact(rule, said, run, lines[:QUOTED], **values)

    # -- stands_still

    def _begins(
        self, rule: Rule, key: Key, name: str, value: Any, said: Statement
    ) -> Iterator[Statement]:
        if key not in self._runs[rule.kind]:
            self._start(rule, key, name, said)
        return
        yield

    def _stood(
        self, rule: Rule, key: Key, run: _Run, end: Statement, still_open: bool = False
    ) -> None:
        """Keeps the longest time for which a subject stood still."""
        lasted = ms_between(run.first, end)
        if lasted is None or lasted < rule.lasts or not run.followed:
            return
        held = self._held.get((rule.kind, key))
        longest = held[0].fields.get("lasted") if held else None
        if longest is None or lasted > longest:
            lines = (run.first, end) if end.line != run.first.line else (run.first,)
            told = self._fact(
                rule, run.first, run, lines, lasted=lasted, open="yes" if still_open else None
            )
            self._held[rule.kind, key] = [told]

    def _fact(
        self, rule: Rule, said: Statement, run: _Run, lines: tuple[Statement, ...], **values: Any
    ) -> Statement:
        """The fact, which quotes `said` and rests on `lines`."""
        fields = {
            name: source[1:]
            if source.startswith("=")
            else {**values, "subject": run.subject}.get(source, value_of(said, source))
            for name, source in rule.fields.items()
        } or values
        copied = said.fields if rule.copies else {}
        told = fact(said, rule.kind, **{**copied, **fields})
        return evolve(told, subject=run.subject, rests_on=lines)


_TAKES = {
    "changed": Watch._changes,
    "went_back": Watch._changes,
    "repeats": Watch._repeats,
    "shared": Watch._shares,
    "stands_still": Watch._begins,
}


def _looks_at(rule: Rule, kind: str) -> bool:
    some = (rule.of, rule.ends, rule.without, rule.never, rule.between, rule.follows)
    return any(need.kind in (kind, ANY) for needs in some for need in needs)


def _met(needs: Sequence[Need], said: Statement) -> bool:
    return any(need.kind in (said.kind, ANY) and need.fits(said) for need in needs)


def _same(said: Statement, name: str) -> Any:
    if name == "*":
        return said.kind, tuple(sorted((k, str(v)) for k, v in said.fields.items()))
    return value_of(said, name)


def _comparable(before: Any, now: Any) -> bool:
    """Do both tell the same aspect? A broker's number and its address are no change."""
    if isinstance(before, str) and isinstance(now, str):
        return before.startswith("broker ") == now.startswith("broker ")
    return isinstance(before, int | float) and isinstance(now, int | float)


def _drop(run: _Run) -> None:
    _, value = run.window.popleft()
    run.counts[value] -= 1
    if not run.counts[value]:
        del run.counts[value]


def _short(said: Statement) -> Statement:
    return evolve(said, text=said.text[:SHORT], fields={})


@cache
def streamed() -> tuple[Rule, ...]:
    """The rules that are followed while lines are read."""
    return tuple(rule for rule in shipped_rules().values() if rule.stream)

"""Finds facts: follows what rules look at, statement by statement, in bounded memory."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import Any

from attrs import Factory, define, evolve, field

from groupcheck.traces.clients.statement import Statement, fact, ms_between
from groupcheck.traces.facts.defaults import CLOSE_SHARE, known_period
from groupcheck.traces.facts.needs import ANY, Need
from groupcheck.traces.facts.rules import Rule
from groupcheck.traces.facts.values import (
    committed_offsets,
    named_partitions,
    same_name,
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
    # How often something of `between` was heard when the run began, and at its last statement.
    begun: int = 0
    # Whether something of `follows` was heard before.
    followed: bool = True
    n: int = 0
    # The value that was told last.
    value: Any = None
    heard: int = 0
    # The first of them; all of them where the rule quotes all.
    kept: list[Statement] | None = None
    gaps: list[int] | None = None
    # Different values; of `shared` those in the window, and the most that one had.
    counts: Counter[Any] | None = None
    window: deque[tuple[Statement, Any]] | None = None
    best: int = 0


@define
class _Plan:
    """What a rule does with statements of one kind: the needs that concern this kind."""

    rule: Rule
    # How the rule takes a statement that it looks at.
    take: Callable[[Watch, Rule, Key, str, Any, Statement], Iterable[Statement]]
    runs: dict[Key, _Run]
    of: tuple[Need, ...]
    but: tuple[Need, ...]
    ends: tuple[Need, ...]
    without: tuple[Need, ...]
    never: tuple[Need, ...]
    follows: tuple[Need, ...]
    between: tuple[Need, ...]

    @property
    def is_idle(self) -> bool:
        return not (
            self.of or self.ends or self.without or self.never or self.follows or self.between
        )


@define
class Watch:
    """Follows all rules for one group."""

    rules: Sequence[Rule]
    # Who said a statement.
    writer: Callable[[Statement], str] = same_name
    # Kind of statement -> what the rules do that look at it.
    _plans: dict[str, list[_Plan]] = Factory(dict)
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

    def hear(self, said: Statement) -> list[Statement]:
        """Takes the next statement. Gives the facts that are sure with it."""
        plans = self._plans.get(said.kind)
        if plans is None:
            plans = self._plans[said.kind] = [
                p for rule in self.rules if not (p := self._plan(rule, said.kind)).is_idle
            ]
        out: list[Statement] = []
        if not plans:
            return out
        if said.time is not None:
            self._ends[said.log] = said
        who = self.writer(said), said.log, said.process
        for plan in plans:
            rule, runs = plan.rule, plan.runs
            if plan.never or plan.follows or plan.between:
                self._note(plan, said, who)
            if runs and plan.ends and _met(plan.ends, said):
                for key in self._ended(rule, said, who):
                    self._stood(rule, key, runs.pop(key), said)
            if runs and plan.without and _met(plan.without, said):
                for key in self._keys(rule, said, who):
                    out += self._close(rule, key, runs.pop(key))
            if plan.of and _met(plan.of, said) and not (plan.but and _met(plan.but, said)):
                for key, name, value in self._subjects(rule, said, who):
                    if key in runs or len(runs) < MOST_SUBJECTS:
                        out += plan.take(self, rule, key, name, value, said)
        return out

    def end(self) -> Iterator[Statement]:
        """The log is over: yields all other facts."""
        for rule in self.rules:
            for key, run in self._runs[rule.kind].items():
                if rule.search == "stands_still":
                    last = self._ends.get(run.first.log)
                    if last is not None:
                        self._stood(rule, key, run, last, still_open=True)
                else:
                    yield from self._close(rule, key, run)
        for (kind, key), some in self._held.items():
            if ("never", kind, key[0]) not in self._heard:
                yield from some

    def _plan(self, rule: Rule, kind: str) -> _Plan:
        def own(needs: Sequence[Need]) -> tuple[Need, ...]:
            return tuple(need for need in needs if need.kind in (kind, ANY))

        but = own(rule.but)
        of = () if any(not need.where for need in but) else own(rule.of)
        return _Plan(
            rule, _TAKES[rule.search], self._runs[rule.kind], of, but, own(rule.ends),
            own(rule.without), own(rule.never), own(rule.follows), own(rule.between),
        )  # fmt: skip

    def _note(self, plan: _Plan, said: Statement, who: tuple[Any, ...]) -> None:
        """Notes what is said for `never`, `follows` and `between`."""
        kind = plan.rule.kind
        for what, needs in (("never", plan.never), ("follows", plan.follows)):
            if needs and _met(needs, said) and len(self._heard) < MOST_SUBJECTS:
                self._heard.add((what, kind, who))
        self._between[kind] += bool(plan.between) and _met(plan.between, said)

    def _ended(self, rule: Rule, said: Statement, who: tuple[Any, ...]) -> list[Key]:
        """The runs that a statement may end: of lines of one log, those without a name may be of
        anybody.
        """
        keys = self._keys(rule, said, who)
        if rule.per != "process":
            return keys
        runs = self._runs[rule.kind]
        if not who[0]:
            return [key for key in runs if key[0][1] == said.log]
        nameless = (("", *who[1:]), ())
        return [*keys, nameless] if nameless in runs and nameless not in keys else keys

    def _keys(self, rule: Rule, said: Statement, who: tuple[Any, ...]) -> list[Key]:
        """The runs that a statement ends: those of its subject; all if it names no subject."""
        runs = self._runs[rule.kind]
        bases = [key[0] for key, _, _ in self._subjects(rule, said, who, named_only=True)]
        if not bases:
            return list(runs)
        sames = self._sames.get(rule.kind, ())
        return [key for base in bases for same in sames if (key := (base, same)) in runs]

    def _subjects(
        self, rule: Rule, said: Statement, who: tuple[Any, ...], named_only: bool = False
    ) -> Iterable[Subject]:
        """Whom the statement is about, as far as the rule goes. `named_only`: whatever it says of
        them.
        """
        value = value_of(said, rule.value) if rule.value else None
        same = (
            () if rule.in_a_row or not rule.same else tuple(_same(said, name) for name in rule.same)
        )
        if rule.per == "process":
            return [((who, same), who[0], value)]
        if rule.per == "partition":
            alone = () if said.group else who
            if rule.value == "offset" and not named_only:
                same = (said.kind, "offset" in said.fields)  # what is sent, and what is answered
                found: Iterable[tuple[str, Any]] = committed_offsets(said)
            else:
                found = ((partition, value) for partition in named_partitions(said))
            return [(((said.log, p, *alone), same), p, value) for p, value in found]
        if rule.per == "broker":
            name = value_of(said, ".broker")
            return [(((name, said.log), same), str(name), value)] if name else []
        return [(((), same), str(same[0] or "") if same else "", value)]

    def _start(self, rule: Rule, key: Key, name: str, said: Statement) -> _Run:
        run = self._runs[rule.kind][key] = _Run(name, said, said)
        self._sames.setdefault(rule.kind, set()).add(key[1])
        if rule.between:
            run.begun = self._between[rule.kind]
        if rule.follows:
            who = self.writer(said), said.log, said.process
            run.followed = ("follows", rule.kind, who) in self._heard
        return run

    # -- changed, went_back

    def _changes(
        self, rule: Rule, key: Key, name: str, value: Any, said: Statement
    ) -> Iterable[Statement]:
        if value is None:
            return ()
        runs = self._runs[rule.kind]
        run = runs.get(key) or self._start(rule, key, name, said)
        before, last = run.value, run.last
        after = ms_between(last, said)
        if after is None and last.time is not None and said.time is not None:
            return ()  # lines of several writers, in another order
        if before == value and len(runs) > IN_FULL:
            return ()
        run.value, run.last = value, said if len(runs) <= IN_FULL else _short(said)
        if before is None or before == value or not _comparable(before, value):
            return ()
        step = value - before if isinstance(value, int | float) else None
        if rule.sort == "went_back":
            changed = step is not None and step < 0
        else:
            changed = step is None or (abs(step) >= rule.least_step and (step > 0 or not rule.up))
        if not changed:
            return ()
        told = {"before": before, "now": value, "after": after or None}
        return (self._fact(rule, said, run, (last, said), **told),)

    # -- repeats

    def _repeats(
        self, rule: Rule, key: Key, name: str, value: Any, said: Statement
    ) -> Iterable[Statement]:
        over: Iterable[Statement] = ()
        run = self._runs[rule.kind].get(key)
        if run is not None:
            gap = ms_between(run.last, said) if rule.pause or rule.even else None
            other = rule.in_a_row and not _alike(run.last, said)
            if other or (rule.pause and gap is not None and gap > rule.pause):
                over, run = self._close(rule, key, run), None
            elif gap is not None and gap > LEAST_GAP_MS:
                run.gaps = run.gaps or []
                run.gaps += [gap][: MOST_GAPS - len(run.gaps)]
        run = run or self._start(rule, key, name, said)
        run.n, run.last = run.n + 1, said
        if rule.between:
            run.heard = self._between[rule.kind]
        if rule.value:
            run.counts = Counter() if run.counts is None else run.counts
            if len(run.counts) < MOST_WINDOW:
                run.counts[value] += 1
        if run.kept is None:
            run.kept = []
        if len(run.kept) < (MOST_WINDOW if rule.quotes == "all" else QUOTED - 1):
            run.kept.append(said)
        return over

    def _close(self, rule: Rule, key: Key, run: _Run) -> Iterable[Statement]:
        """The run is over: it may be a fact."""
        if max(run.n, run.best) < rule.at_least or not run.followed:
            return ()
        some = (self._shared_facts if rule.sort == "shared" else self._repeated_facts)(rule, run)
        if not rule.never:
            return some
        self._held.setdefault((rule.kind, key), []).extend(some)
        return ()

    def _repeated_facts(self, rule: Rule, run: _Run) -> Iterator[Statement]:
        span = ms_between(run.first, run.last)
        timed = (rule.least_span, rule.most_span, rule.every)
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
        gaps = run.gaps or []
        period = round(median(gaps)) if gaps else None
        if rule.even and (
            period is None
            or len(gaps) < 2
            or any(abs(gap - period) > CLOSE_SHARE * period for gap in gaps)
        ):
            return
        kept = run.kept or []
        values = {
            "n": run.n,
            "span": span,
            "rate": min(round(60_000 * (run.n - 1) / max(span or 1, 1)), 60_000),
            "period": period,
            "setting": (known_period(period, run.first.library) or None) if period else None,
            "distinct": len([v for v in run.counts or () if v is not None]),
        }
        lines = tuple({s.line: s for s in (*kept[: QUOTED - 1], run.last)}.values())
        quoted = {"first": [run.first], "last": [run.last], "all": kept}[rule.quotes]
        yield from (self._fact(rule, said, run, lines, **values) for said in quoted)

    # -- shared

    def _shares(
        self, rule: Rule, key: Key, name: str, value: Any, said: Statement
    ) -> Iterable[Statement]:
        if value is None or said.time is None:
            return ()
        run = self._runs[rule.kind].get(key) or self._start(rule, key, name, said)
        if run.window is None or run.counts is None:
            run.window, run.counts = deque(), Counter()
        run.window.append((said, value))
        run.counts[value] += 1
        while len(run.window) > MOST_WINDOW or (
            abs(said.time - (run.window[0][0].time or 0)) > rule.within
        ):
            _, old = run.window.popleft()
            run.counts[old] -= 1
            if not run.counts[old]:
                del run.counts[old]
        if len(run.counts) > run.best:
            run.best, run.kept = len(run.counts), [s for s, _ in run.window]
        return ()

    def _shared_facts(self, rule: Rule, run: _Run) -> Iterator[Statement]:
        if not run.kept:
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
    ) -> Iterable[Statement]:
        if key not in self._runs[rule.kind]:
            self._start(rule, key, name, said)
        return ()

    def _stood(
        self, rule: Rule, key: Key, run: _Run, end: Statement, still_open: bool = False
    ) -> None:
        """Keeps the longest time for which a subject stood still."""
        lasted = ms_between(run.first, end)
        if lasted is None or lasted < rule.lasts or not run.followed:
            return
        held = self._held.get((rule.kind, key))
        if held is None and len(self._held) >= MOST_SUBJECTS:
            return
        longest = held[0].fields.get("lasted") if held else None
        if longest is None or lasted > longest:
            lines = (run.first, end) if end.line != run.first.line else (run.first,)
            others = "yes" if end.line > run.first.line + 1 else None
            open = "yes" if still_open else None
            told = self._fact(rule, run.first, run, lines, lasted=lasted, open=open, others=others)
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


def _met(needs: Sequence[Need], said: Statement) -> bool:
    """Does the statement meet one of the needs, which are of its kind?"""
    for need in needs:  # noqa: SIM110 - it runs for every statement; a generator costs more
        if not need.where or need.fits(said):
            return True
    return False


def _alike(a: Statement, b: Statement) -> bool:
    return a.kind == b.kind and a.fields == b.fields


def _same(said: Statement, name: str) -> Any:
    if name == "*":
        return said.kind, tuple(sorted((k, str(v)) for k, v in said.fields.items()))
    return value_of(said, name)


def _comparable(before: Any, now: Any) -> bool:
    """Do both tell the same aspect? A broker's number and its address are no change."""
    if isinstance(before, str) and isinstance(now, str):
        return before.startswith("broker ") == now.startswith("broker ")
    return isinstance(before, int | float) and isinstance(now, int | float)


def _short(said: Statement) -> Statement:
    return evolve(said, text=said.text[:SHORT], fields={})

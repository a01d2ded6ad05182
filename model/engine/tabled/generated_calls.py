"""The calls of a rule and the numbers of its outcomes, as Python source: written out for the number
of its slots and for what step invariants look at there, because general loops around a rule cost
more than the rule. The source holds positions alone, nothing that a spec says.

Whatever raises or is odd is called again under watch, which words the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import CodeType, SimpleNamespace
from typing import Any

from attrs import frozen

from groupcheck.model.engine.functions import OddError, gives_outcomes, outcomes
from groupcheck.model.engine.pools import Pool
from groupcheck.model.engine.promises import StepInvariant
from groupcheck.model.engine.step import MOST_OUTCOMES

Call = Callable[..., Any]
Numbers = tuple[int, ...]
# Takes the numbers of the arguments and the place of the state that asks; also the outcomes, if the
# rule was called already. Gives label and numbers of the new values for every outcome, side by
# side. Raises whatever the rule or a step invariant raises, and for an outcome that is odd.
Caller = Callable[..., list[int]]


@frozen
class Checks:
    """Step invariants over the same slots of a rule."""

    promises: tuple[StepInvariant, ...]
    # Where their slots are among the values of the rule.
    at: tuple[int, ...]
    # The numbers before and after that were found good, for all rules with the same promises there;
    # None where they ask for the label.
    good: set[Numbers] | None


@frozen
class Listener:
    """The tasks that a caller leaves to others."""

    # Numbers a value that is not itself in the pool: takes the arguments with their numbers, the
    # outcome with its number, the value with its position.
    new: Callable[..., int]
    # Looks at an outcome that seems to break a promise: takes the checks, the place of the state,
    # the label, and the values before and after. Gives whether all promises hold.
    look: Callable[..., bool]


def caller(
    call: Call,
    function: Call,
    tail: Sequence[Any],
    pools: Sequence[Pool],
    labels: Mapping[str, int],
    checks: Sequence[Checks],
    scope: Any,
    listener: Listener,
    is_uniform: bool,
) -> Caller:
    """The caller of a rule. `function`: the rule's own. `call`: what is called, with a value for
    each of the pools and the tail; it gives the outcomes of the function, perhaps in other words.
    `labels`: the number of each name of an outcome; of a rule without labels that of "".
    `is_uniform`: a value may be known by its id, because a pool holds no value of a type that is
    wrong there.
    """
    is_labelled = "" not in labels
    given = {
        "call": call if gives_outcomes(function) else lambda *args: outcomes(call(*args)),
        "labels": labels if is_labelled else labels[""],
        "texts": {label: label for label in labels},
        "OddError": OddError,
        "Sides": SimpleNamespace,
        "new": listener.new,
        "look": listener.look,
        "scope": scope,
    }
    given |= {f"tail{k}": value for k, value in enumerate(tail)}
    for k, pool in enumerate(pools):
        given |= {f"values{k}": pool.values, f"known{k}": pool.by_id.get if is_uniform else _never}
    for k, one in enumerate(checks):
        given |= {f"good{k}": one.good, f"checks{k}": one}
        given |= {f"slot{k}_{n}": slot for n, slot in enumerate(one.promises[0].slots)}
        given |= {f"promise{k}_{n}": p.call for n, p in enumerate(one.promises)}
    shapes = [
        (c.at, c.good is not None, tuple((p.takes_label, p.takes_scope) for p in c.promises))
        for c in checks
    ]
    there: dict[str, Any] = {}
    exec(_code(len(pools), len(tail), is_labelled, tuple(shapes)), given, there)
    made: Caller = there["caller"]
    return made


def asker(
    call: Call,
    given: Sequence[Any],
    read: Sequence[tuple[list[Any], int]],
    widths: Sequence[int | None],
    tail: Sequence[Any],
) -> Callable[[Numbers], Any]:
    """The function that calls a predicate or view with the values that numbers of inputs stand for.
    `given`: arguments before these, `tail`: after them. `read`: the values of each place that it
    reads, and which of the numbers is of it. `widths`: of each parameter how many places it takes,
    if it is a whole array; None: it is one place.
    """
    names = {f"given{k}": value for k, value in enumerate(given)}
    names |= {f"values{k}": values for k, (values, _) in enumerate(read)}
    names |= {f"tail{k}": value for k, value in enumerate(tail)}
    at = tuple(at for _, at in read)
    code = _asking(len(given), at, tuple(widths), len(tail))
    return eval(code, {"call": call, **names})  # type: ignore[no-any-return]


@cache
def _asking(given: int, at: Numbers, widths: tuple[int | None, ...], tail: int) -> CodeType:
    one = (f"values{k}[ids[{n}]]" for k, n in enumerate(at))
    places = [
        next(one) if n is None else f"({''.join(f'{next(one)}, ' for _ in range(n))})"
        for n in widths
    ]
    args = [f"given{k}" for k in range(given)] + places + [f"tail{k}" for k in range(tail)]
    return compile(f"lambda ids: call({', '.join(args)})", "<groupcheck asker>", "eval")


def _never(_: int) -> None:
    """In place of a look at known values."""


# Where the slots of step invariants are, whether what is good is remembered, and whether each of
# them takes the label and the scope.
Shape = tuple[tuple[int, ...], bool, tuple[tuple[bool, bool], ...]]


@cache
def _code(size: int, tail: int, is_labelled: bool, shapes: tuple[Shape, ...]) -> CodeType:
    return compile(
        "\n".join(_lines(size, tail, is_labelled, shapes)), "<groupcheck caller>", "exec"
    )


def _all(letter: str, size: int) -> str:
    return "".join(f"{letter}{k}, " for k in range(size))


def _lines(size: int, tail: int, is_labelled: bool, shapes: tuple[Shape, ...]) -> Iterator[str]:
    yield "def caller(ids, place, given=None):"
    yield f" {_all('i', size)}= ids"
    yield from (f" a{k} = values{k}[i{k}]" for k in range(size))
    yield " flat = []"
    yield f" if given is None: given = call({_all('a', size)}{_all('tail', tail)})"
    yield " for o in given:"
    if is_labelled or size > 1:
        yield "  if o.__class__ is not tuple and not isinstance(o, tuple): raise OddError"
        yield f"  {'label, ' if is_labelled else ''}{_all('b', size)}= o"
    else:
        yield "  b0 = o"
    for k in range(size):
        yield f"  if b{k} is a{k}: n{k} = i{k}"
        yield "  else:"
        yield f"   n{k} = known{k}(id(b{k}))"
        args = f"ids, ({_all('a', size)}), o, len(flat) // {size + 1}, b{k}, {k}"
        yield f"   if n{k} is None: n{k} = new({args})"
    label = "labels[label]" if is_labelled else "labels"
    yield f"  flat += ({label}, {_all('n', size)})"
    yield f"  if len(flat) > {MOST_OUTCOMES * (size + 1)}: raise OddError"
    for k, shape in enumerate(shapes):
        yield from _checked(k, size, is_labelled, *shape)
    yield " return flat"


def _checked(
    k: int,
    size: int,
    is_labelled: bool,
    at: tuple[int, ...],
    is_kept: bool,
    takes: tuple[tuple[bool, bool], ...],
) -> Iterator[str]:
    text = "texts[label]" if is_labelled else "''"
    if is_kept:
        yield f"  key = ({''.join(f'i{n}, n{n}, ' for n in at)})"
        yield f"  if key not in good{k}:"
    else:
        yield "  if True:"
    for side, letter in (("before", "a"), ("after", "b")):
        slots = ", ".join(f"slot{k}_{n}: {letter}{where}" for n, where in enumerate(at))
        yield f"   {side} = Sides(**{{{slots}}})"
    asked = [
        f"promise{k}_{n}(before, after{f', {text}' * takes_label}{', scope' * takes_scope}) is True"
        for n, (takes_label, takes_scope) in enumerate(takes)
    ]
    look = f"look(checks{k}, place, {text}, ({_all('a', size)}), ({_all('b', size)}))"
    yield f"   try: holds = {' and '.join(asked)} or {look}"
    yield f"   except (Exception, SystemExit): holds = {look}"
    if is_kept:
        yield f"   if holds: good{k}.add(key)"

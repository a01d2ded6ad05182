"""The steps of groups whose callbacks take time fit the member's rows, and a mistake in what only
the group's model has does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic.client import NOTHING, Client, Prepare
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.transform import rebuilt, rewritten
from groupcheck.oracles.conform.member.callback_rows import CallbackRows
from groupcheck.oracles.conform.member.callback_steps import CallbackSteps
from groupcheck.oracles.conform.member.every_row import rows_of

# From the arguments of a rule and its outcomes: the wrong outcomes.
Wrong = Callable[[tuple[Any, ...], list[Any]], list[Any]]


def steps(variant: str, autocommit: str, wrong: dict[str, Wrong] | None = None) -> CallbackSteps:
    (rows,) = rows_of(variant, 1, None, {"partitions": "1", "autocommit": autocommit})
    rules = {r.name: r for r in rows.spec.rules}
    changed = [mistaken(rules[name], how) for name, how in (wrong or {}).items()]
    return CallbackSteps(CallbackRows(rows.scope, rebuilt(rows.spec, changed)))


def mistaken(rule: Rule, wrong: Wrong) -> Rule:
    def call(*given: Any) -> Iterator[Any]:
        yield from wrong(given, list(rule.call(*given)))

    return rewritten(rule, call)


@pytest.mark.parametrize(
    ("variant", "autocommit", "states", "compared"),
    [
        ("callbacks", "yes", 298, 9_723),
        ("callbacks", "no", 277, 8_847),
        ("cooperative_callbacks", "no", 1_047, 29_385),
    ],
)
def test_every_step_fits_the_rows(
    variant: str, autocommit: str, states: int, compared: int
) -> None:
    made = steps(variant, autocommit)
    assert made.run(0) == []
    assert (made.states, made.steps) == (states, compared)


def running(given: tuple[Any, ...]) -> bool:
    """Does a callback run before the step?"""
    return any(isinstance(x, Client) and x.prepare == Prepare.REVOKING for x in given)


def client(outcome: Any, **changed: Any) -> Any:
    return tuple(evolve(x, **changed) if isinstance(x, Client) else x for x in outcome)


def never(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    return [] if running(given) else outcomes


def not_committed(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    return [o for o in outcomes if o[0] != "committed"]


def dirty(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    """Whoever commits forgets that it has."""
    return [o for o in outcomes if o[0] != "committed" or given[0].dirty] + [
        client(o) for o in outcomes if o[0] == "returned" and given[0].dirty
    ]


def ends(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    """What happens meanwhile ends the callback."""
    return [client(o, prepare=Prepare.NEEDED) if running(given) else o for o in outcomes]


def keeps_all(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    """Whoever throws gives nothing up."""
    return [client(o, owned=given[0].owned) if o[0] == "threw" else o for o in outcomes]


def silent(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    """A callback that returns is not followed by JoinGroup."""
    return [
        (label, c, Link()) if label == "returned" and given[0].granted == NOTHING else (label, c, k)
        for label, c, k in outcomes
    ]


def keeps_granted(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    """onJoinComplete takes over nothing once a callback has returned."""
    return [client(o, owned=given[0].owned) if given[0].granted >= 0 else o for o in outcomes]


def keeps_id(given: tuple[Any, ...], outcomes: list[Any]) -> list[Any]:
    """A refused commit takes no id, even if onJoinComplete throws with it."""
    return [client(o, id=given[0].id) if running(given) else o for o in outcomes]


MISTAKES: dict[str, tuple[str, str, Wrong]] = {
    "no callback begins": ("callbacks", "call_back", lambda given, outcomes: []),
    "no callback ends": ("callbacks", "callback_runs", never),
    "nobody commits in a callback": ("callbacks", "callback_runs", not_committed),
    "a callback returns in two ways": ("callbacks", "callback_runs", dirty),
    "a callback that throws keeps partitions": ("callbacks", "callback_runs", keeps_all),
    "nobody joins after a callback": ("callbacks", "callback_runs", silent),
    "a member that leaves in a callback ends it": ("callbacks", "poll_timeout", ends),
    "nobody leaves in a callback": ("callbacks", "poll_timeout", never),
    "a heartbeat ends a callback": ("callbacks", "heartbeat_answer", ends),
    "a share is not taken over": ("cooperative_callbacks", "callback_runs", keeps_granted),
    "a callback that throws keeps an id": ("cooperative_callbacks", "commit_answer", keeps_id),
    "nobody is heard in a cooperative callback": ("cooperative_callbacks", "send_heartbeat", never),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_a_callback_is_noticed(name: str) -> None:
    variant, rule, wrong = MISTAKES[name]
    assert steps(variant, "no", {rule: wrong}).run(1)


@pytest.mark.parametrize("rule", ["close", "delay_request", "process_record", "send_commit"])
def test_whatever_else_happens_in_a_callback_is_noticed(rule: str) -> None:
    """The rule fires as if no callback ran."""
    (rows,) = rows_of("callbacks", 1, None, {"partitions": "1", "autocommit": "no"})
    mine = next(r for r in rows.spec.rules if r.name == rule)

    def call(c: Client, *given: Any) -> Iterator[Any]:
        free = evolve(c, prepare=Prepare.NEEDED) if c.prepare == Prepare.REVOKING else c
        yield from mine.call(free, *given)

    wrong = CallbackSteps(CallbackRows(rows.scope, rebuilt(rows.spec, [rewritten(mine, call)])))
    found = wrong.run(1)
    assert found and found[0].what.startswith(rule) and "while a callback runs" in found[0].what

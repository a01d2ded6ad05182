"""A variant's spec for a simulation: thousands of members, any number of faults, heartbeats that go
on.

The rules are the variant's. What differs from its spec for exploration:

- The bounds of the scope are lifted, and each fault may happen a billion times: the clock decides.
- Nothing is processed or committed (`records` is 0): the model watches one partition alone.
- A heartbeat is sent even if the member knows that it must join again. The model leaves it out,
  because its answer changes nothing; but it keeps the session alive.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import attrs
from attrs import frozen

from groupcheck.model.engine import Spec, evolve
from groupcheck.model.protocol.classic import client
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.model.protocol.transform import own, rebuilt, rewritten
from groupcheck.model.protocol.variant import Variant

ANY_NUMBER = 10**9
# No coordinator moves, and no append fails. Records of the group need not be remembered then.
NEVER = ("fail_over", "append_failure")
# Nor do topics or subscriptions of a consumer group change.
NEVER_OF_CONSUMERS = (*NEVER, "delay_request", "subscription", "metadata")


@cache
def unbounded(kind: Any) -> type[Any]:
    """The scope type without its bounds."""

    def free(cls: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
        return [f.evolve(validator=None) for f in fields]

    body = {"__attrs_post_init__": lambda self: None, "__module__": __name__}
    return frozen(slots=False, field_transformer=free)(
        type(f"Unbounded{kind.__name__}", (kind,), body)
    )


def simulated(
    variant: Variant, members: int, partitions: int, added: int = 0, *, static: bool = False
) -> Spec:
    """The spec of a variant with so many members and partitions, for a simulation. Where topics
    change, so many of the partitions are added later. `static`: all members of a group of KIP-848
    are static ones.
    """
    kind: Any = variant.scope_type
    if kind is ConsumerScope:
        return consumer_group(variant, members, partitions, members if static else 0)
    fields = {
        "members": members,
        "partitions": partitions,
        "generations": ANY_NUMBER,
        "records": 0,
        "assignor": next(iter(variant.assignors)),
        "topics": f"t:{partitions - added}-{partitions}",
        "faults": {name: ANY_NUMBER for name in variant.faults if name not in NEVER},
    }
    known = {*attrs.fields_dict(kind)}
    known -= {"partitions"} if "topics" in known else set()
    scope = unbounded(kind)(**{name: v for name, v in fields.items() if name in known})
    return heartbeats_go_on(variant.spec(scope))


def consumer_group(variant: Variant, members: int, partitions: int, static: int = 0) -> Spec:
    """The spec of a group of KIP-848: messages are steps of their own, callbacks too, the assignor
    is the one that Kafka has by default, and there is an assignment interval. Members are simple
    ones; `static` of them, the first ones, have a group.instance.id.
    """
    scope = unbounded(ConsumerScope)(
        members=members,
        partitions=partitions,
        static_members=static,
        assignor="uniform",
        interval=True,
        wire="explicit",
        callbacks="phased",
        faults={n: ANY_NUMBER for n in variant.faults if n not in NEVER_OF_CONSUMERS},
    )
    return variant.spec(scope)


def heartbeats_go_on(spec: Spec) -> Spec:
    """The feature: a member that must join again goes on with its heartbeats until it polls."""
    usual = own(spec, client.send_heartbeat)
    at = usual.slots.index("client")

    def send_heartbeat(*args: Any) -> Iterator[Any]:
        start = len(usual.takes) + at
        member = args[start]
        waits = evolve(member, rejoin=False)
        for outcome in usual.call(*args[:start], waits, *args[start + 1 :]):
            told = outcome[at + bool(usual.labels)] is waits
            yield tuple(member if told and value is waits else value for value in outcome)

    return rebuilt(spec, [rewritten(usual, send_heartbeat)])

"""The dialects of logs that can be generated: each has a printer, and the scope of the model whose
runs it prints.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from attrs import evolve, frozen

from groupcheck.model.protocol.classic.features.static import StaticScope
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.variants import load
from groupcheck.oracles.generate.broker_lines import OLD_STYLES, STYLES, broker_run
from groupcheck.oracles.generate.client_lines import client_run
from groupcheck.oracles.generate.consumer.broker import Words
from groupcheck.oracles.generate.consumer.runs import Library, consumer_run, scope_of
from groupcheck.oracles.generate.request_lines import request_run
from groupcheck.oracles.generate.run import Run

STEPS = 250
PACE = 300
REQUEST_STEPS, REQUEST_FAULTS = 600, 0.03
"""Request logs are mostly heartbeats: a fault happens seldom."""
_FAULTS = {
    "crash": 4,
    "close": 5,
    "session_timeout": 8,
    "rebalance_timeout": 5,
    "sync_timeout": 3,
    "append_failure": 2,
    "new_member_timeout": 2,
    "disconnect": 3,
    "poll_timeout": 3,
    "lose_response": 2,
    "delay_request": 1,
    "fail_over": 1,
}
# the sync timer exists since 3.0
_OLD_FAULTS = {name: n for name, n in _FAULTS.items() if name != "sync_timeout"}
_SHOWN_FAULTS = {
    "crash": 4,
    "close": 5,
    "session_timeout": 100,
    "rebalance_timeout": 5,
    "sync_timeout": 3,
    "append_failure": 2,
    "poll_timeout": 3,
    "late_commit": 3,
}
"""Those after which every request still stands in the log with its answer."""
_BROKER = Scope(members=3, generations=60, records=0, autocommit=False, faults=_FAULTS)
_REQUESTS = Scope(members=2, partitions=2, generations=60, records=2, faults=_SHOWN_FAULTS)
_STATIC_FAULTS = {**_SHOWN_FAULTS, "remove_instance": 2}
_STATIC = StaticScope(members=2, partitions=2, generations=60, records=2, faults=_STATIC_FAULTS)
_COOPERATIVE_STATIC = load("cooperative_static").scope_type(
    members=2, partitions=2, generations=60, records=2, faults=_STATIC_FAULTS
)


@frozen
class Dialect:
    """How a broker writes."""

    name: str
    # a request log, not the coordinator's own log
    requests: bool
    # from a seed to a run of the model that ends where the group is empty again
    run: Callable[[int], Run]
    # the same with the logs of the members; None if they are not printed
    with_clients: Callable[[int], Run] | None = None
    # the group uses KIP-848, and new ones have this epoch
    consumer: bool = False
    first_epoch: int = 0
    # milliseconds of a log for one millisecond of its printer, which keeps no time if timers do not
    # matter to what it prints
    pace: int = 1


def _broker(style_name: str) -> Dialect:
    style = next(style for style in (*STYLES, *OLD_STYLES) if style.name == style_name)
    old = bool(style.old)
    scope = evolve(_BROKER, faults=_OLD_FAULTS, two_step=style.old != "1.1") if old else _BROKER
    return Dialect(
        style.name,
        False,
        partial(broker_run, style=style, scope=scope, steps=STEPS, to_rest=True),
        pace=PACE,
    )


def _requests(name: str, scope: Scope, clients: bool) -> Dialect:
    """A request log; `clients`: its members are printed, too."""
    given: dict[str, Any] = {
        "scope": scope,
        "steps": REQUEST_STEPS,
        "to_rest": True,
        "faulty_share": REQUEST_FAULTS,
    }
    members = partial(client_run, **given) if clients else None
    return Dialect(name, True, partial(request_run, **given), members)


def _consumer(
    name: str,
    kafka: str,
    static: int = 0,
    *,
    debug: bool = True,
    library: Library = "java",
    fails: bool = False,
    patterns: bool = False,
) -> Dialect:
    """Logs of groups that use KIP-848: request logs with their members, or coordinators' logs.
    `fails`: now and then nothing is appended; `patterns`: some members subscribe by one.
    """
    version = tuple(map(int, kafka.split(".")))
    new = version >= (4, 3)
    words = Words(debug=debug, hashes=version >= (4, 1), epochs=new, ids=version >= (4, 1))
    requests = name.startswith("requests")
    scope = scope_of(kafka, static=static, library=library, fails=fails, patterns=patterns)
    run = partial(consumer_run, scope=scope, words=words, library=library)
    return Dialect(
        name,
        requests,
        partial(run, requests=requests),
        partial(run, requests=True, clients=True) if requests else None,
        consumer=True,
    )


_CONSUMER = (
    _consumer("consumer-4.4", "4.4.0", 1, debug=False),
    _consumer("consumer-4.3-debug", "4.3.1"),
    _consumer("consumer-4.2-debug", "4.2.0", 2),
    _consumer("consumer-4.0-debug", "4.0.0"),
    _consumer("consumer-4.3-regex-debug", "4.3.1", patterns=True),
    _consumer("requests-consumer", "4.3.1"),
    _consumer("requests-consumer-regex", "4.3.1", patterns=True),
    _consumer("requests-consumer-appends", "4.3.1", fails=True),
    _consumer("requests-consumer-static", "4.4.0", 2),
    _consumer("requests-consumer-librdkafka", "4.2.0", library="librdkafka"),
    _consumer("requests-consumer-librdkafka-static", "4.2.0", 2, library="librdkafka"),
)
DIALECTS = {
    **{style.name: _broker(style.name) for style in (*STYLES, *OLD_STYLES)},
    "requests": _requests("requests", _REQUESTS, True),
    "requests-static": _requests("requests-static", _STATIC, False),
    "requests-cooperative-static": _requests(
        "requests-cooperative-static", _COOPERATIVE_STATIC, False
    ),
    **{dialect.name: dialect for dialect in _CONSUMER},
}
"""By name, as `groupcheck generate --dialect` takes them."""

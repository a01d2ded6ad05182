"""Regular expressions that are resolved in the background: what the real coordinator is told, and
what it remembers, in the model's terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupcheck.model.protocol.consumer.plans import name
from groupcheck.model.protocol.consumer.regexes import (
    Age,
    Regexes,
    delete_topic,
    resolution_ends,
    resolver_looks,
    time_passes,
)
from groupcheck.model.protocol.consumer.scope import ConsumerScope
from groupcheck.oracles.kafka.commands import Advance, Command, HoldTasks, RunTask, TellResult
from groupcheck.oracles.kafka.memory import ConsumerMemory, Memory

# Kafka's own: GroupMetadataManager.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS, and the default of
# group.consumer.regex.refresh.interval.ms.
APART_MS, REFRESH_MS = 10_000, 600_000
# The client that may not describe the last topic.
BLIND = "blind"
WRITES = (f"{resolution_ends.name}:written",)
DELETES = delete_topic.name


def expression(number: int, scope: ConsumerScope) -> str:
    """The regular expression of this number; 0: none."""
    if not number:
        return ""
    return "t.*" if number == 1 else f"{name(scope.topics - 1)}.*"


def denied(scope: ConsumerScope) -> Mapping[str, str]:
    """Client -> the topic that it may not describe."""
    return {BLIND: name(scope.topics - 1)} if scope.restricted else {}


def client(process: int, scope: ConsumerScope) -> str:
    """The client id of a process."""
    return BLIND if scope.restricted and process == 0 else "c"


def begun(scope: Any) -> tuple[Command, ...]:
    """What comes before everything else. Scopes of groups of other kinds have no `regexes`."""
    return (HoldTasks(),) if getattr(scope, "regexes", 0) else ()


def passing(title: str, fired: str) -> tuple[Command, ...]:
    """The commands of a row in which nobody asks anything; none, if the row is another one."""
    if title == time_passes.name:
        ms = APART_MS if fired == f"{time_passes.name}:ten_seconds" else REFRESH_MS
        return (Advance(ms=ms + 1),)
    told = {resolver_looks.name: RunTask(), resolution_ends.name: TellResult()}
    return (told[title],) if title in told else ()


def memory_of_model(known: Regexes | None, scope: ConsumerScope) -> Mapping[str, Any]:
    """What the group knows of its regular expressions, as facts; none without the feature."""
    if known is None:
        return {}
    task = known.task
    return {
        "pattern resolved": known.resolved,
        "resolution": "none" if task is None else "begun" if task.found is None else "looked",
        "last resolution": known.age.name if known.resolved else None,
        "topics since": known.behind,
        **{f"expression {k + 1}": mask for k, mask in enumerate(known.found)},
    }


def memory_of_kafka(memory: Memory, scope: ConsumerScope, now_ms: int) -> Mapping[str, Any]:
    """The same of Kafka."""
    if not scope.regexes:
        return {}
    group = memory if isinstance(memory, ConsumerMemory) else None
    found = {one.regex: one for one in (group.regexes if group else ())}
    newest = group.new_topics_version if group else -1
    waits = memory.tasks, memory.results
    ages = {_age(now_ms - one.timestamp_ms).name for one in found.values()}
    masks = {
        regex: sum(scope.topic(int(topic[1:])) for topic in one.topics)
        for regex, one in found.items()
    }
    return {
        "resolution": {(0, 0): "none", (1, 0): "begun", (0, 1): "looked"}.get(waits, waits),
        "topics since": any(one.version < newest for one in found.values()),
        "last resolution": ages.pop() if len(ages) == 1 else (sorted(ages) or None),
        **{f"expression {k}": masks.get(expression(k, scope)) for k in range(1, scope.regexes + 1)},
    }


def _age(ms: int) -> Age:
    if ms <= APART_MS:
        return Age.RECENT
    return Age.OLDER if ms <= REFRESH_MS else Age.DUE

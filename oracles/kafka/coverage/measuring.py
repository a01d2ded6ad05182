"""JaCoCo's agent in the driver's JVM, and what it counted: lines and branches of Kafka's own
classes, by method.

The agent writes its counts when the JVM ends by itself (`jvm.Jvm.close`); a JVM that is killed
loses them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka import install
from groupcheck.oracles.kafka.coverage.coverage_types import BranchTotal
from groupcheck.oracles.kafka.install import Program
from groupcheck.oracles.show import terminal

JACOCO = Program(
    "the coverage of Kafka's classes",
    Path(__file__).parent / "java",
    "coverage.jar",
    "coverage",
)
MAIN = "groupcheck.coverage.Main"
AGENT = "org.jacoco.agent-"
PACKAGE = "org/apache/kafka/coordinator/group/"
READ_S = 60.0
# The methods of GroupMetadataManager that serve classic groups.
_OF_CLASSIC_GROUPS = re.compile(
    r"^(getOrMaybeCreateClassicGroup|onLoaded|onUnloaded|(re)?(schedule|expire)(Classic|PendingSync)"
    r".*|classicGroup(?!.*ConsumerGroup).*|completeClassicGroupJoin|maybeCompleteJoin.*"
    r"|remove(Member|PendingMember|CurrentMember).*Classic.*|removePendingSyncMember"
    r"|update(Static)?MemberThenRebalance.*|maybePrepareRebalance.*|prepareRebalance"
    r"|tryCompleteInitialRebalance.*|resetAndPropagate.*|propagateAssignment"
    r"|acceptJoiningMember|appendGroupMetadataErrorToResponseError|validate(SyncGroup|Classic.*)"
    r"|createGroupTombstoneRecords.*|maybeDelete(Empty)?(Classic)?Group|isEmptyClassicGroup)$"
)
_REQUESTS = re.compile(
    r"^(joinGroup|syncGroup|heartbeat|leaveGroup|commitOffsets|commitTransactionalOffsets"
    r"|fetchOffsets|deleteOffsets|deleteGroups|completeTransaction)$"
)
# Class -> the methods that count; None: all of them.
COUNTED: Mapping[str, re.Pattern[str] | None] = {
    "GroupMetadataManager": _OF_CLASSIC_GROUPS,
    "classic/ClassicGroup": None,
    "classic/ClassicGroupMember": None,
    "classic/ClassicGroupState": None,
    "OffsetMetadataManager": None,
    "OffsetMetadataManager$Offsets": None,
    "OffsetMetadataManager$OpenTransactions": None,
    "OffsetExpirationConditionImpl": None,
    "GroupCoordinatorService": _REQUESTS,
}
_LAMBDA = re.compile(r"^lambda\$(\w+)\$\d+$")


@frozen
class Line:
    """One line of a method in Kafka's source."""

    number: int
    executed: bool
    branches: int
    branches_executed: int


@frozen
class Method:
    """A compiled method of Kafka's. The lambdas in it are methods of their own."""

    # The class, as `COUNTED` names it.
    class_name: str
    # For a lambda, the name of the method around it, with what the compiler adds.
    name: str
    lines: tuple[Line, ...]

    @property
    def around(self) -> str:
        """The method in which a lambda stands, else its own name."""
        found = _LAMBDA.match(self.name)
        return found[1] if found else self.name


def total(methods: tuple[Method, ...]) -> BranchTotal:
    lines = [line for method in methods for line in method.lines]
    return BranchTotal(
        lines=len(lines),
        lines_executed=sum(line.executed for line in lines),
        branches=sum(line.branches for line in lines),
        branches_executed=sum(line.branches_executed for line in lines),
    )


def agent(version: str, into: Path, say: Callable[[str], None] = terminal.say) -> str:
    """The option of a JVM that has JaCoCo count Kafka's coordinator, into a file that is made, or
    added to, when the JVM ends. Raises `UserError` if JaCoCo cannot be fetched.
    """
    jar = _jar(install.classpath(version, say, JACOCO), AGENT)
    counted = f"includes={PACKAGE.replace('/', '.')}*"
    return f"-javaagent:{jar}=destfile={into},{counted},dumponexit=true"


def _jar(classpath: str, name: str) -> str:
    return next(path for path in classpath.split(os.pathsep) if Path(path).name.startswith(name))


def read(version: str, counted: Path) -> tuple[Method, ...]:
    """The counts of the classes and methods in `COUNTED`. Raises `UserError` if there are no
    counts.
    """
    if not counted.is_file():
        raise UserError("JaCoCo counted nothing: the JVM did not end by itself")
    kafka = _jar(install.classpath(version), f"kafka-group-coordinator-{version}.jar")
    asked = subprocess.run(
        [
            *install.launcher(JACOCO),
            *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
            *("-cp", install.classpath(version, program=JACOCO), MAIN),
            *(str(counted), kafka, *(PACKAGE + name for name in COUNTED)),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=READ_S,
    )
    if asked.returncode:
        why = asked.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UserError(f"the counts of JaCoCo cannot be read: {why[:300]}")
    methods = (_method(json.loads(line)) for line in asked.stdout.splitlines())
    found = [m for m in methods if (only := COUNTED[m.class_name]) is None or only.match(m.around)]
    order = list(COUNTED)
    return tuple(sorted(found, key=lambda m: (order.index(m.class_name), m.lines[0].number)))


def _method(told: Mapping[str, Any]) -> Method:
    lines: list[list[int]] = told["lines"]
    return Method(
        str(told["class"]).removeprefix(PACKAGE),
        str(told["method"]),
        tuple(
            Line(number, bool(covered), missed_branches + branches, branches)
            for number, _, covered, missed_branches, branches in lines
        ),
    )

"""The types of the field `coverage` of the document that `conform --coverage --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import field, frozen

from groupcheck.oracles.show.json_schemas import BESIDE, Count, Positive

Place = tuple[str, str, int]


@frozen(kw_only=True)
class BranchTotal:
    """Lines and branches of some methods, and how many of them were executed."""

    lines: Annotated[Count, "Lines with code."]
    lines_executed: Annotated[Count, "Lines of which some code was executed."]
    branches: Annotated[Count, "Branches."]
    branches_executed: Annotated[Count, "Branches that were executed."]


@frozen(kw_only=True)
class Method:
    """A method, or a lambda in it."""

    class_: Annotated[str, "The class, below org/apache/kafka/coordinator/group."]
    method: Annotated[str, "The name in the compiled class."]
    line: Annotated[Count, "Its first line."]
    total: BranchTotal = field(metadata=BESIDE)
    lines_unexecuted: Annotated[list[int], "Numbers of the lines that were not executed."]
    branches_unexecuted: Annotated[
        dict[str, Positive], "Line -> how many of its branches were not executed."
    ]


@frozen(kw_only=True)
class Reason:
    """The reason for branches of one line."""

    class_name: Annotated[str, "As in `methods`."]
    method: Annotated[str, "As in `methods`."]
    line: Annotated[Count, "The line."]
    branches: Annotated[Count, "How many of its branches."]
    family: Annotated[
        Literal["other", "guard", "left"],
        "other, guard: out of reach of a classic group; left: reachable, not executed yet.",
    ]
    why: Annotated[str, "The reason."]

    @property
    def place(self) -> Place:
        return self.class_name, self.method, self.line


@frozen(kw_only=True)
class Coverage:
    """With --coverage: what was executed of Kafka's own classes."""

    kafka: Annotated[str, "The Kafka version."]
    jvms_lost: Annotated[Count, "JVMs that broke; what they executed was not counted."]
    total: Annotated[BranchTotal, "All methods together."]
    branches_within_reach: Annotated[
        Count | None,
        "Branches that a classic group can reach; null for a version whose branches are not"
        " explained.",
    ]
    classes: Annotated[
        dict[str, Annotated[BranchTotal, "The methods of one class that count."]],
        "Class -> its methods together.",
    ]
    methods: Annotated[list[Method], "Each method that counts."]
    reasons: Annotated[
        list[Reason] | None,
        "Why branches are not executed; null for a version whose branches are not explained.",
    ]
    without_reason: Annotated[
        list[str] | None,
        "Places with branches that were not executed and have no reason, with their number; null"
        " as for `reasons`.",
    ]
    outdated_reasons: Annotated[
        list[str] | None,
        "Places with branches that were executed although a reason says that they cannot be,"
        " with their number; null as for `reasons`.",
    ]

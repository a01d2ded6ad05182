"""What `groupcheck assign` begins with at the terminal: short however much is wrong, and nothing
that the terminal would obey.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from groupcheck.oracles.command_line import cli

EVIL = "e\x1b[31m"


@pytest.fixture
def told(tmp_path, capsys):
    """The lines printed for a document, which is wrong."""

    def tell(document: dict[str, Any]) -> list[str]:
        file = tmp_path / "given.json"
        file.write_text(json.dumps(document), "utf-8")
        assert cli.run(["assign", str(file)]) == 1
        return capsys.readouterr().out.splitlines()

    return tell


def one(topic: str, partitions: int) -> dict[str, Any]:
    """A member that was given none of the partitions of a topic."""
    return {
        "about": EVIL,
        "topics": {topic: partitions},
        "members": {"a": {"subscribes": [topic]}},
        "assignment": {"a": {}},
    }


def several(topic: str, partitions: int) -> dict[str, Any]:
    """The same as a sequence of one change."""
    members = {"a": {"subscribes": [topic]}, "b": {"subscribes": [topic]}}
    change = {"leaves": ["b"], "assignments": [{"a": {}}]}
    return {
        "about": EVIL,
        "topics": {topic: partitions},
        "members": members,
        "promises": ["complete"],
        "changes": [change],
    }


either = pytest.mark.parametrize("document", (one, several))


@either
def test_of_many_violations_the_first_twenty_are_told_and_how_many_more_there_are(told, document):
    lines = told(document("t", 120))
    assert len([line for line in lines if "is given to nobody" in line]) == 20
    assert "  and 100 more (--json has them)" in lines
    assert not [line for line in told(document("t", 20)) if "more (--json" in line]


@either
def test_what_the_file_says_is_cut_and_cannot_steer_the_terminal(told, document):
    lines = told(document(EVIL * 41, 1))
    assert lines[0] == r"wrong  e\x1b[31m" and "\x1b" not in "".join(lines)
    begins = next(k for k, line in enumerate(lines) if line.endswith("complete:"))
    wrong = "".join(
        lines[begins : lines.index("", begins)]
    )  # it is folded where it has a space, which is lost
    assert wrong.endswith("…") and len(wrong) == 399

"""The findings in assignors of others: those of Python libraries come out again (`make nightly`
builds the adapters and asks the others), all are in the document, and versions are pinned.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).parent / "adapters"
sys.path.append(str(ADAPTERS))

import again  # noqa: E402

DOCUMENT = (Path(__file__).parents[3] / "docs" / "assignors_of_others.md").read_text("utf-8")
FOUND = again.findings()
OURS = [one for one in FOUND if one.library in again.IN_PROCESS]
LIBRARIES = {"kafka-python", "aiokafka", "sarama", "kafka-go", "kafkajs"}


@pytest.mark.parametrize("found", OURS, ids=lambda one: f"{one.library} {one.assignor}")
def test_a_finding_in_a_python_library_comes_out_again(found):
    assert again.came_again(found) == found.words


def test_another_finding_would_not_come_out():
    import attrs

    other = attrs.evolve(OURS[0], words="of t, B has 3 and A has 0")
    assert again.came_again(other) == ""


def test_every_finding_is_in_the_section_of_its_library():
    sections = dict(re.findall(r"^## (\S+ [\d.]+)\n(.*?)(?=^## |\Z)", DOCUMENT, re.M | re.S))
    assert {one.library for one in FOUND} == LIBRARIES
    missing = [
        one
        for one in FOUND
        if f"| {one.assignor} | {one.promise} |" not in sections[f"{one.library} {one.version}"]
        or one.words not in sections[f"{one.library} {one.version}"]
    ]
    assert missing == []


def test_versions_are_pinned_and_no_lock_names_a_registry():
    versions = {one.library: one.version for one in FOUND}
    required = (ADAPTERS / "go" / "go.mod").read_text("utf-8")
    for path, name in (("github.com/IBM/sarama", "sarama"), ("segmentio/kafka-go", "kafka-go")):
        assert f"{path} v{versions[name]}\n" in required
    assert "github.com/twmb/franz-go v1.22.2\n" in required and "franz-go 1.22.2" in DOCUMENT
    lock = (ADAPTERS / "javascript" / "package-lock.json").read_text("utf-8")
    packages = json.loads(lock)["packages"]
    assert packages["node_modules/kafkajs"]["version"] == versions["kafkajs"]
    assert all("integrity" in one for name, one in packages.items() if name)
    assert "resolved" not in lock and "http" not in lock

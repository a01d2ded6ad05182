"""Apache Kafka's own classes, searched like anybody's."""

from __future__ import annotations

import pytest
from attrs import evolve

from groupcheck.oracles.assignment.against import findings
from groupcheck.oracles.assignment.against_command import library_of


@pytest.fixture(scope="module")
def found():
    library = library_of("apache")
    wanted = tuple(o for o in library.assignors if o.name in ("range", "sticky"))
    return findings(evolve(library, assignors=wanted), 120)


def test_an_older_claim_brings_kafkas_sticky_to_break_validity_and_range_breaks_nothing(found):
    assert {f.assignor for f in found.findings} == {"sticky"}
    (finding,) = [f for f in found.findings if f.promise == "valid"]
    assert "but does not subscribe to" in finding.words and finding.version == "4.3.0"
    assert "a claim is of an older generation" in finding.circumstances
    compile(finding.code, "finding", "exec")

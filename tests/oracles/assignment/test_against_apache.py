"""Apache Kafka's own classes, searched like anybody's."""

from __future__ import annotations

import ast

import pytest
from attrs import evolve

from groupcheck.oracles.assignment.against.command import library_of
from groupcheck.oracles.assignment.against.libraries import apache
from groupcheck.oracles.assignment.against.searches import findings


@pytest.fixture(scope="module")
def found():
    library = library_of("apache")
    wanted = tuple(
        o for o in library.assignors if o.name in ("range", "sticky", "cooperative-sticky")
    )
    return findings(evolve(library, assignors=wanted), 120)


def test_an_older_claim_brings_kafkas_sticky_to_break_validity_and_range_breaks_nothing(found):
    assert {f.assignor for f in found.findings} == {"sticky", "cooperative-sticky"}
    finding = next(f for f in found.findings if f.promise == "valid")
    assert "but does not subscribe to" in finding.words and finding.version == "4.3.0"
    assert "a claim is of an older generation" in finding.circumstances and finding.kafka is None


def test_an_older_claim_takes_a_partition_if_subscriptions_differ_or_generations_are_untold(
    found,
):
    """Both halves of what had only been read in the source of AbstractStickyAssignor."""
    differ, untold = (f for f in found.findings if f.promise == "handed over")
    assert differ.assignor == untold.assignor == "cooperative-sticky"
    assert "subscriptions differ" in differ.circumstances and len(differ.group.members) == 2
    assert "subscriptions differ" not in untold.circumstances and dict(untold.group.topics) == {
        "t": 1
    }
    assert [(m.generation, m.told) for m in untold.group.members] == [(2, -1), (1, None)]
    assert "whose claim is newer" in differ.words and "whose claim is newer" in untold.words


def test_the_code_of_every_finding_shows_it_again(found, capsys):
    for finding in found.findings:
        exec(finding.code, {})
        answer = ast.literal_eval(
            capsys.readouterr().out.replace("frozenset()", "()").replace("frozenset(", "(")
        )
        assert {
            member: sorted(f"{t}-{p}" for t, p in given) for member, given in answer.items()
        } == finding.answer


def test_the_driver_is_built_and_started_before_a_question_is_timed(monkeypatch):
    asked = []
    monkeypatch.setattr(apache, "solve", lambda driver, problems: iter([asked.append(problems)]))
    with library_of("apache").open():
        assert len(asked) == 1

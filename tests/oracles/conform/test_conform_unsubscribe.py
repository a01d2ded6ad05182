"""A member whose application unsubscribes, as the feature `unsubscribe` has it, beside Kafka's."""

from __future__ import annotations

import pytest

from groupcheck.model.protocol.classic.features.unsubscribe import unsubscribe
from groupcheck.model.variants import load
from groupcheck.oracles.conform.member.conformance import conform_member
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.unsubscribing import UnsubscribingRows, UnsubscribingSteps

NAME = "classic+unsubscribe"
SMALL = {"autocommit": "no", "partitions": "1"}


def rows(mutation: str | None = None) -> UnsubscribingRows:
    (found,) = rows_of(NAME, 1, mutation, SMALL)
    assert isinstance(found, UnsubscribingRows)
    return found


@pytest.mark.night
def test_every_step_of_the_groups_model_fits_the_rows() -> None:
    steps = UnsubscribingSteps(rows())
    assert steps.run(0) == [] and steps.states > 100


def test_a_member_that_does_not_leave_fits_no_row() -> None:
    found = UnsubscribingSteps(rows("unsubscribes_silently"), None).run(1)
    assert [misfit.what.partition(" ")[0] for misfit in found] == [f"{unsubscribe.name}:heard"]


@pytest.mark.night
def test_kafkas_own_member_unsubscribes_as_the_model_says() -> None:
    result = conform_member(NAME, kafka="4.3.0", generations=1, settings=SMALL)
    assert result.counts.differing == 0 < result.counts.agreeing
    assert not {*unsubscribe.names} - {*load(NAME).member_apart} & {*result.never_executed}


@pytest.mark.night
def test_kafkas_own_member_gives_up_what_a_mutated_one_keeps() -> None:
    wrong = "leaves_with_partitions"
    result = conform_member(NAME, kafka="4.3.0", generations=1, settings=SMALL, mutation=wrong)
    assert result.counts.differing

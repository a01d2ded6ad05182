"""Sentences about the classic protocol, each put to Apache Kafka's own coordinator. What it says is
what the model has to say.
"""

from __future__ import annotations

import pytest
from kafka_claims_joining import JOINING
from kafka_claims_rounds import ROUNDS
from kafka_claims_serving import SERVING
from kafka_talk import Talk

CLAIMS = (*JOINING, *ROUNDS, *SERVING)


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.id for claim in CLAIMS])
def test_the_real_coordinator_does_as_claimed(claim, talk: Talk):
    seen = [(what, expected, observed) for what, expected, observed in claim.ask(talk)]
    assert seen and [s for s in seen if s[1] != s[2]] == [], claim.sentence


def test_there_are_sixty_claims_with_different_names():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) >= 60

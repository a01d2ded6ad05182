"""Lines of one shape are read once; what they say does not change by that."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from groupcheck.traces.clients.log import ClientLog
from groupcheck.traces.clients.sentences import Sentences, all_sentences, shipped
from groupcheck.traces.clients.who import names

DATA = Path(__file__).parents[1] / "data" / "incidents"


def test_the_digits_of_each_line_are_told_not_those_of_the_first_of_its_shape() -> None:
    for n in (3, 7):
        line = (
            f"[Consumer clientId=c-{n}, groupId=g{n}] Successfully joined group with generation"
            f" Generation{{generationId={n}, memberId='c-{n}-m', protocol='range'}}"
        )
        (said,) = ClientLog().statements([(1, line)])
        assert (said.client, said.group, said.fields["generation"]) == (f"c-{n}", f"g{n}", n)


def test_errors_by_number_and_sentences_with_digits_are_not_mixed_up() -> None:
    def said(line: str) -> list[str]:
        return [str(s.fields.get("error", s.kind)) for s in ClientLog().statements([(1, line)])]

    assert said("kafka: error code 25 in heartbeat") == ["UNKNOWN_MEMBER_ID"]
    assert said("kafka: error code 22 in heartbeat") == ["ILLEGAL_GENERATION"]
    refused = "rdkafka Broker does not support KIP-{} (requires Apache Kafka >= v{}): "
    assert said(refused.format(345, "2.3.0") + "consumer configuration `group.instance.id` (a)")
    assert not said(refused.format(999, "2.3.0") + "consumer configuration `group.instance.id` (a)")


@pytest.mark.parametrize("path", sorted(DATA.glob("*[05].log")), ids=lambda path: path.name)
def test_a_remembered_shape_is_read_as_if_it_were_new(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(3)
    lines = path.read_text(errors="replace").splitlines()[:300]
    lines += [re.sub(r"\d", lambda _: str(chance.randrange(10)), line) for line in lines]
    remembered = [(names(line), all_sentences().in_line(line)) for line in lines]
    for module in ("sentences", "who"):
        monkeypatch.setattr(f"groupcheck.traces.clients.{module}.LONGEST", 0)
    fresh = Sentences(all_sentences().by_word)
    assert [(names(line), fresh.in_line(line)) for line in lines] == remembered


def test_a_sentence_with_digits_is_found_after_its_shape_was_read_with_others() -> None:
    for sentence in shipped():
        text = re.sub(r"\{\w+(:\w+)?\}", "x", sentence.template.text)
        if re.search(r"\d", text):
            text = re.sub(r"\{\w+(:\w+)?\}", "5", sentence.template.text)
            library = sentence.libraries[0] if sentence.libraries else ""
            all_sentences().in_line(re.sub(r"\d", "8", text), library)
            found = all_sentences().in_line(text, library)
            fresh = Sentences(all_sentences().by_word).in_line(text, library)
            assert found == fresh, text

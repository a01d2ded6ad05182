"""Lines of one shape are read once; what they say does not change by that."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.sentences import Sentences, all_sentences, shipped_sentences
from groupcheck.traces.clients.who import names
from groupcheck.traces.lines.shapes import shape_of

DATA = Path(__file__).parents[2] / "data" / "incidents"


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


@pytest.mark.parametrize(
    "ids",
    [
        ("3fa85f64-5717-4562-b3fc-2c963f66afa6", "fa3b0c11-aaaa-4bbb-8ccc-dddddddddddd"),
        ("64f1c9e2a7b3d5f0", "abcdefabcdefabcd"),
        ("1700000000123456", "1700000000654321"),
    ],
)
def test_ids_of_other_letters_make_no_other_shape_and_no_number(ids: tuple[str, str]) -> None:
    """Numbers are read where the first line of a shape has them: an id may begin with a letter."""
    first, second = (
        f"[Consumer clientId=c, groupId=g-{id}] (Re-)joining group: Node {id} disconnected."
        for id in ids
    )
    assert shape_of(first) == shape_of(second)
    log = ClientLog()
    said = [s for s in log.statements([(1, first), (2, second)]) if s.kind == "joining"]
    assert [s.group for s in said] == [f"g-{i}" for i in ids]


def test_a_log_with_a_new_id_in_each_line_is_read_as_one_without() -> None:
    """Lines that differ by an id alone are found in what is remembered."""
    log, ids = ClientLog(), [f"{k:08x}-5717-4562-b3fc-2c963f66af{k % 256:02x}" for k in range(99)]
    lines = [f"10:00:00 INFO c.Orders - handled order {id} of the group" for id in ids]
    assert len({shape_of(line) for line in lines}) == 1
    list(log.statements(enumerate(lines, 1)))
    assert len(log.shapes) <= 1


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
    for sentence in shipped_sentences():
        text = re.sub(r"\{\w+(:\w+)?\}", "x", sentence.template.text)
        if re.search(r"\d", text):
            text = re.sub(r"\{\w+(:\w+)?\}", "5", sentence.template.text)
            library = sentence.libraries[0] if sentence.libraries else ""
            all_sentences().in_line(re.sub(r"\d", "8", text), library)
            found = all_sentences().in_line(text, library)
            fresh = Sentences(all_sentences().by_word).in_line(text, library)
            assert found == fresh, text

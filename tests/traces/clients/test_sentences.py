"""Sentences of clients are found in lines, whatever stands around them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.clients.sentences import all_sentences, kinds, shipped_sentences
from groupcheck.traces.facts.steps import steps

EXPIRED = (
    "[Consumer clientId=c-1, groupId=orders] Member c-1-uuid sending LeaveGroup request to"
    " coordinator b:9092 (id: 2147483645 rack: null) due to consumer poll timeout has expired."
)
FRAMES = {
    "bare": "{}",
    "log4j": "[2024-03-01 10:00:00,123] INFO {} (org.apache.kafka.clients.X)",
    "docker compose": "orders-1  | 10:00:00.123 INFO {}",
    "JSON": '{{"@timestamp":"2024-03-01T10:00:00.123Z","message":"{}"}}',
    "markdown": "> **{}**",
    "HTML": "<p>{}</p>",
    "colours": "\x1b[32mINFO\x1b[0m {}",
    "runs of blanks": "   {}   ",
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_sentence_is_found_in_a_frame_with_its_names(frame: str) -> None:
    (said,) = ClientLog().statements([(7, frame.format(EXPIRED))])
    assert (said.kind, said.line, said.library) == ("poll_expired", 7, "java")
    assert (said.group, said.client) == ("orders", "c-1")


def test_two_sentences_of_one_line_are_both_found() -> None:
    line = f"{EXPIRED} (Re-)joining group"
    assert [s.kind for s in ClientLog().statements([(1, line)])] == ["poll_expired", "joining"]


def test_every_kind_has_a_meaning() -> None:
    assert {s.kind for s in shipped_sentences()} <= {*kinds()}


def test_no_sentence_and_no_step_stands_twice() -> None:
    sentences = Counter(repr(sentence) for sentence in shipped_sentences())
    told = Counter(repr(step) for step in steps())
    assert {text for text, count in (sentences + told).items() if count > 1} == set()


def test_a_text_of_a_library_means_one_thing() -> None:
    """Of two meanings, the order of the files would decide."""
    of_text: dict[str, list[tuple[str, ...]]] = {}
    for sentence in shipped_sentences():
        of_text.setdefault(sentence.template.text, []).append(sentence.libraries)
    twice = [
        text
        for text, some in of_text.items()
        for a, b in combinations(some, 2)
        if not a or not b or {*a} & {*b}
    ]
    assert twice == []


def test_every_sentence_is_found_in_its_own_text() -> None:
    """What fills the fields is arbitrary; another sentence may say the same kind of thing."""
    examples = {
        "int": "7",
        "number": "1.5",
        "word": "Stable",
        "token": "abc",
        "state": "Stable",
        "partitions": "t-0, t-1",
    }
    for sentence in shipped_sentences():
        text = sentence.template.text
        for name, kind in sentence.template.kinds.items():
            for field in (f"{{{name}:{kind}}}", f"{{{name}}}"):
                text = text.replace(field, examples.get(kind, "some text"))
        library = sentence.libraries[0] if sentence.libraries else ""
        found = all_sentences().in_line(text, library)
        assert sentence.kind in {hit.sentence.kind for hit in found}, text


@pytest.mark.parametrize(
    ("line", "group"),
    [
        ("(Re-)joining group 'orders'", "orders"),
        ("(Re-)joining group `orders`", "orders"),
        ('Revoking previously assigned partitions [p-0] for group "orders"', "orders"),
        ("[Consumer clientId=c, groupId='orders'] (Re-)joining group", "orders"),
        ("Error while committing offsets for group topic[4]: Broker: Unknown member", ""),
        ("Commit failed, group: orders[2]: Broker: Unknown member", ""),
        ("kafka.errors.UnknownMemberIdError: [Error 25] of group 'orders'", "orders"),
    ],
)
def test_a_name_may_stand_in_quotes_and_a_partition_is_no_group(line: str, group: str) -> None:
    assert {said.group for said in ClientLog().statements([(1, line)])} == {group}


def test_an_exception_without_a_logger_tells_its_library() -> None:
    libraries = {
        "kafka.errors.UnknownMemberIdError: [Error 25] UnknownMemberIdError": "kafka-python",
        "org.apache.kafka.common.errors.UnknownMemberIdException: The": "java",
        "KafkaJSError: The coordinator is not aware of this member": "kafkajs",
    }
    for line, library in libraries.items():
        assert {said.library for said in ClientLog().statements([(1, line)])} == {library}

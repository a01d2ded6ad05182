"""A negated sentence is no sentence: `not starting fetchers` does not say `starting fetchers`."""

from __future__ import annotations

import re

import pytest

from groupcheck.traces.clients.sentences import Sentence, all_sentences, shipped_sentences

VALUES = {
    "int": "7",
    "number": "1.5",
    "state": "Stable",
    "word": "Fetch",
    "partitions": " [t-0]",
    "token": "t",
    "text": "orders",
}
FIELD = re.compile(r"\{\w+(?::(\w+))?\}")
NEGATIONS = ("not ", "never ", "no longer ", "unable to ", "wasn't ", "not yet ")


def filled(sentence: Sentence) -> str:
    """The sentence with values in it."""
    return FIELD.sub(lambda m: VALUES[m[1] or "text"], sentence.template.text)


def says(sentence: Sentence, line: str) -> bool:
    library = next(iter(sentence.libraries), "")
    hits = all_sentences().in_line(line, library)
    return any(h.sentence.template.text == sentence.template.text for h in hits)


def test_no_sentence_is_read_out_of_its_negation() -> None:
    """Every sentence behind every negation, in a frame as people paste it."""
    said, read = 0, []
    for sentence in shipped_sentences():
        if not any(map(str.isalpha, sentence.template.text.split("{")[0])):
            continue  # what stands before it is a value of it
        line = filled(sentence)
        said += says(sentence, f"2026-01-01 12:00:00,000 INFO {line}")
        read += [
            f"{negation}{line}"
            for negation in NEGATIONS
            if says(sentence, f"2026-01-01 12:00:00,000 INFO the client is {negation}{line}")
        ]
    assert said > 0.8 * len(shipped_sentences())  # the frame itself hides none
    assert read == []


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('Group "g": not starting fetchers for 3 assigned partition(s)', "fetch_started"),
        ("Group g has not yet committed offset 5 for partition p-1", "committed"),
    ],
)
def test_a_negation_inside_a_line_counts_too(line: str, kind: str) -> None:
    assert kind not in {h.sentence.kind for h in all_sentences().in_line(line)}

"""The sentences of all libraries, as data, and which of them a line holds.

`sentences/*.toml` has a table for each kind of statement, with the texts that libraries print:

    [[poll_expired]]
    text = "Application maximum poll interval ({limit:int}ms) exceeded by {excess:int}ms"
    library = "librdkafka"
    versions = "1.0 -"

A text is looked for anywhere in a line. One that many programs print is `marked = true`: then a
mark of the library must stand in the line, too. To be quick, each text is filed under its rarest
word, and a line is compared only with the texts that are filed under one of its words.

A text is not parsed from its beginning, because people paste lines with frames around them and cut
them. Causes ask for kinds of statements, so a new library needs no new cause, and a new cause no
code.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from attrs import Factory, evolve, field, frozen

from groupcheck.traces.clients.errors import error_numbers, errors
from groupcheck.traces.lines.shapes import LONGEST, remember, shape_of, shape_text
from groupcheck.traces.lines.template import Spans, Template, compile_template

MOST_MET = 10_000
WORD = re.compile(r"[A-Za-z][A-Za-z]{2,}")
_FIELD = re.compile(r"\{\w+(?::\w+)?\}")
KINDS_FILE = "kinds.toml"
NEGATION_CHARS = 40
_NEGATED = re.compile(
    r"(?:\b(?:not|never|no longer|cannot|without|unable to|failed to|instead of)|n't)"
    r"(?: yet)?\s*\Z",
    re.IGNORECASE,
)
_QUIET = (
    "broker_not_stored",
    "detail",
    "group_in_use",
    "rejoin_requested",
    "request_answered",
    "request_sent",
)


@frozen
class Sentence:
    """A text that some library prints."""

    kind: str
    # The libraries that print it; empty if any may.
    libraries: tuple[str, ...]
    template: Template
    # The versions of the library that print it, as text; empty if not known.
    versions: str = ""
    # Fields that it means without printing them; their text may show others: "{limit}".
    means: Mapping[str, Any] = Factory(dict)
    # The error that the text names; empty if it is a whole sentence.
    error: str = ""
    # The text is so common that the rest of the line must show which library wrote it.
    marked: bool = False
    # The text is so common that the line must name a group besides.
    named: bool = False
    # How many characters of the text are fixed: the longest text fits a line best.
    weight: int = field(init=False)
    # Its fixed text has digits: it does not fit every line of a shape.
    has_digits: bool = field(init=False)
    # Its fields that are lists of partitions.
    partitions: tuple[str, ...] = field(init=False)

    @weight.default
    def _fixed(self) -> int:
        return len(_FIELD.sub("", self.template.text))

    @has_digits.default
    def _with_digits(self) -> bool:
        return any(c.isdigit() for c in _FIELD.sub("", self.template.text))

    @partitions.default
    def _lists(self) -> tuple[str, ...]:
        return tuple(n for n, kind in self.template.kinds.items() if kind == "partitions")


@frozen
class Hit:
    """A sentence that a line holds."""

    sentence: Sentence
    begin: int
    end: int
    fields: Mapping[str, Any]


@frozen
class _Place:
    """Where a line holds a sentence."""

    sentence: Sentence
    begin: int
    end: int
    # Where its fields stand.
    spans: Spans = Factory(dict)
    # The protocol's name of the error that stands in its field `error`; empty if there is none.
    error: str = ""
    # How each of its fields is read: its name, where it stands, and as what.
    _reads: tuple[tuple[str, int, int, Callable[[str], Any]], ...] = field(init=False, repr=False)

    @_reads.default
    def _each_field(self) -> tuple[tuple[str, int, int, Callable[[str], Any]], ...]:
        kinds = self.sentence.template.kinds
        return tuple((n, a, b, _READ.get(kinds[n], str)) for n, (a, b) in self.spans.items())

    @property
    def fixed_end(self) -> int:
        """Where the part of the line ends that no other sentence may share: a free field at the end
        of a template takes the rest of the line, which may hold another sentence.
        """
        last = self.sentence.template.last
        return self.end if last is None else self.spans[last][0]

    def hit(self, line: str) -> Hit:
        """The sentence with what stands in `line` at this place."""
        found = {name: read(line[a:b]) for name, a, b, read in self._reads}
        fields = found
        if self.sentence.means:
            fields = {
                name: value.format(**found) if isinstance(value, str) and "{" in value else value
                for name, value in self.sentence.means.items()
            }
            fields |= found
        if self.error:
            fields["error"] = self.error
        return Hit(self.sentence, self.begin, self.end, fields)


_READ: Mapping[str, Callable[[str], Any]] = {"int": int, "number": float}
Numbers = tuple[tuple[int, int, str], ...]
"""Where a line shows errors by their numbers, with their names."""


@frozen
class Sentences:
    """All sentences, filed by their rarest words."""

    # Word -> sentences, each with all words that a line must hold for it.
    by_word: Mapping[str, tuple[tuple[frozenset[str], Sentence], ...]]
    # All words that a line must hold for some sentence.
    _words: frozenset[str] = field(init=False, repr=False)
    # Which of those words a line holds -> the sentences that it may hold. Lines are much alike.
    _met: dict[frozenset[str], tuple[Sentence, ...]] = field(init=False, factory=dict, repr=False)
    # Shape of a line, library, errors by number -> what the line holds.
    _known: dict[tuple[bytes, str, Numbers], list[_Place]] = field(
        init=False, factory=dict, repr=False
    )

    @_words.default
    def _all_words(self) -> frozenset[str]:
        each = (needed for filed in self.by_word.values() for needed, _ in filed)
        return frozenset().union(*each, self.by_word)

    def _candidates(self, line: str) -> tuple[Sentence, ...]:
        """The sentences whose words the line holds."""
        words = self._words.intersection(WORD.findall(line))
        found = self._met.get(words)
        if found is None:
            if len(self._met) >= MOST_MET:
                self._met.clear()
            found = self._met[words] = tuple(
                sentence
                for word in sorted(words & self.by_word.keys())
                for needed, sentence in self.by_word[word]
                if needed <= words
            )
        return found

    def in_line(self, line: str, library: str = "") -> list[Hit]:
        """The sentences that `line` holds, in order, without overlaps. Blanks in `line` are single.
        Sentences of other libraries than `library` are left out, if it is known.
        """
        return [place.hit(line) for place in self._places(line, library)]

    def _places(self, line: str, library: str) -> list[_Place]:
        """The places of the sentences, which are the same in all lines of a shape."""
        shape = shape_of(line)
        numbers = error_numbers(line, shape, bool(library))
        key = shape, library, numbers
        places = self._known.get(key)
        if places is None:
            candidates = self._candidates(line)
            exact = any(s.has_digits and shape_of(s.template.longest) in shape for s in candidates)
            text = line if exact else shape_text(shape)
            places = _best(_all_places(text, library, candidates, numbers), text)
            if len(shape) <= LONGEST and not exact:
                remember(self._known, key, places)
        return places


def _all_places(
    line: str, library: str, candidates: Iterable[Sentence], numbers: Numbers
) -> list[_Place]:
    """Where the candidates stand in the line, those with the longest text first."""
    places = []
    for sentence in candidates:
        wrote = sentence.libraries
        if wrote and library not in wrote and (library or sentence.marked):
            continue
        located = sentence.template.locate(line) if sentence.template.longest in line else None
        if located is not None and not is_negated(line, located[0], located[2]):
            places.append(_Place(sentence, *located))
    places += [_Place(error_sentence(name), begin, end) for begin, end, name in numbers]
    return sorted(places, key=lambda place: -place.sentence.weight)


def is_negated(line: str, begin: int, spans: Spans) -> bool:
    """Do words before a text (or at the end of a value inside it) say that it is not so?"""
    ends = [begin, *(end for _, end in spans.values() if end < len(line))]
    return any(_NEGATED.search(line, max(end - NEGATION_CHARS, 0), end) for end in ends)


def _best(places: list[_Place], line: str) -> list[_Place]:
    """Those that count, in order, without overlaps: the longest texts, and errors that none of them
    tells.
    """
    kept: list[_Place] = []
    for place in places:
        if not place.sentence.error and all(
            place.fixed_end <= k.begin or k.fixed_end <= place.begin for k in kept
        ):
            kept.append(place)
    named = [place for place in places if place.sentence.error]
    if named:
        kept = [_with_name(place, named, line) for place in kept]
        ignored = [place for place in kept if place.sentence.means.get("ignored")]
        named = [e for e in named if not any(i.begin <= e.begin < i.end for i in ignored)]
        for error in named:
            if error.sentence.kind and not any(_tells(k, error) for k in kept):
                kept.append(error)
    kept = [place for place in kept if not _only_general(place, kept)]
    return sorted(kept, key=lambda place: place.begin)


def _only_general(place: _Place, kept: Iterable[_Place]) -> bool:
    """Is the sentence a general one, and does another one tell more?"""
    general = "general" in place.sentence.means
    return general and any("general" not in other.sentence.means for other in kept)


def _tells(place: _Place, error: _Place) -> bool:
    """Whether the sentence says what the error in the line says, or is none to say it: what a step
    inside the library or the answer to a request came to has a line of its own, and an error that
    refuses an administrator's change says nothing of a member.
    """
    inside = place.begin <= error.begin and error.end <= place.end
    kind = place.sentence.kind
    return kind == error.sentence.kind or (inside and kind in _QUIET)


def _with_name(place: _Place, named: Iterable[_Place], line: str) -> _Place:
    """The place, with the protocol's name of the error in its field `error`, whatever the library
    prints there, and with the kind into which that error turns it.
    """
    if "error" not in place.spans:
        return place
    begin, end = place.spans["error"]
    printed = line[begin:end]
    for error in named:
        inside = place.begin <= error.begin and error.end <= place.end
        if inside and line[error.begin : error.end] in printed:
            name = error.sentence.error
            kind = errors()[name].turns.get(place.sentence.kind, place.sentence.kind)
            return evolve(place, sentence=evolve(place.sentence, kind=kind), error=name)
    return place


def read_table(text: str, file: str) -> list[Sentence]:
    """The sentences of one TOML file."""
    data = tomllib.loads(text)
    common = data.pop("library", [])
    out = []
    for kind, rows in data.items():
        for row in rows:
            libraries = row.get("library", common)
            out.append(
                Sentence(
                    kind,
                    (libraries,) if isinstance(libraries, str) else tuple(libraries),
                    compile_template(" ".join(row["text"].split()), whole=False),
                    row.get("versions", ""),
                    row.get("means", {}),
                    marked=row.get("marked", False),
                    named=row.get("named", False),
                )
            )
    return out


def file_sentences(sentences: Iterable[Sentence]) -> Sentences:
    """Files each sentence under the word of its text that fewest others have."""
    some = list(sentences)
    words = {id(s): _words(s.template.text) for s in some}
    often = Counter(word for each in words.values() for word in each)
    by_word: dict[str, list[tuple[frozenset[str], Sentence]]] = {}
    for s in some:
        mine = words[id(s)]
        assert mine, f"no word to find it by: {s.template.text!r}"
        rarest = min(mine, key=lambda word: (often[word], -len(word), word))
        # A line may go on with the last word.
        needed = frozenset(word for word in mine if not s.template.text.endswith(word))
        by_word.setdefault(rarest, []).append((needed, s))
    return Sentences({word: tuple(each) for word, each in by_word.items()})


def _words(text: str) -> set[str]:
    """The words of the fixed text that no field touches: a field may continue a word, and a line
    may have more letters in front of the first one.
    """
    plain = _FIELD.sub("\0", text)
    hits = [
        hit
        for hit in WORD.finditer(plain)
        if "\0" not in plain[max(0, hit.start() - 1) : hit.end() + 1]
    ]
    return {hit[0] for hit in hits if hit.start() > 0} or {hit[0] for hit in hits}


@cache
def all_sentences() -> Sentences:
    """Those that ship with the package, and all texts of errors."""
    return file_sentences([*shipped_sentences(), *texts_of_errors()])


def texts_of_errors() -> list[Sentence]:
    """The texts that libraries print for each of Kafka's errors."""
    return [
        evolve(error_sentence(name), template=compile_template(text, whole=False))
        for name, error in errors().items()
        for text in dict.fromkeys(error.every_text(name))
    ]


@cache
def error_sentence(name: str) -> Sentence:
    """The sentence of a line that holds the error of this name."""
    kind = errors()[name].kind
    return Sentence(kind, (), compile_template(name, whole=False), "", {"error": name}, name)


@cache
def shipped_sentences() -> tuple[Sentence, ...]:
    """The sentences of all files, in the order of their names."""
    folder = files("groupcheck.traces.clients") / "sentences"
    return tuple(
        sentence
        for file in sorted(folder.iterdir(), key=lambda f: f.name)
        if file.name.endswith(".toml") and file.name != KINDS_FILE
        for sentence in read_table(file.read_text(encoding="utf-8"), file.name)
    )


@frozen
class StatementKind:
    """A kind of statement."""

    meaning: str
    # It tells of trouble: a cause should explain it.
    trouble: bool = False
    # What other line would tell the cause; empty if none is known.
    look_for: str = ""
    # Something stands still, goes back or loops: nothing shows that the group is calm. A fact that
    # shows trouble by itself has `alarm` instead (facts/rules.py).
    unrest: bool = False


@cache
def kinds() -> Mapping[str, StatementKind]:
    """Every kind of statement."""
    text = (files("groupcheck.traces.clients") / "sentences" / KINDS_FILE).read_text("utf-8")
    return {name: StatementKind(**about) for name, about in tomllib.loads(text).items()}


@cache
def trouble() -> Mapping[str, str]:
    """The kinds that tell of trouble, with what to look for."""
    return {name: kind.look_for for name, kind in kinds().items() if kind.trouble}


@cache
def unrest() -> frozenset[str]:
    """The kinds of statements beside which nothing is calm."""
    return frozenset(name for name, kind in kinds().items() if kind.unrest)

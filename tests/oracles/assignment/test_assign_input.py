"""What `groupcheck assign` reads: every mistake in a file is one line that names the place, and
exit code 2.
"""

from __future__ import annotations

import copy
import io
import json
import sys

import pytest

from groupcheck.oracles.assignment import reading
from groupcheck.oracles.command_line import cli

FINE = {
    "topics": {"t": 2},
    "members": {
        "c1": {"subscribes": ["t"], "claims": ["t-0"], "generation": 1},
        "c2": {"subscribes": ["t"]},
    },
    "assignment": {"c1": ["t-0"], "c2": {"t": [1]}},
}
MISSING = object()


def complaint(capsys, path):
    assert cli.run(["assign", str(path)]) == 2
    shown = capsys.readouterr()
    assert (
        shown.out == ""
        and shown.err.count("\n") == 1
        and shown.err.startswith("groupcheck: error: ")
    )
    return shown.err.removeprefix("groupcheck: error: ").strip()


def written(tmp_path, data):
    path = tmp_path / "given.json"
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return path


def changed(place, value):
    document = copy.deepcopy(FINE)
    *above, last = place.split("/")
    at = document
    for name in above:
        at = at[name]
    if value is MISSING:
        del at[last]
    else:
        at[last] = value
    return document


def test_the_unchanged_document_is_right(capsys, tmp_path):
    assert cli.run(["assign", str(written(tmp_path, FINE)), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "groupcheck.assign/1"


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        ("assignment/c3", ["t-1"], 'assignment: unknown member "c3" (give it in "members", too)'),
        ("assignment/c1", {"t": [-1]}, "assignment.c1.t[0]: -1 is not from 0 to 2147483647"),
        ("assignment/c1", ["t--1"], 'assignment.c1[0]: "t--1" has a negative number'),
        ("assignment/c1", ["t"], 'assignment.c1[0]: "t" is no partition (write it as orders-0)'),
        ("assignment/c1", ["t-1", "t-1"], 'assignment.c1: "t-1" is listed twice'),
        (
            "assignment/c1",
            {"t": [0.5]},
            "assignment.c1.t[0]: a number with a fraction stands where a whole number should",
        ),
        (
            "assignment/c1",
            {"t": [True]},
            "assignment.c1.t[0]: true or false stands where a whole number should",
        ),
        (
            "assignment/c1",
            {"t": [10**30]},
            "assignment.c1.t[0]: 1000000000000000000000000000000 is not from 0 to 2147483647",
        ),
        ("assignment/c1", None, "assignment.c1: null stands where an array should"),
        ("assignment", MISSING, "neither an assignment nor an assignor to judge"),
        ("topics", [], "topics: an array stands where an object should"),
        ("topics", MISSING, "topics: is missing (give "),
        ("topics/t", -1, "topics.t: -1 is not from 0 to 200000"),
        ("topics/u", 199999, "topics: 200001 partitions are more than 200000"),
        ("topics/", 1, "topics: a name has 1 to 249 characters, this one 0"),
        ("members", {}, "members: 0 members are not from 1 to 10000"),
        ("members/c1/subscribes", MISSING, "members.c1.subscribes: is missing (give "),
        (
            "members/c1/subscribes",
            "t",
            "members.c1.subscribes: a text stands where an array should",
        ),
        (
            "members/c1/subscribes",
            [1],
            "members.c1.subscribes[0]: a number stands where a name should",
        ),
        ("members/c1/generation", -2, "members.c1.generation: -2 is not from -1 to 2147483647"),
        ("members/c1/wieght", 2, 'members.c1: unknown key "wieght" (known: claims, generation'),
        ("members/c1/weight", 0, "members.c1.weight: a weight is above 0 and at most 1000000"),
        (
            "members/c1/weight",
            10**400,
            "members.c1.weight: a weight is above 0 and at most 1000000",
        ),
        ("members/c1/weight", "2", "members.c1.weight: a text stands where a number should"),
        ("members/c1/rack", "\ud800", "members.c1.rack:"),
        ("racks", {"u": []}, "racks.u: there is no such topic"),
        ("racks", {"t": [[], [], []]}, "racks.t: racks of 3 partitions, and there are 2"),
        ("assignor", "rang", "assignor: unknown assignor of Kafka's 'rang' (did you mean range?)"),
        ("promises", ["fair"], "promises[0]: unknown promise 'fair'"),
        ("constraints", [{}], "constraints[0].kind: unknown kind of constraint 'nothing'"),
        (
            "constraints",
            [{"kind": "stays", "partitions": ["t-0"]}],
            "constraints[0].member: is missing",
        ),
        (
            "constraints",
            [{"kind": "stays", "partitions": ["t-2"], "member": "c1"}],
            'constraints[0]: "t-2" does not exist',
        ),
        (
            "constraints",
            [{"kind": "stays", "partitions": ["t-0"], "member": "c3"}],
            'constraints[0]: unknown member "c3"',
        ),
        ("constraints", [{"kind": "apart", "partitions": []}], "constraints[0]: no partitions"),
        (
            "constraints",
            [{"kind": "at_most", "most": 1, "topic": "u"}],
            'constraints[0]: there is no topic "u"',
        ),
        (
            "constraints",
            [{"kind": "capacity", "most": 1, "weights": {"t": -1}}],
            "constraints[0].weights.t: a weight is above 0",
        ),
        (
            "constraints",
            [{"kind": "racks_at_most", "most": 0}],
            "constraints[0].most: 0 is not from 1 to 1000000",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else type(value).__name__,
)
def test_a_mistake_in_the_document_is_named_with_its_place(capsys, tmp_path, place, value, told):
    path = written(tmp_path, changed(place, value))
    assert complaint(capsys, path).startswith(f"{path}: {told}")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "there is nothing in it"),
        (b" \n", "there is nothing in it"),
        (bytes(range(256)), "not UTF-8: byte 128 is 0x80"),
        (b"{]", "line 1, column 2: not JSON"),
        (b'{"topics": {}} {}', "line 1, column 16: not JSON: Extra data"),
        (b"\xff{}", "not UTF-8: byte 0 is 0xff"),
        (b"[]", "the document: an array stands where an object should"),
        (b'{"topics": {"t": 1, "t": 2}}', 'the key "t" is given twice in one object'),
        (b'{"members": {"c1": {}, "c1": {}}}', 'the key "c1" is given twice in one object'),
        (b'{"topics": {"t": NaN}}', "JSON has no number NaN"),
        (b'{"topics": {"t": -Infinity}}', "JSON has no number -Infinity"),
        (b'{"topics": {"t": ' + b"9" * 5000 + b"}}", "a number has too many digits"),
        (
            b'{"topics": {"t": 1}, "members": {"c": {"subscribes": [], "weight": 1e999}}}',
            "a weight is above 0",
        ),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"topics": ' + b'{"a":' * 200_000, "nested too deeply"),
        (b'{"\\u001b[31m": 1}', 'the document: unknown key "\\u001b[31m"'),
    ],
)
def test_a_file_that_is_no_document_is_refused(capsys, tmp_path, data, told):
    said = complaint(capsys, written(tmp_path, data))
    assert told in said and "\x1b" not in said


def test_a_file_that_is_not_there_or_is_a_directory_is_refused(capsys, tmp_path):
    assert complaint(capsys, tmp_path / "none.json").endswith(
        "none.json: cannot be read: No such file or directory"
    )
    assert complaint(capsys, tmp_path).endswith("cannot be read: Is a directory")


def test_standard_input_is_read_and_named(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(FINE).encode())))
    assert cli.run(["assign", "-"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{")))
    assert complaint(capsys, "-").startswith("standard input, line 1, column 2: not JSON")


def test_of_what_does_not_end_no_more_is_read_than_is_allowed(capsys, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST", 1 << 20)
    assert complaint(capsys, "/dev/zero") == "/dev/zero: more than 1 MiB"

"""An article's tables as files (tests/data/assign/printed-*.json): the right one is accepted, each
wrong one is told exactly and set right.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groupcheck.oracles.command_line import cli

DATA = Path(__file__).parents[2] / "data" / "assign"
NOBODY = "is given to nobody, though C1, C2 could have it"
BACK = "the pointer is set back at Stock: Stock-0 goes to C1, and it is C2's turn"
EXPECTED = {
    "range-before": [],
    "range-after": [
        ("valid", "C1 gets Stock-5, which does not exist (Stock has 5 partitions)"),
        ("valid", "C1 gets Stock-6, which does not exist (Stock has 5 partitions)"),
        *(
            ("valid", f"{p} is given to both C1 and C2")
            for p in ("Order-0", "Order-1", "Order-2", "Stock-4")
        ),
        *(
            ("complete", f"{p} {NOBODY}")
            for p in ("Order-4", "Order-5", "Order-6", "Stock-0", "Stock-1", "Stock-2")
        ),
    ],
    "roundrobin-before": [("level", "C1 has 5 partitions and C3 has 3"), ("pointer", BACK)],
    "roundrobin-after": [("level", "C1 has 7 partitions and C2 has 5"), ("pointer", BACK)],
    "sticky-before": [
        ("locally balanced", f"C1 has 5 partitions and C3 has 3, which could have {p}")
        for p in ("Order-0", "Order-3", "Order-6", "Stock-0", "Stock-3")
    ],
    "sticky-after": [
        ("valid", "C1 gets Stock-5, which does not exist (Stock has 5 partitions)"),
        *(
            ("valid", f"{p} is given to both C1 and C2")
            for p in ("Order-0", "Order-2", "Order-3", "Stock-1", "Stock-4")
        ),
        *(
            ("complete", f"{p} {NOBODY}")
            for p in ("Order-1", "Order-4", "Order-5", "Stock-0", "Stock-2", "Stock-3")
        ),
    ],
}
RIGHT = {
    "range-after": {
        "C1": {"Order": [0, 1, 2, 3], "Stock": [0, 1, 2]},
        "C2": {"Order": [4, 5, 6], "Stock": [3, 4]},
    },
    "roundrobin-after": {
        "C1": {"Order": [0, 2, 4, 6], "Stock": [1, 3]},
        "C2": {"Order": [1, 3, 5], "Stock": [0, 2, 4]},
    },
    "roundrobin-before": {
        "C1": {"Order": [0, 3, 6], "Stock": [2]},
        "C2": {"Order": [1, 4], "Stock": [0, 3]},
        "C3": {"Order": [2, 5], "Stock": [1, 4]},
    },
    "sticky-after": {
        "C1": {"Order": [0, 2, 3, 6], "Stock": [0, 3]},
        "C2": {"Order": [1, 4, 5], "Stock": [1, 2, 4]},
    },
}


def told(capsys, path):
    code = cli.run(["assign", str(path), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", EXPECTED)
def test_of_each_printed_table_exactly_what_is_wrong_is_told(capsys, name):
    code, document = told(capsys, DATA / f"printed-{name}.json")
    assert [(v["promise"], v["words"]) for v in document["violations"]] == EXPECTED[name]
    assert (code, document["verdict"]) == ((1, "wrong") if EXPECTED[name] else (0, "right"))


@pytest.mark.parametrize("name", EXPECTED)
def test_in_place_of_each_printed_table_stands_one_that_is_accepted(capsys, tmp_path, name):
    given = json.loads((DATA / f"printed-{name}.json").read_text("utf-8"))
    _, document = told(capsys, DATA / f"printed-{name}.json")
    assert document["right"] == RIGHT.get(name, document["right"])
    again = tmp_path / "again.json"
    again.write_text(json.dumps(given | {"assignment": document["right"]}), "utf-8")
    assert told(capsys, again)[0] == 0


def test_of_the_six_printed_tables_one_is_right(capsys):
    files = sorted(DATA.glob("printed-*.json"))
    assert [path.stem for path in files if told(capsys, path)[0] == 0] == ["printed-range-before"]
    assert len(files) == len(EXPECTED)

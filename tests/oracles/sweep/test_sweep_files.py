"""Sweep files: what grows from them, and that whatever is wrong or hostile is one line that says
where.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.engine import Limits, UserError
from groupcheck.model.variants import load
from groupcheck.oracles.explain.subject import every_mutation
from groupcheck.oracles.sweep import growing
from groupcheck.oracles.sweep.cells import Cell
from groupcheck.oracles.sweep.growing import MOST_CELLS, Sweep, grown
from groupcheck.oracles.sweep.reading import LARGEST, read_sweep

EXAMPLE = Path(__file__).parents[3] / "tests/data/sweep.toml"


def grid(**keys: Any) -> Sweep:
    return grown({"grid": [{"variant": "classic", **keys}]}, "file")


def fields(sweep: Sweep, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(cell.scope[name] for name in names) for cell in sweep.cells]


def complaint(path: Path) -> str:
    with pytest.raises(UserError) as told:
        grown(read_sweep(path), path.name)
    assert len(str(told.value).splitlines()) == 1
    return str(told.value)


def test_a_grid_is_the_product_of_its_lists_in_the_order_of_the_file():
    assert fields(grid(members=[1, 2], generations=[3, 1]), "members", "generations") == [
        (1, 3),
        (1, 1),
        (2, 3),
        (2, 1),
    ]


def test_what_is_left_out_is_the_default_of_the_variant_or_of_the_mutation():
    sweep = grid(mutation=["none", "size_cap_off_by_one"])
    assert fields(sweep, "members", "max_size") == [(2, None), (2, 1)]
    assert [cell.question.mutation for cell in sweep.cells] == [None, "size_cap_off_by_one"]


def test_lists_of_budgets_make_tables_and_a_budget_of_none_is_no_fault():
    sweep = grid(faults=[{"crash": [0, 2], "close": [0, 1]}, {"fail_over": 1}])
    assert [dict(cell.faults) for cell in sweep.cells] == [
        {},
        {"close": 1},
        {"crash": 2},
        {"crash": 2, "close": 1},
        {"fail_over": 1},
    ]


def test_all_known_bugs_of_a_variant_are_one_word():
    assert [cell.question.mutation for cell in grid(mutation="all").cells] == [
        m.id for m in every_mutation() if m.concerns(load("classic"))
    ]


def test_filters_leave_out_what_fits_and_keep_what_fits():
    axes: dict[str, Any] = {"members": [1, 2, 3], "generations": [1, 2]}
    kept = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)]
    assert (
        fields(
            grid(**axes, without={"members": 3, "generations": [2, 9]}), "members", "generations"
        )
        == kept
    )
    assert fields(
        grid(**axes, only=[{"members": [1]}, {"generations": 1}]), "members", "generations"
    ) == [(1, 1), (1, 2), (2, 1), (3, 1)]
    faults = [{}, {"crash": 1}, {"crash": 1, "close": 1}]
    assert [
        dict(cell.faults) for cell in grid(faults=faults, without={"faults": {"crash": 1}}).cells
    ] == [{}]
    assert [
        dict(cell.faults) for cell in grid(faults=faults, without={"faults": {}}).cells
    ] == faults[1:]


def test_one_list_of_invariants_is_a_choice_and_a_list_of_lists_is_several():
    assert [set(cell.checked) for cell in grid(invariants=["one_owner", "hand_off"]).cells] == [
        {"one_owner", "hand_off"}
    ]
    assert [cell.checked for cell in grid(invariants=[["one_owner"], ["hand_off"]]).cells] == [
        ("one_owner",),
        ("hand_off",),
    ]
    assert len(grid().cells[0].checked) > 20


def test_a_grid_changes_single_limits_of_the_file():
    document = {
        "limits": {"max_states": 9, "max_memory": "1K"},
        "grid": [{"variant": "classic", "limits": {"max_states": 5, "max_seconds": 2}}],
    }
    assert grown(document, "file").cells[0].question.limits == Limits(5, 2.0, 1024)


def test_a_limit_that_no_table_holds_is_refused():
    with pytest.raises(UserError, match="max_seconds"):
        grown({"limits": {"max_seconds": 2**60 + 1}, "grid": [{"variant": "classic"}]}, "file")


def test_a_cell_is_the_same_for_the_same_question_and_limits_alone():
    def one(**keys: Any) -> Cell:
        return grid(**keys).cells[0]

    first = one(members=1)
    assert one(members=[1, 2]).id == first.id
    others = [
        one(members=2),
        one(members=1, limits={"max_states": 5}),
        one(members=1, invariants=["one_owner"]),
        one(members=1, faults={"crash": 1}),
    ]
    assert len({first.id, *(other.id for other in others)}) == 5


def test_yaml_says_the_same_as_toml(tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "limits: {max_states: 7}\ngrid:\n- variant: classic\n  members: [1, 2]\n  two_step: [yes,"
        " no]\n  faults: [{}, {crash: 1}]\n"
    )
    other = tmp_path / "sweep.toml"
    other.write_text(
        '[limits]\nmax_states = 7\n[[grid]]\nvariant = "classic"\nmembers = [1, 2]\ntwo_step ='
        " [true, false]\nfaults = [{}, {crash = 1}]\n"
    )
    assert read_sweep(file) == read_sweep(other)
    assert len(grown(read_sweep(file), "file").cells) == 8


def test_the_example_grows():
    sweep = grown(read_sweep(EXAMPLE), "example")
    assert (sweep.title, len(sweep.grids)) == ("classic, small scopes", 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no grid"),
        ("grid = []", "there is no grid"),
        ("[[gird]]\nvariant = 'classic'", "unknown key 'gird' (did you mean grid?)"),
        ("[[grid]]\nmembers = 1", "grid 1, variant: is missing"),
        ("[[grid]]\nvariant = 'clasic'", "unknown variant 'clasic' (did you mean classic?)"),
        (
            "[[grid]]\nvariant = 'classic'\nmembres = 1",
            "grid 1, membres 1: unknown scope field of classic 'membres' (did you mean members?)",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nmembers = '2'",
            "grid 1, members 2: members is '2', not a number from 1 to 16",
        ),
        ("[[grid]]\nvariant = 'classic'\nmembers = 1.5", "members is 1.5, not a number"),
        ("[[grid]]\nvariant = 'classic'\nmembers = true", "members is True, not a number"),
        (
            "[[grid]]\nvariant = 'classic'\ntwo_step = 1",
            "grid 1, two_step 1: two_step is 1, neither True nor False",
        ),
        ("[[grid]]\nvariant = 'classic'\nmembers = [[1]]", "members is [1], not a number"),
        (
            "[[grid]]\nvariant = 'classic'\nmembers = 99",
            "grid 1, members 99: members is 99, not a number from 1 to 16",
        ),
        ("[[grid]]\nvariant = 'classic'\nmembers = []", "an empty list leaves no cell"),
        ("[[grid]]\nvariant = 'classic'\nassignor = 'fair'", "unknown assignor 'fair'"),
        (
            "[[grid]]\nvariant = 'classic'\nfaults = {crsh = 1}",
            "unknown fault 'crsh' (did you mean crash?)",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nfaults = {crash = -1}",
            "the budget of fault crash is -1, not 0 or more",
        ),
        ("[[grid]]\nvariant = 'classic'\nfaults = 'crash'", "grid 1, faults: a table is expected"),
        (
            "[[grid]]\nvariant = 'classic'\nmutation = 'leader_forgoten'",
            "unknown mutation 'leader_forgoten' (did you mean leader_forgotten?)",
        ),
        (
            "[[grid]]\nvariant = 'classic'\ninvariants = ['one_owned']",
            "unknown invariant 'one_owned' (did you mean one_owner?)",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nexpect = 'held'",
            "'expect' must be in ('holds', 'violated', 'unknown') (got 'held')",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nlimits = {max_state = 1}",
            "unknown key 'max_state' (did you mean max_states?)",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nlimits = {max_states = 0}",
            "grid 1, limits: 'max_states' must be > 0: 0",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nlimits = {max_states = 2.9}",
            "grid 1, limits.max_states: 2.9 is not a whole number",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nlimits = {max_states = true}",
            "grid 1, limits.max_states: True is not a whole number",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nlimits = {max_seconds = '5'}",
            "grid 1, limits.max_seconds: '5' is not a number",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nname = [1]",
            "grid 1, name: [1] is not text",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nlimits = {max_memory = '4X'}",
            "'4X' is not a size such as 512M or 4G",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nlimits = {max_seconds = nan}",
            "'max_seconds' must be > 0: nan",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nmembers = [1, 2]\nwithout = {generations = 1}",
            "grid 1: unknown key of a filter 'generations'",
        ),
        (
            "[[grid]]\nvariant = 'classic'\nmembers = [1, 2]\nonly = {members = 3}",
            "no cell is left",
        ),
        ("[[grid]]\nvariant = 'classic'\nmembers = [1, 2, 1]", "cells 1 and 3 ask the same"),
        (
            "[[grid]]\nvariant = 'classic'\n[[grid]]\nvariant = 'classic'\nmembers = 2",
            "cells 1 and 2 ask the same (grids 1 and 2)",
        ),
        ("[[grid]]\nvariant = 'classic'\nmembers = 2000-01-01", "not a number from 1 to 16"),
        ("[[grid]]\nvariant = 1", "grid 1, variant: 1 is not text"),
        ("name = 'a'\nname = 'b'", "cannot be read as TOML: Cannot overwrite a value"),
        ("x = " + "[" * 3000, "nested too deeply"),
        ("x = " + "9" * 5000, "cannot be read as TOML: Exceeds the limit"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, text, words):
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    assert words in complaint(file)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &a [x]\nb: *a", "line 2: not YAML: aliases are not read"),
        (
            "a: !!python/object/apply:os.system ['echo hello']",
            "line 1: not YAML: tags are not read",
        ),
        ("a: !!timestamp x", "tags are not read"),
        ("a: !!bool maybe", "tags are not read"),
        ("! a: 1", "tags are not read"),
        ("a: 1\na: 2", "the key 'a' is given twice"),
        ("? [a, b]\n: 1", "a key is not text"),
        ("1: 2", "a key is not text"),
        (r'a: "\ud800"', "holds half a character"),
        (r'"\udfff": a', "holds half a character"),
        ("a: 2000-31-31", "cannot be read as YAML: month must be in 1..12"),
        ("- a", "a table of keys such as grid is expected, not ['a']"),
        ("null", "there is no grid"),
        ("", "there is no grid"),
        ("# nothing", "there is no grid"),
        ("12:30", "a table of keys such as grid is expected, not 750"),
        ("2000-01-01", "a table of keys such as grid is expected, not datetime.date"),
        (".nan", "a table of keys such as grid is expected, not nan"),
        ("a: [", "not YAML"),
        ("a: \x01", "not YAML"),
        ("a: " + "[" * 3000, "nested too deeply"),
    ],
)
def test_yaml_that_is_hostile_or_wrong_is_refused(tmp_path, text, words):
    file = tmp_path / "sweep.yml"
    file.write_text(text)
    assert words in complaint(file)


def test_a_bomb_of_aliases_is_refused_before_it_unfolds(tmp_path):
    levels = [
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]",
        *(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 40)),
    ]
    file = tmp_path / "sweep.yaml"
    file.write_text("\n".join(levels))
    assert "aliases are not read" in complaint(file)


def test_a_file_that_is_large_missing_or_no_text_is_refused(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_bytes(b"#" * (LARGEST + 1))
    assert "more than 64 KiB" in complaint(file)
    file.write_bytes(b"name = '\xff'")
    assert "not UTF-8 at byte 8" in complaint(file)
    assert "cannot be read: No such file" in complaint(tmp_path / "none.toml")
    assert "cannot be read: Is a directory" in complaint(tmp_path)
    (tmp_path / "sweep.json").write_text('{"grid": []}')
    (tmp_path / "sweep.bin").write_bytes(b"\xff")
    for name in ("sweep.json", "sweep.bin"):
        assert "a sweep file is TOML, or YAML if its name ends in" in complaint(tmp_path / name)


def test_a_product_of_millions_and_one_of_thousands_too_many_are_refused_at_once(monkeypatch):
    made = []
    question = growing._question

    def counted(*given):
        made.append(given)
        assert len(made) < 10_000
        return question(*given)

    monkeypatch.setattr(growing, "_question", counted)
    with pytest.raises(UserError, match="a product of 30,000,000 cells"):
        grid(members=list(range(300)), generations=list(range(1000)), records=list(range(100)))
    with pytest.raises(UserError, match="a product of 100,001 cells"):
        grid(faults=[{"crash": list(range(300)), "close": list(range(300))}] * 1000)
    assert not made
    with pytest.raises(UserError, match=f"more than {MOST_CELLS:,} cells"):
        grid(generations=list(range(1, 1001)), records=list(range(6)))
    assert len(made) == 6_000  # and none is made into a cell


def test_what_a_file_says_cannot_steer_the_terminal(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text('[[grid]]\nvariant = "\\u001b]0;owned\\u0007"')
    assert "\x1b" not in complaint(file)


def test_a_grid_asks_for_progress():
    sweep = grid(members=[1, 2], progress=True)
    assert [cell.question.progress for cell in sweep.cells] == [True, True]
    assert "group_settles" in sweep.cells[0].checked
    assert len({cell.id for cell in (*sweep.cells, *grid(members=[1, 2]).cells)}) == 4
    with pytest.raises(UserError, match="'yes' is not true or false"):
        grid(progress="yes")
    with pytest.raises(UserError, match="generations"):
        grid(progress=True, generations=2)

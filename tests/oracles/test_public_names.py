"""`import groupcheck` and what it offers, in a script and in a notebook."""

from __future__ import annotations

import subprocess
import sys

import pytest
from two_phase_commit import two_phase_commit

import groupcheck
from groupcheck.model.engine import Spec, rule, single
from groupcheck.oracles.public import HOMES
from groupcheck.oracles.show.files import write


def test_the_import_costs_nothing():
    code = (
        "import sys, groupcheck; sys.exit(bool({'attrs', 'numpy', 'numba', 'rich', 'click',"
        " 'jinja2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == 0


def test_every_public_name_is_there_and_no_other():
    assert all(hasattr(groupcheck, name) for name in groupcheck.__all__)
    assert set(HOMES) <= set(groupcheck.__all__)
    assert set(HOMES) <= set(dir(groupcheck))
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        groupcheck.chekc  # noqa: B018


def test_a_spec_of_ones_own_is_checked_in_three_lines():
    result = groupcheck.check(two_phase_commit(3), engine="reference")
    assert result
    assert result.verdict.states == 288
    assert "holds  two-phase commit" in str(result)


def test_a_notebook_shows_a_fragment_of_a_page():
    result = groupcheck.check(two_phase_commit(2), engine="reference")
    shown = result._repr_html_()
    assert '<div class="groupcheck">' in shown
    assert "<html" not in shown


def test_only_holds_is_true():
    result = groupcheck.check(two_phase_commit(3), engine="reference", max_states=5)
    assert not result
    assert result.unknown
    assert not result.violated


@pytest.mark.parametrize(
    "options", [{"members": 2}, {"mutation": "x"}, {"mutation": ""}, {"faults": {"crash": 1}}]
)
def test_a_spec_brings_its_own_scope(options):
    with pytest.raises(groupcheck.UserError, match="has its own scope"):
        groupcheck.check(two_phase_commit(2), **options)


def test_the_only_element_of_an_array_is_named_in_the_steps():
    followed = groupcheck.follow(two_phase_commit(1), "gc1-0.0.0.1")
    assert followed.steps == (("prepare", 0), ("note_prepared", 0), ("decide:commit", None))


def test_an_interrupted_search_answers_unknown_with_what_it_saw():
    @rule
    def count(n):
        if n == 3:
            raise KeyboardInterrupt
        yield n + 1

    result = groupcheck.check(Spec("counting", {"n": single(0)}, [count]), engine="reference")
    assert result.unknown
    assert result.verdict.reason == "interrupted in level 5"
    assert result.verdict.states == 4
    assert result.verdict.violations == ()


def test_an_unknown_engine_is_refused():
    with pytest.raises(groupcheck.UserError, match="did you mean reference"):
        groupcheck.check(two_phase_commit(2), engine="referense")


def test_a_limit_of_memory_bounds_the_plain_engine_and_is_refused_by_the_reference():
    result = groupcheck.check(two_phase_commit(2), engine="plain", max_memory=1)
    assert "limit of 1 bytes of memory" in result.verdict.reason
    with pytest.raises(groupcheck.UserError, match="no limit of memory"):
        groupcheck.check(two_phase_commit(2), engine="reference", max_memory=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"faults": ["crash"]}, "faults is \\['crash'\\], not a mapping of names to numbers"),
        ({"faults": "crash"}, "faults is 'crash', not a mapping"),
        ({"faults": {"crash": "1"}}, "the budget of fault crash is '1'"),
        ({"invariants": "one_owner"}, "invariants is 'one_owner', not a list of names"),
        ({"invariants": (name for name in ["one_owner"])}, "not a list of names"),
        ({"mutation": ""}, "unknown mutation ''"),
        ({"mutation": 3}, "mutation is 3"),
        ({"workers": "2"}, "workers is '2', not 1 or more"),
        ({"max_states": True}, "max states is True"),
        ({"max_seconds": "2"}, "max seconds is '2', not more than 0"),
        ({"max_memory": "1G"}, "max memory is '1G', not 1 or more"),
        ({"engine": ["fast"]}, "unknown engine"),
        ({"assignor": ["any"]}, "unknown assignor"),
        ({"protocols": [["a"]]}, "protocols is \\[\\['a'\\]\\], not a text"),
        ({"progress": "yes"}, "progress is 'yes', not True or False"),
        ({"deadlock": "no"}, "deadlock is 'no', not True or False"),
        ({"refines": two_phase_commit(1)}, "refines is Spec.*, not refines"),
        ({"refines": ["small"]}, "not refines"),
        ({"two_step": "no"}, "two_step is 'no', neither True nor False"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_an_argument_of_another_kind_is_refused(options, words):
    with pytest.raises(groupcheck.UserError, match=words):
        groupcheck.check("classic", **{"members": 1, "generations": 1, **options})


def test_what_is_no_variant_key_or_list_of_logs_is_refused():
    for wrong in (None, ["classic"], b"classic"):
        with pytest.raises(groupcheck.UserError, match="not the name of a variant or a Spec"):
            groupcheck.check(wrong)  # type: ignore[arg-type]
    with pytest.raises(groupcheck.UserError, match="None is not a key"):
        groupcheck.follow("classic", None)  # type: ignore[arg-type]
    for wrong in (None, "broker.log"):
        with pytest.raises(groupcheck.UserError, match="is not a list of files"):
            groupcheck.replay(wrong)  # type: ignore[arg-type]


def test_a_page_is_saved_whole_or_not_at_all(tmp_path):
    page = tmp_path / "page.html"
    groupcheck.check(two_phase_commit(2), engine="reference").save(page)
    assert page.read_text().endswith("</html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    with pytest.raises(groupcheck.UserError, match="cannot write"):
        write(tmp_path / "no" / "page.html", "text")


def test_a_written_file_keeps_the_place_that_a_link_names(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "real", "old")
    (tmp_path / "real").chmod(0o640)
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


def test_the_repr_of_a_result_is_one_short_line():
    result = groupcheck.check("classic", members=1, generations=1)
    assert repr(result) == (
        "<CheckResult classic: holds, 9 states, progress: not judged (--progress)>"
    )
    broken = groupcheck.check("classic", mutation="keeps_partitions_when_lost")
    assert len(repr(broken)) < 200 and "hand_off" in repr(broken)
    followed = groupcheck.follow(
        "classic", broken.verdict.violations[0].key, mutation="keeps_partitions_when_lost"
    )
    assert len(repr(followed)) < 200 and "hand_off" in repr(followed)

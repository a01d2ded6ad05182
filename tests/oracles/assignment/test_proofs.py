"""The universal proofs: they stand, they can fall, and what is proved is what the functions do."""

from __future__ import annotations

import json
import sys

import pytest
import z3
from attrs import evolve

from groupcheck.model.assignors import Group, Member, round_robin, server_range
from groupcheck.model.engine import UserError
from groupcheck.oracles.assignment.prove import command as proof_command
from groupcheck.oracles.assignment.prove import proofs as proving
from groupcheck.oracles.assignment.prove.proofs import document, exit_code, prove, prove_all
from groupcheck.oracles.assignment.prove.statement import Mutant, count, length, start
from groupcheck.oracles.assignment.prove.statements import STATEMENTS

LEVEL = STATEMENTS[-1]


@pytest.fixture(scope="module")
def proofs():
    return prove_all()


def test_every_statement_is_proved_of_premises_that_can_be(proofs):
    assert {p.words: p.answer for p in proofs if p.answer != "proved" or p.premises is None} == {}
    assert {p.subject for p in proofs} == {"range", "round robin", "sticky", "uniform", "level"}
    assert {p.bound for p in proofs} == {"universal"}


def test_every_mutant_is_refuted_by_numbers(proofs):
    assert [m.words for p in proofs for m in p.mutants if m.counterexample is None] == []
    assert all(p.mutants for p in proofs)
    assert exit_code(proofs) == 0


def test_a_document_says_what_was_proved(proofs):
    shown = json.loads(json.dumps(document(proofs)))
    assert shown["verdict"] == "proved" and len(shown["statements"]) == len(STATEMENTS)
    assert set(shown["statements"][0]["premises"]) == {"P", "n", "q", "r", "i"}


def test_a_wrong_statement_is_refuted_with_numbers_and_one_of_impossible_premises_does_not_stand():
    wrong = prove(evolve(LEVEL, claim=lambda v, f: v["m"] > f["most"](v)))
    assert wrong.answer == "refuted" and wrong.counterexample["m"] == -(
        -wrong.counterexample["P"] // wrong.counterexample["n"]
    )
    nothing = prove(evolve(LEVEL, premises=lambda v, f: [v["m"] < v["m"]], mutants=[]))
    assert nothing.answer == "proved" and not nothing.stands
    assert exit_code([nothing]) == 1


def test_a_mutant_that_changes_nothing_is_not_refuted():
    same = prove(
        evolve(
            LEVEL,
            mutants=[Mutant("nothing wrong", "most", lambda v: v["q"] + z3.If(v["r"] == 0, 0, 1))],
        )
    )
    assert same.answer == "proved" and not same.stands


@pytest.mark.parametrize("members", [1, 2, 3, 5])
@pytest.mark.parametrize("partitions", [1, 2, 4, 7])
def test_the_formulas_are_what_the_assignors_do(members, partitions):
    names = [f"m{i}" for i in range(members)]
    group = Group({"t": partitions}, [Member(name, ["t"]) for name in names])
    quota, longer = divmod(partitions, members)
    v = {
        name: z3.IntVal(value)
        for name, value in {"q": quota, "r": longer, "d": quota, "k": longer}.items()
    }

    def number(term):
        return z3.simplify(term).as_long()

    for i, name in enumerate(names):
        first, size = number(start(v, z3.IntVal(i))), number(length(v, z3.IntVal(i)))
        assert server_range(group)[name] == {("t", p) for p in range(first, first + size)}
        assert len(round_robin(group)[name]) == number(count(v, z3.IntVal(i)))


def test_the_table_names_each_statement_and_its_mutants(proofs, monkeypatch, capsys):
    monkeypatch.setattr(proof_command, "prove_all", lambda progress: proofs)
    assert proof_command.run(False) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"proved  {len(STATEMENTS)} of {len(STATEMENTS)} statements stand")
    assert "mutant, nobody has an extra partition: refuted by" in told


def test_after_ctrl_c_the_statements_that_were_proved_are_told(proofs, monkeypatch, capsys):
    done = iter(proofs[:2])

    def prove(statement):
        if (one := next(done, None)) is None:
            raise KeyboardInterrupt
        return one

    monkeypatch.setattr(proving, "prove", prove)
    assert proof_command.run(False) == 3
    told, whole = capsys.readouterr(), len(STATEMENTS)
    assert told.out.startswith(f"not proved  2 of {whole} statements stand")
    assert f"interrupted: {whole - 2} of {whole} statements were not looked at" in told.err
    assert document(proofs[:2], 1)["verdict"] == "not proved"


def test_without_z3_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "z3", None)
    monkeypatch.delitem(sys.modules, "groupcheck.oracles.assignment.prove.statements")
    with pytest.raises(
        UserError,
        match=r"statements are proved with z3, which is not installed"
        r" \(pip install 'groupcheck\[assign\]'\)",
    ):
        prove_all()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "AttributeError: .*Solver"),
        ("raise RuntimeError('no libz3')", "RuntimeError: no libz3"),
    ],
)
def test_another_package_of_that_name_or_a_broken_one_is_no_bug_of_ours(
    monkeypatch, tmp_path, source, why
):
    (tmp_path / "z3.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "z3")
    with pytest.raises(UserError, match=f"with z3, which cannot be used: {why}"):
        prove_all()

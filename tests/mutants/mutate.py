"""The mutants of a Python file: each differs from it in one token, condition or statement.

Left alone is what no verdict depends on: annotations, decorators, assertions, what a `raise` says,
and texts; and everything outside functions.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator

from attrs import frozen

SWAPS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
NAMES = {"ZERO": "ONE", "ONE": "ZERO", "TWO": "ONE", "THREE": "TWO", "FOUR": "THREE"}
NAMES |= {"all": "any", "any": "all", "min": "max", "max": "min", "True": "False", "False": "True"}


@frozen
class Mutant:
    """One change: `before` is the line where it happens, `after` what becomes of the line (or of a
    whole statement that is deleted). `nth` tells mutants apart of which all the rest is the same.
    `source` is the changed file.
    """

    file: str
    function: str
    line: int
    before: str
    after: str
    source: str
    nth: int = 1

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What names the mutant as long as its line stays as it is, wherever that moves."""
        return self.file, self.function, self.before, self.after, self.nth


@frozen
class Edit:
    """Replaces the bytes from `start` to `end`."""

    start: int
    end: int
    text: bytes


def mutants(file: str, source: str) -> list[Mutant]:
    """All mutants of a file, in the order of its lines."""
    data = source.encode()
    found = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for function, edit in sorted(_edits(data), key=lambda e: (e[1].start, e[1].end, e[1].text)):
        first = data.rfind(b"\n", 0, edit.start) + 1
        last = data.find(b"\n", edit.end)
        changed = data[: edit.start] + edit.text + data[edit.end :]
        after = _words(data[first : edit.start] + edit.text + data[edit.end : last])
        before = _words(data[first : data.find(b"\n", edit.start)])
        seen[function, before, after] += 1
        found.append(
            Mutant(
                file,
                function,
                data.count(b"\n", 0, edit.start) + 1,
                before,
                after,
                changed.decode(),
                seen[function, before, after],
            )
        )
    return found


def _words(text: bytes) -> str:
    return " ".join(text.decode().split())


def _edits(data: bytes) -> Iterator[tuple[str, Edit]]:
    tree = ast.parse(data)
    lines = [0]
    for line in data.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    globals_ = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {
        a.asname or a.name for n in tree.body if isinstance(n, ast.ImportFrom) for a in n.names
    }

    def start(node: ast.AST) -> int:
        return lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(node: ast.AST) -> int:
        return lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def operator(one: ast.AST, other: ast.AST, op: ast.AST) -> Iterator[Edit]:
        old, new = SWAPS.get(type(op), ("", ""))
        pattern = rf"\b{old}\b" if old.isidentifier() or " " in old else re.escape(old)
        between = data[end(one) : start(other)]
        if old and (found := re.search(pattern.replace(" ", r"\s+").encode(), between)):
            at = end(one) + found.start()
            yield Edit(at, end(one) + found.end(), new.encode())

    def of(node: ast.AST, assigned: Counter[str]) -> Iterator[Edit]:
        match node:
            case ast.Compare(left, ops, comparators):
                for one, op, other in zip([left, *comparators], ops, comparators):
                    yield from operator(one, other, op)
            case ast.BinOp(left, op, right):
                yield from operator(left, right, op)
            case ast.BoolOp(op, values):
                for one, other in itertools.pairwise(values):
                    yield from operator(one, other, op)
            case ast.AugAssign(target, op, value):
                yield from operator(target, value, op)
                yield Edit(start(node), end(node), b"pass")
            case ast.UnaryOp(operand=operand):
                yield Edit(start(node), start(operand), b"")
            case ast.Constant(bool() as value):
                yield Edit(start(node), end(node), str(not value).encode())
            case ast.Constant(int() as value):
                yield Edit(start(node), end(node), str(value + 1).encode())
                if value:
                    yield Edit(start(node), end(node), str(value - 1).encode())
            case ast.Name(name, ast.Load()) if name in NAMES and (
                NAMES[name].islower() or NAMES[name] in globals_
            ):
                yield Edit(start(node), end(node), NAMES[name].encode())
            case ast.Expr(ast.Call() | ast.Yield() | ast.YieldFrom()):
                yield Edit(start(node), end(node), b"pass")
            case ast.Break() | ast.Continue() | ast.Return() | ast.Raise() | ast.Delete():
                yield Edit(start(node), end(node), b"pass")
            case ast.Assign(targets) if all(_outlives(t, assigned) for t in targets):
                yield Edit(start(node), end(node), b"pass")
        for test in _tests(node):
            if not isinstance(test, ast.Constant) and not _is_swapped(test):
                text = data[start(test) : end(test)]
                yield Edit(start(test), end(test), b"(not (" + text + b"))")

    def walk(node: ast.AST, name: str, assigned: Counter[str]) -> Iterator[tuple[str, Edit]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{name}.{node.name}" if name else node.name
        if isinstance(node, ast.FunctionDef):
            assigned = Counter(
                n.id
                for n in ast.walk(node)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            )
            assigned.update(a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg))
        if assigned:
            yield from ((name, edit) for edit in of(node, assigned))
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
            return
        for child in ast.iter_child_nodes(node):
            if child not in _left_alone(node):
                yield from walk(child, name, assigned)

    yield from walk(tree, "", Counter())


def _left_alone(node: ast.AST) -> list[ast.AST | None]:
    """Decorators and annotations."""
    kept = [*getattr(node, "decorator_list", []), getattr(node, "returns", None)]
    return [*kept, getattr(node, "annotation", None)]


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    return node.ifs if isinstance(node, ast.comprehension) else []


def _is_swapped(test: ast.expr) -> bool:
    """Is its negation a mutant already?"""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    negated = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], negated)


def _outlives(target: ast.expr, assigned: Counter[str]) -> bool:
    """Does what is assigned to have a value without this assignment? Else its deletion is a
    NameError, which tells nothing.
    """
    if isinstance(target, ast.Tuple):
        return all(_outlives(t, assigned) for t in target.elts)
    return not isinstance(target, ast.Name) or assigned[target.id] > 1

"""One family for the user's mistakes: what is wrong, where, and what to do about it.

Everything that a person can cause from outside (a bad scope, a broken rule, a foreign checkpoint,
an unreadable log) is raised as a `UserError`; the command line prints it in one line and exits with
its exit code. Our own mistakes are assertions.
"""

from __future__ import annotations

import errno
from types import FunctionType

# words by which object stores and Hadoop say that there is no room
NO_ROOM = ("no space left", "quota", "storagefull", "insufficientcapacity")


def shown(value: object) -> str:
    """The `repr` of a value, or a short text where it has none (it raises, is nested too deeply,
    holds a number of too many digits). A function has its name and no address.
    """
    if isinstance(value, FunctionType):
        return f"function {value.__name__}"
    try:
        return repr(value)
    except Exception as error:
        if type(value) is int:
            return f"<int of {value.bit_length():,} bits>"
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


class UserError(Exception):
    """A mistake that the user can mend. `what` happened, `where` (file, line, field, rule), what to
    `do`.
    """

    # Of the command line.
    exit_code = 2

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what, self.where, self.do = what, where, do
        super().__init__(
            ": ".join(part for part in (where, what) if part) + (f" ({do})" if do else "")
        )


def lacks_room(error: Exception) -> bool:
    """Did what was to be written find no room?"""
    text = str(error).lower()
    return _number(error) in (errno.ENOSPC, errno.EDQUOT) or any(w in text for w in NO_ROOM)


def lacks_a_right(error: Exception) -> bool:
    """Was it not allowed to read or write there?"""
    is_refused = _number(error) in (errno.EACCES, errno.EPERM, errno.EROFS)
    return is_refused or "access_denied" in str(error).lower()


def _number(error: Exception) -> int | None:
    return getattr(error, "errno", None)


def what_helps(error: Exception, resume: str) -> str:
    """The advice on an error of writing: there must be room, or a right to write. `resume`: the
    option that goes on with what was written before, empty if nothing was.
    """
    if lacks_room(error):
        return f"make room there, then {resume}" if resume else "make room there, or name another"
    if lacks_a_right(error):
        return "it must be writable" + (f"; then {resume}" if resume else "")
    return f"{resume} goes on from what is complete there" if resume else ""


class AsymmetryError(Exception):
    """A search has found that permutations do make a difference; the text says where."""


class OutageError(UserError):
    """A program that the answer depends on has ended or does not answer: the answer is unknown."""

    exit_code = 3


class SpecError(UserError):
    """A `Spec` that does not fit together: an unknown slot, a parameter that names nothing, a
    duplicate name.
    """


class ScopeError(UserError):
    """A scope outside what the variant can explore (no members, a negative budget, an unknown
    fault).
    """


class CheckpointError(UserError):
    """A checkpoint that is torn, or belongs to another model, scope or version."""


class RuleError(UserError):
    """A rule, invariant, goal, end or view that raised, gave a wrong shape, changed its input or
    was not deterministic.

    `rule` is its name, `kind` what it is, `arguments` the slot values that it was called with,
    `key` replays the path to them (may be empty).
    """

    def __init__(
        self,
        rule: str,
        problem: str,
        arguments: dict[str, object],
        key: str = "",
        kind: str = "rule",
    ) -> None:
        self.rule, self.problem, self.arguments, self.key, self.kind = (
            rule,
            problem,
            arguments,
            key,
            kind,
        )
        told = ", ".join(f"{name}={shown(value)}" for name, value in arguments.items())
        super().__init__(
            problem, where=f"{kind} {rule}({told})", do=f"reproduce with key {key}" if key else ""
        )

    def at(self, key: str) -> RuleError:
        """The same, reached by a path."""
        return RuleError(self.rule, self.problem, self.arguments, key, self.kind)

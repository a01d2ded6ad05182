"""One family for the user's mistakes: what is wrong, where, and what to do about it.

Everything that a person can cause from outside (a bad scope, a broken rule, a foreign checkpoint, an unreadable log)
is raised as a `UserError`; the command line prints it in one line and exits with 2. Our own mistakes are assertions.
"""


class UserError(Exception):
    """A mistake that the user can mend. `what` happened, `where` (file, line, field, rule), what to `do`."""

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what, self.where, self.do = what, where, do
        super().__init__(": ".join(part for part in (where, what) if part) + (f" ({do})" if do else ""))


class SpecError(UserError):
    """A `Spec` that does not fit together: an unknown slot, a parameter that names nothing, a duplicate name."""


class ScopeError(UserError):
    """A scope outside what the variant can explore (no members, a negative budget, an unknown fault)."""


class CheckpointError(UserError):
    """A checkpoint that is torn, or belongs to another model, scope or version."""


class RuleError(UserError):
    """A rule, invariant, goal or end that raised, gave a wrong shape, changed its input or was not deterministic.

    `rule` is its name, `arguments` the slot values that it was called with, `key` replays the path to them (may be empty).
    """

    def __init__(self, rule: str, problem: str, arguments: dict[str, object], key: str = "") -> None:
        self.rule, self.problem, self.arguments, self.key = rule, problem, arguments, key
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        super().__init__(problem, where=f"rule {rule}({shown})", do=f"reproduce with key {key}" if key else "")

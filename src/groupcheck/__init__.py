"""groupcheck: a model checker and test oracle for Kafka consumer-group protocols.

    import groupcheck
    result = groupcheck.check("classic", members=3, faults={"crash": 1})
    print(result)

The names are imported when they are first used, so that `import groupcheck` costs nothing.
"""

from typing import TYPE_CHECKING

from groupcheck.oracles.public import __dir__, __getattr__

if TYPE_CHECKING:
    from groupcheck.model.engine.errors import UserError
    from groupcheck.oracles.assignment.against.contract import assignor_contract
    from groupcheck.oracles.check.run import CheckResult, FollowResult, check, follow
    from groupcheck.oracles.coordinator.served import coordinator
    from groupcheck.oracles.replay.report import replay

__version__ = "0.1.0"

__all__ = [
    "CheckResult",
    "FollowResult",
    "UserError",
    "__dir__",
    "__getattr__",
    "__version__",
    "assignor_contract",
    "check",
    "coordinator",
    "follow",
    "replay",
]

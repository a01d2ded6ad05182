"""The solvers, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from groupcheck.model.engine import UserError


def solver(module: str, what: str) -> Any:
    """A module of scipy or z3. Raises `UserError` if it is not installed; `what` is done with it,
    such as "constraints are solved".
    """
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ImportError:
        raise UserError(
            f"{what} with {package}, which is not installed",
            do="pip install 'groupcheck[assign]'",
        ) from None

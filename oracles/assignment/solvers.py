"""The solvers, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.printable import printable

NAMES = {"z3": "Solver"}
"""Module -> what it must have: another package of that name may be installed (z3 is one, too)."""


def solver(module: str, what: str) -> Any:
    """A module of scipy or z3. Raises `UserError` if it is not installed, or not as it must be;
    `what` is done with it, such as "constraints are solved".
    """
    package = module.partition(".")[0]
    do = "pip install 'groupcheck[assign]'"
    try:
        import_module(package)
        found = import_module(module)
        if package in NAMES:
            getattr(found, NAMES[package])
    except ImportError:
        raise UserError(f"{what} with {package}, which is not installed", do=do) from None
    except Exception as error:  # z3 raises its own where its library is missing
        why = printable(f"{type(error).__name__}: {error}")[:200]
        raise UserError(f"{what} with {package}, which cannot be used: {why}", do=do) from None
    return found

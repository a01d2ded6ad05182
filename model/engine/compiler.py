"""The needs of the fast engine beside Python: numpy and a compiler, the packages of the extra
`fast`. This module alone says whether they are installed; it imports none of them.
"""

from __future__ import annotations

from importlib.util import find_spec

from groupcheck.model.engine.errors import UserError

PACKAGES = ("numpy", "llvmlite", "numba")
INSTALL = "pip install 'groupcheck[fast]'"


def missing() -> str:
    """The first of the packages that is not installed; empty if all are."""
    return next((name for name in PACKAGES if find_spec(name) is None), "")


def must_be_installed(where: str = "") -> None:
    """Raises `UserError` where a package is missing. `where`: the option that needs it."""
    if package := missing():
        raise not_installed(package, where)


def not_installed(package: str, where: str = "") -> UserError:
    """The error about one of `PACKAGES`."""
    return UserError(f"{package} is not installed", where=where, do=INSTALL)


def notes(workers: int = 1) -> tuple[str, ...]:
    """The remark on a search in plain Python; none where nothing is missing. `workers`: those that
    were asked for.
    """
    package = missing()
    how = "plain Python searched" if workers == 1 else "plain Python searched, with one worker"
    return (f"{how}: {package} is not installed ({INSTALL})",) if package else ()

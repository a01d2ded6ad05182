"""All mutations: those of each feature of the classic group (`bugs`), and of every module of this
package that holds `MUTATIONS`.
"""

from __future__ import annotations

import importlib
import pkgutil
from difflib import get_close_matches

from groupcheck.model.engine import UserError
from groupcheck.model.protocol.classic.composition import every_feature
from groupcheck.model.protocol.mutation import Mutation


def all_mutations() -> tuple[Mutation, ...]:
    """Every known bug, in alphabetical order of their ids."""
    here = importlib.import_module(__package__)
    modules = [
        importlib.import_module(f"{__package__}.{m.name}")
        for m in pkgutil.iter_modules(here.__path__)
    ]
    found = [m for module in modules for m in getattr(module, "MUTATIONS", ())]
    found += [m for feature in every_feature().values() for m in feature.bugs]
    return tuple(sorted(found, key=lambda m: m.id))


def mutation(id: str) -> Mutation:
    """The mutation of this id. Raises `UserError`, with the nearest id, where there is none."""
    every = {m.id: m for m in all_mutations()}
    if id not in every:
        near = get_close_matches(id, every, 1)
        raise UserError(
            f"there is no mutation {id!r}",
            do=f"did you mean {near[0]}?" if near else "one of " + ", ".join(every),
        )
    return every[id]

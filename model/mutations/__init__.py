"""Known bugs as data: a mutation replaces named rules and names the invariant that must fall."""

from groupcheck.model.mutations.museum import all_mutations, mutation
from groupcheck.model.protocol.mutation import SEEDED, Mutation

__all__ = ["SEEDED", "Mutation", "all_mutations", "mutation"]

"""A producer's sticky partitioner: KIP-480, and KIP-794, which repaired it (see `rules`)."""

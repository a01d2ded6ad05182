"""Why a group is in trouble: a base of known causes, and which of them the evidence shows."""

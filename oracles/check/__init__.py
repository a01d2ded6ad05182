"""`groupcheck check`: a question explored, and its answer explained."""

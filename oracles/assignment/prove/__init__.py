"""`groupcheck assign --prove`: statements about assignors, proved with z3."""

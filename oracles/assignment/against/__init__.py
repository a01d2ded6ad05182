"""`groupcheck assign --against`: how other people's assignors break their promises."""

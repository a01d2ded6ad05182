"""groupcheck's own format of events, for clients whose logs groupcheck does not read."""

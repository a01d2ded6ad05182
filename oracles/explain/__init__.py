"""The subject of a check, its result, and the reasons: data, before anybody shows it."""

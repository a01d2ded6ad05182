"""Other people's assignors: one file a library, each imported when it is asked for."""

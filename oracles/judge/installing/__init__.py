"""Foreign programs in other languages, fetched and built into the cache on first use."""

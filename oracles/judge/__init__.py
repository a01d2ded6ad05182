"""The door `groupcheck judge`: other people's brokers and clients, over the wire."""

"""`groupcheck coordinator`: the model's coordinator as a server, for clients and their tests."""

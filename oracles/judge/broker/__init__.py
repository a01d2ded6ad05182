"""Other people's brokers: what they answer, compared with what the model's coordinator allows."""

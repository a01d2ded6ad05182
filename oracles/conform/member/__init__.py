"""The model's member, row by row, on Kafka's own Java client."""

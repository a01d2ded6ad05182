"""`groupcheck conform assignors`: groupcheck's assignors compared with Kafka's classes."""

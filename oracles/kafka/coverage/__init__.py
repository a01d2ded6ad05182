"""Which lines and branches of Kafka's own coordinator a run executed, counted by JaCoCo."""

"""Whole archives of logs, replayed by Spark into Parquet tables: each log by one task and by the
same code as `groupcheck replay`.

A log is not split by group: all lines together show which versions of Kafka print this way, which
kinds of lines the log has at all, and restarts that concern every group. It would gain little,
because every part would have to read and parse the log.

`finding` deals logs out, `task` replays some, `parts` writes, `manifest` commits, `pipeline` is the
run, `on_spark` runs it on Spark, `tables` holds the columns.
"""

"""Whole archives of logs, replayed by Spark into Parquet tables: each log by one task and by the
same code as `groupcheck replay`.
"""

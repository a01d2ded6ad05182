"""`groupcheck replay --follow`: logs that grow. `windows` keeps the last lines about each group,
`judging` replays the window of a group of which something new was said, `alerts` puts a change of
health into words, and `command` reads, waits and ends.
"""

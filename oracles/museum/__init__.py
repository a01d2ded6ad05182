"""Known bugs on real old code: schedules that the model found, carried out by released clients.

A path of the model is fired again, rule by rule, and what happens to links and members becomes
moves: a request, its answer, a broken connection. The consumers are real ones behind their public
API, so one Java source serves all releases. A symptom is a promise of the model's that is judged
from outside: by requests, answers and callbacks. A release that leaves the path shows nothing; the
fixed one may leave it in the step in which the bug would show.

`exhibits` says which bug, releases and path; `moves` makes moves of a path; `stage` plays them with
real consumers (`members`, `java`) whose coordinator is `network`, `calls` on a real old broker
(`brokers`, `broker`); `symptoms` says where a bug shows.
"""

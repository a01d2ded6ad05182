"""Online testing against a set of model states, for both sides of the wire.

`states` keeps, after each event, every state of the model that fits what was seen; where none fits,
the row differs, and what was possible instead is known. `nearest` directs the search: the shortest
way from the present states to a row that nobody has seen.

Against a broker we choose requests and waits, and the broker chooses answers: `worlds` has its
states, `requests` what is sent. Against a client the sides are swapped: we choose answers, cuts and
silence, and the client chooses polls, heartbeats and commits. Then a state is one of the model's
member, an input is what the client was seen to do or what we did to it, and its ends are the steps
of the member that the model allows.
"""

"""The one web server: a safe base on which pages and endpoints for machines are put.

`running` runs it, `app` puts routes behind the guard, `access` decides who may come in, `bodies` and `rates` limit what
one client may send, `connections` how long and how often it may hold the line, with the numbers of `limits`. Nothing
here reads a file by a name that a client sent.
"""

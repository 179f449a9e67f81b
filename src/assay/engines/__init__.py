"""Engines: whole queries are mapped by one kernel, on this machine or on a Spark cluster, to the same bits.

An engine finds rows (`scan`), and hands all rows of a query together to a kernel (`map_queries`), which returns rows of
its own. `engine` has the interface, `local` and `spark` are the two engines, `sessions` starts Spark or says what is
missing, `batches` runs a kernel in a worker, `headings` finds the columns. What comes out is written by
`formats/score_folders`.
"""

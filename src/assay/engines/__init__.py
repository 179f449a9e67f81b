"""Engines: whole groups of rows are mapped by one kernel, on this machine or on a Spark cluster, to the same bits.

An engine finds rows (`scan`), and hands all rows of a group together to a kernel (`map_groups`), which returns rows of
its own; a group is a query in an evaluation. `engine` has the interface, `local` and `spark` are the two engines,
`sessions` starts Spark or says what is missing, `batches` runs a kernel in a worker, `headings` finds the columns. What
comes out is written by `formats/score_folders`.
"""

"""Traces of served requests, as OpenTelemetry sends them and its collector writes them.

`otlp_json` and `otlp_protobuf` decode what was sent into `spans`, `assembling` makes a served request of the spans of
one trace, with the names of `names`; `open_traces` waits for spans that come late. `reading` reads files, also those
that grow, `keeping` writes them.
"""

"""What monitoring systems read of a watch: Prometheus's text, its alert rules, and a dashboard of Grafana.

All of it is made from the same windows and targets. The rules do not decide again what an alert is: they ask how many
windows in a row were past a target, which the watch counts.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from assay.formats.files import write_atomically
from assay.messages import tell

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    from assay.results.watch import Watch, WatchMeasure

_STALE = 3.0  # windows without a new one after which a watch has stopped
_LEAST_STALE = 60.0
_PANEL = 8  # rows of Grafana's grid
_WIDTH = 12  # columns of it

# Names of metrics with their types and what they say.
_METRICS = {
    "assay_watch_value": ("gauge", "Value of a measure in the last closed window."),
    "assay_watch_low": ("gauge", "Lower end of the interval of the value."),
    "assay_watch_high": ("gauge", "Upper end of the interval of the value."),
    "assay_watch_target": ("gauge", "Target of a measure; direction says which side is good."),
    "assay_watch_windows_past": ("gauge", "How many windows in a row, up to the last, are past the target."),
    "assay_watch_alert": ("gauge", "1 while an alert stands for a measure with a target, else 0."),
    "assay_watch_alerts_total": ("counter", "Alerts that have begun."),
    "assay_watch_window_end_seconds": ("gauge", "End of the last closed window, in seconds since 1970."),
    "assay_watch_window_requests": ("gauge", "Requests of the last closed window."),
    "assay_watch_window_users": ("gauge", "Users of the last closed window."),
    "assay_watch_windows_total": ("counter", "Windows that were closed."),
    "assay_watch_requests_total": ("counter", "Requests of all closed windows."),
    "assay_watch_rows_total": ("counter", "Rows that were read into windows."),
    "assay_watch_left_out_rows_total": ("counter", "Rows that no window counts, by reason."),
}
Labels = tuple[tuple[str, str], ...]


def write_monitoring(
    found: Watch,
    *,
    prometheus: str | os.PathLike[str] | None = None,
    rules: str | os.PathLike[str] | None = None,
    dashboard: str | os.PathLike[str] | None = None,
) -> None:
    r"""Write what monitoring systems read of a watch, each file completely or not at all.

    `prometheus` is for the textfile collector of its node exporter, `rules` are alert rules in YAML, and `dashboard` is
    a dashboard of Grafana in JSON.

    >>> import assay
    >>> from pathlib import Path
    >>> line = '{"query_id": "%d", "client_id": "u%d", "user_query": "tea", "timestamp": "2025-01-01T0%d:00:00Z"}\n'
    >>> _ = Path("ubi.ndjson").write_text("".join(line % (i, i, i) for i in range(4)))
    >>> assay.write_monitoring(assay.watch_log("ubi.ndjson"), prometheus="assay.prom")
    >>> "assay_watch_windows_total 4" in Path("assay.prom").read_text()
    True
    """
    for place, make in ((prometheus, prometheus_text), (rules, alert_rules), (dashboard, dashboard_text)):
        if place is not None:
            write_atomically(place, make(found))


def prometheus_text(found: Watch) -> str:
    """Write the last window and all counts in Prometheus's text format."""
    samples: dict[str, list[tuple[Labels, float]]] = {name: [] for name in _METRICS}
    for name, labels, value in _samples(found):
        samples[name].append((labels, value))
    lines = []
    for name, (kind, told) in _METRICS.items():
        if samples[name]:
            lines += [f"# HELP {name} {told}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{_write_labels(labels)} {_number(value)}" for labels, value in samples[name]]
    return "".join(f"{line}\n" for line in lines)


def _samples(found: Watch) -> Iterator[tuple[str, Labels, float]]:
    yield "assay_watch_windows_total", (), len(found.windows)
    yield "assay_watch_requests_total", (), sum(one.requests for one in found.windows)
    yield "assay_watch_rows_total", (), found.rows
    yield "assay_watch_alerts_total", (), len(found.alerts)
    for reason, rows in sorted(found.left_out.items()):
        yield "assay_watch_left_out_rows_total", (("reason", reason),), rows
    for one in found.watched:
        assert one.target is not None
        side = "at_most" if one.target.below else "at_least"
        yield "assay_watch_target", (("measure", one.label), ("direction", side)), one.target.target
        yield "assay_watch_windows_past", (("measure", one.label),), found.windows_past(one.label)
        stands = any(alert.measure == one.label for alert in found.standing)
        yield "assay_watch_alert", (("measure", one.label),), float(stands)
    if not found.windows:
        return
    last = found.windows[-1]
    yield "assay_watch_window_end_seconds", (), datetime.fromisoformat(last.end).timestamp()
    yield "assay_watch_window_requests", (), last.requests
    yield "assay_watch_window_users", (), last.users
    for value in last.values:
        of, labels = value.interval, (("measure", value.measure),)
        for name, end in (("value", of.estimate), ("low", of.low), ("high", of.high)):
            if end is not None:
                yield f"assay_watch_{name}", labels, end


def _write_labels(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escape(text)}"' for name, text in labels) + "}" if labels else ""


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def alert_rules(found: Watch) -> str:
    """Write alert rules for Prometheus, in YAML: one for each target, and one for a watch that has stopped."""
    stale = max(_STALE * found.width_s + found.lateness_s, _LEAST_STALE)
    rules = [_rule(found, one) for one in found.watched]
    rules.append(
        {
            "alert": "AssayWatchStopped",
            "expr": f"time() - assay_watch_window_end_seconds > {stale:g} or absent(assay_watch_windows_total)",
            "for": f"{max(round(found.width_s / 4), 1)}s",
            "labels": {"severity": "warning"},
            "annotations": {"summary": "No window was closed for long: the watch has stopped, or no requests come."},
        }
    )  # fmt: skip
    return "\n".join(["groups:", '  - name: "assay-watch"', "    rules:", *_yaml(rules)]) + "\n"


def _rule(found: Watch, one: WatchMeasure) -> dict[str, Any]:
    assert one.target is not None
    chosen = f"measure={_quote(one.label)}"
    sign = ("<" if one.target.below else ">") + ("" if one.target.strict else "=")
    goal = f"{sign} {one.target.target:g} {one.target.unit}".rstrip()
    advice = {"advice": _literal(tell(one.target.advice, "en"))} if one.target.advice else {}
    return {
        "alert": "AssayPastTarget",
        "expr": f"assay_watch_windows_past{{{chosen}}} >= {found.rule.run}",
        "labels": {"severity": "critical", "measure": _literal(one.label), "protocol": _literal(found.protocol)},
        "annotations": {
            "summary": _literal(f"{one.label} is past its target ({goal})") + " in {{ $value }} windows in a row",
            **advice,
        },
    }


def _yaml(rules: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Rules as YAML whose texts are those of JSON, which YAML reads as they are."""
    for rule in rules:
        dash = "- "
        for key, value in rule.items():
            if isinstance(value, dict):
                yield f"      {dash}{key}:"
                yield from (f"          {name}: {json.dumps(text)}" for name, text in value.items())
            else:
                yield f"      {dash}{key}: {json.dumps(value)}"
            dash = "  "


def _quote(text: str) -> str:
    """A text in PromQL."""
    return json.dumps(text)


def _literal(text: str) -> str:
    """A text in which a template finds nothing to fill in."""
    return text.replace("{{", '{{ "{{" }}')


def dashboard_text(found: Watch) -> str:
    """Write a dashboard of Grafana: every measure with a target beside it, the alerts, and how much was counted."""
    panels = [
        _panel(0, "Alerts that stand", [("sum(assay_watch_alert)", "alerts")], kind="stat"),
        _panel(1, "Requests of a window", [(f"assay_watch_window_{one}", one) for one in ("requests", "users")]),
        *(_measure_panel(i + 2, one) for i, one in enumerate(found.watched)),
    ]  # fmt: skip
    made = {
        "title": f"Assay: {found.protocol or 'watch'}",
        "uid": None,
        "schemaVersion": 39,
        "tags": ["assay"],
        "time": {"from": "now-7d", "to": "now"},
        "refresh": "1m",
        "templating": {
            "list": [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}]
        },
        "panels": panels,
    }
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def _measure_panel(place: int, one: WatchMeasure) -> dict[str, Any]:
    chosen = f"{{measure={_quote(one.label)}}}"
    queries = [(f"assay_watch_{name}{chosen}", name) for name in ("value", "low", "high", "target")]
    made = _panel(place, one.label, queries)
    if one.target is not None and one.target.unit == "ms":
        made["fieldConfig"]["defaults"]["unit"] = "ms"
    return made


def _panel(place: int, title: str, queries: list[tuple[str, str]], kind: str = "timeseries") -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${datasource}"}
    row, column = divmod(place, 2)
    return {
        "id": place + 1,
        "type": kind,
        "title": title,
        "datasource": source,
        "gridPos": {"x": column * _WIDTH, "y": row * _PANEL, "w": _WIDTH, "h": _PANEL},
        "fieldConfig": {"defaults": {"custom": {}}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + i), "expr": query, "legendFormat": name, "datasource": source}
            for i, (query, name) in enumerate(queries)
        ],
    }

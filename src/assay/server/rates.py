"""How often one client may ask: a bucket per address, which fills at a steady rate and pays for every request."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field

_CLIENTS = 1024  # whose buckets are remembered; who is forgotten begins with a full one


@dataclass
class Rate:
    """At most `burst` requests at once and `per_second` over time, of each client."""

    per_second: float
    burst: float
    buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def is_spent(self, client: str, now: float | None = None) -> bool:
        """Whether a client's bucket is empty; nothing is taken out."""
        now = time.monotonic() if now is None else now
        left, then = self.buckets.get(client, (self.burst, now))
        return min(self.burst, left + (now - then) * self.per_second) < 1

    def allows(self, client: str, now: float | None = None) -> bool:
        """Take one request out of a client's bucket; False where it is empty."""
        now = time.monotonic() if now is None else now
        left, then = self.buckets.pop(client, (self.burst, now))
        left = min(self.burst, left + (now - then) * self.per_second)
        self.buckets[client] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self.buckets) > _CLIENTS:
            self.buckets.popitem(last=False)
        return left >= 1

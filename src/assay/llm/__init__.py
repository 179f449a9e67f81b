"""Language models: a client with budget, limits and retries, a cache of paid answers, and prices.

>>> from assay.llm import Client, Request
>>> from assay.testing import FakeLLM
>>> with FakeLLM("4") as server, Client(server.url, "any-model") as client:
...     client.complete(Request.asking("What is 2 + 2?")).text
'4'
"""

from __future__ import annotations

from assay.llm.adapters import Completes, as_client
from assay.llm.budget import Spending
from assay.llm.cache import Cache
from assay.llm.client import Client, Estimate
from assay.llm.engine import Patience
from assay.llm.keys import Key
from assay.llm.pacing import Limits
from assay.llm.policy import POLICY
from assay.llm.prices import PriceTable
from assay.llm.progress import Progress
from assay.llm.records import REASONS, Cost, Reason, Reply, Request, TokenLogprob, Usage

__all__ = [
    "POLICY",
    "REASONS",
    "Cache",
    "Client",
    "Completes",
    "Cost",
    "Estimate",
    "Key",
    "Limits",
    "Patience",
    "PriceTable",
    "Progress",
    "Reason",
    "Reply",
    "Request",
    "Spending",
    "TokenLogprob",
    "Usage",
    "as_client",
]

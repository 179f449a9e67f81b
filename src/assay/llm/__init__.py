"""Language models: a client with budget, limits and retries, a cache of paid answers, and prices.

What users hold
    client       asks one question or many, embeds texts, says what it will cost
    adapters     a function or an object in a client's place
    records      what is asked and what comes back: Request, Reply, Usage, Cost
    progress     how far a run is
What happens between a request and its reply
    service      the thread on which the engine lives, and for how long
    flights      callers that wait for an answer, and their calls
    engine       places, money and time before a call, the policy after it
    jobs, calls  what to send and how to read it: chat and embeddings, anything else (rerankers)
    pacing       how fast requests may leave
    budget       what was spent and what is set aside
    policy       what is done about each kind of failure
    transport    one HTTP call
What is said on the wire
    wire         bodies of calls, parts of answers
    structured   JSON with a seal: asked for, found, checked, repaired
    prompts      Markdown files that no text can change the structure of
    tokens       how many tokens a text has, or can have
Whom we talk to, and for how much
    hosts, keys  addresses and vendors, and their keys
    prices       what tokens cost, and since when
What was paid for
    cache        answers by their question, shared by threads, processes and clients
    store        its file
    claims       which questions are being asked, so that none is paid for twice
    upkeep       looking after the file

>>> from assay.llm import Client, Request
>>> from assay.testing import FakeLLM
>>> with FakeLLM("4") as server, Client(server.url, "any-model") as client:
...     client.complete(Request.asking("What is 2 + 2?")).text
'4'
"""

from __future__ import annotations

from assay.llm.adapters import Completes, as_client
from assay.llm.budget import Ledger, Spending
from assay.llm.cache import Cache
from assay.llm.client import Client
from assay.llm.engine import Patience
from assay.llm.keys import Key
from assay.llm.pacing import Limits
from assay.llm.policy import POLICY
from assay.llm.prices import PriceTable
from assay.llm.progress import Progress
from assay.llm.records import REASONS, Cost, Reason, Reply, Request, TokenLogprob, Usage
from assay.results.judging import Estimate

__all__ = [
    "POLICY",
    "REASONS",
    "Cache",
    "Client",
    "Completes",
    "Cost",
    "Estimate",
    "Key",
    "Ledger",
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

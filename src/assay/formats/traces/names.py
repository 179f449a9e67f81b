"""All names of attributes and events that are read: one table, for OpenTelemetry's GenAI conventions and OpenInference.

Of the names of one thing the first that a span has counts: the conventions of today come before those of yesterday.
`gen_ai.prompt.0.content` and `db.query.result.*` are written by OpenLLMetry, `gen_ai.usage.cost` by several libraries.
"""

from __future__ import annotations

from typing import Final

# What a span is.
KIND: Final = "openinference.span.kind"
OPERATION: Final = "gen_ai.operation.name"
REQUEST_TYPE: Final = "llm.request.type"
DATABASE: Final = ("db.system.name", "db.system")
DATA_SOURCE: Final = "gen_ai.data_source.id"

GENERATIONS: Final = frozenset({"LLM", "chat", "text_completion", "generate_content", "completion"})
RETRIEVALS: Final = frozenset({"RETRIEVER", "retrieval"})
RERANKINGS: Final = frozenset({"RERANKER", "rerank"})
OUTER: Final = frozenset({"CHAIN", "AGENT", "invoke_agent", "invoke_workflow", "workflow", "agent"})
CHECKS: Final = frozenset({"EVALUATOR", "GUARDRAIL"})  # what they ask a model is not the answer
OTHERS: Final = frozenset({"EMBEDDING", "embeddings", "TOOL", "execute_tool", "PROMPT", "create_agent"})
# Databases that are asked for what is similar: a query of one is a retrieval, of others it may be anything.
SEARCH_ENGINES: Final = frozenset(
    {"chroma", "elasticsearch", "lancedb", "marqo", "milvus", "opensearch", "pinecone", "qdrant", "vespa", "weaviate"}
)

# What was asked and answered.
INPUT: Final = ("input.value",)
OUTPUT: Final = ("output.value",)
INPUT_MESSAGES: Final = ("gen_ai.input.messages", "gen_ai.prompt")
OUTPUT_MESSAGES: Final = ("gen_ai.output.messages", "gen_ai.completion")
INPUT_LISTS: Final = ("llm.input_messages", "gen_ai.prompt")  # llm.input_messages.0.message.content
OUTPUT_LISTS: Final = ("llm.output_messages", "gen_ai.completion")
MESSAGE_EVENTS: Final = {
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.system.message": "system",
    "gen_ai.tool.message": "tool",
}
CHOICE_EVENT: Final = "gen_ai.choice"
# Events whose attributes are those of their span, when texts are too long for it or people may not see them.
DETAIL_EVENTS: Final = frozenset(
    {"gen_ai.client.inference.operation.details", "gen_ai.content.prompt", "gen_ai.content.completion"}
)
FIRST_TOKEN_EVENT: Final = "First Token Stream Event"  # noqa: S105 - of a text
EXCEPTION_EVENT: Final = "exception"

# What was found.
DOCUMENTS: Final = "gen_ai.retrieval.documents"
DOCUMENT_LISTS: Final = ("reranker.output_documents", "retrieval.documents")  # retrieval.documents.0.document.content
RESULT_EVENT: Final = "db.query.result"
QUERY: Final = ("gen_ai.retrieval.query.text", "reranker.query", "input.value")

# Who, with what, how much.
MODEL: Final = (
    "gen_ai.response.model",
    "llm.response.model_name",
    "gen_ai.request.model",
    "llm.request.model_name",
    "llm.model_name",
)
SESSION: Final = ("session.id", "gen_ai.conversation.id")
USER: Final = ("user.id", "enduser.id")
INPUT_TOKENS: Final = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
OUTPUT_TOKENS: Final = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")
COST: Final = ("llm.cost.total", "gen_ai.usage.cost")
FIRST_TOKEN: Final = "gen_ai.response.time_to_first_chunk"  # noqa: S105 - of a text, in seconds
RESPONSE: Final = ("gen_ai.response.id",)
FINISH: Final = "gen_ai.response.finish_reasons"
ERROR: Final = "error.type"
SERVICE: Final = "service.name"

# Events and log records that are kept; all others are forgotten when they are decoded.
EVENTS: Final = frozenset(
    {*MESSAGE_EVENTS, CHOICE_EVENT, *DETAIL_EVENTS, FIRST_TOKEN_EVENT, EXCEPTION_EVENT, RESULT_EVENT}
)
PERSONAL: Final = frozenset({*SESSION, *USER})  # ids of people, which a salt replaces
PREFIXES: Final = tuple(f"{name}." for name in (*INPUT_LISTS, *OUTPUT_LISTS, *DOCUMENT_LISTS))
ALL: Final = frozenset(
    {
        KIND, OPERATION, REQUEST_TYPE, *DATABASE, DATA_SOURCE, *INPUT, *OUTPUT, *INPUT_MESSAGES, *OUTPUT_MESSAGES,
        DOCUMENTS, *QUERY, *MODEL, *SESSION, *USER, *INPUT_TOKENS, *OUTPUT_TOKENS, *COST, FIRST_TOKEN, FINISH, ERROR,
        *RESPONSE,
    }
)  # fmt: skip
# Attributes and the body of events and of log records; `gen_ai.*` there are those of a span.
OF_EVENTS: Final = frozenset(
    {
        "db.query.result.id", "db.query.result.score", "db.query.result.distance", "db.query.result.document",
        "exception.type", "exception.message", "event.name", "body", "role", "content", "index", "message",
        "finish_reason",
    }
)  # fmt: skip


def is_read(name: str, asked: frozenset[str] = frozenset()) -> bool:
    """Whether an attribute of a span is kept: all that no measure needs is forgotten when it is decoded."""
    return name in ALL or name in asked or name.startswith(PREFIXES)


def is_read_of_event(name: str, asked: frozenset[str] = frozenset()) -> bool:
    """Whether an attribute of an event is kept."""
    return name in OF_EVENTS or is_read(name, asked)

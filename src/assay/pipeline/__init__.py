"""From documents and queries to runs, samples and traces: chunk, index, retrieve, rerank, answer; nothing is scored."""

"""Questions asked of scores: evaluate, check, explain; and the protocols that fix their answers."""

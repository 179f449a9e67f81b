"""After shipping: A/B tests that end in a decision."""

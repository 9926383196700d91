"""The value of a belief: acquisition functions, lookahead, value maps, and bounds on the best policy."""

"""What a belief is worth: acquisition functions, lookahead, value maps, and bounds on the best policy."""

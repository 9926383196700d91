"""What a belief is worth: lookahead, its bounds, and the policies built on it."""

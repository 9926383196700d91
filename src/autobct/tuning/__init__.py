"""What we do: algorithm 4, from a user's search space and price to Train or Stop."""

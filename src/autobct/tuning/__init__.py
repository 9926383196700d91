"""Tuning (algorithm 4): from a search space and a price to decisions, Train or Stop."""

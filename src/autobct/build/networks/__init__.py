"""Network maps: the tuning game, training and judging in torch, on CPU or GPU."""

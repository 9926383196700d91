"""Network maps: simulated tunings, training and evaluation in torch, on CPU or GPU."""

"""The learned surrogate: a small transformer that reads the runs so far and predicts score and cost elsewhere."""

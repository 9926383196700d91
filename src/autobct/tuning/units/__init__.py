"""Score range, price, cost and limits: users' units and those of the model."""

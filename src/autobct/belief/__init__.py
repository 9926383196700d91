"""Models of score and cost: Gaussian posteriors of linear models, and how one run updates them."""

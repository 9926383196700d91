"""The data of the paper's validation section: the originals, or partial copies of them."""

"""The value of every control from what may be seen next: Lambda, on the fly, and the nodes of their expectations."""

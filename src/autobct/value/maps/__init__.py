"""VI/Map at run time: a value map evaluated in NumPy, and the decision with it."""

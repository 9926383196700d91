"""Building value maps: regressions and training, on libraries that a user of a map does not need."""

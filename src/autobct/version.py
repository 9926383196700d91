"""The version, where nothing else is needed to read it."""

__version__ = "0.1.0"

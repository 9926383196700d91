"""The default surrogates: an ensemble of response surfaces, and a small transformer trained on many tasks."""

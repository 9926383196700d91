"""autobct inside other libraries, a few dozen lines each over `Tuner`."""

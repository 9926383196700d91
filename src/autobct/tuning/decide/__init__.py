"""From a belief to Train or Stop: policies, the decision, and why."""

"""The paper's maps: clouds of states, value iteration, and regression forests, on scikit-learn."""

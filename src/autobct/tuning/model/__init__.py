"""The model of a problem, given its runs: prior, posterior, feasibility, estimates, alarm."""

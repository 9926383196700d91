"""What is believed of a problem after its runs: first belief, posterior, feasibility, estimates, alarm."""

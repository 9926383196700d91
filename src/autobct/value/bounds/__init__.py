"""Upper bounds on every policy and lower bounds on one: the certificate."""

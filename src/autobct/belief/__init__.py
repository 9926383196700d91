"""What is believed of score and cost, and how one run changes it."""

"""What happened, to look at: terminal tables and figures from a problem and its history."""

"""What no policy can exceed and what one is worth at least: the certificate."""

"""Reports: HTML page, terminal tables, notebook output and figures of a tuning."""

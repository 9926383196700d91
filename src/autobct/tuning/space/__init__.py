"""Users' parameters and controls in the unit cube; conditions, tables of rows, candidates."""

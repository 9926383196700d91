"""The paper's models, trained for real on its data: what the recorded tables of `autobct.paper` come from."""

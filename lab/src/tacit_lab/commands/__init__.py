"""Commands that `tacit` gains where the lab is installed."""

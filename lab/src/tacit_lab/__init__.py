"""Evaluation of Tacit: the arena of the literature, speed, and the studies behind the docs."""

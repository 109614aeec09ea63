"""Short runnable scripts."""

"""Studies of many optimizations at once."""

"""Files that versions of xstar have written."""

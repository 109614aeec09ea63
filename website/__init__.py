"""What the documentation's site needs beyond its pages: formulas, pictures, and a look at what was built."""

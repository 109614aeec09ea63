"""Samples of the functions behind the measured problems, and the GPs that are fitted to them."""

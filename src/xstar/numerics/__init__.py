"""Numerical ground: arrays of any namespace, safe linear algebra and special functions, ascent, slice sampling."""

"""A study as people see it: pictures, a page, interactive figures, numbers in words."""

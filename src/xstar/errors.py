"""The exceptions of xstar.

Every one is an `XstarError`, and also the built-in that a caller would expect, so that
`except ValueError` keeps working. A message says what is wrong, what was received and what to do.
"""


class XstarError(Exception):
    """Anything that xstar raises on purpose."""


class DataError(XstarError, ValueError):
    """Observations or points of the wrong shape, or with values that are not finite."""


class SettingsError(XstarError, ValueError):
    """A setting (a hyperparameter, a prior, a number of samples) outside its range."""


class NumericalError(XstarError, ArithmeticError):
    """A computation that stayed impossible after every repair that the library knows."""

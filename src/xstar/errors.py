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


class SpaceError(XstarError, ValueError):
    """A search space that makes no sense, or parameters that do not belong to it."""


class TrialError(XstarError, ValueError):
    """A trial that is not there, or not in a state for what was asked."""


class FileError(XstarError, ValueError):
    """A file that cannot be read as what it should be."""


class SpaceExhausted(XstarError, RuntimeError):
    """Every point of a finite space has been evaluated, and evaluating one again would tell nothing new."""


class NumericalError(XstarError, ArithmeticError):
    """A computation that stayed impossible after every repair that the library knows."""


class DegradedWarning(UserWarning):
    """A suggestion was made by a simpler method than asked for, or an answer by a simpler model; it says why."""

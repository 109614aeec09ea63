"""xstar as a search of scikit-learn: `XstarSearchCV` stands where `RandomizedSearchCV` stood.

Needs scikit-learn (`pip install 'xstar[sklearn]'`).
"""

from xstar.errors import SettingsError

try:
    import sklearn  # noqa: F401
except ImportError as error:
    raise SettingsError("XstarSearchCV needs scikit-learn: pip install 'xstar[sklearn]'.") from error

from xstar.integrations.sklearn.search import XstarSearchCV

__all__ = ["XstarSearchCV"]

"""The paper's studies under their public name; they live in :mod:`dominantsets.app.experiments`."""

from dominantsets.app import experiments as _studies
from dominantsets.app.experiments import *  # noqa: F403

__all__ = _studies.__all__
__path__ = _studies.__path__  # so that dominantsets.experiments.newsgroups is found too

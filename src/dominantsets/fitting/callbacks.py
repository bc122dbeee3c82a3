"""scikit-learn's callbacks (version 1.9 and later, experimental there), as one more callback of a run.

A run has one mechanism: a :class:`~dominantsets.Progress` about every 50 ms, and True in reply to stop.
``callback=`` is that, the bar is one around it, and here is a third: the fit is a task, and every cluster
that is found is one below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from dominantsets.solvers import Callback, Progress

_M = TypeVar("_M", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ModuleNotFoundError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: this scikit-learn has no callbacks."""

    def with_callbacks(method: _M) -> _M:
        """The method itself."""
        return method


__all__ = ["Around", "CallbackSupportMixin", "fit_tasks", "with_callbacks"]


Around = Callable[[Callback | None], Callback | None]  # puts what listens around the user's callback


@contextmanager
def fit_tasks(estimator: Any, X: Any, y: Any) -> Iterator[Around]:
    """The tasks of a fit for scikit-learn's callbacks: gives what puts them around the callback of a run.

    What one of them says to the end of a cluster's task is what ``callback`` would: True stops the fit. One
    that wants a fitted estimator gets it at the end of the fit; before, labels are not there.
    """
    if not getattr(estimator, "_skl_callbacks", None):  # nobody listens
        yield lambda callback: callback
        return
    fit = estimator._init_callback_context(max_subtasks=estimator.n_clusters)
    fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    told = 0

    def reached(found: int) -> bool:
        """Tell of clusters that were found; whether a callback wants to stop."""
        nonlocal told
        stop = False
        while told < found and not stop:
            told += 1
            task = fit.subcontext(task_name="cluster")
            task.call_on_fit_task_begin(estimator=estimator)
            stop = task.call_on_fit_task_end(estimator=estimator)
        return stop

    def around(callback: Callback | None) -> Callback:
        def tell(progress: Progress) -> bool | None:
            stop = reached(progress.n_clusters)
            return (callback(progress) if callback is not None else None) or stop

        return tell

    yield around
    reached(estimator.n_clusters_)
    fit.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=dict)

"""Data frames as people have them, with text, categories, dates and gaps, as numbers that can be clustered.

Each column counts alike: it is scaled so that its variance, summed over the columns of numbers it becomes, is
1. Numbers and dates are standardised, after a power transform where they are skewed; categories become one
column per category. Columns that number or name the rows, are constant, or mostly empty are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.stats import skew
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from dominantsets._checks import missing_extra
from dominantsets._typing import Floats

SKEWED = 2.0  # skewness above which numbers are transformed: that of an exponential distribution
LEVELS = 30  # categories of a column; rarer ones are one category
ROW_NAMES = ("", "id", "index", "key", "unnamed: 0")  # names of columns of row numbers, besides "..._id"
SHOWN = 5  # columns that a message names


class Column(NamedTuple):
    """A column of a data frame."""

    name: str
    kind: str  # "numbers", "yes or no", "dates", "text", or what else it is
    values: np.ndarray  # float64 with nan for gaps, or objects with None for gaps

    @property
    def gaps(self) -> np.ndarray:
        """Which values are missing."""
        if self.values.dtype == np.float64:
            return np.asarray(np.isnan(self.values))
        return np.array([value is None for value in self.values], dtype=bool)

    @property
    def is_infinite(self) -> bool:
        """Whether a number is infinite."""
        return self.values.dtype == np.float64 and bool(np.isinf(self.values).any())

    @property
    def reason_to_drop(self) -> str:
        """Why the column says nothing of groups; empty if it may."""
        if self.kind not in ("numbers", "yes or no", "dates", "text"):
            return f"it holds {self.kind}"
        there = self.values[~self.gaps]
        if 2 * there.size < self.values.size:
            return f"{1.0 - there.size / self.values.size:.0%} of its values are missing"
        distinct = len(set(there.tolist()))
        if distinct == 1:
            return "it has the same value in every row"
        if self.kind == "text" and distinct > max(2, there.size / 2):
            return f"it is text or names the rows ({distinct:,} different values in {there.size:,} rows)"
        if self.kind == "numbers" and _numbers_rows(self.name, there):
            return "it numbers the rows"
        return ""


class TablePreparer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make numbers of a data frame with numbers, text, categories, dates, yes-or-no columns and gaps.

    A transformer of scikit-learn: use it alone or in a pipeline before :class:`DominantSets`. Every column
    that is kept has a variance of 1, summed over the columns of numbers that it becomes. Frames of pandas,
    polars and Arrow are read by narwhals (``pip install "dominantsets[tables]"``).

    Attributes
    ----------
    report_ : list of str
        What was done with each column, and why.
    feature_names_in_ : ndarray of str
        The columns of the frame.
    n_features_in_ : int
        Number of these columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from dominantsets import TablePreparer
    >>> frame = pd.DataFrame({
    ...     "id": [1, 2, 3, 4, 5, 6],
    ...     "age": [21, 34, None, 68, 71, 80],
    ...     "plan": ["free", "free", "paid", "paid", "paid", "free"],
    ... })
    >>> preparer = TablePreparer()
    >>> preparer.fit_transform(frame).shape
    (6, 3)
    >>> print(*preparer.report_, sep="\\n")
    id: left out, it numbers the rows.
    age: numbers, standardised; 1 of 6 missing values set to the median.
    plan: 2 categories, one column each (free, paid).
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what to do with each column.

        Parameters
        ----------
        X : data frame
            Of pandas, polars or Arrow; a row is an object.
        y : None
            Not used.

        Returns
        -------
        TablePreparer
            The preparer itself.
        """
        columns = list(columns_of(X))
        self.report_: list[str] = []
        self._makers: dict[str, _Maker] = {}
        endless = [column.name for column in columns if column.is_infinite]
        if endless:
            raise ValueError(
                f"{_listed(endless)} has infinite values: replace them, or make them gaps (nan)."
            )
        for column in columns:
            reason = column.reason_to_drop
            if reason:
                self.report_.append(f"{column.name}: left out, {reason}.")
            else:
                maker = self._makers[column.name] = _Maker(column)
                self.report_.append(f"{column.name}: {maker.said}.")
        if not self._makers:
            raise ValueError(f"no column is left for features: {' '.join(self.report_)}")
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        self.n_features_in_ = len(columns)
        return self

    def transform(self, X: Any) -> Floats:
        """The numbers of a frame with the same columns.

        Parameters
        ----------
        X : data frame
            With the columns of ``fit``, in any order.

        Returns
        -------
        ndarray of shape (n, n_features_out)
            The numbers.
        """
        check_is_fitted(self)
        found = {column.name: column for column in columns_of(X)}
        missing = [name for name in self._makers if name not in found]
        if missing:
            raise ValueError(f"the frame lacks {_listed(missing)}, which fit has seen.")
        return np.hstack([maker(found[name]) for name, maker in self._makers.items()])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of numbers.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        ndarray of str
            The names: that of the column, and of the category behind "=".
        """
        check_is_fitted(self)
        return np.array([name for maker in self._makers.values() for name in maker.names], dtype=object)


class _Maker:
    """What makes numbers of one column."""

    def __init__(self, column: Column) -> None:
        self._is_text = column.kind == "text"
        gaps = int(column.gaps.sum())
        missing = f"{gaps:,} of {column.values.size:,} missing values"
        if self._is_text:
            self._steps = OneHotEncoder(max_categories=LEVELS, handle_unknown="ignore", sparse_output=False)
            made = self._steps.fit_transform(self._column(column))
            self._usual = made.mean(axis=0)  # of a category that fit has not seen
            levels = [str(name).removeprefix("x0_") for name in self._steps.get_feature_names_out()]
            self._scale = 1.0 / np.sqrt(made.var(axis=0).sum())
            self.names = [f"{column.name}={level}" for level in levels]
            self.said = f"{len(levels)} categories, one column each ({_listed(levels)})"
            self.said += f"; {missing} are a category" if gaps else ""
            return
        there = column.values[~column.gaps]
        is_skewed = column.kind == "numbers" and abs(skew(there)) > SKEWED and np.unique(there).size > 2
        last = PowerTransformer() if is_skewed else StandardScaler()
        self._steps = make_pipeline(SimpleImputer(strategy="median"), last).fit(self._column(column))
        self._scale, self.names = 1.0, [column.name]
        self.said = f"{column.kind}, " + ("made symmetric (Yeo-Johnson)" if is_skewed else "standardised")
        self.said += f"; {missing} set to the median" if gaps else ""

    def __call__(self, column: Column) -> Floats:
        """The numbers of new values."""
        made = np.asarray(self._steps.transform(self._column(column)), dtype=np.float64)
        if self._is_text:
            made[~made.any(axis=1)] = self._usual
        made *= self._scale
        return made

    def _column(self, column: Column) -> np.ndarray:
        if (column.kind == "text") != self._is_text:
            wanted = "text" if self._is_text else "numbers or dates"
            raise ValueError(f"column {column.name!r} holds {column.kind}, and held {wanted} in fit.")
        values = column.values
        if self._is_text:
            values = np.array(["(missing)" if value is None else value for value in values], dtype=object)
        return np.asarray(values)[:, None]


def columns_of(frame: Any) -> Iterator[Column]:
    """The columns of a frame of pandas, polars or Arrow."""
    try:
        import narwhals.stable.v1 as nw
    except ModuleNotFoundError as error:
        raise missing_extra("data frames need", "tables", "narwhals") from error
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise ValueError(f"a data frame is needed, got a {type(frame).__name__}.") from error
    except ValueError as error:
        raise ValueError(f"the columns of the data frame need names of their own: {error}") from error
    for series in (table[:, k] for k in range(table.shape[1])):
        name, kind = str(series.name), series.dtype
        if kind == nw.Boolean:
            yield Column(name, "yes or no", _floats(series))
        elif kind.is_numeric():
            yield Column(name, "numbers", _floats(series))
        elif kind in (nw.Date, nw.Datetime):
            yield Column(name, "dates", _dates(series))
        elif kind in (nw.String, nw.Categorical, nw.Enum, nw.Object):
            yield _text(name, series)
        else:
            yield Column(name, f"values of type {kind}", np.array([None] * len(series), dtype=object))


def refusal(frame: Any, error: Exception) -> ValueError:
    """Why a frame cannot be clustered as it is, naming its columns, and what to do."""
    try:
        columns = list(columns_of(frame))
    except ModuleNotFoundError:
        return ValueError(f"the data frame cannot be clustered as it is: {error}")
    said = []
    for kind in dict.fromkeys(column.kind for column in columns):
        names = [column.name for column in columns if column.kind == kind]
        if kind not in ("numbers", "yes or no"):
            said.append(f"{_listed(names)} {'holds' if len(names) == 1 else 'hold'} {kind}")
        else:
            gaps = [column for column in columns if column.kind == kind and column.gaps.any()]
            said += [
                f"{c.name} has no value in {c.gaps.sum():,} of {c.gaps.size:,} rows" for c in gaps[:SHOWN]
            ]
    endless = [column.name for column in columns if column.is_infinite]
    said += [f"{_listed(endless)} has infinite values"] if endless else []
    if not said:
        return ValueError(str(error))
    return ValueError(
        f"the data frame cannot be clustered as it is: {'; '.join(said)}. Drop these columns or rows, or "
        "make numbers of them: TablePreparer().fit_transform(X)."
    )


def row_numbers(frame: Any) -> list[str]:
    """The columns of a frame of numbers that are called as row numbers are, and number the rows."""
    names = [name for name in map(str, frame.columns) if _is_row_name(name)]
    return [name for name in names if name in frame.columns and _numbers_rows(name, np.asarray(frame[name]))]


def is_frame(X: Any) -> bool:
    """Whether X is a data frame."""
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "schema"))


def _numbers_rows(name: str, values: np.ndarray) -> bool:
    """Whether values number the rows: all differ, and they count up by one or the name says so."""
    if len(values) < 3 or not (values == np.round(values)).all() or np.unique(values).size < values.size:
        return False
    return _is_row_name(name) or bool((np.diff(values) == 1.0).all())


def _is_row_name(name: str) -> bool:
    low = name.strip().lower()
    return low in ROW_NAMES or low.endswith(("_id", " id"))


def _floats(series: Any) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in series.to_list()])


def _dates(series: Any) -> Floats:
    """Days since 1970."""
    first = np.datetime64("1970-01-01", "us")
    values = [None if value is None or value != value else value for value in series.to_list()]
    days = [
        np.nan if v is None else float((np.datetime64(_naive(v), "us") - first) / np.timedelta64(1, "D"))
        for v in values
    ]
    return np.array(days)


def _naive(value: Any) -> Any:
    """A date without its time zone, in UTC."""
    if getattr(value, "tzinfo", None) is not None:
        import datetime

        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


def _text(name: str, series: Any) -> Column:
    """A column of text; objects that are all numbers or yes or no are those."""
    values = [None if value is None or value != value else value for value in series.to_list()]
    there = [value for value in values if value is not None]
    if there and all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in there):
        kind = "yes or no" if all(isinstance(value, (bool, np.bool_)) for value in there) else "numbers"
        return Column(name, kind, np.array([np.nan if v is None else float(v) for v in values]))
    return Column(name, "text", np.array([None if v is None else str(v) for v in values], dtype=object))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more

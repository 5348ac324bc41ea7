"""Representations that E2B's clients know beside those of a notebook: the data of a table, that of a chart, and JSON."""

import json

from .channel import plain
from .startup import import_shell

import_shell()

from IPython.core.formatters import BaseFormatter, JSONFormatter  # noqa: E402
from traitlets import ObjectName, Unicode  # noqa: E402

TABLE_ROWS = 100_000


class DataFormatter(BaseFormatter):
    """A pandas DataFrame as lists by column."""

    format_type = Unicode("e2b/data")
    print_method = ObjectName("_repr_e2b_data_")
    _return_type = (dict, str)


class ChartFormatter(BaseFormatter):
    """What a matplotlib figure shows."""

    format_type = Unicode("e2b/chart")
    print_method = ObjectName("_repr_e2b_chart_")
    _return_type = (dict, str)

    def pop(self, typ, default=None):
        """Keeps what it has: IPython makes all formatters forget figures when it chooses one for their picture."""
        return default


class ListFormatter(JSONFormatter):
    """Lists and dictionaries are their own JSON when they have one."""

    def __call__(self, obj):
        if type(obj) in (list, dict):
            try:
                return json.loads(json.dumps(obj, allow_nan=False, default=_scalar))
            except (TypeError, ValueError, RecursionError):
                return None
        return super().__call__(obj)


def install_formatters(shell):
    """Adds them to the shell. Nothing is imported: the formatters wait for objects of these types by name."""
    display = shell.display_formatter
    data = DataFormatter(parent=display)
    data.for_type_by_name("pandas.core.frame", "DataFrame", _table)
    chart = ChartFormatter(parent=display)
    chart.for_type_by_name("matplotlib.figure", "Figure", _chart)
    display.formatters["e2b/data"] = data
    display.formatters["e2b/chart"] = chart
    display.formatters["application/json"] = ListFormatter(parent=display)


def _table(frame):
    """The first rows of a longer table."""
    return plain({str(name): list(column) for name, column in frame.head(TABLE_ROWS).to_dict(orient="list").items()})


def _chart(figure):
    from .charts import chart_of_figure

    try:
        return plain(chart_of_figure(figure))
    except Exception:  # noqa: BLE001 - the picture is there all the same.
        return None


def _scalar(value):
    """Numbers of numpy; anything else has no JSON."""
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(type(value))

"""Titles, labels, units, ticks and scales of a pair of axes."""

import re

import matplotlib.dates

_UNIT = re.compile(r"\s\((.*?)\)|\[(.*?)\]")


def title_of(axes):
    return axes.get_title() or None


def labels_of(axes, swapped=False):
    """Labels and their units, such as the `s` of `Time (s)`; swapped where the chart lies on its side."""
    x, y = axes.get_xlabel() or None, axes.get_ylabel() or None
    if swapped:
        x, y = y, x
    return {"x_label": x, "y_label": y, "x_unit": _unit_of(x), "y_unit": _unit_of(y)}


def scale_of(name, axis):
    """Ticks, their labels and the kind of scale of the axis called `name` (x or y)."""
    ticks = list(axis.get_ticklocs())
    labels = [label.get_text() for label in axis.get_ticklabels()]
    if is_of_dates(axis):
        return {
            f"{name}_ticks": [date_of(tick) for tick in ticks],
            f"{name}_tick_labels": labels,
            f"{name}_scale": "datetime",
        }
    ticks = [float(tick) for tick in ticks]
    return {f"{name}_ticks": ticks, f"{name}_tick_labels": labels, f"{name}_scale": _scale(axis, ticks, labels)}


def is_of_dates(axis):
    return "Date" in _converter_name(axis)


def date_of(number):
    return matplotlib.dates.num2date(number).isoformat()


def is_guide(line):
    """A line straight across or up, drawn to guide the eye."""
    x, y = line.get_xdata(), line.get_ydata()
    return len(x) == 2 and len(y) == 2 and (x[0] == x[1] or y[0] == y[1])


def _scale(axis, ticks, labels):
    scale = axis.get_scale()
    if scale != "linear":
        return scale
    if _converter_name(axis) == "StrCategoryConverter":
        return "categorical"
    named = [tick == index and label != str(index) for index, (tick, label) in enumerate(zip(ticks, labels))]
    return "categorical" if named and all(named) else "linear"


def _converter_name(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    return type(converter).__name__


def _unit_of(label):
    found = _UNIT.search(label) if label else None
    return (found.group(1) or found.group(2)) if found else None

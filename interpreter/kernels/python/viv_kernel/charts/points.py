"""Charts of points: lines and scatter plots."""

from datetime import date

import numpy

from .axes import date_of, is_guide, is_of_dates, labels_of, scale_of, title_of

# A chart with more points than this is not told: the picture shows as much.
POINTS = 200_000


def line_chart(axes):
    lines = axes.get_lines()
    if len(lines) > 1:
        lines = [line for line in lines if not is_guide(line)] or lines
    elements = [_element(_name(line, "Line"), line.get_xdata(), line.get_ydata()) for line in lines]
    return _point_chart("line", axes, elements)


def scatter_chart(axes):
    elements = []
    for group in axes.collections:
        offsets = numpy.ma.filled(numpy.ma.asarray(group.get_offsets(), dtype=float), numpy.nan)
        x = [date_of(value) for value in offsets[:, 0]] if is_of_dates(axes.xaxis) else offsets[:, 0]
        y = [date_of(value) for value in offsets[:, 1]] if is_of_dates(axes.yaxis) else offsets[:, 1]
        elements.append(_element(_name(group, "Group"), x, y))
    return _point_chart("scatter", axes, elements)


def _point_chart(kind, axes, elements):
    if sum(len(element["points"]) for element in elements) > POINTS:
        raise ValueError("too many points")
    return {
        "type": kind,
        "title": title_of(axes),
        **labels_of(axes),
        **scale_of("x", axes.xaxis),
        **scale_of("y", axes.yaxis),
        "elements": elements,
    }


def _element(label, xs, ys):
    return {"label": label, "points": [[_coordinate(x), _coordinate(y)] for x, y in zip(xs, ys)]}


def _coordinate(value):
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, numpy.datetime64):
        return str(value.astype("datetime64[s]"))
    return value


def _name(artist, kind):
    """The label that was given, or a number where matplotlib made one up (`_child0`)."""
    label = str(artist.get_label())
    return f"{kind} {label[6:]}" if label.startswith("_child") else label

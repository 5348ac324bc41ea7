"""From a figure to its charts: one for each pair of axes."""

from matplotlib.collections import PathCollection
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Rectangle, Wedge
from matplotlib.text import Text

from .axes import is_guide, title_of
from .bars import bar_chart
from .boxes import box_chart
from .pie import pie_chart
from .points import line_chart, scatter_chart


def chart_of_figure(figure):
    """The chart of a figure with one pair of axes, a `superchart` of several, None where nothing was drawn."""
    every = figure.get_axes()
    if not every:
        return None
    if len(every) == 1:
        return chart_of_axes(every[0]) if every[0]._children else None
    title = figure._suptitle.get_text() if figure._suptitle is not None else ""
    return {"type": "superchart", "title": title or None, "elements": [chart_of_axes(axes) for axes in every]}


def chart_of_axes(axes):
    """The kind of chart is told by what was drawn; a mixture is `unknown`, with a title and no elements."""
    drawn = [artist for artist in axes.get_children() if artist in axes._children and not isinstance(artist, Text)]
    make = _maker(drawn)
    return make(axes) if make is not None else {"type": "unknown", "title": title_of(axes), "elements": []}


def _maker(drawn):
    if _all(drawn, Line2D):
        return line_chart
    if _all(drawn, (PathPatch, Line2D)):
        return box_chart
    marks = [artist for artist in drawn if not (isinstance(artist, Line2D) and is_guide(artist))]
    if _all(marks, PathCollection):
        return scatter_chart
    if _all(marks, Wedge):
        return pie_chart
    if _all(marks, Rectangle):
        return bar_chart
    return None


def _all(artists, kinds):
    return len(artists) > 0 and all(isinstance(artist, kinds) for artist in artists)

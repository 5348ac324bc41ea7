"""Pie charts."""

from matplotlib.patches import Wedge

from .axes import title_of


def pie_chart(axes):
    """One element for each wedge; angles in degrees."""
    elements = [
        {"label": wedge.get_label(), "angle": abs(round(float(wedge.theta2 - wedge.theta1), 4)), "radius": float(wedge.r)}
        for wedge in axes.patches
        if isinstance(wedge, Wedge)
    ]
    return {"type": "pie", "title": title_of(axes), "elements": elements}

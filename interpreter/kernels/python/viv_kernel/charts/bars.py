"""Bar charts."""

from .axes import labels_of, title_of


def bar_chart(axes):
    """One element for each bar. Where bars lie, the labels of the axes change places: x is what is compared."""
    groups = [group for group in axes.containers if hasattr(group, "orientation")]
    lying = any(group.orientation == "horizontal" for group in groups)
    axis = axes.yaxis if lying else axes.xaxis
    ticks = list(zip(axis.get_ticklocs(), [label.get_text() for label in axis.get_ticklabels()]))
    elements = [
        {"label": _label_of(bar, lying, ticks), "group": _group_name(group), "value": float(bar.get_width() if lying else bar.get_height())}
        for group in groups
        for bar in group
    ]
    return {"type": "bar", "title": title_of(axes), **labels_of(axes, swapped=lying), "elements": elements}


def _label_of(bar, lying, ticks):
    """The text of the nearest tick under the bar, or the bar's place when it has none."""
    start, extent = (bar.get_y(), bar.get_height()) if lying else (bar.get_x(), bar.get_width())
    middle = start + extent / 2
    near = min(ticks, key=lambda tick: abs(tick[0] - middle), default=None)
    if near is not None and near[1] and abs(near[0] - middle) <= max(abs(extent), 0.5):
        return near[1]
    return f"{middle:g}"


def _group_name(group):
    label = str(group.get_label())
    return f"Group {label[10:]}" if label.startswith("_container") else label

"""Box plots. Only filled boxes can be told (`patch_artist=True`): others are lines like any line."""

import math

from .axes import labels_of, title_of


class _Box:
    """A box that stands: `low` to `high` across, its quartiles along."""

    def __init__(self, label, across, along):
        self.label = label
        self.low, self.high = min(across), max(across)
        self.first, self.third = min(along), max(along)
        self.minimum, self.maximum = self.first, self.third
        self.median = None
        self.outliers = []

    def take(self, across, along):
        """Takes a line that belongs to it and says whether it does."""
        if len(across) == 0:
            return False
        if not all(self.low - 1e-9 <= place <= self.high + 1e-9 for place in across):
            return False
        if len(set(across)) == 1 and len(along) == 2 and along[0] != along[1]:
            self.minimum, self.maximum = min(self.minimum, *along), max(self.maximum, *along)
        elif len(along) == 2 and along[0] == along[1] and math.isclose(max(across) - min(across), self.high - self.low):
            self.median = along[0]
        elif len(set(across)) == 1 and len(along) != 2:
            self.outliers.extend(along)
        return True

    def element(self):
        return {
            "label": self.label,
            "min": self.minimum,
            "first_quartile": self.first,
            "median": self.median,
            "third_quartile": self.third,
            "max": self.maximum,
            "outliers": sorted(self.outliers),
        }


def box_chart(axes):
    """One element for each box. Where boxes lie, the labels of the axes change places: x is what is compared."""
    lying = _lie(axes)
    axis = axes.yaxis if lying else axes.xaxis
    labels = [label.get_text() for label in axis.get_ticklabels()]
    boxes = []
    for index, patch in enumerate(axes.patches):
        x, y = _columns(patch.get_path().vertices)
        label = labels[index] if index < len(labels) else str(index + 1)
        boxes.append(_Box(label, y, x) if lying else _Box(label, x, y))
    for line in axes.lines:
        x, y = [_number(value) for value in line.get_xdata()], [_number(value) for value in line.get_ydata()]
        across, along = (y, x) if lying else (x, y)
        any(box.take(across, along) for box in boxes)
    elements = [box.element() for box in boxes]
    return {"type": "box_and_whisker", "title": title_of(axes), **labels_of(axes, swapped=lying), "elements": elements}


def _lie(axes):
    """Boxes lie when they are all equally thick along y and not along x."""
    sizes = [[max(column) - min(column) for column in _columns(patch.get_path().vertices)] for patch in axes.patches]
    same_height = all(math.isclose(size[1], sizes[0][1]) for size in sizes)
    same_width = all(math.isclose(size[0], sizes[0][0]) for size in sizes)
    if same_width and same_height:
        return not any(math.isclose(size[0], 0.5) or size[0] < 0.5 for size in sizes)
    return same_height


def _columns(vertices):
    return [_number(x) for x in vertices[:, 0]], [_number(y) for y in vertices[:, 1]]


def _number(value):
    """Without the last digits, in which equal places differ."""
    return float(f"{float(value):.12g}")

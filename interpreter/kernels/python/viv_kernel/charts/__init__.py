"""What a matplotlib figure shows, as data. The form is that of E2B's clients (`Chart` and its kinds)."""

from .figure import chart_of_figure

__all__ = ["chart_of_figure"]

"""Changes to modules that take place when, and only if, code imports them."""

import importlib.machinery
import sys


def install():
    """From now on Pillow's `show` and `save` also display the image: nobody sees a window in a sandbox."""
    sys.meta_path.insert(0, _After({"PIL.Image": _display_saved, "PIL.ImageShow": _display_shown}))


class _After:
    """Finds modules as usual and calls a function with each that has one, once it is loaded."""

    def __init__(self, functions):
        self._functions = functions

    def find_spec(self, name, path=None, target=None):
        function = self._functions.pop(name, None)
        if function is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            function(module)

        spec.loader.exec_module = exec_module
        return spec


def _display_saved(module):
    save = module.Image.save

    def save_and_display(image, fp, format=None, **params):
        save(image, fp, format, **params)
        if isinstance(fp, str):
            _display(image)

    module.Image.save = save_and_display


def _display_shown(module):
    def show(image, title=None, **_options):
        _display(image)
        return True

    module.show = show


def _display(image):
    from IPython.display import display

    display(image)

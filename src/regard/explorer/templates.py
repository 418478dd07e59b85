r"""The page's own HTML: files with \( … \) and \[ … \] around formulas and {{…}} where something is put in."""

import html
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from regard.render.formulas import equation
from regard.render.mathml import typeset

_INLINE = re.compile(r"\\\((.+?)\\\)", re.DOTALL)
_DISPLAY = re.compile(r"\\\[(.+?)\\\]", re.DOTALL)
_SLOT = re.compile(r"\{\{([\w/.]+)\}\}")


@cache
def page_file(name: str) -> str:
    """The text of a file of the page."""
    return resources.files("regard.explorer").joinpath("page", name).read_text(encoding="utf-8")


def with_formulas(text: str) -> str:
    r"""The text with its formulas typeset.

    >>> with_formulas(r"scale \(\beta\)")
    'scale <math><mi>β</mi></math>'
    """
    displayed = _DISPLAY.sub(lambda found: equation(html.unescape(found[1]).strip()), text)
    return _INLINE.sub(lambda found: typeset(html.unescape(found[1]), is_display=False), displayed)


def fill(text: str, parts: Mapping[str, str]) -> str:
    """The text with each {{name}} replaced once; what is put in is not searched again.

    >>> fill("<b>{{name}}</b>", {"name": "{{name}}"})
    '<b>{{name}}</b>'
    """
    return _SLOT.sub(lambda slot: parts[slot[1]], text)

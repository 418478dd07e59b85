r"""The page's own files: ES modules bundled into one script, and HTML with formulas and slots.

The bundler understands only what our own modules use: `import { a, b as c } from "./x.js";`, `import * as x from
"./x.js";` and `export` before a function, a class or a constant, each at the start of a line.
"""

import html
import posixpath
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources

from regard.render.formulas import equation
from regard.render.mathml import typeset

_IMPORT = re.compile(r'^import (?:\* as (?P<all>\w+)|\{(?P<some>[^{}]*)\}) from "(?P<path>\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (?P<name>\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$|\bimport\s*\(", re.MULTILINE)
_INLINE = re.compile(r"\\\((.+?)\\\)", re.DOTALL)
_DISPLAY = re.compile(r"\\\[(.+?)\\\]", re.DOTALL)
_SLOT = re.compile(r"\{\{([\w/.]+)\}\}")


@cache
def page_file(name: str) -> str:
    """The text of a file of the page."""
    return resources.files("regard.explorer").joinpath("page", name).read_text(encoding="utf-8")


def with_formulas(text: str) -> str:
    r"""The text with the formulas in \( … \) and \[ … \] typeset.

    >>> with_formulas(r"scale \(\beta\)")
    'scale <math><mi>β</mi></math>'
    """
    displayed = _DISPLAY.sub(lambda found: equation(html.unescape(found[1]).strip()), text)
    return _INLINE.sub(lambda found: typeset(html.unescape(found[1]), is_display=False), displayed)


def fill(text: str, parts: Mapping[str, str]) -> str:
    """The text with each {{name}} replaced once; the replacements are not searched again.

    >>> fill("<b>{{name}}</b>", {"name": "{{name}}"})
    '<b>{{name}}</b>'
    """
    return _SLOT.sub(lambda slot: parts[slot[1]], text)


class UnknownSyntaxError(ValueError):
    """A module imports or exports in a way that the bundler does not understand."""


def bundle(entry: str, read: Callable[[str], str]) -> str:
    """One script that does what the entry module does, since a page opened from a file cannot load modules.

    `read` returns the text of a module, given its path.

    >>> files = {"main.js": 'import { two } from "./n.js";\\nwindow.x = two;\\n', "n.js": "export const two = 2;\\n"}
    >>> print(bundle("main.js", files.__getitem__))
    const module_0 = (() => {
    const two = 2;
    return { two };
    })();
    const module_1 = (() => {
    const { two } = module_0;
    window.x = two;
    return {  };
    })();
    """
    pieces: list[str] = []
    names: dict[str, str] = {}

    def add(path: str, importers: tuple[str, ...]) -> str:
        """The name of the module at that path, which is added, after everything it imports, if it is new."""
        if path in importers:
            raise UnknownSyntaxError(f"{' → '.join((*importers, path))}: modules import each other in a cycle.")
        if path not in names:
            body = _IMPORT.sub(lambda found: imported(found, path, (*importers, path)), read(path))
            exports = [found["name"] for found in _EXPORT.finditer(body)]
            body = _EXPORT.sub("", body)
            left = _LEFT.search(body)
            if left:
                raise UnknownSyntaxError(f"{path}: the bundler does not understand `{left[0]}`.")
            names[path] = f"module_{len(names)}"
            pieces.append(
                f"const {names[path]} = (() => {{\n{body.strip()}\nreturn {{ {', '.join(exports)} }};\n}})();"
            )
        return names[path]

    def imported(found: re.Match[str], path: str, importers: tuple[str, ...]) -> str:
        name = add(posixpath.normpath(posixpath.join(posixpath.dirname(path), found["path"])), importers)
        if found["all"]:
            return f"const {found['all']} = {name};\n"
        parts = ", ".join(part.strip().replace(" as ", ": ") for part in found["some"].split(",") if part.strip())
        return f"const {{ {parts} }} = {name};\n"

    add(entry, ())
    return "\n".join(pieces)

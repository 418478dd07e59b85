"""ES modules joined into one script, so that a page opened from a file loads nothing.

Only what our own modules use is understood: `import { a, b as c } from "./x.js";`, `import * as x from "./x.js";` and
`export` before a function, a class or a constant, each at the start of a line.
"""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field

_IMPORT = re.compile(r'^import (?:\* as (?P<all>\w+)|\{(?P<some>[^{}]*)\}) from "(?P<path>\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const) (?P<name>\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*$|\bimport\s*\(", re.MULTILINE)


class UnknownSyntaxError(ValueError):
    """A module imports or exports in a way that the joiner does not know."""


def join_modules(entry: str, read: Callable[[str], str]) -> str:
    """One script that does what the entry module does; `read` gives the text of a module by its path.

    >>> files = {"main.js": 'import { two } from "./n.js";\\nwindow.x = two;\\n', "n.js": "export const two = 2;\\n"}
    >>> print(join_modules("main.js", files.__getitem__))
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
    join = _Join(read=read)
    join.add(entry, ())
    return "\n".join(join.pieces)


@dataclass(kw_only=True)
class _Join:
    """The modules joined so far, each after all that it imports."""

    read: Callable[[str], str]
    pieces: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, importers: tuple[str, ...]) -> str:
        """The name of the module at that path, which is joined if it was not yet."""
        if path in importers:
            raise UnknownSyntaxError(f"{' → '.join((*importers, path))}: modules import each other in a circle.")
        if path not in self.names:
            body = _IMPORT.sub(lambda found: self._taken(found, path, (*importers, path)), self.read(path))
            exports = [found["name"] for found in _EXPORT.finditer(body)]
            body = _EXPORT.sub("", body)
            left = _LEFT.search(body)
            if left:
                raise UnknownSyntaxError(f"{path}: `{left[0]}` is no import or export that can be joined.")
            self.names[path] = f"module_{len(self.names)}"
            self.pieces.append(
                f"const {self.names[path]} = (() => {{\n{body.strip()}\nreturn {{ {', '.join(exports)} }};\n}})();"
            )
        return self.names[path]

    def _taken(self, found: re.Match[str], path: str, importers: tuple[str, ...]) -> str:
        name = self.add(posixpath.normpath(posixpath.join(posixpath.dirname(path), found["path"])), importers)
        if found["all"]:
            return f"const {found['all']} = {name};\n"
        names = ", ".join(part.strip().replace(" as ", ": ") for part in found["some"].split(",") if part.strip())
        return f"const {{ {names} }} = {name};\n"

"""The `%%regard` cell magic: `%load_ext regard`, then write a derivation in Markdown under `%%regard`."""

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from regard.core.errors import InputError
from regard.derivations.results import DocumentReport
from regard.derivations.verify import verify


@magics_class
class RegardMagics(Magics):
    """What `%load_ext regard` adds to a notebook."""

    @magic_arguments()
    @argument("--problem", help="The problem that is answered: a shipped one or a TOML file.")
    @argument("--strict", action="store_true", help="Refute an = that holds only in the limit.")
    @argument("--seed", type=int, default=0, help="Seed for all random draws.")
    @cell_magic
    def regard(self, line: str, cell: str) -> DocumentReport:
        """Judge the steps of the derivation in this cell, written in Markdown."""
        options = parse_argstring(self.regard, line)
        try:
            return verify(f"{cell}\n", options.problem, is_strict=options.strict, seed=options.seed)
        except InputError as error:
            raise UsageError(str(error)) from None


def register(ipython: Any) -> None:
    """Adds the magic to a running IPython."""
    ipython.register_magics(RegardMagics)

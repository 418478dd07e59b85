"""Parts of Regard as a file of their own: what a failure needs to be shown where Regard is not installed.

`tracing` finds out which functions run, `sources` reads where they are written, `bundle` puts them into one file, and
`merging` makes one file of several.
"""

from regard.conformance.standalone.bundle import Bundle
from regard.conformance.standalone.merging import merged
from regard.conformance.standalone.tracing import Traced, traced

__all__ = ["Bundle", "Traced", "merged", "traced"]

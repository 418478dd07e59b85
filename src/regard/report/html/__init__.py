"""Reports as single HTML files that load nothing: `shell` is the page they share, `document` a judged document."""

from regard.report.html.document import render_document
from regard.report.html.shell import Page, render_page

__all__ = ["Page", "render_document", "render_page"]

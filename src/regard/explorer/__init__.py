"""The page where attention can be touched: one self-contained HTML file."""

from regard.explorer.page_file import ExplorerPage, build_page

__all__ = ["ExplorerPage", "build_page"]

"""The interactive page: one self-contained HTML file."""

from regard.explorer.page_builder import ExplorerPage, build_page, explore

__all__ = ["ExplorerPage", "build_page", "explore"]

"""What MkDocs does beyond its own: pages written from the code, and files of the repository that pages link to."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from reference import write_pages

ROOT = Path(__file__).parents[1]
# Files outside docs/ that the site has too, and their names there.
_COPIES = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "src/regard/render/regard-1.schema.json": "regard-1.schema.json",
}


def on_config(config: MkDocsConfig) -> None:
    """Puts pages that mkdocs.yml does not name at the end of a section, so that each can be found."""
    sections: dict[str, list[Any]] = {name: pages for section in config.nav or [] for name, pages in section.items()}
    named = set(re.findall(r"[\w-]+\.md", str(config.nav)))
    for path in sorted(Path(config.docs_dir).glob("*.md")):
        if path.name not in named:
            sections["Development" if path.name.startswith("figures-") else "How-to"].append(path.name)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages of the reference, and the copies."""
    for name, text in write_pages().items():
        files.append(File.generated(config, name, content=text))
    for source, name in _COPIES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links to files outside docs/ to their copies, and those of the copies to the pages."""
    del page, config, files
    for source, name in _COPIES.items():
        markdown = markdown.replace(f"](../{source}", f"]({name}").replace(f"]({source}", f"]({name}")
    return markdown.replace("](docs/", "](")

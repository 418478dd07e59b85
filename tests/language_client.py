"""An editor for tests: a language client that talks to a real `regard lsp` over standard input and output."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

import regard

SECONDS = 120.0  # the machine may be busy


class Editor(BaseLanguageClient):
    """Open documents, the diagnostics that were published last, and the messages that were shown."""

    def __init__(self) -> None:
        super().__init__("test editor", "1")
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self._news = asyncio.Event()
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(self._take_diagnostics())
        self.feature(types.WINDOW_SHOW_MESSAGE)(self._take_message())

    def _take_diagnostics(self):
        def take(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params
            self._news.set()

        return take

    def _take_message(self):
        def take(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

        return take

    @property
    def pid(self) -> int:
        return self._server.pid

    def open(self, uri: str, text: str, language: str = "markdown") -> None:
        item = types.TextDocumentItem(uri=uri, language_id=language, version=1, text=text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))

    def change(self, uri: str, version: int, text: str) -> None:
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        whole = types.TextDocumentContentChangeWholeDocument(text=text)
        params = types.DidChangeTextDocumentParams(text_document=document, content_changes=[whole])
        self.text_document_did_change(params)

    async def until(self, is_there) -> None:
        """Waits until something that was published or shown makes a condition true."""

        async def wait() -> None:
            while not is_there():
                self._news.clear()
                await self._news.wait()

        await asyncio.wait_for(wait(), SECONDS)

    async def diagnostics(self, uri: str, version: int = 1) -> list[types.Diagnostic]:
        """The diagnostics of a version, once they are published."""
        await self.until(lambda: uri in self.published and self.published[uri].version == version)
        return list(self.published[uri].diagnostics)

    async def hover(self, uri: str, line: int, character: int) -> str | None:
        document = types.TextDocumentIdentifier(uri=uri)
        position = types.Position(line=line, character=character)
        found = await self.text_document_hover_async(types.HoverParams(text_document=document, position=position))
        return None if found is None else found.contents.value

    async def actions(self, uri: str, where: types.Range) -> list[types.CodeAction | types.Command]:
        context = types.CodeActionContext(diagnostics=[])
        document = types.TextDocumentIdentifier(uri=uri)
        params = types.CodeActionParams(text_document=document, range=where, context=context)
        return list(await self.text_document_code_action_async(params) or ())

    async def leave(self) -> int:
        """Shuts the server down as an editor does, and returns its exit code."""
        await asyncio.wait_for(self.shutdown_async(None), SECONDS)
        self.exit(None)
        return await asyncio.wait_for(self._server.wait(), SECONDS)


@asynccontextmanager
async def running_editor(folder: Path) -> AsyncIterator[Editor]:
    """An editor whose server has started in a folder."""
    editor = Editor()
    source = str(Path(regard.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    await editor.start_io(sys.executable, "-m", "regard", "lsp", "--stdio", cwd=folder, env=environment)
    await asyncio.wait_for(
        editor.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities())), SECONDS
    )
    editor.initialized(types.InitializedParams())
    try:
        yield editor
    finally:
        if editor._server.returncode is None:
            await editor.leave()
        await editor.stop()

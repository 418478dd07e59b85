"""The language server: it keeps the text of open documents, has them judged after a pause, and shows the verdicts."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from regard import __version__
from regard.core.processes import Message
from regard.derivations.reading.files import KINDS, MAX_BYTES
from regard.editor.feedback import SHOW_CLAIM, Feedback, ShownStep
from regard.editor.judging import JudgingProcess
from regard.editor.text_positions import TextPositions

PAUSE = 0.08  # seconds without an edit before a document is judged
_SUFFIXES: Mapping[str, str] = {"markdown": ".md", "latex": ".tex", "tex": ".tex"}
_READ = frozenset(suffix for suffix, kind in KINDS.items() if kind != "notebook")
_CLAIM = "claim:"
_NOT_TEXT = dict.fromkeys((0, *range(0xD800, 0xE000)), "\N{REPLACEMENT CHARACTER}")


@dataclass(kw_only=True)
class _OpenDocument:
    """A document in the editor: its text as typed last, and what was found of the version judged last."""

    uri: str
    suffix: str
    version: int
    text: str
    feedback: Feedback | None = None
    pause: asyncio.TimerHandle | None = None

    @property
    def path(self) -> str | None:
        """Where the document is stored; None for one that has not been saved."""
        return uris.to_fs_path(self.uri) if self.uri.startswith("file:") else None


@dataclass(kw_only=True)
class EditorSession:
    """What the server does on each event of one editor."""

    server: LanguageServer
    _documents: dict[str, _OpenDocument] = field(init=False, default_factory=dict)
    judging: JudgingProcess = field(init=False)

    def __post_init__(self) -> None:
        self.judging = JudgingProcess(on_answer=self._show)
        handlers = {
            types.INITIALIZED: self._initialized,
            types.TEXT_DOCUMENT_DID_OPEN: self._opened,
            types.TEXT_DOCUMENT_DID_CHANGE: self._changed,
            types.TEXT_DOCUMENT_DID_SAVE: self._saved,
            types.TEXT_DOCUMENT_DID_CLOSE: self._closed,
            types.TEXT_DOCUMENT_HOVER: self._hover,
            types.TEXT_DOCUMENT_CODE_ACTION: self._actions,
            types.SHUTDOWN: self._shutdown,
        }
        for name, handler in handlers.items():
            self.server.feature(name)(partial(handler))  # pygls sets attributes, which methods can't have
        self.server.command(SHOW_CLAIM)(partial(self._show_claim))

    # -- documents ---------------------------------------------------------------------------------------------------
    def _initialized(self, params: types.InitializedParams) -> None:
        del params
        self.judging.start()

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        suffix = PurePath(uris.to_fs_path(item.uri) or "").suffix.lower()
        suffix = suffix if suffix in _READ else _SUFFIXES.get(item.language_id, "")
        if suffix:
            text = item.text.translate(_NOT_TEXT)
            document = _OpenDocument(uri=item.uri, suffix=suffix, version=item.version, text=text)
            self._documents[item.uri] = document
            self._judge(document)

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        document = self._documents.get(params.text_document.uri)
        if document is None or not params.content_changes:
            return
        document.text = params.content_changes[-1].text.translate(_NOT_TEXT)
        document.version = params.text_document.version
        if document.pause is not None:
            document.pause.cancel()
        document.pause = asyncio.get_running_loop().call_later(PAUSE, self._judge, document)

    def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        """The settings and declarations beside the document may have changed with it."""
        document = self._documents.get(params.text_document.uri)
        if document is not None:
            self._judge(document)

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        document = self._documents.pop(params.text_document.uri, None)
        if document is None:
            return
        if document.pause is not None:
            document.pause.cancel()
        self.judging.withdraw(document.uri)
        self._publish(document.uri, [])

    def _judge(self, document: _OpenDocument) -> None:
        if len(document.text) > MAX_BYTES:
            reason = f"Not judged: {len(document.text)} characters; the limit is {MAX_BYTES}."
            self._show({"key": document.uri, "version": document.version, "failure": reason})
        elif not document.text.strip():
            self._show({"key": document.uri, "version": document.version, "steps": []})
        else:
            path = document.path
            file = f"untitled{document.suffix}" if path is None else Path(path).with_suffix(document.suffix).name
            self.judging.ask(document.uri, document.version, path=path, file=file, text=document.text)

    # -- answers -----------------------------------------------------------------------------------------------------
    def _show(self, answer: Message) -> None:
        """Publishes what was found of a document, unless it has been changed or closed meanwhile."""
        if answer["key"].startswith(_CLAIM):
            text = answer.get("claim") or answer["failure"]
            self.server.window_show_message(types.ShowMessageParams(type=types.MessageType.Info, message=text))
            return
        document = self._documents.get(answer["key"])
        if document is None or document.version != answer["version"]:
            return
        encoding = self.server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        positions = TextPositions(text=document.text, encoding=encoding)
        document.feedback = Feedback(
            positions=positions,
            is_latex=document.suffix == ".tex",
            version=document.version,
            steps=[ShownStep.read(row, positions) for row in answer.get("steps", ())],
            failure=answer.get("failure"),
        )
        self._publish(document.uri, document.feedback.diagnostics(), document.version)

    def _publish(self, uri: str, diagnostics: list[types.Diagnostic], version: int | None = None) -> None:
        params = types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics, version=version)
        self.server.text_document_publish_diagnostics(params)

    def _feedback(self, uri: str) -> Feedback | None:
        """What was found of the text as it is now; None while it has not been judged."""
        document = self._documents.get(uri)
        feedback = None if document is None else document.feedback
        return feedback if document is not None and feedback and feedback.version == document.version else None

    def _hover(self, params: types.HoverParams) -> types.Hover | None:
        feedback = self._feedback(params.text_document.uri)
        text = None if feedback is None else feedback.hover(params.position)
        return None if text is None else types.Hover(types.MarkupContent(kind=types.MarkupKind.Markdown, value=text))

    def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        feedback = self._feedback(params.text_document.uri)
        return [] if feedback is None else list(feedback.actions(params.text_document.uri, params.range))

    def _show_claim(self, claim: str) -> None:
        self.judging.ask(f"{_CLAIM}{claim}", 0, claim=claim)

    def _shutdown(self, params: object = None) -> None:
        del params
        self.judging.stop()


def run_server() -> None:
    """Serves one editor over standard input and output until it goes away.

    Whatever else is printed goes to standard error, so that it can't disturb the messages.
    """
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server = LanguageServer("regard", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    session = EditorSession(server=server)
    try:
        server.start_io(stdout=output)
    finally:
        session.judging.stop()

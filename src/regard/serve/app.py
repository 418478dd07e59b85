"""The web app: the page with the editor, the judge behind it, and the pages that it links to."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import PurePath

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from regard import __version__
from regard.core.errors import InputError
from regard.core.processes import Ended, Message
from regard.core.worker_pool import PoolLimits
from regard.derivations.problems.problem import load_problem, shipped_problems
from regard.derivations.reading.files import KINDS, MAX_BYTES, MAX_LINES
from regard.derivations.tasks import Assignment, DocumentTask
from regard.derivations.verify import example_answers
from regard.render.page import asset, printable
from regard.serve.answers import AnswerCache
from regard.serve.child import document_request
from regard.serve.guard import Guard
from regard.serve.workers import WorkerProcesses

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_STYLES = ("shell.css", "serve/app.css")
_SCRIPTS = ("shell.js", "serve/app.js")
_MAKER = "regard.serve.child:make_pages"
_SECONDS_TO_SEND = 20.0
_SECONDS_IN_QUEUE = 60.0
_MAX_NAME = 100
_CLOSED, _GONE = 499, "The client has gone away."


class WebApp:
    """The routes of the app and what they share: worker processes, and the answers that they have given."""

    def __init__(self, limits: PoolLimits) -> None:
        self._limits = limits

    def application(self) -> Starlette:
        """The app with all its addresses."""
        routes = [
            Route("/", self._index),
            Route("/app.js", self._script),
            Route("/app.css", self._style),
            Route("/judge", self._judge, methods=["POST"]),
            Route("/report/{key}", self._report),
            Route("/{page:str}", self._page),
        ]
        refusals = {HTTPException: _explain, InputError: _explain}
        return Starlette(routes=routes, lifespan=self.lifespan, exception_handlers=refusals)

    @asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        """Starts the worker processes, and ends them."""
        workers = WorkerProcesses(self._limits, _MAKER)
        self._answers = AnswerCache(workers.submit)
        try:
            yield
        finally:
            self._answers.close()
            await asyncio.to_thread(workers.close)

    # -- the page ------------------------------------------------------------------------------------------------------
    async def _index(self, _: Request) -> Response:
        return HTMLResponse(self._index_page, headers={"content-security-policy": _POLICY})

    @cached_property
    def _index_page(self) -> str:
        problems = "".join(
            f'<option value="{html.escape(name)}">{html.escape(load_problem(name).title)}</option>'
            for name in shipped_problems()
        )
        parts = {
            "icons": asset("icons.svg"),
            "problems": problems,
            "kinds": html.escape(",".join(KINDS)),
            "limit": str(MAX_BYTES),
            "line_limit": str(MAX_LINES),
            "example": html.escape(example_answers()),
        }
        return re.sub(r"\{\{(\w+)\}\}", lambda slot: parts[slot[1]], asset("serve/index.html"))

    async def _script(self, _: Request) -> Response:
        return Response("\n".join(map(asset, _SCRIPTS)), media_type="text/javascript")

    async def _style(self, _: Request) -> Response:
        return Response("\n".join(map(asset, _STYLES)), media_type="text/css")

    # -- judging -------------------------------------------------------------------------------------------------------
    async def _judge(self, request: Request) -> Response:
        """The verdicts on the document in the body, and its page; `file` is its name, `problem` what it answers."""
        task = DocumentTask(
            file=_file_name(request.query_params.get("file", "answers.md")),
            assignment=_assignment(request.query_params.get("problem", "")),
            content=await _body(request),
        )
        key = task.key(__version__)
        answer = await self._answer(request, key, document_request(task))
        if isinstance(answer, Ended):
            return JSONResponse({"page": None, "reason": f"{task.file}: {answer.reason}."})
        return JSONResponse({**answer, "key": key})

    async def _report(self, request: Request) -> Response:
        """The page of a document that was judged a moment ago."""
        answer = self._answers.kept(request.path_params["key"])
        if answer is None or not answer["page"]:
            return PlainTextResponse("This report is no longer kept. Change the document to have it judged again.", 404)
        return HTMLResponse(answer["page"], headers={"content-security-policy": "frame-ancestors 'self'"})

    async def _page(self, request: Request) -> Response:
        """The claims or the explorer, made when first asked for."""
        page = request.path_params["page"]
        if page not in ("claims", "explorer"):
            raise HTTPException(404)
        answer = await self._answer(request, page, {"make": page})
        if isinstance(answer, Ended):
            return PlainTextResponse(f"This page could not be made: {answer.reason}.", status_code=503)
        return HTMLResponse(answer["page"], headers={"content-security-policy": "frame-ancestors 'none'"})

    async def _answer(self, request: Request, key: str, message: Message) -> Message | Ended:
        """The answer, unless the client goes away or the app is too busy."""
        work = asyncio.ensure_future(self._answers.answer(key, message))
        gone = asyncio.ensure_future(_disconnected(request))
        seconds = _SECONDS_IN_QUEUE + self._limits.seconds
        try:
            await asyncio.wait({work, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if gone.done():
                raise HTTPException(_CLOSED, _GONE)
            raise HTTPException(503, "Too many documents are waiting. Try again in a moment.", {"retry-after": "5"})
        finally:
            work.cancel()
            gone.cancel()


def _file_name(text: str) -> str:
    """The name to report a document by: no folders, nothing that can't be shown, and a kind that can be read."""
    name = printable(PurePath(text).name)[-_MAX_NAME:]
    if PurePath(name).suffix.lower() not in KINDS:
        raise InputError(f"{name or 'This'} is not a kind of file that can be read. Supported: {', '.join(KINDS)}.")
    return name


def _assignment(problem: str) -> Assignment:
    """Only shipped problems: the name of any other would be the path of a file."""
    if problem and problem not in shipped_problems():
        raise InputError(f"There is no problem '{problem}'. Choose one of: {', '.join(shipped_problems())}.")
    return Assignment.for_problem(problem or None)


async def _body(request: Request) -> bytes:
    """What was sent, within the limits of size and time."""
    body = bytearray()
    try:
        async with asyncio.timeout(_SECONDS_TO_SEND):
            async for some in request.stream():
                body += some
                if len(body) > MAX_BYTES:
                    raise HTTPException(413, f"The document is larger than {MAX_BYTES // 10**6} MB. Split it.")
    except TimeoutError:
        raise HTTPException(408, f"The document took longer than {_SECONDS_TO_SEND:g} seconds to arrive.") from None
    except ClientDisconnect:
        raise HTTPException(_CLOSED, _GONE) from None
    return bytes(body)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _explain(_: Request, error: Exception) -> Response:
    """Whatever is refused is one line of JSON."""
    if isinstance(error, HTTPException):
        reason, status, headers = error.detail, error.status_code, error.headers
    else:
        reason, status, headers = str(error), 400, None
    return JSONResponse({"page": None, "reason": reason}, status_code=status, headers=headers)


def build_app(*, token: str, port: int, limits: PoolLimits) -> Guard:
    """The app for a port, behind the checks of its token, host and origin."""
    return Guard(WebApp(limits).application(), token=token, port=port)

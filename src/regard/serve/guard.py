"""Who may talk to the app: whoever has its token, at this host, and from its own page.

Loopback keeps other machines out, but not the web pages that the reader has open: the token keeps out whoever does
not know it, the check of the host whoever has made a name of their own lead here, and that of the origin every other
page.
"""

import hmac

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_EVERYWHERE = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """The app behind its checks; an address with the token in it gives the browser a cookie for all that follow."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = [name if port == 80 else f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        # Browsers send a host's cookies to all of its ports.
        self._cookie = f"regard-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or refuses it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            request = Request(scope)
            refusal = self._refusal(request)
            gives_cookie = refusal is None and self._has_token(request)
            await (refusal or self._app)(scope, receive, self._with_headers(send, gives_cookie=gives_cookie))

    def _refusal(self, request: Request) -> PlainTextResponse | None:
        headers = request.headers
        if headers.getlist("host") not in ([host] for host in self._hosts):
            return PlainTextResponse(f"Wrong host. This is {self._hosts[0]}.", status_code=421)
        origins = headers.getlist("origin")
        is_from_elsewhere = bool(origins) and origins != [f"http://{headers['host']}"]
        is_program = self._is_token(headers.get("authorization", "").removeprefix("Bearer "))
        is_unexplained = request.method not in ("GET", "HEAD") and not origins and not is_program
        if is_from_elsewhere or is_unexplained:
            return PlainTextResponse("Only Regard's own page may ask this.", status_code=403)
        if is_program or self._is_token(request.cookies.get(self._cookie, "")) or self._has_token(request):
            return None
        message = "Open the address that `regard serve` printed: it contains the token of this session."
        return PlainTextResponse(message, status_code=403)

    def _has_token(self, request: Request) -> bool:
        return request.url.path == "/" and self._is_token(request.query_params.get("token", ""))

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode("utf-8", "surrogatepass"), self._token.encode("ascii"))

    def _with_headers(self, send: Send, *, gives_cookie: bool) -> Send:
        cookie = {"set-cookie": f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"}
        added = _EVERYWHERE | cookie if gives_cookie else _EVERYWHERE

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(added)
            await send(message)

        return send_with_headers

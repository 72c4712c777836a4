"""Who may talk to Studio: only the browser that opened its link, from Studio's own pages.

- Any page in any browser on this machine can send requests to 127.0.0.1, and a host name of somebody else may point
  there as well. So a request needs the right Host, the cookie that the one-time link gave, and, to change anything,
  Studio's own Origin.
- Other users of this machine can connect to the port, and see every command line. So the link is never on one
  (`link.py`), works once, and for a short time.
- Browsers send a cookie to every port of a host. A program that takes the port of a Studio that has ended gets what the
  open tabs of that Studio still send. So everything is below a path that nobody can guess, and the cookie is for this
  path: tabs of one Studio send only the path and the cookie of this one, which no other Studio accepts.
- Such a program could also answer open tabs. So every answer has a mark that was never sent to it; a page stops at the
  first answer without the mark (`static/studio.js`).

Not part of this: the administrator of the machine, and programs that run as the same user.
"""

from __future__ import annotations

import os
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shoal.apps.studio.link import SECONDS, Link

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What pages may load: Studio's own files, nothing inline, and nothing from elsewhere."""

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    # Not "no-referrer": forms would then be sent with the Origin "null".
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
COOKIE = "shoal-studio"
OWN_POLICY = "x-studio-policy"
"""A response with this header, such as the preview of a report, has another policy, and may be framed by Studio."""

WELCOME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Shoal Studio</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0;url=./"></head>
<body><p><a href="./">Open Shoal Studio</a></p></body></html>
"""


class Guard:
    """Lets a request through to the pages, or refuses it, and puts the safe headers on every answer."""

    def __init__(self, app: ASGIApp, port: int, mark: str) -> None:
        self._app = app
        self._mark = mark
        self._key = secrets.token_urlsafe(32)
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.root = f"/{secrets.token_urlsafe(32)}"
        """The path that all addresses begin with."""
        self.link = Link(f"http://127.0.0.1:{port}{self.root}/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        answer = self._refusal(scope)

        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                own = headers.get(OWN_POLICY)
                for name, value in HEADERS.items():
                    headers[name] = value
                if answer is None:  # nobody else may get to see the mark
                    headers["x-studio-mark"] = self._mark
                if own is not None:
                    headers["content-security-policy"] = f"{own}; frame-ancestors 'self'"
                    headers["x-frame-options"] = "SAMEORIGIN"
                    del headers[OWN_POLICY]
                message["headers"] = headers.raw
            await send(message)

        try:
            await (self._app if answer is None else answer)({**scope, "root_path": self.root}, receive, safe)
        except Exception:
            # The page has told of the mistake. The server would print its stack, and messages may quote the data.
            if os.environ.get("SHOAL_DEBUG"):
                raise

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return _refuse(421, "Studio answers only at the address that it printed in its terminal.")
        request = Request(scope)
        root, _, path = scope["path"].removeprefix("/").partition("/")
        if secrets.compare_digest(f"/{root}".encode(), self.root.encode()):
            if request.method == "GET" and not path and "token" in request.query_params:
                return self._welcome(request)
            admitted = self._knows(request)
        else:
            admitted = False
        if not admitted:
            return _refuse(
                403,
                "This browser has no access to Studio. Open the link that Studio printed in its terminal; it works "
                "once, in one browser. Otherwise end Studio and start it again.",
            )
        if request.method not in ("GET", "HEAD") and headers.get("origin") != f"http://{host}":
            return _refuse(403, "Only Studio's own pages may change anything.")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            return _refuse(403, "Only Studio's own pages may read from it.")
        return None

    def _welcome(self, request: Request) -> Response:
        if self._knows(request):  # the same browser, again
            return HTMLResponse(WELCOME)
        if not self.link.use(request.query_params["token"]):
            return _refuse(
                403,
                f"This link was used already, is older than {SECONDS // 60} minutes, or is wrong. End Studio and start "
                "it again.",
            )
        # A page and not a redirect: with a redirect, the browser would keep the cookie back if the link was clicked on
        # a page of another site, such as a terminal in the browser.
        answer = HTMLResponse(WELCOME)
        answer.set_cookie(COOKIE, self._key, httponly=True, samesite="strict", path=f"{self.root}/")
        return answer

    def _knows(self, request: Request) -> bool:
        given = request.cookies.get(COOKIE, "")
        return secrets.compare_digest(given.encode(), self._key.encode())


def _refuse(status: int, words: str) -> Response:
    return PlainTextResponse(words + "\n", status_code=status)

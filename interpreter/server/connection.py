"""HTTP/1.1 of one client: requests one after another, answers whole or as a stream.

Written out because a sandbox pays for every module that is imported: a web framework starts in a second, this in no time.
RFC 9112 says what a message looks like.
"""

import asyncio
import json
import re
from http import HTTPStatus

from . import limits
from .refusal import Refusal

_TOKEN = re.compile(rb"^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$")


class Request:
    """Method, path without its query, header fields in lower case, and the body."""

    def __init__(self, method, path, headers):
        self.method = method
        self.path = path
        self.headers = headers
        self.body = b""

    @property
    def keep_alive(self):
        return self.headers.get("connection", "").lower() != "close"

    def json(self):
        """The body as a JSON object; an empty body is an empty object."""
        if not self.body.strip():
            return {}
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise Refusal(400, f"The body is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise Refusal(400, "The body must be a JSON object")
        return value


class Connection(asyncio.Protocol):
    """Reads requests and gives each to `handler(request, connection)`, whose task is cancelled when the client has gone."""

    def __init__(self, handler, connections):
        self._handler = handler
        self._connections = connections
        self._received = bytearray()
        self._wake = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._answered = False
        self._streaming = False
        self.gone = False

    def connection_made(self, transport):
        self._transport = transport
        self._connections.add(self)
        self._task = asyncio.ensure_future(self._serve())

    def data_received(self, data):
        self._received += data
        if len(self._received) > limits.REQUEST_BODY_BYTES + limits.REQUEST_HEAD_BYTES:
            self._transport.pause_reading()
        self._wake.set()

    def eof_received(self):
        return False

    def connection_lost(self, _error):
        self.gone = True
        self._connections.discard(self)
        self._wake.set()
        self._writable.set()
        self._task.cancel()

    def pause_writing(self):
        self._writable.clear()

    def resume_writing(self):
        self._writable.set()

    async def _serve(self):
        if len(self._connections) > limits.CONNECTIONS:
            self.answer(503, f"More than {limits.CONNECTIONS} connections at once")
            self._transport.close()
            return
        try:
            while not self.gone:
                request = await asyncio.wait_for(self._next_request(), limits.IDLE_CONNECTION_S)
                if request is None:
                    break
                await self._answer_to(request)
                if not request.keep_alive:
                    break
        except Refusal as refusal:
            self._refuse(refusal)
        except asyncio.TimeoutError:
            pass
        finally:
            self._transport.close()

    async def _answer_to(self, request):
        self._answered = False
        self._streaming = False
        try:
            await self._handler(request, self)
        except Refusal as refusal:
            self._refuse(refusal)
        if self._streaming:
            self._transport.write(b"0\r\n\r\n")

    def _refuse(self, refusal):
        if not self._answered:
            self.answer(refusal.status, refusal.message)

    async def _next_request(self):
        """The next request with its body; None when the client has no more."""
        head = await self._take_until(b"\r\n\r\n", limits.REQUEST_HEAD_BYTES, 431, "The request's head is too long")
        if head is None:
            return None
        request = _parse_head(head)
        if request.headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.body = await self._body(request)
        self._transport.resume_reading()
        return request

    async def _body(self, request):
        if request.headers.get("transfer-encoding", "").lower() == "chunked":
            return await self._chunked_body()
        length = request.headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            raise Refusal(400, "Content-Length is not a number")
        if int(length) > limits.REQUEST_BODY_BYTES:
            raise Refusal(413, _too_long())
        return await self._take(int(length))

    async def _chunked_body(self):
        body = bytearray()
        while True:
            line = await self._take_until(b"\r\n", 1024, 400, "A chunk's head is too long")
            try:
                size = int((line or b"").split(b";")[0], 16)
            except ValueError as error:
                raise Refusal(400, "A chunk has no length") from error
            if size < 0 or len(body) + size > limits.REQUEST_BODY_BYTES:
                raise Refusal(413, _too_long())
            body += (await self._take(size + 2))[:size]
            if size == 0:
                return bytes(body)

    async def _take_until(self, end, most, status, message):
        while (at := self._received.find(end)) < 0:
            if len(self._received) > most:
                raise Refusal(status, message)
            if self.gone:
                return None
            await self._more()
        taken = bytes(self._received[:at])
        del self._received[: at + len(end)]
        return taken

    async def _take(self, length):
        while len(self._received) < length:
            await self._more()
        taken = bytes(self._received[:length])
        del self._received[:length]
        return taken

    async def _more(self):
        self._wake.clear()
        await self._wake.wait()

    def answer(self, status, body=None):
        """Answers whole: text when `body` is a string, else JSON. A message is in the status line as well."""
        self._answered = True
        is_text = isinstance(body, str)
        payload = body.encode() if is_text else json.dumps(body).encode()
        kind = "text/plain; charset=utf-8" if is_text else "application/json"
        reason = _reason(status, body if is_text else "")
        head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncontent-length: {len(payload)}\r\n\r\n"
        self._transport.write(head.encode("ascii") + payload)

    def start_stream(self):
        """Answers 200 with lines of JSON that are still to come: `send` each."""
        self._answered = self._streaming = True
        head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ncache-control: no-store\r\ntransfer-encoding: chunked\r\n\r\n"
        self._transport.write(head.encode())

    async def send(self, message):
        """One line; returns when the client has taken so much that more may come, or has gone."""
        if self.gone:
            return
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self._transport.write(b"%x\r\n%b\r\n" % (len(line), line))
        await self._writable.wait()


def _parse_head(head):
    lines = head.lstrip(b"\r\n").split(b"\r\n")
    parts = lines[0].split(b" ")
    if len(parts) != 3 or not parts[2].startswith(b"HTTP/1."):
        raise Refusal(400, "Not a request of HTTP/1.1")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.match(name):
            raise Refusal(400, "A header field is malformed")
        headers[name.decode("ascii").lower()] = value.strip().decode("latin-1")
    if parts[2] == b"HTTP/1.0":
        headers.setdefault("connection", "close")
    path = parts[1].partition(b"?")[0].decode("latin-1")
    return Request(parts[0].decode("latin-1"), path, headers)


def _reason(status, message):
    """The message in a form that a status line can carry, or the status' own name."""
    words = " ".join(message.split())[:200]
    if status >= 400 and words and words.isascii() and words.isprintable():
        return words
    return HTTPStatus(status).phrase


def _too_long():
    return f"The body is longer than {limits.REQUEST_BODY_BYTES} bytes"

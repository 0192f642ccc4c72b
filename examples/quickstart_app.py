"""The Python half of the quickstart: one task, and the small service that the HTTP schedule calls."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import puntual

ECHO_ADDRESS = ("127.0.0.1", 8791)

app = puntual.App()


@app.task(name="count_words")
def count_words(text: str) -> dict[str, int]:
    """What a task returns is kept with its run: `puntual run list`, then `puntual run show ID`."""
    return {"words": len(text.split())}


class Echo(BaseHTTPRequestHandler):
    """Answers a POST with what it was sent."""

    def do_POST(self) -> None:
        """Sends the body back."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", self.headers.get("Content-Type", "text/plain"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Stays quiet: puntual's own log says what was called."""


def start_echo() -> ThreadingHTTPServer | None:
    """Starts the service in the background; None when the port is taken, most likely by an earlier quickstart."""
    try:
        server = ThreadingHTTPServer(ECHO_ADDRESS, Echo)
    except OSError:
        return None
    threading.Thread(target=server.serve_forever, name="echo", daemon=True).start()
    return server


echo = start_echo()

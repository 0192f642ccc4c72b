"""What the health of a real server says."""

from __future__ import annotations

import http.client
import json


def ready(port: int) -> tuple[bool, str]:
    """Whether ``/readyz`` of that port is content, and the sentences of what is not."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/readyz")
        answer = json.load(connection.getresponse())
    finally:
        connection.close()
    return answer["ok"], " ".join(check["text"] for check in answer["checks"] if not check["ok"])

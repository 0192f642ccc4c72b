"""Stands in for curl where there is none: the few options that the pages use, and no other."""

from __future__ import annotations

import argparse
import sys
import urllib.error
import urllib.request
from pathlib import Path


def main() -> int:
    """Sends one request and prints the answer; 22 for an error of the server, as curl -f has it."""
    parser = argparse.ArgumentParser(prog="curl")
    for flag in ("-s", "-S", "-f"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("-H", action="append", default=[], dest="headers")
    parser.add_argument("-d", dest="data")
    parser.add_argument("url")
    said = parser.parse_args()
    headers: dict[str, str] = {}
    for text in said.headers:
        lines = Path(text[1:]).read_text(encoding="utf-8").splitlines() if text.startswith("@") else [text]
        headers |= {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    data = None if said.data is None else said.data.encode()
    request = urllib.request.Request(said.url, data=data, headers=headers)  # noqa: S310 - the address of the test's server
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
            sys.stdout.write(answer.read().decode())
    except urllib.error.HTTPError as error:
        sys.stderr.write(f"curl: (22) {error.code}\n")
        return 22
    return 0


if __name__ == "__main__":
    sys.exit(main())

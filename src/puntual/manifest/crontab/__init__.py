"""A crontab becomes a manifest that does the same; what cannot carry over is a comment in it, with the reason.

Pure: bytes in, text out. What a crontab means is said by crontab(5) of vixie-cron and of cronie, its descendant.
"""

from __future__ import annotations

from puntual.manifest.crontab.write import Imported, Reading, import_crontab

__all__ = ["Imported", "Reading", "import_crontab"]

"""``python -m puntual`` is the command ``puntual``."""

from __future__ import annotations

from puntual.cli import main

if __name__ == "__main__":
    main()

"""Mutations of what only a database server meets: writers that stay open, days of history that nobody has made."""

from __future__ import annotations

from puntual.store.postgres.lanes import Lanes
from tests.mutations.edits import code, mutation, server_sql

MUTATIONS = (
    mutation(
        "floor: over a long writer",
        "A floor is raised over what a transaction that is still open is about to commit.",
        code(Lanes._raise, " if number < sight.xmin", ""),
    ),
    mutation(
        "history: no day, no row",
        "A run that ends when no day of history was made for it is kept nowhere.",
        server_sql(
            "end_runs",
            "FROM ended CROSS JOIN clock\n)",
            "FROM ended CROSS JOIN clock\n"
            "    WHERE to_regclass('puntual.run_history_' || to_char(date '1970-01-01' + expires_on, 'YYYY_MM_DD'))"
            " IS NOT NULL\n)",
        ),
    ),
)

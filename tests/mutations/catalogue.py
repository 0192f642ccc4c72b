"""All the ways in which the proof breaks puntual, and each of which the simulation has to notice."""

from __future__ import annotations

from tests.mutations import of_claims, of_leases, of_runs, of_servers, of_ticks

CATALOGUE = {one.name: one for module in (of_claims, of_leases, of_runs, of_ticks) for one in module.MUTATIONS}
#: Those that show on a database server alone.
SERVER_CATALOGUE = {one.name: one for one in of_servers.MUTATIONS}

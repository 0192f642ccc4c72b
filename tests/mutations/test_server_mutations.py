"""The simulation notices what only a database server meets, broken on purpose, within a few dozen seeds on one."""

from __future__ import annotations

from typing import Final

import pytest

from tests.mutations.catalogue import SERVER_CATALOGUE
from tests.mutations.hunt import Found, Seeds, hunt
from tests.support.postgres import running_server

#: Each takes seconds here.
_MOST: Final = 60


@pytest.mark.mutation
@pytest.mark.timeout(3600)
def test_every_mutation_of_a_server_is_noticed() -> None:
    """Each breaks a promise in one of the first seeds. Of whole code the tests of the store hold the opposite."""
    found: list[Found] = []
    with running_server(settings={"autovacuum": "off"}) as server:
        hunt(SERVER_CATALOGUE, Seeds(1, _MOST, server.url()), processes=1, report=found.append)
    assert sorted(one.name for one in found) == sorted(SERVER_CATALOGUE)
    assert not [one.name for one in found if one.sighting is None]

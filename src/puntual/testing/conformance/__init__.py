"""The suite of behaviour that every store must pass, as test classes for pytest.

A test module of a store imports the classes, and provides the fixtures that they ask for:

- ``store``: an open, empty store with the default ``Retention``, closed after the test;
- ``pair``: two open stores on one empty database, for ``TestTwoStores`` alone.

Tests are coroutines, so pytest-asyncio runs in its auto mode. They give ``now`` to every operation that takes one;
only heartbeats go by the store's own clock. Call ``pytest.register_assert_rewrite("puntual.testing.conformance")``
before the import to see what a failed assertion compared.
"""

from __future__ import annotations

from puntual.testing.conformance.admin import TestBackup, TestLife, TestQueues, TestReadiness, TestSnapshot, TestTokens
from puntual.testing.conformance.calendars import TestCalendars, TestCalendarsAndSchedules
from puntual.testing.conformance.claim import (
    TestClaim,
    TestClaimAhead,
    TestClaimAlone,
    TestClaimFilters,
    TestClaimPauses,
    TestQueueConcurrency,
)
from puntual.testing.conformance.control import TestCancel, TestDiscard, TestEditRuns, TestReplay
from puntual.testing.conformance.enqueue import TestEnqueue, TestEnqueueAgain, TestEnqueueRefusals, TestUniqueKeys
from puntual.testing.conformance.listing import TestListRuns, TestRunPages
from puntual.testing.conformance.plan import TestPauseAll, TestPlanReads, TestPlanWrites
from puntual.testing.conformance.races import TestTwoStores
from puntual.testing.conformance.rescue import TestRescue, TestUpkeepLease
from puntual.testing.conformance.schedules import (
    TestChangeSchedules,
    TestQueueLimits,
    TestScheduleByHand,
    TestSelections,
    TestWithdraw,
)
from puntual.testing.conformance.settle import TestBadRows, TestEvidence, TestFollowUps, TestSettle, TestSettleGuards
from puntual.testing.conformance.shares import TestLanes, TestPriorities
from puntual.testing.conformance.tally import TestTally
from puntual.testing.conformance.ticks import TestPrune, TestTicks
from puntual.testing.conformance.upcoming import TestDueByMinute
from puntual.testing.conformance.workers import TestHeartbeats, TestWorkers
from puntual.testing.conformance.zones import TestZoneStamps

__all__ = [
    "TestBackup",
    "TestBadRows",
    "TestCalendars",
    "TestCalendarsAndSchedules",
    "TestCancel",
    "TestChangeSchedules",
    "TestClaim",
    "TestClaimAhead",
    "TestClaimAlone",
    "TestClaimFilters",
    "TestClaimPauses",
    "TestDiscard",
    "TestDueByMinute",
    "TestEditRuns",
    "TestEnqueue",
    "TestEnqueueAgain",
    "TestEnqueueRefusals",
    "TestEvidence",
    "TestFollowUps",
    "TestHeartbeats",
    "TestLanes",
    "TestLife",
    "TestListRuns",
    "TestPauseAll",
    "TestPlanReads",
    "TestPlanWrites",
    "TestPriorities",
    "TestPrune",
    "TestQueueConcurrency",
    "TestQueueLimits",
    "TestQueues",
    "TestReadiness",
    "TestReplay",
    "TestRescue",
    "TestRunPages",
    "TestScheduleByHand",
    "TestSelections",
    "TestSettle",
    "TestSettleGuards",
    "TestSnapshot",
    "TestTally",
    "TestTicks",
    "TestTokens",
    "TestTwoStores",
    "TestUniqueKeys",
    "TestUpkeepLease",
    "TestWithdraw",
    "TestWorkers",
    "TestZoneStamps",
]

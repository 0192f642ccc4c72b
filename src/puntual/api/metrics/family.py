"""Families of numbers: each with its name, a sentence, and one value for each set of labels."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from puntual.engine.metrics import Histogram
from puntual.model.instant import SECOND

#: The labels of each, and its value.
Values = Iterable[tuple[tuple[str, ...], float]]


def gauge(name: str, text: str, value: float | None) -> GaugeMetricFamily:
    """What goes up and down; None: nobody knows now."""
    made = GaugeMetricFamily(name, text)
    if value is not None:
        made.add_metric((), value)
    return made


def counter(name: str, text: str, value: float | None) -> CounterMetricFamily:
    """What only goes up, until the process ends."""
    made = CounterMetricFamily(name, text)
    if value is not None:
        made.add_metric((), value)
    return made


def gauges(name: str, text: str, labels: tuple[str, ...], values: Values) -> GaugeMetricFamily:
    """A gauge for each set of labels."""
    made = GaugeMetricFamily(name, text, labels=labels)
    for key, value in values:
        made.add_metric(key, value)
    return made


def counters(name: str, text: str, labels: tuple[str, ...], values: Values) -> CounterMetricFamily:
    """A counter for each set of labels."""
    made = CounterMetricFamily(name, text, labels=labels)
    for key, value in values:
        made.add_metric(key, value)
    return made


def histograms(name: str, text: str, label: str, found: Iterable[tuple[str, Histogram]]) -> HistogramMetricFamily:
    """A histogram of seconds for each label, from one of microseconds."""
    made = HistogramMetricFamily(name, text, labels=(label,))
    for key, histogram in found:
        below, buckets = 0, []
        bounds = [*(str(bound / SECOND) for bound in histogram.bounds), "+Inf"]
        for bound, count in zip(bounds, histogram.counts, strict=True):
            below += count
            buckets.append((bound, below))
        made.add_metric((key,), buckets, histogram.total / SECOND)
    return made

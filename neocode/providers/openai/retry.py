"""When to try again: exponential backoff with jitter, the server's Retry-After as a lower bound, one time budget.

Invariant: no wait is begun that would end after the budget.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

FIRST_DELAY_SEC = 0.5
MAX_DELAY_SEC = 8.0  # longer pauses only waste the budget
JITTER = 0.5  # share of a delay that is random, so that clients who failed together do not return together


class Backoff:
    """The waits of one call; the budget runs from its making."""

    def __init__(
        self,
        budget_sec: float,
        clock: Callable[[], float] = time.monotonic,
        rand: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._rand = rand
        self._deadline = clock() + budget_sec
        self._attempt = 0

    def next_delay(self, at_least: float | None) -> float | None:
        """Seconds to wait before the next attempt, or None when it would not fit into the budget."""
        delay = min(MAX_DELAY_SEC, FIRST_DELAY_SEC * 2.0**self._attempt)
        delay *= 1 - JITTER * self._rand()
        delay = max(delay, at_least or 0.0)
        if self._clock() + delay > self._deadline:
            return None
        self._attempt += 1
        return delay


def parse_retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After` (RFC 9110 10.2.3: seconds or an HTTP date), or None.

    A date counts from the response's own Date header where it has one, so that a wrong local clock does not matter.
    `headers` is looked up by lower-case names; `now` is a Unix time for tests.
    """
    millis = _number(headers.get("retry-after-ms", ""))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None:
        return seconds
    then = _http_date(value)
    if then is None:
        return None
    sent = _http_date(headers.get("date", ""))
    start = sent if sent is not None else (time.time() if now is None else now)
    return max(0.0, then - start)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _http_date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (TypeError, ValueError, IndexError, OverflowError, OSError):
        return None

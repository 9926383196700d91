"""Ctrl-C at any moment: never between a finished run and the line that records it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Counts requests to end; whoever waits for something long hears of each.  count: requests so far."""

    def __init__(self) -> None:
        self.count = 0
        self._heard: list[Callable[[int], None]] = []

    def request(self, *_: object) -> None:
        """Ask for an end."""
        self.count += 1
        for listener in tuple(self._heard):
            listener(self.count)

    @contextlib.contextmanager
    def heard_by(self, listener: Callable[[int], None]) -> Iterator[None]:
        """Tell `listener` of each request, with the number of it, also of one made before."""
        self._heard.append(listener)
        try:
            if self.count:
                listener(self.count)
            yield
        finally:
            self._heard.remove(listener)


@contextlib.contextmanager
def interruptible(signals: Sequence[signal.Signals] = _SIGNALS) -> Iterator[Interrupts]:
    """Signals that would end this process are requests instead, in the main thread; elsewhere none come."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    ignored = {number for number in signals if signal.getsignal(number) == signal.SIG_IGN}  # nohup
    before = {number: signal.signal(number, interrupts.request) for number in signals if number not in ignored}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Waiting for what other processes do: for a condition, not for a number of seconds."""

import time

HANG = 1200.0
"""Seconds after which something is taken to hang: far more than anything that works takes, however busy the machine."""


def wait_until(condition, pause=0.02):
    """What `condition` returns, as soon as it is true."""
    end = time.monotonic() + HANG
    while not (found := condition()):
        assert time.monotonic() < end, "it has not happened"
        time.sleep(pause)
    return found


def finish(process):
    """Wait for a process to end by itself: what it has said."""
    said = process.communicate(timeout=HANG)
    assert process.returncode == 0, said
    return said

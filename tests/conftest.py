"""What all tests need."""

import signal
import threading


def pytest_configure() -> None:
    """Ctrl-C is heard also where whoever started the tests ignores it (a job in the background of a script does): children inherit that."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

"""Passes written in Python run on threads of their own, so that Ctrl-C ends one without what runs it having to wait.

The threads are Python's daemons, and what begins them is Python: one that blocks in C, and so does not hear, ends with the
process as any daemon does, with no frame of Rust's below the pass.
"""

import atexit
import threading

#: Seconds that passes are waited for where the process ends.
_PATIENCE = 1.0

#: Threads whose pass goes on; the lock keeps one from ending while it is asked to.
_going = set()
_lock = threading.Lock()


def start(function, arguments, take, fail):
    """Calls function on a thread of its own and returns the thread; take gets what it returned, fail what it raised."""
    thread = threading.Thread(target=_run, args=(function, arguments, take, fail), name="headwater pass", daemon=True)
    with _lock:
        _going.add(thread)
    try:
        thread.start()
    except RuntimeError:
        # The process ends, or has threads enough.
        with _lock:
            _going.discard(thread)
        raise
    return thread


def _run(function, arguments, take, fail):
    try:
        try:
            take(function(*arguments))
        except BaseException as error:
            fail(error)
        finally:
            with _lock:
                _going.discard(threading.current_thread())
    except KeyboardInterrupt:
        # It came too late to end the pass.
        pass


def stop(thread):
    """Raises KeyboardInterrupt in a pass that goes on; one that is in C has it when it comes back."""
    # Large modules are imported where they are needed.
    import ctypes

    with _lock:
        if thread in _going and thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt))


def _end():
    left = list(_going)
    for thread in left:
        stop(thread)
    for thread in left:
        thread.join(_PATIENCE / len(left))


atexit.register(_end)

"""Names regions of a program for Headwater: each is part of every call path inside it.

    from headwater_regions import region, iteration

    with region("solve"):
        for step in range(100):
            ...
            iteration()

It needs no other module of Headwater. In a program that runs without Headwater, it does nothing.
"""

import ctypes as _ctypes

_program = _ctypes.PyDLL(None)
_begin = getattr(_program, "headwater_region_begin", None)
if _begin is not None:
    _begin.argtypes, _begin.restype = [_ctypes.c_char_p], None
    _end = _program.headwater_region_end
    _end.argtypes, _end.restype = [_ctypes.c_char_p], None
    _iteration = _program.headwater_region_iteration
    _iteration.argtypes, _iteration.restype = [], None


class region:
    """A region of this name, from the begin of a `with` block to its end."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()

    def __enter__(self) -> "region":
        if _begin is not None:
            _begin(self._name)
        return self

    def __exit__(self, *exception: object) -> None:
        if _begin is not None:
            _end(self._name)


def iteration() -> None:
    """An iteration of the innermost region has ended."""
    if _begin is not None:
        _iteration()

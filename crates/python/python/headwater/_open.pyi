from typing import List, overload

from ._headwater import _Path, Run

@overload
def open(directory: _Path, /, *, max_loop_depth: int = 10) -> Run: ...
@overload
def open(first: _Path, second: _Path, /, *more: _Path, max_loop_depth: int = 10) -> List[Run]: ...
@overload
def open(*directories: _Path, max_loop_depth: int = 10) -> Run | List[Run]: ...

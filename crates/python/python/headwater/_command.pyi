from typing import Mapping, Optional, Sequence, Union

from ._headwater import _Path, Run

def command() -> str: ...
def record(
    cmd: Union[str, Sequence[_Path]],
    output: Optional[_Path] = None,
    *,
    cwd: Optional[_Path] = None,
    env: Optional[Mapping[str, str]] = None,
) -> Run: ...

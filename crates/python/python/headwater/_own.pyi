import threading
from typing import Any, Callable, Tuple

def start(
    function: Callable[..., Any], arguments: Tuple[Any, ...], take: Callable[[Any], None], fail: Callable[[BaseException], None]
) -> threading.Thread: ...
def stop(thread: threading.Thread) -> None: ...

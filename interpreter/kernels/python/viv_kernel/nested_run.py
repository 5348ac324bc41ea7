"""`asyncio.run` in a cell.

Cells run within an event loop, so that `await`, tasks and `get_running_loop` work as they do in a notebook. There `asyncio.run`
is refused; scripts use it all the time. Here it runs on a loop of its own while ours stands still.
"""

import asyncio
import functools


def install():
    """Replaces `asyncio.run`."""
    run = asyncio.run

    @functools.wraps(run)
    def nested(main, **options):
        outer = asyncio._get_running_loop()
        if outer is None:
            return run(main, **options)
        asyncio._set_running_loop(None)
        try:
            return run(main, **options)
        finally:
            asyncio._set_running_loop(outer)
            asyncio.set_event_loop(outer)

    asyncio.run = nested

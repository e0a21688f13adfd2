"""A Dask scheduler or worker as a process that cannot see a folder: `scheduler`, or `worker ADDRESS FOLDER`."""

import asyncio
import errno
import os
import sys


def hide(folder: str) -> None:
    """Make every file below a folder look missing, as on another machine."""

    def refuse(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | os.PathLike) and str(arguments[0]).startswith(folder):
            raise FileNotFoundError(errno.ENOENT, "no such file", str(arguments[0]))

    sys.addaudithook(refuse)


async def serve(words: list[str]) -> None:
    """Run until the end of the scheduler, or of this process."""
    from distributed import Scheduler, Worker

    if words[0] == "scheduler":
        async with Scheduler(port=0, dashboard=False) as scheduler:
            print(scheduler.address, flush=True)
            await scheduler.finished()
    else:
        async with Worker(words[1], nthreads=1, dashboard=False, heartbeat_interval="200ms") as worker:
            print(worker.address, flush=True)
            hide(words[2])
            await worker.finished()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))

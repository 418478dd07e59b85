"""Stand-ins for a training process, in a module that other processes can import."""

import os
import sys
import time

from regard.core.processes import Channel


def second_fails(channel: Channel) -> None:
    """The second rank fails; the others wait, and would say something else."""
    if os.environ["RANK"] == "1":
        time.sleep(0.5)
        sys.exit("The second is to blame")
    sys.stderr.write("Waiting.\n")
    sys.stderr.flush()
    time.sleep(60)


def print_and_send(channel: Channel) -> None:
    """Prints what libraries print, then sends a message."""
    print("onednn_verbose,info")  # noqa: T201
    print('{"kind": "forged"}', flush=True)  # noqa: T201
    channel.send(kind="step", folder=next(iter(channel))["folder"])

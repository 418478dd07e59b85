"""A child that does what it is told, for the tests of processes; a module that other processes can import."""

import os
import re
import signal
import subprocess
import sys
import time

from regard.core.processes import Channel


def obey(channel: Channel) -> None:
    for message in channel:
        for order, value in message.items():
            ORDERS[order](channel, value)


def hold_the_gil(*_: object) -> None:
    """A match that takes exponential time, in C code that never lets another thread run."""
    re.match("(a+)+$", "a" * 60 + "b")


def stop_itself(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def print_line(_: Channel, text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


ORDERS = {
    "echo": lambda channel, value: channel.send(echo=value),
    "pid": lambda channel, _: channel.send(pid=os.getpid()),
    "print": print_line,
    "start": lambda channel, command: channel.send(pid=subprocess.Popen(command).pid),
    "sleep": lambda _, seconds: time.sleep(seconds),
    "exit": lambda _, code: os._exit(code),
    "signal": lambda _, number: os.kill(os.getpid(), number),
    "hold_the_gil": hold_the_gil,
    "stop_itself": stop_itself,
}

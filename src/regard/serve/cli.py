"""`regard serve`."""

import os
import secrets
import socket
import threading
import webbrowser
from contextlib import suppress

import click

from regard.core.errors import InputError
from regard.core.worker_pool import PoolLimits
from regard.render.command_line import ExitCode

_LOOPBACK = "127.0.0.1"
_SECONDS_TO_FINISH = 1
_JOBS = min(os.cpu_count() or 1, 4)


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on (default: a free one).")
@click.option("--no-browser", "is_unopened", is_flag=True, help="Print the address without opening it.")
@click.option("--jobs", type=click.IntRange(1), default=_JOBS, show_default=True, help="Documents judged at a time.")
@click.option("--time-limit", type=float, default=20.0, show_default=True, help="Seconds per document.")
def serve(port: int, is_unopened: bool, jobs: int, time_limit: float) -> int:
    """Open a local page that judges a document while you write it.

    Write or paste Markdown or LaTeX, or open a file (.md, .tex, .txt, .ipynb): the page shows it with its steps marked.
    Only this computer can reach the page, and only with the token in its address. Nothing is loaded from elsewhere,
    and nothing is stored. Ctrl-C ends it.

    \b
    Examples:
      regard serve                         choose a free port and open the browser
      regard serve --port 8000 --no-browser

    Exit code: 0 after Ctrl-C, 2 for bad input.
    """
    limits = PoolLimits(jobs=jobs, seconds=time_limit)
    with _listening(port) as listener, suppress(KeyboardInterrupt):
        import uvicorn

        from regard.serve.app import build_app

        port = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        app = build_app(token=token, port=port, limits=limits)
        settings = uvicorn.Config(
            app, log_level="warning", server_header=False, timeout_graceful_shutdown=_SECONDS_TO_FINISH, ws="none"
        )
        address = f"http://{_LOOPBACK}:{port}/?token={token}"
        click.echo(f"Regard is at {address}\nPress Ctrl-C to end it.")
        if not is_unopened:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        uvicorn.Server(settings).run(sockets=[listener])
    return ExitCode.SUCCESS


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    if os.name == "posix":  # elsewhere it would share the port with another program
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_LOOPBACK, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        why = (error.strerror or str(error)).lower()
        raise InputError(f"Cannot listen on port {port}: {why}. Choose another with --port, or omit it.") from None
    return listener

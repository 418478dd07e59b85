"""The command itself: its address, what ends it, and what it leaves behind."""

import http.client
import signal
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from regard.core.process_tree import ProcessTree
from serve.server_process import address_of, started

PROC = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")


def headers_for(address: str) -> dict[str, str]:
    return {"authorization": f"Bearer {parse_qs(urlsplit(address).query)['token'][0]}"}


@PROC
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_server_even_while_it_works(number):
    server = started("--jobs", "2")
    address = address_of(server)
    split = urlsplit(address)
    connection = http.client.HTTPConnection(split.netloc)
    connection.request("GET", "/claims", headers=headers_for(address))
    time.sleep(1.0)
    children = [pid for pid in ProcessTree(server.pid).pids() if pid != server.pid]
    assert len(children) >= 2
    server.send_signal(number)
    server.communicate(timeout=20)
    connection.close()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


def test_a_port_that_is_taken_is_one_line(address, run):
    port = urlsplit(address).port
    code, output, complaint = run("serve", "--no-browser", "--port", str(port))
    assert (code, output) == (2, "")
    assert complaint.startswith(f"regard: Cannot listen on port {port}: address already in use. Choose another")
    assert complaint.count("\n") == 1


@PROC
def test_only_loopback_is_listened_on(address):
    hexadecimal = f"{urlsplit(address).port:04X}"
    rows = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    listening = {own for _, own, _, state, *_ in map(str.split, rows) if state == "0A"}
    assert {own for own in listening if own.endswith(f":{hexadecimal}")} == {f"0100007F:{hexadecimal}"}


def test_a_client_that_hangs_up_costs_nothing(address):
    """Many requests given up at once leave the one after them as quick as any."""
    split = urlsplit(address)
    for number in range(30):
        connection = http.client.HTTPConnection(split.netloc, timeout=5)
        body = "\n\n".join(f"$x^{number} + {k} = {k} + x^{number}$" for k in range(300))
        connection.request("POST", "/judge", body=body, headers=headers_for(address))
        connection.close()
    start = time.monotonic()
    answer = httpx.post(f"http://{split.netloc}/judge", content="$1 = 1$", headers=headers_for(address), timeout=30)
    assert answer.json()["summary"] == "1 holds"
    assert time.monotonic() - start < 10

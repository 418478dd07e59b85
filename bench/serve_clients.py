"""Figures of `regard serve`: the latency of an edit, 50 clients at a time, and memory over thousands of requests.

python bench/serve_clients.py                          all three, against a server of its own
python bench/serve_clients.py --only edit clients      only these
"""

import argparse
import asyncio
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

from regard.core.process_tree import ProcessTree
from regard.derivations.verify import example_answers

SHEETS = sorted((Path(__file__).parents[1] / "tests" / "derivations").glob("set_*/*.md"))
PARTS = ("edit", "clients", "memory")
NUM_LINES = 300
NUM_EDITS = 40
NUM_CLIENTS, EDITS_EACH, PAUSES = 50, 6, (1.0, 5.0)
NUM_REQUESTS, MEMORY_EVERY = 3000, 500
MEBI = 2**20


@dataclass
class Server:
    """A running server: its address, the token, and the times that it took to answer."""

    pid: int
    address: str
    token: str
    seconds: list[float] = field(default_factory=list)
    num_lost: int = 0

    def client(self) -> httpx.AsyncClient:
        """A client with the token."""
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.AsyncClient(base_url=self.address, headers=headers, timeout=60, limits=httpx.Limits())

    async def judge(self, client: httpx.AsyncClient, text: str) -> None:
        """Sends a document, and notes how long the answer takes, or that there is none."""
        start = time.perf_counter()
        try:
            answer = await client.post("/judge", params={"problem": "cs224n-a4"}, content=text.encode())
            is_lost = answer.status_code != 200 or not answer.json()["page"]
        except httpx.HTTPError:
            is_lost = True
        self.num_lost += is_lost
        self.seconds.append(time.perf_counter() - start)

    def figures(self) -> str:
        """Median, 95th percentile and losses since the last time."""
        cut = statistics.quantiles(self.seconds, n=20)
        line = f"median {cut[9]:.3f} s, p95 {cut[18]:.3f} s, {len(self.seconds)} requests, {self.num_lost} lost"
        self.seconds, self.num_lost = [], 0
        return line

    def processor_seconds(self) -> float:
        """What the server and its worker processes have used; other work on the machine does not count."""
        ticks = 0
        for pid in ProcessTree(self.pid).pids():
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """MiB that the server and its worker processes take."""
        return ProcessTree(self.pid).memory(sys.maxsize) / MEBI


@contextmanager
def serving() -> Iterator[Server]:
    """A server of its own; Ctrl-C ends it."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "regard", "serve", "--no-browser"]
    process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        split = urlsplit(found[0])
        yield Server(pid=process.pid, address=f"http://{split.netloc}", token=parse_qs(split.query)["token"][0])
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def long_document() -> str:
    """Answers of several sheets, 300 lines in all."""
    lines = [line for sheet in SHEETS for line in sheet.read_text(encoding="utf-8").splitlines()]
    return "\n".join(lines[:NUM_LINES]) + "\n"


def edited(text: str, number: int, rng: random.Random) -> str:
    """The text with a step added at a random empty line, as a writer would."""
    places = [found.start() for found in re.finditer(r"\n\n", text)]
    place = rng.choice(places)
    return f"{text[:place]}\n\nAnd so ${number} + {number} = {2 * number}$.{text[place:]}"


async def measure_edits(server: Server) -> None:
    """Edits of one long document, one after another."""
    rng, text = random.Random(0), long_document()
    async with server.client() as client:
        await server.judge(client, text)
        print(f"first judging of {text.count(chr(10))} lines: {server.seconds.pop():.3f} s")
        used = server.processor_seconds()
        for number in range(NUM_EDITS):
            text = edited(text, number, rng)
            await server.judge(client, text)
    each = (server.processor_seconds() - used) / NUM_EDITS
    print(f"an edit of it: {server.figures()}, {each:.3f} s of processor time each   (target: 0.3 s)", flush=True)


async def measure_clients(server: Server) -> None:
    """Writers who each edit a document of their own, with pauses between edits; then all of them at once."""

    async def write(number: int, pauses: tuple[float, float]) -> None:
        rng, text = random.Random(number), example_answers()
        async with server.client() as client:
            for edit in range(EDITS_EACH):
                await asyncio.sleep(rng.uniform(*pauses))
                text = edited(text, 1000 * number + edit, rng)
                await server.judge(client, text)

    await asyncio.gather(*(write(number, PAUSES) for number in range(NUM_CLIENTS)))
    pauses = f"an edit every {PAUSES[0]:g} to {PAUSES[1]:g} s"
    print(f"{NUM_CLIENTS} clients, {pauses}: {server.figures()}   (target: p95 2 s)", flush=True)
    await asyncio.gather(*(write(number + NUM_CLIENTS, (0.0, 0.0)) for number in range(NUM_CLIENTS)))
    print(f"{NUM_CLIENTS} clients without a pause: {server.figures()}", flush=True)


async def measure_memory(server: Server) -> None:
    """Memory while different documents come in, two at a time."""
    rng, text = random.Random(1), example_answers().split("\n## 1.(c)")[0]
    async with server.client() as client:
        for number in range(0, NUM_REQUESTS, 2):
            texts = [edited(text, 10**6 + number + k, rng) for k in range(2)]
            await asyncio.gather(*(server.judge(client, each) for each in texts))
            if (number + 2) % MEMORY_EVERY == 0:
                print(f"after {number + 2} requests: {server.memory():.0f} MiB", flush=True)
    print(server.figures())


def main() -> None:
    """Prints one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=PARTS)
    parts = {"edit": measure_edits, "clients": measure_clients, "memory": measure_memory}
    chosen = parser.parse_args().only
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with serving() as server:
        for name in chosen:
            asyncio.run(parts[name](server))


if __name__ == "__main__":
    main()

"""How long `regard design` takes from the shell on the example of its documentation, beside `import numpy`.

The two are run in turn, so that a busy machine slows both; the best of several runs counts. Bytecode is compiled
first, as pip does when it installs.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

RUNS = 9
TARGET = 0.3
EXAMPLE = ("-m", "regard", "design", "--head", "beta*(mu_a+mu_b)", "--beta", "20", "--n", "10", "--norm-noise", "a=0.5")
RIVALS = {
    "python alone": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "regard design, one head": EXAMPLE,
    "regard design, two heads": (*EXAMPLE[:3], "--head", "beta*mu_a", "--head", "beta*mu_b", *EXAMPLE[5:]),
}


def run(command: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds by the clock and seconds of processor time of one run."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, env=environment)
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Prints one line a command: the shortest time, the least processor time, and the ratio to `import numpy`."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in RIVALS.values():
            run(command, environment)
        rounds = [{name: run(command, environment) for name, command in RIVALS.items()} for _ in range(RUNS)]
    best = {name: [min(each[name][clock] for each in rounds) for clock in (0, 1)] for name in RIVALS}
    for name, (elapsed, processor) in best.items():
        ratio = elapsed / best["import numpy"][0]
        goal = f"   (target {TARGET * 1000:.0f} ms)" if name == "regard design, one head" else ""
        print(f"{name:26} {elapsed * 1000:5.0f} ms, processor {processor * 1000:5.0f} ms, {ratio:4.1f} numpy{goal}")


if __name__ == "__main__":
    main()

"""How long `regard design` takes from the shell on the example in its documentation, compared with `import numpy`.

The commands alternate, so that a busy machine slows all of them; the best of several runs counts. Bytecode is compiled
first, as pip does when it installs a package.
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
COMMANDS = {
    "python alone": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "regard design, one head": EXAMPLE,
    "regard design, two heads": (*EXAMPLE[:3], "--head", "beta*mu_a", "--head", "beta*mu_b", *EXAMPLE[5:]),
}


def run(command: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Elapsed seconds and CPU seconds of one run."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL, env=environment)
    elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return elapsed, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Prints one line per command: the best time, the least CPU time, and the ratio to `import numpy`."""
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in COMMANDS.values():
            run(command, environment)
        rounds = [{name: run(command, environment) for name, command in COMMANDS.items()} for _ in range(RUNS)]
    best = {name: [min(each[name][clock] for each in rounds) for clock in (0, 1)] for name in COMMANDS}
    for name, (elapsed, processor) in best.items():
        ratio = elapsed / best["import numpy"][0]
        goal = f"   (target {TARGET * 1000:.0f} ms)" if name == "regard design, one head" else ""
        print(f"{name:26} {elapsed * 1000:5.0f} ms, CPU {processor * 1000:5.0f} ms, {ratio:4.1f} numpy{goal}")


if __name__ == "__main__":
    main()

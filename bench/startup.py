"""How long `regard --help`, `import regard`, a design and all claims take: the best of several runs."""

import subprocess
import sys
import time

from regard.claims import all_claims


def best_seconds(*command: str, runs: int) -> float:
    """The best time of the command, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


EXAMPLE = ("design", "--head", "beta*(mu_a+mu_b)", "--beta", "20", "--n", "10", "--norm-noise", "a=0.5")


def main() -> None:
    """Prints one line per figure, with its target."""
    bare = best_seconds("-c", "pass", runs=10)
    print(f"python alone              {bare * 1000:6.0f} ms")
    print(f"import regard             {best_seconds('-c', 'import regard', runs=10) * 1000:6.0f} ms")
    waiting = best_seconds("-m", "regard", "--help", runs=10)
    print(f"regard --help             {waiting * 1000:6.0f} ms   (target 150 ms)")
    print(f"regard claims --list      {best_seconds('-m', 'regard', 'claims', '--list', runs=5) * 1000:6.0f} ms")
    print(f"import numpy              {best_seconds('-c', 'import numpy', runs=10) * 1000:6.0f} ms")
    seconds = best_seconds("-m", "regard", *EXAMPLE, runs=10)
    print(f"regard design, one head   {seconds * 1000:6.0f} ms   (target 300 ms)")
    for jobs in ("1", "2"):
        seconds = best_seconds("-m", "regard", "claims", "--jobs", jobs, runs=3)
        print(f"{len(all_claims())} claims, {jobs} at a time    {seconds:6.1f} s    (target 15 s on 2 cores)")


if __name__ == "__main__":
    main()

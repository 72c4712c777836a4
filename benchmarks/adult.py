"""Adult through the command line: full-domain at several k and limits, and mondrian; what was chosen, what it lost.

Run as ``python -m benchmarks.adult``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.data import ADULT_COLUMNS, adult_file
from benchmarks.timing import head


def policy():
    """All nine columns are quasi-identifiers, with the hierarchy files of the data."""
    return "".join(
        f'[columns.{name}]\nrole = "quasi"\nhierarchy = "{adult_file(name).resolve()}"\n'
        for name in ADULT_COLUMNS
    )


def anonymize(folder, method, k, share):
    (folder / "policy.toml").write_text(policy() + f"[privacy]\nk = {k}\n[utility]\nsuppression = {share}\n")
    words = ["anonymize", adult_file(), "-p", folder / "policy.toml", "-o", folder / "out.csv"]
    words += ["--method", method, "--force", "--json"]
    done = subprocess.run([sys.executable, "-m", "shoal", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        head("k", "limit", "levels", "LM", "suppressed", "classes", "mappings checked", "search s", "whole s")
        for k in (2, 5, 10, 50, 100):
            for share in (0.0, 0.05):
                found = anonymize(folder, "full-domain", k, share)
                cells = [k, share, found["levels"], f"{found['measures']['lm']:.6f}", found["suppressed"]]
                cells += [found["classes"], f"{found['checked']:,} of {found['mappings']:,}"]
                cells += [f"{found['seconds']['anonymize']:.3f}", f"{sum(found['seconds'].values()):.3f}"]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        print()
        head("k", "classes", "LM", "GCP", "DM", "AVG", "search s", "whole s")
        for k in (5, 10):
            found = anonymize(folder, "mondrian", k, 0.0)
            measures = found["measures"]
            cells = [
                k,
                found["classes"],
                f"{measures['lm']:.6f}",
                f"{measures['gcp']:.6f}",
                f"{measures['dm']:,}",
            ]
            cells += [f"{measures['avg']:.3f}", f"{found['seconds']['anonymize']:.3f}"]
            cells += [f"{sum(found['seconds'].values()):.3f}"]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()

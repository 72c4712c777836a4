"""Damaged files through the command line: each case ends well, or with a message and its exit code.

Anything else is a finding: exit code 70, a stack trace, a crash, a hang, or more than two gigabytes of memory. A case
follows from a seed and a number. ``python -m tests.fuzz.bad_inputs --seed 1 --case 17`` repeats one.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import queue
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from tests.fuzz import originals
from tests.fuzz.damage import damaged
from tests.fuzz.odd_words import odd_words
from tests.fuzz.running import folder

SECONDS = 20.0
STARTING = 180.0
"""Seconds for the imports of a process and its first case."""
MOST_MEMORY = 2 << 30
ADDRESSES = 8 << 30
OURS = 70
ANONYMIZE = "anonymize {} -p policy.toml -o out.csv"
DRAWN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("anonymize N/data.parquet -p N/policy.toml -o out.csv", ("N/policy.toml", "N/*")),
    ("assess N/data.parquet -p N/policy.toml", ("N/policy.toml", "N/data.parquet")),
    (
        "audit N/release.parquet -p N/policy.toml --original N/data.parquet --record N/record.json",
        ("N/policy.toml", "N/release.parquet", "N/record.json"),
    ),
    (
        "attack N/release.parquet -p N/policy.toml --original N/data.parquet --record N/record.json",
        ("N/policy.toml", "N/release.parquet", "N/record.json"),
    ),
    (
        "report N/release.parquet -p N/policy.toml --original N/data.parquet -o out.html",
        ("N/release.parquet",),
    ),
)
"""Commands about a table of `originals.DRAWN`, and the files that are replaced."""
COMMANDS: tuple[tuple[int, str, tuple[str, ...]], ...] = (
    *((2, ANONYMIZE.format(f"data.{ending}"), (f"data.{ending}",)) for ending in originals.TABLES),
    *((1, f"init data.{ending} -o out.toml", (f"data.{ending}",)) for ending in originals.TABLES),
    (3, ANONYMIZE.format("sqlite:///data.db --table people"), ("data.db",)),
    (3, ANONYMIZE.format("sqlite:///wide.db --table people"), ("wide.db",)),
    (3, ANONYMIZE.format("duckdb:///data.duckdb --table people"), ("data.duckdb",)),
    (1, "init sqlite:///data.db --table people -o out.toml", ("data.db",)),
    (2, ANONYMIZE.format("part"), ("part/part-0.parquet", "part/part-1.parquet")),
    (4, ANONYMIZE.format("data.csv"), ("policy.toml", "city.csv")),
    (
        8,
        "anonymize data.csv -p more.toml -o out.csv",
        ("more.toml", "more.toml", "queries.toml", "population.csv"),
    ),
    (3, "assess data.csv -p policy.toml", ("policy.toml", "data.csv", "city.csv")),
    (2, "assess data.csv -p more.toml", ("more.toml", "population.csv")),
    (3, "audit release.csv -p policy.toml", ("release.csv", "policy.toml")),
    (3, "audit release.parquet -p policy.toml --original data.csv", ("release.parquet", "data.csv")),
    (
        8,
        "audit release.csv -p policy.toml --original data.csv --record record.json",
        ("release.csv", "record.json", "record.json", "data.csv", "policy.toml"),
    ),
    (
        4,
        "audit two.csv --second two-sensitive.csv -p two.toml --original data.csv --record two.json",
        ("two.csv", "two-sensitive.csv", "two.json"),
    ),
    (2, "attack release.csv -p policy.toml --original data.csv", ("release.csv", "policy.toml")),
    (
        2,
        "attack release.csv -p policy.toml --original data.csv --earlier two.csv --earlier-record two.json",
        ("two.csv", "two.json"),
    ),
    (2, "attack release.parquet -p policy.toml --original data.csv", ("release.parquet",)),
    (
        1,
        "evidence release.csv -p policy.toml --original data.csv --record record.json -o made",
        ("release.csv",),
    ),
    (2, "assess data.parquet -p policy.toml", ("data.parquet",)),
    (
        1,
        "report release.parquet -p policy.toml --original data.csv -o out.html",
        ("release.parquet",),
    ),
    (
        1,
        "report release.csv -p policy.toml --original data.csv --comparison compared -o out.html",
        ("compared/comparison.json",),
    ),
    (
        1,
        "report release.csv -p policy.toml --original data.csv --record record.json -o out.html",
        ("record.json",),
    ),
    (
        1,
        "init data.csv --template safe-harbor --small-areas areas.txt -o out.toml",
        ("areas.txt", "data.csv"),
    ),
    (3, "evidence --check pack", ("pack/*",)),
    (3, "evidence --check pack.zip", ("pack.zip",)),
    (
        4,
        "network anonymize --nodes nodes.csv --edges edges.csv -p network.toml -o net --samples 0",
        ("nodes.csv", "edges.csv", "network.toml"),
    ),
    (
        2,
        "network anonymize --nodes nodes.csv --edges edges.txt -p network.toml -o net --samples 0",
        ("edges.txt",),
    ),
    (3, "network anonymize --graph graph.graphml -p network.toml -o net --samples 0", ("graph.graphml",)),
    (2, "network audit masked -p network.toml", ("masked/*",)),
    *(
        (
            1,
            words.replace("N", f"drawn-{number}"),
            tuple(name.replace("N", f"drawn-{number}") for name in names),
        )
        for number in range(originals.DRAWN)
        for words, names in DRAWN
    ),
)


@dataclass(frozen=True)
class Case:
    """A command in a folder of valid files, one of them replaced, or with words that nobody expects."""

    words: tuple[str, ...]
    name: str = ""
    content: bytes = b""


@dataclass(frozen=True)
class Outcome:
    """How a case ended: with an exit code, or with a fault."""

    number: int
    code: int
    fault: str = ""
    words: str = ""


def case(seed: int, number: int, valid: Path) -> Case:
    """Return the case with this number; `valid` is the folder of the originals."""
    rng = random.Random(f"{seed}/{number}")
    able = [one for one in COMMANDS if all((valid / name.removesuffix("/*")).exists() for name in one[2])]
    _, words, names = rng.choices(able, [weight for weight, _, _ in able])[0]
    if rng.random() < 0.2:
        return Case(odd_words(words.split(), rng))
    name = rng.choice(names)
    if name.endswith("*"):
        inside = sorted(path for path in (valid / name).parent.rglob("*") if path.is_file())
        name = rng.choice(inside).relative_to(valid).as_posix()
    others = [
        path.read_bytes()
        for path in sorted(valid.iterdir())
        if path.is_file() and path.stat().st_size < 1 << 16
    ]
    return Case(tuple(words.split()), name, damaged(name, (valid / name).read_bytes(), rng, others))


def tried(chosen: Case, number: int, valid: Path) -> Outcome:
    """Run a case in the current process, in a folder of links to the valid files."""
    from shoal.apps.cli import main

    with tempfile.TemporaryDirectory(dir=valid.parent) as place, contextlib.chdir(place):
        for path in valid.iterdir():
            if path.is_dir():
                shutil.copytree(path, path.name, copy_function=os.link)
            else:
                os.link(path, path.name)
        if chosen.name:
            target = Path(chosen.name)
            target.unlink()
            target.write_bytes(chosen.content)
        sys.argv = ["shoal", *chosen.words]
        fault, code = "", 0
        try:
            result = CliRunner().invoke(main, list(chosen.words))
            code = result.exit_code
            if code == OURS or (code == 1 and not isinstance(result.exception, SystemExit)):
                fault = _trace(chosen) or result.stderr
            elif "Traceback" in result.stderr:
                fault = result.stderr
        except BaseException as error:
            code, fault = OURS, f"{type(error).__name__} reached the caller"
    return Outcome(number, code, fault, f"{' '.join(chosen.words)[:400]} [{chosen.name}]")


def _trace(chosen: Case) -> str:
    """Run a case again, and return where it failed."""
    from shoal.apps.cli import main

    os.environ["SHOAL_DEBUG"] = "1"
    for made in ("out.csv", "out.toml", "out.html"):
        Path(made).unlink(missing_ok=True)
    shutil.rmtree("net", ignore_errors=True)
    try:
        main.main(list(chosen.words), standalone_mode=False)
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames if "shoal" in frame.filename]
        return f"{type(error).__name__}: {str(error)[:200]} at {' '.join(own[-4:])}"
    finally:
        del os.environ["SHOAL_DEBUG"]
    return ""


def work(seed: int, first: int, stop: int, valid: Path) -> None:
    """Run cases one after the other, and print how each ended; ends early if it has used too much memory."""
    warnings.simplefilter("ignore")
    own = os.fdopen(os.dup(1), "w", buffering=1)
    with open(os.devnull, "wb") as nowhere:  # panics of libraries
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    for number in range(first, stop):
        outcome = tried(case(seed, number, valid), number, valid)
        most = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if most > MOST_MEMORY and not outcome.fault:
            outcome = Outcome(number, outcome.code, f"took {most >> 20} MB", outcome.words)
        print(json.dumps(vars(outcome)), file=own)
        if most > MOST_MEMORY:
            return


def outcomes(seed: int, first: int, cases: int, valid: Path) -> Iterator[Outcome]:
    """Yield how cases ended, each run by a process that is replaced when it hangs or crashes."""
    at, stop = first, first + cases
    while at < stop:
        words = [sys.executable, "-m", "tests.fuzz.bad_inputs", "--seed", str(seed), "--valid", str(valid)]
        words += ["--first", str(at), "--cases", str(stop - at), "--work"]
        environment = {
            **os.environ,
            "POLARS_MAX_THREADS": "1",
            "NUMBA_NUM_THREADS": "1",
            "RUST_BACKTRACE": "0",
        }
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_listen, args=(process, lines), daemon=True).start()
        at = yield from _watched(process, lines, at, stop)


def _listen(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put("")


def _watched(
    process: subprocess.Popen[str], lines: queue.Queue[str], at: int, stop: int
) -> Generator[Outcome, None, int]:
    """Yield what one process reports, and how it ended; return the first case that is left."""
    patience = STARTING
    try:
        while True:
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                yield Outcome(at, -1, f"still running after {patience:.0f} s")
                return at + 1
            if line:
                outcome = Outcome(**json.loads(line))
                yield outcome
                at, patience = outcome.number + 1, SECONDS * max(1.0, os.getloadavg()[0])
                continue
            code = process.wait()
            if code == -signal.SIGABRT:  # the first process of a command reports lack of memory
                yield Outcome(at, 1)
                at += 1
            elif code:
                yield Outcome(
                    at, code, f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
                )
                at += 1
            return at
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def summary(seed: int, first: int, cases: int, valid: Path) -> int:
    """Run, print every finding and how cases ended, and return the number of findings."""
    codes: collections.Counter[int] = collections.Counter()
    found, start = 0, time.perf_counter()
    for outcome in outcomes(seed, first, cases, valid):
        codes[outcome.code] += 1
        if outcome.fault:
            found += 1
            print(f"case {outcome.number}: {outcome.words}: {outcome.fault}", flush=True)
    ended = ", ".join(f"{code}: {count:,}" for code, count in sorted(codes.items()))
    print(f"{sum(codes.values()):,} damaged files in {time.perf_counter() - start:.0f} s; exit codes {ended}")
    print(f"{found} findings" + (f"; repeat one with --seed {seed} --case NUMBER" if found else ""))
    return found


def main() -> int:
    """Run cases, or one of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.bad_inputs", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--case", type=int, help="run this case only, and show it")
    parser.add_argument("--valid", type=Path, help="the folder of the valid files; made if it does not exist")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=folder()) as place:
        valid = (asked.valid or Path(place) / "valid").absolute()
        if not valid.exists():
            valid.mkdir()
            originals.make(valid)
        if asked.work:
            work(asked.seed, asked.first, asked.first + asked.cases, valid)
            return 0
        if asked.case is None:
            return int(summary(asked.seed, asked.first, asked.cases, valid) > 0)
        chosen = case(asked.seed, asked.case, valid)
        print(f"shoal {' '.join(chosen.words)}\n{chosen.name}: {chosen.content[:3000]!r}")
        outcome = tried(chosen, asked.case, valid)
    print(outcome)
    return int(bool(outcome.fault))


if __name__ == "__main__":
    sys.exit(main())

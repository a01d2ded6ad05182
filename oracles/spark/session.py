"""A Spark session, embedded or on a cluster, set up as groupcheck needs it. It prints nothing, and
leaves nothing behind.

Measured on local[2]: a job of a few short tasks takes 0.05 to 0.15 s once the
Python workers are warm. They are forked from a daemon that has imported everything already
(`daemon.py`) and stay alive between jobs.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groupcheck.model.engine import UserError
from groupcheck.oracles.processes.supervisor import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSTALL = "pip install 'groupcheck[spark]'"
OLDEST_JAVA = 17
ATTEMPTS = 4  # of a task, also where Spark itself would allow one (local masters)
LOG = "spark.log"
MASTERS = "local[2], local[*], spark://host:7077, yarn or k8s://..."
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\s*(\d+))?\])?")
_SHOWN = 600  # characters of Spark's log in an error
# Spark's JVM does little: it hands out tasks and waits. The optimising compiler and a collector
# with threads of its own cost it more CPU time than they save.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_JVM_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""


def checked_master(master: str) -> str:
    """The master as Spark takes it; a local one with retries, as a cluster has them. Raises
    `UserError` for anything else.
    """
    local = _LOCAL.fullmatch(master)
    if local:
        threads, failures = local.groups()
        return f"local[{threads or 1},{failures or ATTEMPTS}]"
    if not re.fullmatch(r"yarn|(?:spark|k8s)://\S+|local-cluster\[\d+,\s*\d+,\s*\d+\]", master):
        raise UserError(
            f"{master[:60]!r} is not a Spark master", where="--spark", do=f"for example {MASTERS}"
        )
    return master


def is_local(master: str) -> bool:
    """Whether this master runs inside a JVM of this process."""
    return _LOCAL.fullmatch(master) is not None


def needed() -> None:
    """Raises `UserError` if PySpark or a JDK is missing."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise UserError("PySpark is not installed", where="--spark", do=INSTALL) from None
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    version = None
    if java:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
            version = re.search(r'version "(\d+)', told.stderr)
    if not version or int(version[1]) < OLDEST_JAVA:
        found = f"java is {version[1] if version else '?'}" if java else "no java is on the PATH"
        raise UserError(
            f"Spark needs Java {OLDEST_JAVA} or newer; {f'JAVA_HOME is {home}' if home else found}",
            where="--spark",
            do=f"install a JDK {OLDEST_JAVA}",
        )


@contextlib.contextmanager
def session(
    master: str, *, name: str = "groupcheck", conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session on a master: `local[2]`, `spark://host:port`, `yarn` or a `k8s://` address. `conf`:
    more settings of Spark.

    Raises `UserError` if PySpark or Java is missing, or if the master is wrong or does not answer.
    What the JVM writes to stderr goes to a file, and is quoted only in an error.
    """
    chosen = checked_master(master)
    needed()
    quiet = logging.NullHandler()  # or py4j tells the terminal of every Ctrl-C
    with temporary_folder("groupcheck-spark-") as where:
        settings = {**_settings(chosen, where), **(conf or {})}
        logging.getLogger().addHandler(quiet)
        spark = _started(chosen, name, where, settings)
        server: Any = spark.sparkContext._accumulatorServer
        # or it prints a traceback when the JVM dies, which the job reports
        server.handle_error = lambda request, client: None
        try:
            yield spark
        finally:
            logging.getLogger().removeHandler(quiet)
            with contextlib.suppress(Exception):
                spark.stop()
                _forget_settings(list(settings))


class OnDemand(contextlib.AbstractContextManager["OnDemand"]):
    """A session that starts when it is first used, because starting Spark often takes longer than
    the work. A with-block ends it.
    """

    def __init__(self, master: str, *, name: str = "groupcheck") -> None:
        self._master, self._name, self._stack = master, name, contextlib.ExitStack()
        self._spark: SparkSession | None = None

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @property
    def started(self) -> bool:
        """Whether it has been used."""
        return self._spark is not None

    def session(self) -> SparkSession:
        """The session, which starts now if it has not. Raises `UserError` as the function `session`
        does.
        """
        if self._spark is None:
            self._spark = self._stack.enter_context(session(self._master, name=self._name))
        return self._spark


def _forget_settings(names: list[str]) -> None:
    """The JVM stays for the next session of this process, which would get these settings, too."""
    from pyspark import SparkContext

    jvm: Any = SparkContext._jvm
    for name in names if jvm else ():
        jvm.java.lang.System.clearProperty(name)


def _settings(master: str, folder: Path) -> dict[str, str]:
    log4j = folder / "log4j2.properties"
    log4j.write_text(_JVM_LOGGING)
    (folder / "local").mkdir()
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"{JVM} -Dlog4j2.configurationFile={log4j.as_uri()}",
        "spark.python.daemon.module": "groupcheck.oracles.spark.daemon",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.task.maxFailures": str(ATTEMPTS),
        # what a task waits for the executor that has its shard at hand
        "spark.locality.wait": "500ms",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if is_local(master):
        settings |= {
            "spark.driver.memory": "2g",
            "spark.local.dir": str(folder / "local"),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
        }
    else:
        code = packed_code(folder)  # the daemon finds it in the executor's folder, by this name
        settings |= {
            "spark.files": str(code),
            "spark.executorEnv.PYTHONPATH": f"./{code.name}",
            # before the user's own extraJavaOptions, which stay
            "spark.executor.defaultJavaOptions": JVM,
        }
    if is_local(master) or "//127.0.0.1" in master or "//localhost" in master:
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _started(master: str, name: str, folder: Path, settings: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_local(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    log = folder / LOG
    handler = signal.getsignal(signal.SIGINT)
    try:
        with _stderr_to(log):
            return builder.getOrCreate()
    except Exception as error:
        told = " ".join(f"{_java_words(error)} {log.read_text(errors='replace')[-_SHOWN:]}".split())
        raise UserError(
            f"Spark does not start on {master}: {told}",
            where="--spark",
            do="check the master's address",
        ) from None
    finally:
        if threading.current_thread() is threading.main_thread():
            # PySpark's own handler calls the JVM in the middle of another call
            signal.signal(signal.SIGINT, handler)


@contextlib.contextmanager
def _stderr_to(file: Path) -> Iterator[None]:
    """Processes that are started in the block write their stderr to a file."""
    kept = os.dup(2)
    with file.open("ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def error_text(error: BaseException) -> str:
    """The error of a task: the last line of the executor's own traceback, without Spark's around
    it.
    """
    text = str(getattr(error, "java_exception", None) or error)
    lines = [line.strip() for line in text.splitlines()]
    raised = [
        line
        for line in lines
        if re.match(r"(?:[\w.]+(?:Error|Exception|Exit|Interrupt)|KeyboardInterrupt)\b", line)
        and not line.startswith(("org.", "java."))
    ]
    return (raised or [line for line in lines if line] or [type(error).__name__])[
        -1 if raised else 0
    ][:_SHOWN]


def _java_words(error: BaseException) -> str:
    """The message of a Java exception, without where it was thrown."""
    lines = [
        line.strip() for line in str(getattr(error, "java_exception", None) or error).splitlines()
    ]
    said = [
        line for line in lines if re.match(r"(?:: |Caused by: )?[\w.$]+(?:Exception|Error)\b", line)
    ]
    return " ".join(said or lines[:2])[:_SHOWN]


NAME = "groupcheck-code.zip"
_LEFT_OUT = {"__pycache__", "driver", "java"}  # Kafka's driver and clients run where the user is


def packed_code(folder: Path) -> Path:
    """Writes the installed package, links followed, into a zip that Python can import from. Returns
    the path of the zip.
    """
    import groupcheck

    root, file = Path(groupcheck.__file__).parent, folder / NAME
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for where, folders, names in os.walk(root, followlinks=True):
            folders[:] = sorted(set(folders) - _LEFT_OUT)
            for name in sorted(names):
                path = Path(where, name)
                if path.suffix != ".java":
                    out.write(path, path.relative_to(root.parent))
    return file

# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the live substrate share: the program in a store of its own, cgroups as the
kernel tells them, and what must be as it was when a run is over."""
import csv
import io
import json
import os
import subprocess
import tempfile
import time

SETTING = "/proc/sys/vm/watermark_scale_factor"


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def mounts():
    """(folder of cgroup v2, folder of v1's memory), None where there is none."""
    v2 = memory = None
    for line in read("/proc/self/mountinfo").splitlines():
        front, _, back = line.partition(" - ")
        kind, _, options = back.split(" ", 2)
        point = front.split(" ")[4]
        if kind == "cgroup2":
            v2 = v2 or point
        if kind == "cgroup" and "memory" in options.split(","):
            memory = memory or point
    return v2, memory


def own_groups():
    """The folders of this process's groups in v2 and in v1's memory."""
    v2, memory = mounts()
    found = [None, None]
    for line in read("/proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and v2:
            found[0] = v2 + path.rstrip("/")
        if "memory" in controllers.split(",") and memory:
            found[1] = memory + path.rstrip("/")
    return found


def our_groups():
    """Every group of Manometer's that exists now."""
    found = []
    for mount in mounts():
        for folder, folders, _ in os.walk(mount or "/nonexistent"):
            found += [os.path.join(folder, name) for name in folders
                      if name.startswith("manometer-")]
    return found


def processes_with(text):
    """Processes whose command line has `text`, but this one."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            line = open(f"/proc/{name}/cmdline", "rb").read().replace(b"\0", b" ").decode(
                "utf-8", "replace")
        except OSError:
            continue
        if text in line:
            found.append((int(name), line))
    return found


def wait_for(what, limit_s=120):
    """Until what() is true; what it said last."""
    end = time.monotonic() + limit_s
    while True:
        said = what()
        if said or time.monotonic() > end:
            return said
        time.sleep(0.02)


class Program:
    """manometer with a store, a runtime folder and a user of its own (as_nobody: 65534)."""

    def __init__(self, path, as_nobody=False):
        self.folder = tempfile.TemporaryDirectory(prefix="mano-live-")
        self.path = path
        self.before = []
        if as_nobody:
            os.chmod(self.folder.name, 0o755)
            self.before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            os.chown(self.folder.name, 65534, 65534)
        self.env = dict(os.environ, HOME=self.folder.name, XDG_RUNTIME_DIR=self.folder.name,
                        XDG_DATA_HOME=self.folder.name, XDG_CACHE_HOME=self.folder.name)

    def words(self, *words):
        return [*self.before, self.path, *words]

    def run(self, *words, codes=(0,)):
        done = subprocess.run(self.words(*words), env=self.env, capture_output=True, text=True,
                              errors="replace", check=False)
        assert done.returncode in codes, (words, done.returncode, done.stdout, done.stderr)
        return done

    def can_limit(self):
        """Whether this user may make a group here whose memory can be limited."""
        done = self.run("run", "idle", "--substrate", "live", "--set", "guest.memory=128MiB",
                        "--dry-run", codes=(0, 2))
        return done.returncode == 0

    def start(self, *words):
        return subprocess.Popen(self.words(*words), env=self.env, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, errors="replace")

    def values(self, runset="last"):
        """(trial, iteration, metric) → number or None, of a run set."""
        text = self.run("export", "csv", runset).stdout
        rows = csv.DictReader(io.StringIO(text))
        return {(row["trial"], row["iteration"], row["metric"]):
                float(row["value"]) if row["value"] else None for row in rows}

    def compare(self, runset="last"):
        done = self.run("compare", runset, "--format", "json", codes=(0, 3, 4))
        return json.loads(done.stdout)

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 at random moments: afterwards everything is as it was.

  killed_test.py MANOMETER COUNT [nobody]

COUNT times a live run (with a setting as an arm and a memory limit, where allowed) is killed by SIGKILL
after a time drawn from a printed seed. Then, without anybody's help: the setting has its old value,
no group of Manometer's is left, no process of the trial is left, and the journal is empty. Each tenth
time the guard is killed first: then the next run puts everything back.
"""
import os
import random
import signal
import sys
import time

import rig

SEED = int(os.environ.get("MANO_SEED", "20261201"))


def guards_of(parent):
    """The guards that this run of manometer has at the moment: at most one."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                status = rig.read(f"/proc/{name}/status")
            except OSError:
                continue
            if f"\nPPid:\t{parent}\n" in status and status.startswith("Name:\tmanometer-guar"):
                found.append(int(name))
    return found


def is_alive(pid):
    try:
        return "\nState:\tZ" not in rig.read(f"/proc/{pid}/status")
    except OSError:
        return False


class Case:
    def __init__(self, program, nobody):
        self.manometer = rig.Program(program, nobody)
        self.limited = self.manometer.can_limit()
        self.settings = not nobody and os.access(rig.SETTING, os.W_OK)
        # How long a run takes to begin, here and now: moments are drawn around its whole beginning.
        # It also puts back what a test that was broken off may have left.
        start = time.monotonic()
        self.manometer.run("run", "idle", "--substrate", "live", "--trials", "1", "--iterations",
                           "1", "--quiet", codes=(0, 3))
        self.whole = time.monotonic() - start
        self.setting = rig.read(rig.SETTING)
        other = "77" if self.setting.strip() != "77" else "78"
        self.mark = f"9{os.getpid()}{random.randrange(10**6)}"
        self.words = ["run", "command", "--substrate", "live", "--trials", "1", "--iterations",
                      "200", "--quiet"]
        if self.settings:
            self.words += ["--arm", "plain", "--arm",
                           f"set=sysctl.vm.watermark_scale_factor={other}"]
        if self.limited:
            self.words += ["--set", "guest.memory=128MiB"]
        # A program with a child that leaves the session and sleeps long.
        self.words += ["--", "sh", "-c",
                       f"setsid sleep 10{self.mark} & sleep 0.05"]
        journals = ["/run/manometer-live/journal", self.manometer.folder.name +
                    "/manometer/live/journal"]
        self.journals = journals

    def faults(self):
        """What isn't as it was."""
        found = []
        if rig.read(rig.SETTING) != self.setting:
            found.append(f"setting is {rig.read(rig.SETTING).strip()}")
        found += [f"group {group}" for group in rig.our_groups()]
        found += [f"process {pid} {line}" for pid, line in rig.processes_with("10" + self.mark)]
        found += [f"journal {path}" for path in self.journals
                  if os.path.exists(path) and os.path.getsize(path) > 0]
        return found

    def once(self, delay, guard_too):
        run = self.manometer.start(*self.words)
        time.sleep(delay)
        guards = guards_of(run.pid)
        if guard_too:
            for pid in guards:
                os.kill(pid, signal.SIGSTOP)  # so that it can't act between the two
        run.send_signal(signal.SIGKILL)
        if guard_too:
            for pid in guards:
                os.kill(pid, signal.SIGKILL)
        run.wait()
        run.stderr.close()
        if guard_too:
            # The agent and its workers go with their guard. The rest waits for the next run.
            rig.wait_for(lambda: not any(is_alive(pid) for pid in guards))
            self.manometer.run("run", "idle", "--substrate", "live", "--trials", "1", "--quiet",
                               codes=(0, 3))
        rig.wait_for(lambda: not any(is_alive(pid) for pid in guards) and not self.faults())
        faults = self.faults()
        assert not faults, faults
        return len(guards)


def main(program, count, nobody):
    random.seed(SEED)
    print(f"seed {SEED}, {count} times")
    case = Case(program, nobody)
    watched = 0
    for i in range(count):
        delay = random.uniform(0, 1.5 * case.whole + 0.3)
        guard_too = case.limited and i % 10 == 9  # without a group, orphans of orphans are lost
        watched += case.once(delay, guard_too)
        if i % 10 == 9:
            print(f"{i + 1} times killed, everything as it was", flush=True)
    print(f"in {watched} of {count} a trial was going on")
    assert watched > 0, "no kill came while anything was changed"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), "nobody" in sys.argv[3:])

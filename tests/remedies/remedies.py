#!/usr/bin/env python3
"""Carries out for real what corefrag advises, and holds what it promised against the measurement.

    remedies.py COREFRAG FOLDER [--rounds N] [--of REGEX] [--table FILE]

Each program runs under the probe (probe.c), comes to rest, and is dumped. What corefrag promises of
that core is tried on copies of the same heap: malloc_trim(0), freeing named chunks, freeing a group.
Settings are tried on new runs of the program. A measurement is the kernel's, page by page.

    exact      equal to the page: the sum, and every page of it
    bound      not crossed in any round
    estimate   within a factor of two in every round
    direction  no figure was promised; shown, not judged
"""
import argparse
import os
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = 4096
DIRECTION = "direction"


class Program:
    """A program to try remedies on. `group`: part of the name that the group's advice must have, of
    a program that can free it. `grows`: it says ready twice, and grows in between."""

    def __init__(self, name, command, group=None, grows=False, env=None, settles=0.3):
        self.name = name
        self.command = command
        self.group = group
        self.grows = grows
        self.env = env or {}
        self.settles = settles


PROGRAMS = [
    Program("sessions (C++, 24 threads)", ["{bin}/sessions", "24", "500", "19"],
            group="g_sessions"),
    Program("batches (C, 12 threads)", ["{bin}/batches", "600", "12", "4", "4", "2048", "1"]),
    Program("batches of large buffers", ["{bin}/batches", "600", "12", "4", "160", "2000", "3"]),
    Program("scopes (C++)", ["{bin}/scopes", "1000", "200000"], group="g_log", grows=True),
    # The Java heap is all touched from the start, so that what changes is not its.
    Program("JVM (Deflaters in 16 threads)",
            ["java", "-XX:+UseSerialGC", "-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch",
             "-XX:TieredStopAtLevel=1", "-cp", "{bin}", "Churn"], settles=2),
    Program("Ruby (32 threads)", ["ruby", "{here}/churn.rb"], settles=1),
    Program("R", ["R", "--vanilla", "--no-echo", "-f", "{here}/churn.R"]),
    Program("python3 with lxml", ["/usr/bin/python3", "{here}/churn_lxml.py"]),
    Program("node with sharp", ["node", "--expose-gc", "{here}/churn_sharp.js"], settles=2),
]

# Rule of corefrag, the setting that it names, and whether malloc_trim(0) belongs to it.
SETTINGS = [
    ("what-if-tcache", "tcache_count=0 and malloc_trim(0)",
     {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}, True),
    ("what-if-trim-threshold", "MALLOC_TRIM_THRESHOLD_=131072",
     {"MALLOC_TRIM_THRESHOLD_": "131072"}, False),
    ("what-if-thresholds", "MALLOC_MMAP_THRESHOLD_=131072",
     {"MALLOC_MMAP_THRESHOLD_": "131072"}, False),
    ("what-if-arena-max", "MALLOC_ARENA_MAX=2", {"MALLOC_ARENA_MAX": "2"}, False),
]


class CopyDied(Exception):
    pass


class Run:
    """One process under the probe, and the copy of it that carries out orders."""

    def __init__(self, program, folder, more_env=None, wants_core=True):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.folder = folder
        # A name of its own, so that no other run's copy takes its orders.
        self.prefix = os.path.join(folder, f"probe-{time.time_ns()}")
        binaries = os.path.dirname(os.path.dirname(folder))
        places = {"bin": binaries, "here": HERE}
        env = dict(os.environ, LD_PRELOAD=os.path.join(binaries, "probe.so"),
                   REMEDY_PREFIX=self.prefix, REMEDY_CORE="1" if wants_core else "0", LC_ALL="C",
                   REMEDY_BIN=binaries, **program.env)
        env.update(more_env or {})
        self.process = subprocess.Popen(
            [part.format(**places) for part in program.command], cwd=folder, env=env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.prefix + ".err", "w"),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE,
                                                  (resource.RLIM_INFINITY,) * 2))
        self.older_core = None
        self.wait_until_ready()
        if program.grows:
            self.older_core = self.keep_older() if wants_core else None
            self.process.stdin.write(b"go on\n")
            self.process.stdin.flush()
            self.wait_until_ready()
        time.sleep(program.settles)
        self.process.send_signal(signal.SIGRTMIN + 8)
        try:
            self.process.wait(timeout=300)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.core = os.path.join(folder, "core")
        if wants_core and not os.path.exists(self.core):
            sys.exit(f"{program.name}: no core in {folder}; core_pattern has to be 'core' "
                     "(/proc/sys/kernel/core_pattern)")
        self.anonymous = self.count("Anonymous")

    def wait_until_ready(self):
        for line in self.process.stdout:
            if line.strip() == b"ready":
                return
        sys.exit(f"{self.folder}: ended before it was ready; see probe.err there")

    def keep_older(self):
        self.process.send_signal(signal.SIGRTMIN + 9)
        made, older = os.path.join(self.folder, "core"), os.path.join(self.folder, "core.older")
        size = -1
        for _ in range(600):
            time.sleep(0.1)
            before, size = size, os.path.getsize(made) if os.path.exists(made) else -1
            if size > 0 and size == before:
                break
        os.rename(made, older)
        return older

    def count(self, name):
        with open(self.prefix + ".before", encoding="ascii") as figures:
            return int(re.search(rf"^{name}: +(\d+) kB", figures.read(), re.M)[1]) * 1024

    def order(self, what):
        """What the copy measured: freed, both (bytes) and trim_us."""
        done = self.prefix + ".done"
        if os.path.exists(done):
            os.unlink(done)
        with open(self.prefix + ".tmp", "w", encoding="ascii") as order:
            order.write(what + "\n")
        os.rename(self.prefix + ".tmp", self.prefix + ".do")
        for _ in range(6000):
            if os.path.exists(done):
                break
            time.sleep(0.05)
        else:
            sys.exit(f"{self.folder}: the copy does not answer")
        with open(done, encoding="ascii") as answer:
            said = {key: int(value) for key, value in (line.split("=") for line in answer)}
        if "failed" in said:
            raise CopyDied(f"the copy died of the order {what}, wait status {said['failed']}")
        return said

    def pages(self):
        """Ranges that were given back in the last order."""
        with open(self.prefix + ".pages", encoding="ascii") as lines:
            return [tuple(int(word, 16) for word in line.split()) for line in lines]

    def free(self, addresses):
        path = self.prefix + ".free"
        with open(path, "wb") as out:
            for address in addresses:
                out.write(struct.pack("<Q", address & (2 ** 64 - 1)))
        return self.order("free " + path)

    def end(self):
        with open(self.prefix + ".tmp", "w", encoding="ascii") as order:
            order.write("quit\n")
        os.rename(self.prefix + ".tmp", self.prefix + ".do")
        for _ in range(100):
            if not os.path.exists(self.prefix + ".do"):
                break
            time.sleep(0.05)


class Database:
    def __init__(self, corefrag, run):
        self.path = os.path.join(run.folder, "core.db")
        self.analyze(corefrag, run.core, self.path, ["--smaps", run.prefix + ".smaps"])
        self.db = sqlite3.connect(self.path)
        self.db.row_factory = sqlite3.Row
        self.advice = {row["code"]: row for row in self.db.execute("SELECT * FROM v_advice")}
        self.fact = self.db.execute("SELECT * FROM v_fact").fetchone()

    @staticmethod
    def analyze(corefrag, core, path, options):
        done = subprocess.run([corefrag, "analyze", core, "-o", path, "--force", "--progress",
                               "never"] + options, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"corefrag analyze {core}: exit {done.returncode}\n{done.stderr}")

    def top_pins(self, ranks):
        return [row[0] for row in self.db.execute(
            "SELECT user_address FROM v_top_pin WHERE rank <= ? ORDER BY arena_id, rank", (ranks,))]

    def pinners(self):
        """All live chunks of the size and type that pin the most."""
        return [row[0] for row in self.db.execute(
            "SELECT c.user_address FROM v_chunk c, (SELECT size_bytes, type FROM v_pinner LIMIT 1) p"
            " WHERE c.state = 'live' AND c.size_bytes = p.size_bytes AND c.type IS p.type")]

    def beyond_trim(self, which):
        """What comes back without some chunks, beyond malloc_trim(0) alone: more_bytes leaves out
        what the next free() of a large block would drop anyway, and here such a free() happens."""
        row = self.db.execute("SELECT then_bytes FROM v_trim_if WHERE " + which).fetchone()
        return None if row is None else row[0] - self.fact["releasable_bytes"]

    def trim_pages(self):
        return [(row[0] & (2 ** 64 - 1), (row[0] + row[1]) & (2 ** 64 - 1))
                for row in self.db.execute(
                    "SELECT address, length_bytes FROM v_trim_range ORDER BY address")]


class Judge:
    """Rows of the table: program, remedy, kind -> what was said and measured in each round."""

    def __init__(self):
        self.rows = {}
        self.failures = []

    def note(self, program, remedy, kind, said, measured):
        row = self.rows.setdefault((program.name, remedy), {"kinds": [], "said": [],
                                                            "measured": []})
        if kind not in row["kinds"]:
            row["kinds"].append(kind)
        row["said"].append(said)
        row["measured"].append(measured)
        verdict = self.problem(kind, said, measured)
        shown = "no figure" if said is None else mib(said)
        print(f"  {remedy:44} {kind:10} said {shown:>10}  measured {mib(measured):>10}"
              f"  {verdict or ''}", flush=True)
        if verdict:
            self.fail(program, f"{remedy}: {verdict}: said {said}, measured {measured}")

    @staticmethod
    def problem(kind, said, measured):
        if kind == "exact" and measured != said:
            return "NOT EXACT"
        if kind == "at-least" and measured < said:
            return "LESS THAN SAID"
        if kind == "bound" and measured > said:
            return "BOUND CROSSED"
        if kind == "estimate" and not said <= 2 * measured <= 4 * said:
            return "NOT WITHIN A FACTOR OF TWO"
        return None

    def fail(self, program, what):
        self.failures.append(f"{program.name}: {what}")


def mib(value):
    return f"{value / 2 ** 20:.1f} MiB"


def ranged(values):
    if None in values:
        figures = [value for value in values if value is not None]
        return "no figure" + (", or " + ranged(figures) if figures else "")
    low, high = f"{min(values) / 2 ** 20:.1f}", f"{max(values) / 2 ** 20:.1f}"
    return (low if low == high else f"{low} to {high}") + " MiB"


def try_trim(judge, program, run, database):
    """Promise and measurement, and that each page that came back was named."""
    measured = run.order("trim")
    kind = "exact" if database.fact["residency_exact"] else "at-least"
    judge.note(program, "malloc_trim(0)", kind, database.fact["releasable_bytes"], measured["both"])
    named, at = database.trim_pages(), 0
    for start, end in run.pages():
        while at < len(named) and named[at][1] <= start:
            at += 1
        while start < end and at < len(named) and named[at][0] <= start:
            start = min(end, named[at][1])
            at += named[at][1] <= start
        if start < end:
            judge.fail(program, f"malloc_trim(0) gave back 0x{start:x}, which was not named")
            break
    return measured["both"]


def try_frees(judge, program, run, database, trimmed):
    for code, ranks in (("what-if-top-1", 1), ("what-if-top-10", 10), ("what-if-top-100", 100)):
        if code in database.advice:
            measured = run.free(database.top_pins(ranks))
            judge.note(program, f"free() of the topmost {ranks} of each arena", "bound",
                       database.advice[code]["gives_back_bytes"], measured["freed"])
    if "what-if-pinners" in database.advice:
        measured = run.free(database.pinners())
        judge.note(program, "free() of the chunks that pin the most, then trim", "bound",
                   database.beyond_trim("kind = 'size'"), measured["both"] - trimmed)


def try_group(judge, program, run, database, trimmed):
    """The group of a program that can free it, whether it is worth a line or not."""
    if program.group is None:
        return
    said = database.beyond_trim(f"kind = 'owner' AND without LIKE '{program.group}%'")
    if said is None:
        judge.fail(program, f"nothing is said of what {program.group} holds")
        return
    measured = run.order("group")
    judge.note(program, f"free() of all that {program.group} holds, then trim", "bound", said,
               measured["both"] - trimmed)


def try_growth(judge, program, run, database, corefrag):
    """The comparison of two cores names the group in its first line."""
    older = os.path.join(run.folder, "older.db")
    Database.analyze(corefrag, run.older_core, older, [])
    told = subprocess.run([corefrag, "diff", older, database.path], stdout=subprocess.PIPE,
                          text=True, check=True).stdout
    print("  " + "\n  ".join(told.splitlines()[:8]), flush=True)
    if not re.search(rf"RETENTION.*{program.group}", told.replace("\n", " ")[:1200]):
        judge.fail(program, f"diff does not name {program.group}")


def try_settings(judge, program, run, database, trimmed, folder):
    for code, words, env, with_trim in SETTINGS:
        if code not in database.advice:
            continue
        again = Run(program, folder + "-" + code, env, wants_core=False)
        saved = run.anonymous - again.anonymous
        if with_trim:
            saved += again.order("trim")["both"] - trimmed
        again.end()
        row = database.advice[code]
        said = row["gives_back_bytes"]
        judge.note(program, words, DIRECTION if said is None else row["exactness"], said, saved)


def try_program(judge, program, corefrag, folder):
    run = Run(program, folder)
    try:
        database = Database(corefrag, run)
        print(f"  {database.db.execute('SELECT headline FROM v_verdict').fetchone()[0]}", flush=True)
        trimmed = try_trim(judge, program, run, database)
        try_frees(judge, program, run, database, trimmed)
        try_group(judge, program, run, database, trimmed)
    finally:
        run.end()
    if program.grows:
        try_growth(judge, program, run, database, corefrag)
    try_settings(judge, program, run, database, trimmed, folder)


def write_table(judge, path, rounds):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"Rounds: {rounds}. Of figures that differ between rounds, the least and the "
                  "most.\n\n| program | remedy | said | measured | kind |\n|---|---|---|---|---|\n")
        for (program, remedy), row in judge.rows.items():
            out.write(f"| {program} | {remedy} | {ranged(row['said'])} | "
                      f"{ranged(row['measured'])} | {', '.join(row['kinds'])} |\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("corefrag")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--of", default="")
    parser.add_argument("--table")
    options = parser.parse_args()
    judge = Judge()
    for number, program in enumerate(PROGRAMS):
        if not re.search(options.of, program.name):
            continue
        for turn in range(options.rounds):
            print(f"{program.name}, round {turn + 1}", flush=True)
            try:
                try_program(judge, program, os.path.abspath(options.corefrag),
                            os.path.join(os.path.abspath(options.folder), "run", f"{number}"))
            except CopyDied as died:
                judge.fail(program, str(died))
    if options.table:
        write_table(judge, options.table, options.rounds)
    for failure in judge.failures:
        print("FAILED: " + failure)
    print(f"{len(judge.rows)} remedies of {options.rounds} rounds, {len(judge.failures)} failures")
    return 1 if judge.failures or not judge.rows else 0


if __name__ == "__main__":
    sys.exit(main())

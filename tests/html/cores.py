"""Databases and pages for the tests: from cores of the truth program, one of them under a name
that tries to become markup, and from a database whose names do."""
import os
import resource
import shutil
import sqlite3
import subprocess

HOSTILE = '"><img src=x onerror=alert(1)><script>alert(2)</script>\u202egpj.\x1b[2J\'&amp;'


def program(name, variable):
    return os.path.abspath(os.environ.get(variable, name))


def corefrag(*arguments, codes=(0,)):
    done = subprocess.run([program("build/corefrag", "COREFRAG"), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in codes:
        raise RuntimeError(f"corefrag {arguments}: {done.returncode} {done.stderr.decode()}")
    return done.stdout


def no_core_limit():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def kernel_core(truth, scenario, folder):
    subprocess.run([truth, scenario, "truth.json"], cwd=folder, preexec_fn=no_core_limit,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    cores = [name for name in os.listdir(folder) if name.startswith("core")]
    return os.path.join(folder, cores[0]) if cores else None


def gdb_core(truth, scenario, folder):
    """Where the kernel hands cores to somebody else."""
    process = subprocess.Popen([truth, scenario, "truth.json", "wait"], cwd=folder,
                               stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        subprocess.run(["gcore", "-o", os.path.join(folder, "core"), str(process.pid)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    finally:
        process.kill()
        process.wait()
    return os.path.join(folder, f"core.{process.pid}")


def database(folder, scenario, truth=None):
    """The database of a core of `scenario`; `truth` is the program, by another name perhaps."""
    os.makedirs(folder)
    if truth is None:
        truth = program("build/gen/truth", "TRUTH")
    core = kernel_core(truth, scenario, folder) or gdb_core(truth, scenario, folder)
    path = os.path.join(folder, "it.db")
    corefrag("analyze", core, "-o", path, "--cpus", "8", codes=(0, 6))
    os.remove(core)
    return path


def hostile_program(folder):
    """The truth program where its path holds markup: a folder called `<`, and in it `script>...`."""
    angle = os.path.join(folder, "name", "<")
    os.makedirs(angle)
    copy = os.path.join(angle, "script><img src=x onerror=alert(3)>\u202e\x1b'\"&lt;")
    shutil.copy(program("build/gen/truth", "TRUTH"), copy)
    return copy


def make_hostile(path):
    """Names of types, holders and files as a hostile core would have them."""
    with sqlite3.connect(path) as db:
        for table, columns in (("top_pin", ("type", "holder")), ("page_pin", ("type", "holder")),
                               ("thread", ("top_frame",)), ("type", ("type",)),
                               ("tunable", ("note",)), ("budget", ("label",))):
            for column in columns:
                db.execute(f"UPDATE {table} SET {column} = ? || rowid"
                           if table not in ("top_pin", "tunable") else
                           f"UPDATE {table} SET {column} = ?", (HOSTILE,))
        db.execute("UPDATE meta SET value = ? WHERE key IN ('core_path', 'libc_path')", (HOSTILE,))
        db.execute("INSERT INTO anomaly (source, code, is_corruption, detail) VALUES "
                   "('heap', 'name', 0, ?)", (HOSTILE,))
    db.close()


def make_large(path, heaps):
    """As many heaps as asked for, each chequered: far more than a page can hold."""
    with sqlite3.connect(path) as db:
        db.execute("CREATE TEMP TABLE n AS WITH RECURSIVE c (i) AS (SELECT 0 UNION ALL SELECT "
                   "i + 1 FROM c WHERE i < ?) SELECT i FROM c", (heaps - 1,))
        db.execute("INSERT INTO heap SELECT 1000 + i, 1 + i % 40, (1 << 44) + (i << 26), 0, "
                   "(1 << 44) + ((i + 1) << 26), (1 << 44) + ((i + 1) << 26), 60000000, "
                   "live_chunks, 1000000, free_chunks, free_bytes, fast_bytes, tcache_bytes, "
                   "top_bytes, fence_bytes, overhead_bytes, holes, hole_bytes, largest_hole_bytes, "
                   "NULL FROM heap, n WHERE heap_id = 1")
        db.execute("INSERT INTO page_run SELECT h.heap_id, h.start + n.i * 128 * 4096, 128, "
                   "CASE n.i % 4 WHEN 0 THEN 'releasable' WHEN 1 THEN 'mixed' WHEN 2 THEN 'dead' "
                   "ELSE 'live' END, 1, n.i % 4 % 2 * 1000 FROM heap h, n "
                   "WHERE h.heap_id >= 1000 AND n.i < 128")
    db.close()


def page(path, out, *options):
    corefrag("report", path, "--format", "html", "-o", out, *options)
    return out

#!/usr/bin/env python3
"""One life of a PostgreSQL server: queries that sort, group and build documents, then short transactions of many clients.

    bench/loads/programs/postgresql_server.py [--preload LIBRARY] [--rows N] [--seconds N]
    snug run --compare glibc,jemalloc -- bench/loads/programs/postgresql_server.py

The allocator under test serves the *server's processes* alone: as in redis_server.py, this script takes the LD_PRELOAD it
is started with, frees itself of it and hands it to the server. initdb, psql and pgbench run without it. Every process of
the server accepts the preload, each a fork of the first; that the library is mapped in a backend is checked.

PostgreSQL takes memory by contexts, which ask malloc for blocks of 8 KiB and more and doubled up to 8 MiB, and give them
back whole: a load of large blocks, beside 128 MiB of shared buffers that malloc never sees. So the memory figure counts
anonymous private memory (each process's own), summed over the server's processes while clients are connected.

PostgreSQL does not run as root. Root gets a user namespace in which it has another number, and keeps its own rights
outside of it; where the system refuses that, the script says so. The figures also go to $SNUG_FIGURES.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from preload import inherited_preload, served_environment, unserved_environment

START_SECONDS = 20
STEP_SECONDS = 120
CLIENTS = 6
DEFAULT_ROWS = 81_000
SETTINGS = {"shared_buffers": "128MB", "fsync": "off", "full_page_writes": "off", "autovacuum": "off", "jit": "off",
            "work_mem": "32MB", "max_wal_size": "1GB", "listen_addresses": "", "logging_collector": "off",
            "max_parallel_workers_per_gather": "0", "synchronous_commit": "off"}

# Each stage ends with a division by zero if its result is wrong. queries_of() puts the numbers in.
QUERIES = """
CREATE TABLE items AS SELECT i AS id, i * 7919 % 1000 AS kind, md5(i::text) AS code, repeat('x', i % 200) AS note
  FROM generate_series(1, ROWS) AS i;
SELECT 1 / (count(*) = ROWS)::int FROM (SELECT * FROM items ORDER BY code, note OFFSET 0) AS sorted;
SELECT 1 / (sum(n) = ROWS)::int FROM (SELECT kind, count(*) AS n, string_agg(note, ',' ORDER BY code) FROM items GROUP BY kind) AS g;
SELECT 1 / (count(*) = ROWS)::int FROM items AS a JOIN items AS b ON a.code = b.code;
SELECT 1 / (sum(jsonb_array_length(d)) = ROWS)::int FROM
  (SELECT jsonb_agg(jsonb_build_object('id', id, 'code', code, 'note', note)) AS d FROM items GROUP BY id / 50) AS documents;
SELECT 1 / (count(*) = ROWS)::int FROM (SELECT regexp_replace(code, '[a-f]+', '-', 'g') FROM items OFFSET 0) AS changed;
DO $$ DECLARE total bigint := 0; part text[];
BEGIN
  FOR i IN 1..LOOPS LOOP
    part := string_to_array(repeat('word ', i % 50), ' ');
    total := total + coalesce(array_length(part, 1), 0);
  END LOOP;
  IF total <> WORDS THEN RAISE 'an array was damaged: %', total; END IF;
END $$;
"""


def main():
    options = parse_options()
    preload = inherited_preload() if options.preload is None else options.preload
    programs = find_programs()
    with tempfile.TemporaryDirectory(prefix="snug-postgresql-") as folder:
        with Server(programs, Path(folder), preload) as server:
            figures = live(server, options)
    if "SNUG_FIGURES" in os.environ:
        Path(os.environ["SNUG_FIGURES"]).write_text(json.dumps(figures))
    print(json.dumps(figures, indent=2))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preload", help="library for the server's LD_PRELOAD, '' for none; default: our own")
    parser.add_argument("--rows", type=int, default=DEFAULT_ROWS, help="of the table, a multiple of 150 (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=1, help="of short transactions (default %(default)s)")
    options = parser.parse_args()
    if options.seconds < 1:
        parser.error("--seconds: at least 1")
    if options.rows < 150 or options.rows % 150 != 0:
        parser.error("--rows: a multiple of 150")
    return options


def queries_of(rows):
    """The texts above for a table of so many rows."""
    loops = rows // 3
    words = loops // 50 * sum(length + 1 for length in range(1, 50))  # an empty text is no word, and its array is empty
    values = {"ROWS": rows, "LOOPS": loops, "WORDS": words}
    return re.sub("|".join(values), lambda name: str(values[name[0]]), QUERIES)


def find_programs():
    """The folder of the newest PostgreSQL's programs, which Debian keeps out of the path."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name.split(".")[0]))
    for folder in [*reversed(folders), *map(Path, os.environ.get("PATH", "").split(":"))]:
        if all((folder / name).exists() for name in ("postgres", "initdb", "psql", "pgbench")):
            return folder
    sys.exit("postgresql_server.py: no PostgreSQL found: apt-get install postgresql")


def live(server, options):
    start = time.monotonic()
    server.psql(queries_of(options.rows))
    queries = time.monotonic() - start
    server.run("pgbench", "--initialize", "--quiet", "--scale", "2")
    with server.idle_clients(options.rows // 2):
        output = server.run("pgbench", "--client", str(CLIENTS), "--jobs", "2", "--time", str(options.seconds),
                            "--protocol", "prepared", "--no-vacuum")
        memory = server.private_bytes()
    rate = re.search(r"^tps = ([0-9.]+)", output, re.M)
    if not rate or not re.search(r"^number of failed transactions: 0 ", output, re.M):
        sys.exit(f"postgresql_server.py: pgbench printed something else than expected: {output!r}")
    # pgbench keeps three sums equal.
    server.psql("SELECT 1 / (count(DISTINCT sum) = 1)::int FROM (SELECT sum(abalance) FROM pgbench_accounts UNION ALL "
                "SELECT sum(tbalance) FROM pgbench_tellers UNION ALL SELECT sum(bbalance) FROM pgbench_branches) AS sums;")
    return {
        "queries": {"value": queries, "unit": "s", "better": "lower"},
        "transactions": {"value": float(rate[1]), "unit": "op/s", "better": "higher"},
        "private memory": {"value": memory, "unit": "B", "better": "lower"},
    }


class Server:
    """A cluster of its own in a temporary folder, reached by a socket there."""

    def __init__(self, programs, folder, preload):
        self.programs, self.folder, self.preload = programs, folder, preload
        self.as_other_user = [] if os.geteuid() != 0 else ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
        self.process = None

    def __enter__(self):
        if self.as_other_user and subprocess.run([*self.as_other_user, "true"], capture_output=True, check=False).returncode:
            sys.exit("postgresql_server.py: PostgreSQL does not run as root, and the system allows no user namespace: "
                     "run this as another user")
        data = self.folder / "data"
        self.run("initdb", "--pgdata", str(data), "--auth", "trust", "--username", "snug", "--no-sync", "--encoding", "UTF8",
                 "--locale", "C", client=False)
        settings = [f"--{name}={value}" for name, value in {**SETTINGS, "unix_socket_directories": str(self.folder)}.items()]
        with (self.folder / "log").open("wb") as log:
            # `unshare` runs the server in its own place, so that this is the server's process.
            self.process = subprocess.Popen(
                [*self.as_other_user, str(self.programs / "postgres"), "-D", str(data), *settings],
                env=served_environment(self.preload), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while not (self.folder / ".s.PGSQL.5432").exists() or not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                sys.exit(f"postgresql_server.py: the server does not start: {self.last_words()}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # a "fast" shutdown
            try:
                self.process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait(START_SECONDS)
        if self.process.returncode != 0:
            sys.exit(f"postgresql_server.py: the server ended with {self.process.returncode}: {self.last_words()}")

    def last_words(self):
        lines = (self.folder / "log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def answers(self):
        command = [str(self.programs / "psql"), "--no-psqlrc", "--quiet", "-c", "SELECT 1"]
        return subprocess.run(command, env=self.client_environment(), capture_output=True, check=False).returncode == 0

    def client_environment(self):
        return {**unserved_environment(), "PGHOST": str(self.folder), "PGUSER": "snug", "PGDATABASE": "postgres"}

    def run(self, program, *arguments, client=True):
        """A program of PostgreSQL's, without the allocator under test. Returns what it printed."""
        command = [*([] if client else self.as_other_user), str(self.programs / program), *arguments]
        run = subprocess.run(command, env=self.client_environment(), capture_output=True, text=True, timeout=STEP_SECONDS,
                             check=False)
        if run.returncode != 0:
            said = (run.stderr.strip() or run.stdout.strip()).splitlines() or ["it said nothing"]
            sys.exit(f"postgresql_server.py: {program} ended with {run.returncode}: {said[-1]}")
        return run.stdout

    def psql(self, text):
        return self.run("psql", "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1", "-c",
                        text)

    def idle_clients(self, sorted_rows):
        return IdleClients(self, sorted_rows)

    def processes(self):
        """The server's process ids, the first one's first."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def private_bytes(self):
        """Anonymous memory of all processes, each page that forks share counted once over all; and the proof of service."""
        total = 0
        libraries = {str(Path(path).resolve()) for path in self.preload.split(":") if path}
        for pid in self.processes():
            try:
                mapped = Path(f"/proc/{pid}/maps").read_text()
                fields = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
            for library in libraries:
                if library not in mapped:
                    sys.exit(f"postgresql_server.py: a process of the server did not map {library}: nothing was measured of it")
            anonymous = re.search(r"^Pss_Anon: +(\d+) kB", fields, re.M)
            total += int(anonymous[1]) * 1024
        return total


class IdleClients:
    """Connections that have worked and now wait, as a pool of an application's: each keeps a backend alive."""

    def __init__(self, server, sorted_rows):
        self.server, self.sorted_rows = server, sorted_rows
        self.clients = []

    def __enter__(self):
        for _ in range(CLIENTS):
            client = subprocess.Popen(
                [str(self.server.programs / "psql"), "--no-psqlrc", "--quiet", "--no-align", "--tuples-only",
                 "--set", "ON_ERROR_STOP=1"],
                env=self.server.client_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self.clients.append(client)
            client.stdin.write(f"SELECT count(*) FROM (SELECT * FROM items ORDER BY code LIMIT {self.sorted_rows}) AS first;\n")
            client.stdin.flush()
            if client.stdout.readline().strip() != str(self.sorted_rows):
                sys.exit("postgresql_server.py: a client's query failed")
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.communicate("\\q\n")


if __name__ == "__main__":
    main()

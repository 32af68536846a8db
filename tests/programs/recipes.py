"""recipes.py NAME LIBSNUG RECIPES: tries one recipe of docs/recipes.md with the real program, on the page's own settings.

What the page says to write (settings, a unit, a Dockerfile, C) is read from the page, so that it cannot rot. A program
counts as served if its own report says so, a server's processes if the library is among their mappings.
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench" / "loads" / "programs"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from jemalloc_calls import calls_jemalloc  # from the first of the folders just named
from processes import HANGS, children_of, free_port, threads_of  # from the second
from service import fail, need, skip

PAGE_LIBRARIES = "/usr/local/lib/"  # where the page has libsnug.so
SETTING = re.compile(r"\b(LD_PRELOAD|SNUG_CONF|PYTHONMALLOC)\s*=\s*'?([^\s']+)'?")
STARTUP_SECONDS = 1200
NOBODY = 65534


@dataclass(frozen=True)
class Section:
    """What one heading of the page says to write: its fenced blocks, by language."""

    title: str
    text: str

    def blocks(self, language: str) -> list[str]:
        found = re.findall(rf"^```{language}\n(.*?)^```", self.text, re.MULTILINE | re.DOTALL)
        if not found:
            fail(f"the recipe '{self.title}' has no block of {language}")
        return found


def section_of(page: Path, title: str) -> Section:
    for part in re.split(r"^## ", page.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        if heading == title:
            return Section(title, text)
    fail(f"{page} has no recipe '{title}'")
    raise AssertionError


class Bench:
    """A folder that every user may write to, the library, and the report."""

    def __init__(self, library: str, page: Path) -> None:
        self.page = page
        self.folder = Path(tempfile.mkdtemp(prefix="snug-recipes-"))
        self.folder.chmod(0o777)
        # A copy, since a server's user may not be let into the build's folder.
        self.library = shutil.copy(library, self.folder / "libsnug.so")
        self.report = self.folder / "snug.jsonl"

    def settings(self, text: str) -> dict[str, str]:
        """The environment that the page's text asks for, with this build's library and this folder's report."""
        found = {name: value.replace(PAGE_LIBRARIES, f"{self.folder}/")
                 for name, value in SETTING.findall(text)}
        if str(self.library) not in found.get("LD_PRELOAD", "").split(":"):
            fail(f"the page preloads no libsnug.so of {PAGE_LIBRARIES}: {text}")
        found["SNUG_CONF"] = ",".join(part for part in found.get("SNUG_CONF", "").split(",")
                                      if part and not part.startswith("report:")) + f",report:{self.report}"
        return found

    def environment(self, text: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "SNUG_CONF", "PYTHONMALLOC")}
        return {**kept, "LC_ALL": "C.UTF-8", "HOME": str(self.folder), **self.settings(text)}

    def run(self, text: str, *command: str) -> str:
        """Runs a command on the settings of `text` to its end; its standard output."""
        done = subprocess.run(command, cwd=self.folder, env=self.environment(text), capture_output=True, text=True)
        if done.returncode != 0 or "ld.so" in done.stderr or "snug:" in done.stderr:
            fail(f"{' '.join(command)[:100]} ended with {done.returncode}: {done.stderr[-1000:]}")
        return done.stdout

    def served(self, program: str) -> int:
        """Allocations that the processes of that name report, all since the last call."""
        lines = [json.loads(line) for line in self.report.read_text().splitlines()] if self.report.exists() else []
        self.report.unlink(missing_ok=True)
        total = sum(line["allocations"] for line in lines if line["program"].startswith(program))
        print(f"{program}: {total} allocations in {len(lines)} reports")
        return total

    def expect_served(self, program: str, at_least: int = 1) -> None:
        if self.served(program) < at_least:
            fail(f"snug served {program} fewer than {at_least} allocations")

    def maps(self, process: int) -> bool:
        return str(self.library) in mappings(process)

    def expect_in(self, processes: Callable[[], list[int]], at_least: int) -> None:
        """All of a server's processes that run have the library. One that begins or ends has it not yet or no more:
        they are listed and looked at again."""
        until = time.monotonic() + HANGS
        while True:
            alive = {process: text for process in processes() if (text := mappings(process))}
            without = [process for process, text in alive.items() if str(self.library) not in text]
            if len(alive) >= at_least and not without:
                return
            if time.monotonic() > until:
                fail(f"of the processes {list(alive)} there are fewer than {at_least}, or without snug are {without}")
            time.sleep(0.05)


def mappings(process: int) -> str:
    """Empty if it has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}/maps").read_text()
    return ""


class Server:
    """A server in a session of its own, on 127.0.0.1, until the block ends."""

    def __init__(self, bench: Bench, text: str, port: int, *command: str, user: int | None = None) -> None:
        self.port = port
        self.log = bench.folder / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, cwd=bench.folder, env=bench.environment(text), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True, user=user, group=user, extra_groups=[] if user else None)

    def __enter__(self) -> "Server":
        try:
            self.await_port()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Workers, too, which would outlive a server that is killed."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def await_port(self) -> None:
        deadline = time.monotonic() + STARTUP_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        fail(f"the server does not listen: {self.log.read_text()[-1000:]}")

    def family(self) -> list[int]:
        return [self.process.pid, *children_of(self.process.pid)]

    def stop(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        if self.process.wait() != 0 or "ld.so" in self.log.read_text():
            fail(f"the server ended with {self.process.returncode}: {self.log.read_text()[-1000:]}")


def fetch(port: int, path: str) -> str:
    with socket.create_connection(("127.0.0.1", port)) as link:
        link.sendall(f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        return b"".join(iter(lambda: link.recv(65536), b"")).decode(errors="replace")


def try_systemd(bench: Bench) -> None:
    analyze = need("systemd-analyze")
    drop_in = section_of(bench.page, "systemd").blocks("ini")[0]
    units = bench.folder / "units"
    (units / "snugged.service.d").mkdir(parents=True)
    (units / "snugged.service").write_text("[Service]\nExecStart=/bin/true\nSystemCallFilter=@system-service\nNoExecPaths=/\n")
    for text, expected in ((drop_in, ""), (drop_in.replace("Environment=", "Environmentt="), "Unknown key")):
        (units / "snugged.service.d" / "snug.conf").write_text(text)
        done = subprocess.run([analyze, "--man=no", "verify", str(units / "snugged.service")], capture_output=True, text=True)
        said = "".join(line for line in done.stderr.splitlines(keepends=True) if "snugged.service" in line)
        if (expected not in said) or (not expected and (said or done.returncode != 0)):
            fail(f"systemd-analyze verify ended with {done.returncode}: {done.stderr}")
    bench.run(drop_in, "/bin/sh", "-c", "exit 0")


def try_docker(bench: Bench) -> None:
    dockerfile = section_of(bench.page, "Docker").blocks("dockerfile")[0]
    copied = re.search(r"^COPY (\S+) (\S+)$", dockerfile, re.MULTILINE)
    if not copied or f"ENV LD_PRELOAD={copied[2]}\n" not in dockerfile:
        fail("the Dockerfile preloads another file than it copies")
    image = re.search(r"^FROM (\S+)$", dockerfile, re.MULTILINE)
    buildah = need("buildah")
    if not image or subprocess.run([buildah, "inspect", "--type", "image", image[1]], capture_output=True).returncode != 0:
        skip("buildah has no image of Debian")
    (bench.folder / "Dockerfile").write_text(dockerfile)
    subprocess.run([buildah, "build-using-dockerfile", "--pull-never", "--quiet", "-t", "snug-recipe", str(bench.folder)], check=True)
    name = subprocess.check_output([buildah, "from", "--pull-never", "snug-recipe"], text=True).strip()
    try:
        said = subprocess.check_output([buildah, "run", name, "--", "grep", "-c", "libsnug", "/proc/self/maps"], text=True)
    finally:
        subprocess.run([buildah, "rm", name], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([buildah, "rmi", "snug-recipe"], check=True, stdout=subprocess.DEVNULL)
    if int(said) == 0:
        fail("a program in the container is without snug")


def try_nginx(bench: Bench) -> None:
    nginx = need("nginx")
    section = section_of(bench.page, "nginx")
    port = free_port()
    places = " ".join(f"{name}_temp_path {bench.folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (bench.folder / "index.html").write_text("served by nginx\n" * 1000)
    conf = bench.folder / "nginx.conf"
    conf.write_text(f"{section.blocks('nginx')[0]}\npid {bench.folder}/nginx.pid; error_log {bench.folder}/error.log; worker_processes 2;\n"
                    f"daemon off; events {{}}\nhttp {{ access_log off; {places}\n"
                    f"server {{ listen 127.0.0.1:{port}; root {bench.folder}; gzip on; }} }}\n")
    bench.report.touch()
    bench.report.chmod(0o666)
    with Server(bench, section.blocks("ini")[0], port, nginx, "-c", str(conf)) as server:
        for _ in range(200):
            if "served by nginx" not in fetch(port, "/index.html"):
                fail("nginx does not answer")
        bench.expect_in(server.family, at_least=3)
        server.stop(signal.SIGQUIT)
    bench.expect_served("", 1000)  # nginx overwrites its name.


def try_postgresql(bench: Bench) -> None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not folders:
        skip("postgresql is not installed")
    binaries = folders[-1].parent
    user = NOBODY if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root.
    text = section_of(bench.page, "PostgreSQL").blocks("sh")[0]
    data, port = bench.folder / "data", free_port()
    subprocess.run([binaries / "initdb", "-D", data, "-A", "trust", "-U", "tester"], check=True, stdout=subprocess.DEVNULL,
                   user=user, cwd=bench.folder)
    ask = [str(binaries / "psql"), "-h", "127.0.0.1", "-p", str(port), "-U", "tester", "-d", "postgres", "-Atc"]
    with Server(bench, text, port, str(binaries / "postgres"), "-D", str(data), "-p", str(port), "-h", "127.0.0.1",
                "-k", str(bench.folder), user=user) as server:
        said = ""
        deadline = time.monotonic() + STARTUP_SECONDS
        while not said and time.monotonic() < deadline:  # It listens before it is ready.
            said = subprocess.run([*ask, "SELECT count(DISTINCT md5(g::text)) FROM generate_series(1, 100000) g"],
                                  capture_output=True, text=True).stdout
        if said != "100000\n":
            fail(f"PostgreSQL answers {said!r}")
        bench.expect_in(server.family, at_least=3)
        server.stop(signal.SIGINT)
    bench.expect_served("", 10_000)


def try_redis(bench: Bench) -> None:
    server_program, benchmark, cli = need("redis-server"), need("redis-benchmark"), need("redis-cli")
    section = section_of(bench.page, "Redis")
    plain, build_and_run, _ = section.blocks("sh")  # the last is what programs.redis_defrag does
    # The second library serves every Redis; only one that calls jemalloc by names of its own cannot do without it.
    (bench.folder / "jemalloc_calls.c").write_text(section.blocks("c")[0])
    compile_calls, with_calls = build_and_run.strip().splitlines()
    subprocess.run(shlex.split(compile_calls.replace(PAGE_LIBRARIES, f"{bench.folder}/")), cwd=bench.folder, check=True)
    for text in [with_calls] if calls_jemalloc(server_program) else [plain, with_calls]:
        try_redis_on(bench, text, server_program, benchmark, cli)


def try_redis_on(bench: Bench, text: str, server_program: str, benchmark: str, cli: str) -> None:
    port = free_port()
    with Server(bench, text, port, server_program, "--port", str(port),
                "--bind", "127.0.0.1", "--save", "", "--dir", str(bench.folder)) as server:
        subprocess.run([benchmark, "-p", str(port), "-q", "-n", "40000", "-r", "40000", "-d", "300", "-t", "set"], check=True,
                       stdout=subprocess.DEVNULL)
        threads = threads_of(server.process.pid)
        # The background thread has the name of the thread that started it.
        if "snug-idle" not in threads or not bench.maps(server.process.pid):
            fail(f"Redis is without snug: {threads}")
        subprocess.run([cli, "-p", str(port), "SHUTDOWN", "NOSAVE"], capture_output=True)
        server.process.wait()
    bench.expect_served("redis-server", 40_000)


def try_node(bench: Bench) -> None:
    bench.run(section_of(bench.page, "Node").blocks("sh")[0], need("node"), "-e",
              "const b = []; for (let i = 0; i < 20000; ++i) b.push(Buffer.alloc(9000)); console.log(b.length)")
    bench.expect_served("node", 20_000)


def try_python(bench: Bench) -> None:
    text = section_of(bench.page, "Python").blocks("sh")[0]
    python = os.path.realpath(sys.executable)
    job = "numbers = [str(i) for i in range(300000)]"
    bench.run(text, python, "-c", job)
    bench.expect_served("python", 300_000)
    bench.run(text.replace("PYTHONMALLOC=malloc", ""), python, "-c", job)
    if bench.served("python") > 100_000:
        fail("Python hides no objects from malloc: the page says otherwise")


def try_java(bench: Bench) -> None:
    java = need("java")
    text = section_of(bench.page, "Java").blocks("sh")[0]
    bench.run(text, java, "-version")
    bench.expect_served("java", 1000)
    if shutil.which("javac"):
        (bench.folder / "Direct.java").write_text(
            "public class Direct { public static void main(String[] words) { var all = new java.nio.ByteBuffer[20000];\n"
            "  for (int i = 0; i < all.length; i++) all[i] = java.nio.ByteBuffer.allocateDirect(10000); } }\n")
        subprocess.run(["javac", "Direct.java"], cwd=bench.folder, check=True)
        bench.run(text, java, "-cp", ".", "Direct")
        bench.expect_served("java", 20_000)


def try_php(bench: Bench) -> None:
    php, compiler = need("php"), need("cc")
    section = section_of(bench.page, "PHP")
    compile_line, run_line = section.blocks("sh")[0].splitlines()
    (bench.folder / "nodeepbind.c").write_text(section.blocks("c")[0])
    words = compile_line.replace(PAGE_LIBRARIES, f"{bench.folder}/").split()
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", *words[1:]], check=True, cwd=bench.folder)
    job = 'for ($a = [], $i = 0; $i < 100000; $i++) $a[] = "x$i"; echo count($a), get_loaded_extensions() ? "" : "none";'
    if bench.run(run_line, php, "-r", job) != "100000":
        fail("PHP does not do its job")
    bench.expect_served("php", 1000)


def try_ruby(bench: Bench) -> None:
    bench.run(section_of(bench.page, "Ruby").blocks("sh")[0], need("ruby"), "-e", "a = (1..100000).map { |i| 'x' * 100 }; puts a.size")
    bench.expect_served("ruby", 50_000)


def try_static(bench: Bench) -> None:
    text = section_of(bench.page, "For all of them").blocks("sh")[0]
    (bench.folder / "job.c").write_text("#include <stdlib.h>\nint main(void) { free(malloc(100)); return 0; }\n")
    for flag, expected in (("-O0", 1), ("-static", 0)):
        if subprocess.run([need("cc"), flag, "job.c", "-o", "job"], cwd=bench.folder, capture_output=True).returncode != 0:
            skip("there is no static libc")
        bench.run(text, "./job")
        if (bench.served("job") > 0) != bool(expected):
            fail(f"with {flag} snug serves {1 - expected}")


RECIPES = {"systemd": try_systemd, "docker": try_docker, "nginx": try_nginx, "postgresql": try_postgresql, "redis": try_redis,
           "node": try_node, "python": try_python, "java": try_java, "php": try_php, "ruby": try_ruby, "static": try_static}


def main() -> None:
    if len(sys.argv) != 4 or sys.argv[1] not in RECIPES or not Path(sys.argv[2]).is_file() or not Path(sys.argv[3]).is_file():
        fail(f"usage: recipes.py {'|'.join(RECIPES)} LIBSNUG RECIPES")
    bench = Bench(sys.argv[2], Path(sys.argv[3]))
    try:
        RECIPES[sys.argv[1]](bench)
    finally:
        shutil.rmtree(bench.folder, ignore_errors=True)


main()

"""The bench: runs the sources' programs on allocators, one process at a time, and ends them if it is interrupted."""

import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snug_bench.contender import Contender, environment_for
from snug_bench.noise import noise_of, others_share
from snug_bench.problem import Problem
from snug_bench.processor_time import ProcessorTime, processor_time
from snug_bench.statistics import Sample

RUN_SECONDS = 300
TLSF = "tlsf"  # the peer with rlsf's TLSF in its library, as a malloc and for direct calls
WARM_MEBIBYTES = 512  # more than any of the programs takes; what it is for: tools/measure/warm_memory.h


@dataclass(frozen=True)
class Effort:
    runs: int
    scale: float
    cell_runs: int  # of S0: its program repeats by itself


FULL = Effort(runs=10, scale=1, cell_runs=30)
QUICK = Effort(runs=2, scale=0.2, cell_runs=2)


@dataclass
class Bench:
    build: Path
    contenders: list[Contender]  # snug first
    effort: Effort
    tell: Callable[[str], None]  # what runs now
    warn: Callable[[str], None]  # what must not be overlooked
    folder: Path  # of plots
    warned: bool = field(default=False, init=False)  # that memory stays cold
    processors: list[ProcessorTime] = field(default_factory=list, init=False)  # during each run that measures

    @property
    def snug(self) -> Contender:
        return self.contenders[0]

    @property
    def peers(self) -> list[Contender]:
        return self.contenders[1:]

    def run(self, program: str, *words: str, on: Contender | None = None, **environment: str) -> str:
        """What the program prints. A run that fails, or complains, as of a library that is not loaded, ends all."""
        command = [str(self.build / "bin" / program), *words]
        preload = {"LD_PRELOAD": str(on.library)} if on else {}
        variables = environment_for(on or self.snug, preload | environment)
        where = f"{program} on {on.name}" if on else program
        try:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, start_new_session=True, env=variables) as process:
                try:
                    output, errors = process.communicate(timeout=RUN_SECONDS)
                except BaseException:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)  # the children that it measures in, too
                    process.communicate()
                    raise
        except OSError as error:
            raise Problem(f"cannot run {command[0]}: {error.strerror}: build first, with `make build`", 1) from None
        except subprocess.TimeoutExpired:
            raise Problem(f"{where} was killed after {RUN_SECONDS} s", 1) from None
        complaints = [line for line in errors.strip().splitlines() if not line.startswith("snug: wrote ")]
        if process.returncode != 0 or complaints:
            raise Problem(f"{where} ended with {process.returncode}: {(complaints or ['it said nothing'])[-1]}", 1)
        return output

    def measured(self, program: str, *words: str, on: Contender | None = None, **environment: str) -> str:
        """The same of a program that measures, for which memory is warmed first."""
        if (why := self.warm_memory()) and not self.warned:
            self.warned = True
            self.warn(f"memory is not warmed, so that times may be those of the hypervisor: {why}")
        before = processor_time()
        output = self.run(program, *words, on=on, **environment)
        self.processors.append(processor_time().since(before))
        return output

    def disturbance(self) -> str:
        """Why time cannot be judged by the runs since the last call; empty if it can."""
        share = others_share(self.processors)
        self.processors.clear()
        return noise_of(share, []).sentence

    def warm_memory(self) -> str:
        """Why it could not be; empty if it is warm."""
        tool = self.build / "bin" / "snug"
        command = [tool, "measure", "--on", "glibc", "--warm", str(WARM_MEBIBYTES), "--json", os.devnull, "--", "true"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"cannot run {tool}: {error.strerror}"
        said = done.stderr.strip().splitlines() or [f"snug measure ended with {done.returncode}"]
        return said[-1].removeprefix("snug: ") if done.returncode != 0 else ""

    def figures(self, program: str, *words: str, on: Contender | None = None, **environment: str) -> dict[str, float]:
        """Those of a program in the manner of bench/loads/workloads, one round of them."""
        return figures_of(self.measured(program, "--rounds", "1", "--scale", f"{self.effort.scale:g}", *words, on=on,
                                        **environment), program)

    def reported(self, program: str, *words: str, configuration: str = "") -> tuple[dict[str, float], list[dict]]:
        """On snug; with the statistics of each process that ended, in their order."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report"
            settings = ",".join(filter(None, [configuration, f"report:{report}"]))
            figures = self.figures(program, *words, on=self.snug, SNUG_CONF=settings)
            if not report.is_file():
                raise Problem(f"{program} did not run on {self.snug.library}: no process reported", 1)
            return figures, [json.loads(line) for line in report.read_text().splitlines()]

    @contextlib.contextmanager
    def map_file(self, parameters: str) -> Iterator[Path]:
        """The size-class map of these parameters as a file that snug reads, while the context lasts."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "classes.map"
            self.run("snug", "classes", parameters, "-o", str(file))
            yield file

    def interleaved(self, title: str, cells: dict[str, Callable[[int], dict[str, Any]]]) -> dict[str, list]:
        """Every cell once a round, with the round's seed, in an order of chance."""
        draw, results = random.Random(1), {name: [] for name in cells}
        for number in range(1, self.effort.runs + 1):
            for name in draw.sample(list(cells), len(cells)):
                self.tell(f"{title}: run {number} of {self.effort.runs}, {name}")
                results[name].append(cells[name](number))
        return results


def figures_of(output: str, program: str) -> dict[str, float]:
    try:
        return {row["name"]: row["value"] for row in json.loads(output.splitlines()[-1])["results"]}
    except (ValueError, KeyError, TypeError, IndexError):
        raise Problem(f"{program} printed no figures in its last line: build again", 1) from None


def sample(data: dict[str, Any], name: str, figure: str) -> Sample:
    """Of a source's data; its "runs" are those of interleaved()."""
    return Sample(tuple(run[figure] for run in data["runs"][name]))


def called_directly(contenders: list[Contender]) -> dict[str, str]:
    """What lets a program call rlsf's TLSF directly, out of the library that is the peer's; nothing where that cannot be had."""
    return {"SEEDS_RLSF": str(each.library) for each in named(contenders, (TLSF,))}


def named(contenders: list[Contender], names: tuple[str, ...]) -> list[Contender]:
    return [each for each in contenders if each.name in names]

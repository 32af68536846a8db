"""What constants are worth: a constant becomes a variable, a variant another number in the library, and a planted effect is found."""

import ctypes
import subprocess
from pathlib import Path

import pytest
from snug_bench.problem import Problem
from snug_bench.verdict import rows_of
from snug_sensitivity.constants import Constant, read_study
from snug_sensitivity.study import AS_IT_IS, FIRST, against_as_it_is, first_rows, open_cells
from snug_sensitivity.table import lines_of, markdown
from snug_sensitivity.tunable import tunable
from snug_sensitivity.variants import Variant, make_variants
from synthetic import results, series

ROOT = Path(__file__).resolve().parents[3]

SOURCE = """#include <cstddef>
#include <cstdint>
namespace snug {
struct Of {
  static constexpr unsigned kOfClass = 3;
};
inline constexpr size_t kOfHeader = 5;
inline size_t in_function() {
  constexpr size_t kOfFunction = 7;
  return kOfFunction;
}
namespace {
constexpr size_t kOfFile = 11;
constexpr size_t kDerived = kOfFile / 2;
constexpr size_t kOther = 13;
constexpr uint8_t kNarrow = 200;
}  // namespace
extern "C" [[gnu::visibility("default")]] size_t seen(int which) {
  const size_t all[] = {Of::kOfClass, kOfHeader, in_function(), kOfFile, kDerived, kOther, kNarrow};
  return all[which];
}
}  // namespace snug
"""
TUNED = ["kOfClass", "kOfHeader", "kOfFunction", "kOfFile", "kNarrow"]


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    place = tmp_path_factory.mktemp("variants")
    source, library = place / "seen.cpp", place / "libseen.so"
    source.write_text(tunable(SOURCE, TUNED), "utf-8")
    subprocess.run(["c++", "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", source, "-o", library], check=True)
    made = make_variants(library, [Constant("seen.cpp", name) for name in TUNED], {"cache": ["4M", "16M"]}, place / "lib")
    return {each.name: each for each in made}, library


def seen(library):
    opened = ctypes.CDLL(str(library))
    opened.seen.restype = ctypes.c_size_t
    return [opened.seen(which) for which in range(7)]


def test_what_is_not_changed_stays(variants):
    assert seen(variants[1]) == [3, 5, 7, 11, 5, 13, 200]


@pytest.mark.parametrize(("name", "expected"), [
    ("kOfClass/twice", [6, 5, 7, 11, 5, 13, 200]), ("kOfHeader/half", [3, 2, 7, 11, 5, 13, 200]),
    ("kOfFunction/twice", [3, 5, 14, 11, 5, 13, 200]), ("kOfFile/twice", [3, 5, 7, 22, 11, 13, 200]),
    ("kNarrow/half", [3, 5, 7, 11, 5, 13, 100])])
def test_a_variant_has_another_number_and_what_is_made_of_it(variants, name, expected):
    assert seen(variants[0][name].library) == expected


def test_a_number_too_large_for_its_type_has_no_variant(variants):
    assert "kNarrow/twice" not in variants[0]


def test_a_setting_is_told_to_the_library_as_it_is(variants):
    assert variants[0]["cache/half"] == Variant("cache", "half", "4M", variants[1], "cache:4M")


def test_a_name_that_the_library_does_not_have_is_a_problem(variants, tmp_path):
    with pytest.raises(Problem, match="kGone is no variable there"):
        make_variants(variants[1], [Constant("seen.cpp", "kGone")], {}, tmp_path)


def test_the_constants_of_this_tree_are_declared_where_the_list_says():
    assert len(read_study(ROOT).constants) > 20


def test_a_constant_that_is_not_declared_is_a_problem(tmp_path):
    (tmp_path / "bench" / "harness").mkdir(parents=True)
    (tmp_path / "bench" / "harness" / "sensitivity.toml").write_text(
        'loads = []\nthreads = []\n[settings]\n[constants]\n"src/a.h" = ["kGone"]\n', "utf-8")
    with pytest.raises(Problem, match="src/a.h declares no constant kGone"):
        read_study(tmp_path)


def planted():
    runs = [each for number, name in enumerate(AS_IT_IS) for each in series(name, 10, 20, seed=number)]
    return results([*runs, *series("kSlow/half", 12, 20), *series("kSlow/twice", 10, 20), *series("kIdle/half", 10, 20)])


VARIANTS = [Variant("kSlow", "half", "1", Path()), Variant("kSlow", "twice", "4", Path()), Variant("kIdle", "half", "8", Path())]


def test_what_a_constant_is_worth_is_found():
    lines, noise = lines_of(planted(), VARIANTS)
    assert [(each.name, each.factor, each.matters) for each in lines] == [
        ("kSlow", "half", True), ("kSlow", "twice", False), ("kIdle", "half", False)]
    assert [(each.metric, round(each.ratio, 1)) for each in lines[0].worse] == [("time", 1.2)]
    assert not any(each.matters for each in noise)
    assert "depends on 1 of them: `kIdle`" in markdown(planted(), VARIANTS)


def test_only_what_is_apart_is_run_more_often():
    assert {name for _, _, name in open_cells(rows_of(planted()))} == {"kSlow/half", *AS_IT_IS}


def test_what_is_no_further_than_the_library_from_itself_is_not_apart():
    runs = [each for number, name in enumerate(AS_IT_IS) for each in series(name, (10, 10, 10, 13)[number], 20, seed=number)]
    assert not open_cells(rows_of(results([*runs, *series("kSlow/half", 12, 20)])))


def test_what_was_run_twice_is_not_named():
    runs = [each for number, name in enumerate(AS_IT_IS) for each in series(name, 10, 20, seed=number)]
    (line,), _ = lines_of(results([*runs, *series("kSlow/half", 12, 20, count=FIRST)]), VARIANTS[:1])
    assert not line.matters


def test_what_is_run_more_often_does_not_depend_on_those_runs():
    runs = [each for number, name in enumerate(AS_IT_IS) for each in series(name, 10, 20, seed=number)]
    later = [each for each in series("kSlow/half", 12, 20) if each.repetition > FIRST]
    assert not open_cells(first_rows(results([*runs, *series("kSlow/half", 10, 20, count=FIRST), *later])))


def test_one_of_those_as_it_is_is_held_against_the_others():
    row = rows_of(planted())[0]
    assert against_as_it_is(row, AS_IT_IS[0], "time").value == pytest.approx(1, abs=0.02)

# stages.sh: what .ci/run and .ci/whole consist of. Sourced by them, from the top of the repository.
#
# A stage is a command with a name. The first that fails ends the run with its name; the end repeats each stage's time, so
# that what takes long is seen where it is read.
# shellcheck shell=bash
export CI=true
# What has been compiled before comes out of ccache, in whichever clone that was: CI makes one for each run, and on a bare machine,
# which has no LANG.
export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true CCACHE_SLOPPINESS=pch_defines,time_macros,locale

passed=()
timings=()

# Called with the name of a stage that has failed, before the run ends; .ci/whole has its own.
note_failure() { :; }

stage() {
  local name=$1 begin=$SECONDS status=0
  shift
  echo
  echo "==== $name"
  "$@" || status=$?
  if ((status)); then
    note_failure "$name"
    echo
    echo "ci: FAILED at '$name' (exit status $status) after $SECONDS s; passed before: ${passed[*]:-nothing}"
    exit 1
  fi
  passed+=("$name")
  timings+=("$(printf '%6d s  %s' $((SECONDS - begin)) "$name")")
  echo "==== $name: ok, $((SECONDS - begin)) s"
}

# Begins a program that waits for most of its time, beside the stages that follow; `stage NAME await NAME` is where it must have ended.
# What it says stands in build/NAME.log until then.
begin() {
  local name=$1
  shift
  beside_since=$SECONDS
  mkdir -p build
  setsid "$@" >"build/$name.log" 2>&1 &  # a group of processes, which is ended as one
  beside_id=$!
}
await() {
  local status=0
  wait "$beside_id" || status=$?
  beside_id=
  cat "build/$1.log"
  echo "$1: took $((SECONDS - beside_since)) s, beside others"
  return "$status"
}
end_what_is_beside() {
  [[ -n $beside_id ]] || return 0
  kill -- "-$beside_id" 2>/dev/null || kill "$beside_id" 2>/dev/null || true
  wait "$beside_id" || true  # it takes away what it has made
}
beside_id=
trap end_what_is_beside EXIT

shell_scripts() {
  local file first
  local -a listed scripts=()
  mapfile -d '' -t listed < <(git ls-files -z)
  wait "$!" || return 1
  for file in "${listed[@]}"; do
    [[ -f $file ]] || continue
    IFS= read -r first <"$file" || true
    case $first in '#!'*bash | '#!'*/sh) scripts+=("$file") ;; esac
  done
  if ((${#scripts[@]} == 0)); then
    echo "shell scripts: git lists none" >&2
    return 1
  fi
  scripts+=(.ci/stages.sh)
  for file in "${scripts[@]}"; do
    bash -n "$file" || return 1
  done
  shellcheck --external-sources --severity=style "${scripts[@]}" && echo "shell scripts: ok (${#scripts[@]} files)"
}

layers() {
  scripts/check_layers --self-test && scripts/check_layers && scripts/check_words --self-test && scripts/check_words
}
claims() { scripts/claims --self-test && make --no-print-directory claims; }
clang_release() {
  cmake --preset clang -DSNUG_LONG_TESTS=OFF && cmake --build --preset clang --target snug_shared snug_static snug_cell snug_cell_rt \
      step_count step_subject cell_step compact_access compact_step pool_step real_time_step &&
    ctest --test-dir build/clang --output-on-failure --no-tests=error -R '^golden\.'
}

# Each stage's time, and ctest's own closing line for each build that has tests.
print_end() {
  local log of
  echo
  echo "==== times"
  printf '%s\n' "${timings[@]}"
  echo
  echo "==== tests"
  for log in build/*/tests*.log; do
    [[ -f $log ]] || continue  # the stages ran no tests
    of=${log%.log}
    echo "${of#build/}: $(cat "${of/tests/summary}.txt")"
    grep 'tests passed, .* tests failed out of' "$log" || true
  done
  echo
  echo "ci: passed in $SECONDS s: ${passed[*]}"
}

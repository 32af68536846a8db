#!/bin/sh
# A history of git's: many versions of some files, taken in, repacked by four threads, searched and read again.
#
#     sh bench/loads/programs/git_history.sh FOLDER [COMMITS]
#
# Writes a repository of COMMITS (default 600) commits into FOLDER. What it does depends on nothing but COMMITS. Ends with
# an error if git does, or if the history is not what was written.
set -eu

folder=$1
commits=${2:-600}
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null

# In the format of git fast-import: each commit changes one file of twelve in a few of its lines.
written_history() {
  awk -v commits="$commits" '
    function random(bound) {
      state = (state * 69069 + 12345) % 2147483648
      return int(state / 65536) % bound
    }
    function line(text, i) {
      text = ""
      for (i = random(9) + 3; i > 0; --i) text = text sprintf("word%d ", random(5000))
      return text "\n"
    }
    BEGIN {
      state = 1
      for (file = 0; file < 12; ++file) for (at = 0; at < 400; ++at) lines[file, at] = line()
      for (commit = 1; commit <= commits; ++commit) {
        file = commit % 12
        for (change = 0; change < 6; ++change) lines[file, random(400)] = line()
        body = ""
        for (at = 0; at < 400; ++at) body = body lines[file, at]
        message = "Change " commit "\n"
        printf "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n", 1000000000 + commit * 60
        printf "data %d\n%s", length(message), message
        printf "M 100644 inline folder/file%d.txt\ndata %d\n%s\n", file, length(body), body
      }
    }'
}

git init -q --bare "$folder/history.git"
cd "$folder/history.git"
written_history | git fast-import --quiet
git repack -q -a -d -f --threads=4 --window=50
git grep -q --threads=4 -e word42 main
git log -p --stat main >/dev/null
test "$(git rev-list --count main)" -eq "$commits"

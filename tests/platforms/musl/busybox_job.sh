#!/bin/sh
# busybox_job.sh ROWS: what busybox's shell and tools do with generated rows, in an empty folder. Each tool is busybox's own, and
# what is printed is the same whatever allocator serves them. scripts/check_platforms runs it by busybox's sh.
# shellcheck shell=bash disable=SC2123,SC2086 # busybox's shell has of bash what is used here; a text is split into words
set -euo pipefail
rows=$1
PATH=/dev/null # no tool of the machine's
trap 'echo "left by $?"' EXIT
trap 'has_signal=yes' USR1
awk -v rows="$rows" 'BEGIN { for (x = 1; i < rows; ++i) { x = x * 16807 % 2147483647; print i, x % 1000, "name" x } }' >data
md5sum data
# Beside each other: two sorts of all rows, and an awk that keeps each of them.
sort -k 2,2n -k 3,3 data | md5sum >by_number &
sort -r data | sed -e 's/name\([0-9]*\)/[\1]/' -ne 's/7/seven/gp' | md5sum >backwards &
awk '{ count[$2]++; row[$3] = row[$3] $0 } END { for (name in row) { n++; long += length(row[name]) }; print n, long, count[7] }' data
wait
cat by_number backwards
# A tree through an archive, and data through each tool that packs or compares.
mkdir -p tree/a/b/c copy && (cd tree && awk '{ print >("part." int($1 / 500)) }' ../data && mv part.[1-9] a/b/c)
find tree -type f | sort | xargs -n 3 md5sum | sort -k 2 | md5sum
tar -cf - tree | gzip -9 | (cd copy && gunzip -c | tar -xf -) && diff -r tree copy/tree && echo "the same tree"
bzip2 -c data | bunzip2 -c | cmp - data && find tree | cpio -o -H newc >archive && cpio -t <archive | wc -l
head -n 3000 data >old && sed -e '/name1[0-4]/d' -e '1000,1010s/name/new/' old >new
diff -u old new >difference || echo "changed: $(grep -c '^[-+]' difference)"
patch old difference && cmp old new && echo "patched"
# The shell's own blocks: long strings, many words, a function, lines read one by one, jobs, subshells and a signal.
text=$(seq 20000) && set -- $text && echo "${#text} $# ${text##*[!0-9]}"
sum() { local n total=0; for n in "$@"; do total=$((total + n)); done; echo "$total"; }
echo "$(sum "$@") $(echo '2^300 % 1000007' | bc) $(printf '%s\n' "$@" | tr 0-9 a-j | sort -u | tail -n 1)"
while read -r _ digit name; do case $name in *77*) echo "$digit" ;; esac; done <old | sort -n | uniq -c | sort -rn | sed -n 1,3p
for n in 1 2 3 4 5 6 7 8; do (seq $((n * 1000)) | sort -rn | { read -r first && cat >/dev/null && echo "$n: $first" >job.$n; }) & done
wait && cat job.[1-8]
(sleep 0.1 && kill -USR1 $$) &
until [ "${has_signal-no}" = yes ]; do wait $! || sleep 0.1; done
(trap 'echo "a subshell left by $?"' EXIT && exit 3) || echo "and said $?"

#!/bin/sh
# Names the folders that hold more than 40 source files. A folder of that size hides what belongs together.
cd "$1" || exit 1
large=$(find app engine profiler views tests -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.py' \) -printf '%h\n' |
  sort | uniq -c | awk '$1 > 40 { print $2 " holds " $1 " source files" }')
[ -z "$large" ] && exit 0
echo "$large"
echo "Divide such a folder into sub-folders. In CMake, name them as PARTS of its library, or make them libraries."
exit 1

#!/usr/bin/env bash
# run_case.sh BINARY CASE: runs the case's command line and compares its exit status and text exactly.
# The file of a case has these lines:
#   1. "# " and a sentence that says what the case is for
#   2. the arguments
#   3. "status N", the expected exit status
#   4. and all further lines: the expected standard output, followed by the expected standard error
set -u
binary=$1
case_file=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
purpose=$(sed -n '1s/^# //p' "$case_file")
[ -n "$purpose" ] || { echo "the first line of $case_file must be \"# \" and a sentence that says what the case is for"; exit 1; }
arguments=$(sed -n 2p "$case_file")
expected_status=$(sed -n '3s/^status //p' "$case_file")
tail -n +4 "$case_file" >"$folder/expected"
cd "$folder"
SAMPLES=$(dirname "$case_file")/../../../samples eval "\"$binary\" $arguments" >"$folder/out" 2>"$folder/err" </dev/null
status=$?
cat "$folder/out" "$folder/err" | sed "s#$folder/##g" >"$folder/actual"
if [ "${PIPESCOPE_WRITE_GOLDEN:-}" = 1 ]; then
  { sed -n 1,2p "$case_file"; echo "status $status"; cat "$folder/actual"; } >"$folder/new" && cp "$folder/new" "$case_file"
  exit 0
fi
[ "$status" = "$expected_status" ] || { echo "status is $status, expected $expected_status"; cat "$folder/actual"; exit 1; }
diff -u "$folder/expected" "$folder/actual"

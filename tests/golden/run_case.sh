#!/usr/bin/env bash
# run_case.sh BINARY CASE: runs the case's command line and compares status and text exactly.
# A case: line 1 the arguments, line 2 "status N", then the expected standard output followed by standard error.
set -u
binary=$1
case_file=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
arguments=$(sed -n 1p "$case_file")
expected_status=$(sed -n '2s/^status //p' "$case_file")
tail -n +3 "$case_file" >"$folder/expected"
cd "$folder"
SAMPLES=$(dirname "$case_file")/../../../samples eval "\"$binary\" $arguments" >"$folder/out" 2>"$folder/err" </dev/null
status=$?
cat "$folder/out" "$folder/err" | sed "s#$folder/##g" >"$folder/actual"
if [ "${PIPESCOPE_WRITE_GOLDEN:-}" = 1 ]; then
  { sed -n 1p "$case_file"; echo "status $status"; cat "$folder/actual"; } >"$folder/new" && cp "$folder/new" "$case_file"
  exit 0
fi
[ "$status" = "$expected_status" ] || { echo "status is $status, expected $expected_status"; cat "$folder/actual"; exit 1; }
diff -u "$folder/expected" "$folder/actual"

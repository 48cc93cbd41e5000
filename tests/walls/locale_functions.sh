#!/usr/bin/env bash
# locale_functions.sh SOURCE: fails if code reads or writes numbers with functions that obey the locale. A Python program or Qt
# may set one whose decimal point is a comma. profiler/base/number_text.h, fmt and std::from_chars always use a point.
set -u
cd "$1"
functions='\b(strto(d|f|ld)|atof|sto(d|f|ld)|sn?printf|[sf]?scanf)\(|printf\(.*%[0-9.*]*\.[0-9*]*[efg]'
found=$(grep -rnE "$functions" --include='*.cpp' --include='*.h' app engine profiler views | grep -vE ':[0-9]+: *//')
[ -z "$found" ] && exit 0
echo "These lines obey the decimal point of the locale; use profiler/base/number_text.h or fmt:"
echo "$found"
exit 1

#!/usr/bin/env bash
# locale_functions.sh SOURCE: fails if code reads or writes numbers with functions that obey the locale. A Python program or Qt
# may set one whose decimal point is a comma. profiler/base/number_text.h, fmt and std::from_chars always use a point.
set -u
cd "$1"
functions='\b(strto(d|f|ld)|atof|sto(d|f|ld)|sn?printf|[sf]?scanf)\(|printf\(.*%[0-9.*]*\.[0-9*]*[efg]'
# These files still have some. They lose them when their folders change next.
waiting='^(engine/emulate/micro_batch_costs|profiler/replay/(change|change_costs|recording_reader))\.cpp:'
found=$(grep -rnE "$functions" --include='*.cpp' --include='*.h' app engine profiler views | grep -vE ':[0-9]+: *//' |
  grep -vE "$waiting")
[ -z "$found" ] && exit 0
echo "These lines obey the decimal point of the locale; use profiler/base/number_text.h or fmt:"
echo "$found"
exit 1

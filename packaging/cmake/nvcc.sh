#!/bin/sh
# nvcc.sh REPORT COMMAND…: runs nvcc; what ptxas tells of each kernel goes to REPORT, warnings and errors to where they belong.
# ccache takes nvcc for several cards at once only where it need not ask it for preprocessed text: by what -MD names.
report=$1
shift
export CCACHE_DEPEND=1
"$@" 2>"$report"
code=$?
if [ $code -ne 0 ]; then
  cat "$report" >&2
  rm -f "$report"
  exit $code
fi
grep -v -E '^(ptxas info|ptxas \. |    [0-9]+ bytes|[0-9]+ bytes|$)' "$report" >&2
exit 0

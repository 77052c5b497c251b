#!/bin/bash
# A compiler for the bench: headwater cc, cxx or fc, by the name that this file is called by. Of one object in $HW_EACH
# the time is measured too, without the plugin and with it, in turn: user and system seconds go to the file $HW_TIMES.
# Only their sum is exact, as some systems divide it by ticks.
language=${0##*/}
if [ "$language" = fc ]; then export HEADWATER_LLVM=$HW_FLANG; fi
source=
compiles=
for word in "$@"; do
  case $word in
    *.c | *.cpp | *.cxx | *.cc | *.f | *.f90 | *.F | *.F90) source=$word ;;
    -c) compiles=1 ;;
  esac
done
name=${source##*/}
sum=$(cksum <<<"$name")
# Tests of configure scripts are not of the code.
case $name in conftest*) HW_TIMES= ;; esac
if [ -n "$HW_TIMES" ] && [ -n "$compiles" ] && [ -n "$source" ] && [ $((${sum%% *} % HW_EACH)) = 0 ]; then
  other=$(mktemp)
  plain() {
    OMPI_CC=clang-$HEADWATER_LLVM OMPI_CXX=clang++-$HEADWATER_LLVM OMPI_FC=flang-new-$HEADWATER_LLVM \
      "mpi${language/fc/f90}" "$@" -o "$other"
  }
  TIMEFORMAT='%U %S'
  seconds() { { time "$@" >/dev/null 2>&1; } 2>&1; }
  line=$name
  for turn in 1 2 3 4 5 6 7; do
    line="$line $(seconds plain "$@") $(seconds "$HEADWATER" "$language" "$@" -o "$other")"
  done
  rm -f "$other"
  echo "$line" >>"$HW_TIMES"
fi
exec "$HEADWATER" "$language" "$@"

#!/bin/bash
# A compiler for the bench: headwater cc, cxx or fc, by the name that this file is called by. Of one object in twelve the
# time is measured too, with the plugin and without, in turn: user seconds go to the file $HW_TIMES.
language=${0##*/}
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
if [ -n "$HW_TIMES" ] && [ -n "$compiles" ] && [ -n "$source" ] && [ $((${sum%% *} % 12)) = 0 ]; then
  other=$(mktemp)
  plain() {
    OMPI_CC=clang-$HEADWATER_LLVM OMPI_CXX=clang++-$HEADWATER_LLVM OMPI_FC=flang-new-$HEADWATER_LLVM \
      "mpi${language/fc/f90}" "$@" -o "$other"
  }
  TIMEFORMAT=%U
  seconds() { { time "$@" >/dev/null 2>&1; } 2>&1; }
  line=$name
  for turn in 1 2 3; do
    line="$line $(seconds plain "$@") $(seconds "$HEADWATER" "$language" "$@" -o "$other")"
  done
  rm -f "$other"
  echo "$line" >>"$HW_TIMES"
fi
exec "$HEADWATER" "$language" "$@"

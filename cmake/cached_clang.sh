#!/bin/sh
# Compiles through ccache. What clang precompiles holds paths of the checkout, so objects that read it would be found in no other
# checkout: ccache takes a sum of the sources of a precompiled header, which lies beside it, for what the header holds.
"$@" || exit
case " $* " in *" -emit-pch "*) ;; *) exit 0 ;; esac
while [ $# -gt 0 ]; do
  case $1 in
    -MF) dependencies=$2 ;;
    -o) made=$2 ;;
  esac
  shift
done
tr -s ' \\' '\n\n' <"$dependencies" | grep -vE ':$|/cmake_pch\.hxx' | xargs cat | sha256sum >"$made.sum"

#!/usr/bin/env bash
# `antler NAME` runs the program antler-NAME: beside the command, then on the PATH; arguments and exit code pass through.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

mkdir path "path/antler-folder"
cat >path/antler-echo <<'SH'
#!/bin/sh
printf '<%s>' "$@"
[ "$1" = fail ] && exit 41
[ "$1" = back ] && exec "$ANTLER_COMMAND" --version
[ "$1" = kill ] && kill -TERM $$
exit 0
SH
chmod +x path/antler-echo
printf 'no program\n' >path/antler-plain
printf '#!/no/such/interpreter\n' >path/antler-broken
chmod +x path/antler-broken
export PATH=$folder/path:$PATH

expect_ok "$ANTLER" echo 'two words' '' --help '*'
[ "$out" = '<two words><><--help><*>' ] || die "arguments arrived as $out"
run "$ANTLER" echo fail
[ "$code" = 41 ] || die "exit code 41 arrived as $code"
run "$ANTLER" echo kill
[ "$code" = 143 ] || die "a signal arrived as exit code $code"
expect_ok "$ANTLER" echo back
contains "$out" "antler 0."
expect_ok "$ANTLER" help echo
[ "$out" = '<--help>' ] || die "'help echo' passed on $out"

# What is no program is no command, and neither is a path; the nearest name is still offered.
expect_fault 2 "there is no command 'plain'" "$ANTLER" plain
expect_fault 2 "there is no command 'folder'" "$ANTLER" folder
expect_fault 2 "there is no command '../path/antler-echo'" "$ANTLER" ../path/antler-echo
expect_fault 2 "there is no command '-x'" "$ANTLER" -x
expect_fault 2 "there is no command ''" "$ANTLER" ''
expect_fault 2 "did you mean 'train'" "$ANTLER" trian
expect_fault 2 "did you mean 'train'" "$ANTLER" help trian
expect_fault 3 "cannot run" "$ANTLER" broken

# A command of Antler's own is never taken over.
cp path/antler-echo path/antler-info
expect_ok "$ANTLER" info
contains "$out" "antler 0."

# Beside the command comes before the PATH, and an unset PATH is no fault.
mkdir bin
cp "$ANTLER" bin/antler
printf '#!/bin/sh\necho beside\n' >bin/antler-echo
chmod +x bin/antler-echo
export LD_LIBRARY_PATH=$BUILD${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
expect_ok bin/antler echo
[ "$out" = beside ] || die "the program on the PATH won: $out"
expect_ok env -u PATH "$folder/bin/antler" echo
[ "$out" = beside ] || die "without a PATH came $out"
expect_fault 2 "there is no program antler-report beside antler or on the PATH" env -u PATH "$folder/bin/antler" report
finish

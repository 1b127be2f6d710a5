#!/usr/bin/env bash
# No bad file is accepted: each gives exit code 2 and one sentence with its name, the place and the remedy.
# shellcheck source=lib.sh
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 > /dev/null || exit 77

python3 "$SOURCE/tests/bad/make_bad_files.py" "$folder/bad" > "$folder/count" || die "the files could not be made"
without_extensions
bad=0
while IFS=$'\t' read -r name fragment; do
    run "$ANTLER" info --complete "bad/$name"
    problem=
    [ "$code" = 2 ] || problem="exit code $code"
    [ "$(wc -l < "$folder/.err")" = 1 ] || problem="not one line"
    [[ $err == "antler: bad/$name"[:,]* ]] || problem="the name does not come first"
    [[ $err == *"$fragment"* ]] || problem="'$fragment' is missing"
    [ -z "$out" ] || problem="something on standard output: $out"
    if [ -n "$problem" ]; then
        bad=$((bad + 1))
        echo "$name: $problem: $err" | head -c 2000 >&2
        echo >&2
    fi
done < "$folder/bad/table.txt"
[ "$checks" -ge 200 ] || die "only $checks files"
[ "$bad" = 0 ] || die "$bad of $checks files"
finish

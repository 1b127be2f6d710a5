#!/usr/bin/env bash
# progress.sh TITLE - read the output of ninja and show how far it is: on a terminal in one line that changes, otherwise
# a line for every tenth of the steps.  Other lines are not shown.
set -euo pipefail
title=$1 tenth=0 shown=
while IFS= read -r line; do
    [[ $line =~ \[([0-9]+)/([0-9]+)\]\ (.*) ]] || continue
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} step=${BASH_REMATCH[3]}
    if [ -t 1 ]; then
        shown=yes
        printf '\r\033[K%s: %s of %s, %.50s' "$title" "$done" "$all" "${step##*/}"
    elif ((all >= 20 && 10 * done / all > tenth)); then
        tenth=$((10 * done / all))
        printf '%s: %s of %s\n' "$title" "$done" "$all"
    fi
done
[ -z "$shown" ] || printf '\r\033[K'

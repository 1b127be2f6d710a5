#!/usr/bin/env bash
# pages.sh ANTLER FOLDER - write all man pages and completion scripts.
set -euo pipefail
antler=$1 folder=$2
mkdir -p "$folder/man"
"$antler" man >"$folder/man/antler.1"
for command in $("$antler" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p'); do
    "$antler" man "$command" >"$folder/man/antler-$command.1"
done
"$antler" completion bash >"$folder/antler.bash"
"$antler" completion zsh >"$folder/_antler"
"$antler" completion fish >"$folder/antler.fish"
touch "$folder/done"

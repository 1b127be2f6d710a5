#!/usr/bin/env bash
# Help, version, faults of usage, man pages, completion.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

expect_ok "$ANTLER" --version
contains "$out" "antler 0."
expect_ok "$ANTLER" --help
contains "$out" "simulate"
contains "$out" "Exit codes"
run "$ANTLER"
[ "$code" = 2 ] || die "without arguments the exit code is $code"

commands=$("$ANTLER" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 5 ] || die "too few commands: $commands"
for command in $commands; do
    expect_ok "$ANTLER" "$command" --help
    contains "$out" "Usage: antler $command"
    help=$out
    [ "$(awk 'length > 110' <<<"$help" | wc -l)" = 0 ] || die "$command --help has long lines"
    expect_ok "$ANTLER" help "$command"
    [ "$out" = "$help" ] || die "'help $command' differs from '$command --help'"
    expect_ok "$ANTLER" man "$command"
    while read -r option; do
        grep -qF -- "${option//-/\\-}" <<<"$out" || die "the man page of $command lacks $option"
    done < <(grep -oE '^  --[a-z-]+' <<<"$help" | grep -v -- --help)
    expect_fault 2 "has no option --nonsense" "$ANTLER" "$command" --nonsense
done

expect_fault 2 "did you mean 'simulate'" "$ANTLER" simulat
expect_fault 2 "did you mean 'samples'" "$ANTLER" measure --sample 3
expect_fault 2 "needs a value" "$ANTLER" measure --samples
expect_fault 2 "'ten' is not a whole number" "$ANTLER" measure --samples ten
expect_fault 2 "'1.5' is not a whole number" "$ANTLER" measure --samples 1.5
expect_fault 2 "'-3' is not a whole number" "$ANTLER" measure --samples -3
expect_fault 2 "'1a' is not" "$ANTLER" simulate lorenz63 --seed 1a
expect_fault 2 "takes no value" "$ANTLER" measure --json=yes
expect_fault 2 "there is no 'gm'; did you mean 'gmm'" "$ANTLER" measure --dstsp gm
expect_fault 2 "two dashes" "$ANTLER" measure -x
expect_fault 2 "takes no argument 'file'" "$ANTLER" measure file
expect_fault 2 "needs --true FILE" "$ANTLER" measure
expect_fault 2 "is not of the form M,TAU" "$ANTLER" measure --embed 3
expect_fault 2 "needs SHELL" "$ANTLER" completion
expect_fault 2 "no completion for 'tcsh'" "$ANTLER" completion tcsh

# A full standard output is a failure of the machine, with a sentence.
if [ -w /dev/full ]; then
    "$ANTLER" --help >/dev/full 2>.err && die "a full standard output went unnoticed"
    contains "$(<.err)" "cannot write to standard output"
fi

# bash completion: load it and ask as the shell would.
"$ANTLER" completion bash >completion.bash
complete_words() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _antler
    echo "${COMPREPLY[*]}"
}
. ./completion.bash
contains "$(complete_words antler sim)" "simulate"
contains "$(complete_words antler simulate lor)" "lorenz63"
contains "$(complete_words antler measure --dstsp gmm-)" "gmm-silverman"
contains "$(complete_words antler measure --sam)" "--samples"
# Settings after --set: names, then values; bash takes = for a word of its own, other shells do not.
[ "$(complete_words antler train --set gtf_alpha_sch)" = "gtf_alpha_schedule=" ] || die "no name of a setting"
contains "$(complete_words antler train --set device = '')" "auto cpu cuda"
[ "$(complete_words antler train --set device =)" = "auto cpu cuda" ] || die "no values after ="
[ "$(complete_words antler sweep x.yaml --set solver = quasi)" = quasi-deer ] || die "no value of a setting"
[ "$(complete_words antler tune --set clipped=t)" = clipped=true ] || die "no value in one word"
[ -z "$(complete_words antler train --set latent_dim = '')" ] || die "a number was completed"
touch some-file.npy
contains "$(complete_words antler train --set data = some)" "some-file.npy"
contains "$(complete_words antler info some)" "some-file.npy"
expect_ok "$ANTLER" completion zsh
contains "$out" "#compdef antler"
expect_ok "$ANTLER" completion fish
contains "$out" "complete -c antler"
contains "$out" "device=auto device=cpu device=cuda"
finish

#!/usr/bin/env bash
# adaptive.sh TRAIN.npy [FOLDER] - time of an update of 20 runs on the GPU with a constant strength of forcing and with each way to
# estimate it (spec 10): published.yaml for UPDATES updates (2000).  The first quarter is not counted.  ANTLER names the command.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: adaptive.sh TRAIN.npy [FOLDER]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
antler=${ANTLER:-$here/../../build/antler}
train=$(realpath "$1") folder=${2:-Results/ecg-adaptive} updates=${UPDATES:-2000}
mkdir -p "$folder"
cd "$folder"
"$antler" info --devices
printf '%-22s %12s %10s %12s\n' method "ms/update" times "alpha, mean"
constant=
for method in constant jacobian_upper_bound batch_maximum product_upper_bound explog arithmetic_mean; do
    "$antler" train "$here/published.yaml" --overwrite --quiet --set data="$train" --set name="$method" --set device="${DEVICE:-cuda}" \
        --set updates="$updates" --set log_interval=$((updates / 4)) --set checkpoint_interval="$updates" --set gtf_alpha_method="$method"
    # Seconds of a row are those of all runs side by side; the strength is the mean over runs at the end.
    time=$(awk -F, -v first=$((updates / 4)) 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["update"] == first { begin = $column["seconds"] }
        { last = $column["update"]; end = $column["seconds"] }
        END { printf "%.5f", 1e3 * (end - begin) / (last - first) }' "Results/ecg/$method/001/log.csv")
    alpha=$(tail -qn 1 "Results/ecg/$method"/0*/log.csv | awk -F, '{ sum += $10 } END { printf "%.4f", sum / NR }')
    constant=${constant:-$time}
    printf '%-22s %12s %10s %12s\n' "$method" "$time" "$(awk -v a="$time" -v b="$constant" 'BEGIN { printf "%.3f", a / b }')" "$alpha"
done

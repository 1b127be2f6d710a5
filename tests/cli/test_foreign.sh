#!/usr/bin/env bash
# Files of other formats are named; with the program antler-convert every command reads them, without it one sentence says
# what to install.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

mkdir bin zarr
without_extensions
PATH=$folder/bin:/usr/bin:/bin
"$ANTLER" simulate roessler --length 400 --quiet --out true.npz || die "simulate"
printf '0       %-80s%-80s' patient recording >rec.edf
printf '\xffBIOSEMI' >rec.bdf
printf 'MATLAB 5.0 MAT-file' >five.mat
printf 'MATLAB 7.3 MAT-file' >seven.mat
printf '\0\0\0\0\0\0\0\0' >four.mat
printf 'PK\x03\x04%26s[Content_Types].xml' '' >table.xlsx
cp table.xlsx table.data
printf 'PAR1\0\0' >table.parquet
printf '\x89HDF\r\n\x1a\n' >data.h5
printf '[{"x": 1}]' >records.json
printf '{}' >zarr/.zgroup
while IFS='|' read -r file what; do
    expect_fault 2 "$file: is $what, which Antler reads through its Python package; install it" "$ANTLER" info "$file"
    expect_fault 2 "antler convert $file $file.npz" "$ANTLER" train "$file"
done <<'TXT'
rec.edf|an EDF recording
rec.bdf|a BDF recording
five.mat|a MATLAB file
seven.mat|a MATLAB file (7.3)
four.mat|a MATLAB file
table.xlsx|an Excel workbook
table.data|an Excel workbook
table.parquet|a Parquet file
data.h5|an HDF5 file (.h5, .mat 7.3)
records.json|a JSON document
zarr|a Zarr store
TXT
[ "$checks" = 22 ] || die "$checks files"
# A table with a first number of 0 and wide columns begins as an EDF does, and is none.
printf '0       1.5\n0.5     2.5\n1       3\n' >wide.txt
expect_ok "$ANTLER" info wide.txt
contains "$out" "3 x 2"

# With the program: converted, read, and nothing temporary is left; a training keeps its copy.
cat >bin/antler-convert <<'SH'
#!/bin/sh
[ $# = 2 ] || exit 9
case $1 in *broken*) echo "antler-convert: $1: broken" >&2; exit 2 ;; esac
cp "$TRUE" "$2"
SH
chmod +x bin/antler-convert
export TRUE=$folder/true.npz TMPDIR=$folder/tmp
mkdir tmp
expect_ok "$ANTLER" info rec.edf
contains "$out" "400 rows in all, N = 3"
expect_ok "$ANTLER" measure --true rec.edf --generated true.npz --dstsp bins
expect_ok "$ANTLER" convert rec.edf out.csv
contains "$out" "out.csv: 1 trajectory, 400 rows in all, 3 variables, 0 inputs"
expect_ok "$ANTLER" train rec.edf --set updates=3 --set sequence_length=20 --set hidden_dim=8 --set validation=0
contains "$out" "rec.edf is kept as Results/rec/rec.edf.npz"
cmp true.npz Results/rec/rec.edf.npz || die "the copy differs"
expect_ok "$ANTLER" generate Results/rec/run/001 --data rec.edf --steps 10 --out free.csv
cp rec.edf broken.edf
run "$ANTLER" info broken.edf
[ "$code" = 2 ] && [ "$err" = "antler-convert: broken.edf: broken" ] || die "code $code: $err"
[ -z "$(ls tmp)" ] || die "left in the temporary folder: $(ls tmp)"
# What Antler reads itself needs no other program.
rm bin/antler-convert
expect_ok "$ANTLER" convert true.npz out.npy
expect_ok "$ANTLER" convert --columns 1,3 out.npy two.csv
[ "$(wc -l <two.csv)" = 401 ] || die "two.csv has $(wc -l <two.csv) lines"
expect_fault 2 "needs" "$ANTLER" convert true.npz
finish

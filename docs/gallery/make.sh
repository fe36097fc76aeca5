#!/usr/bin/env bash
# Draws the pictures of the gallery anew: docs/gallery/make.sh
set -euo pipefail
cd "$(dirname "$0")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
gnc solve --d 3 --K 24 --plot code.png --force -q > /dev/null
gnc solve --d 8 --K 240 --plot gram.png --force -q > /dev/null
gnc solve --problem ufm --d 3 --K 7 --tau 1..0.001/13 --plot sweep.png --force -q > /dev/null
gnc solve --d 3 --K 13 --method descent --restarts 1 --steps 60 --seed 3 --out "$scratch/thirteen.h5" -q > /dev/null
gnc compare "$scratch/thirteen.h5" --plot compare.png --force -q > /dev/null || [ $? -eq 5 ]
gnc bounds --d 2..512 --K 1000 --margin 0.5 --plot bounds.png --force -q > /dev/null
gnc train --classes 100 --feature-dim 10 --out "$scratch/run" --snapshot-every 6 --plot train.png --force -q > /dev/null
gnc measure "$scratch/run/snapshots.h5" --select split=train --plot measure.png --force -q > /dev/null

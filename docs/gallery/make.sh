#!/usr/bin/env bash
# Draws the plots of the documentation again: docs/gallery/make.sh
set -euo pipefail
gallery="$(cd "$(dirname "$0")" && pwd)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
draw() { "$@" -q > /dev/null; }
draw gnc solve --d 3 --K 24 --plot code.png
draw gnc solve --d 8 --K 240 --plot gram.png
draw gnc solve --problem ufm --d 3 --K 7 --tau 1..0.001/13 --plot sweep.png
draw gnc solve --d 3 --K 13 --method descent --restarts 1 --seed 5 --out thirteen.h5
draw gnc compare thirteen.h5 --plot compare.png || [ $? -eq 5 ]
draw gnc bounds --d 2..512 --K 1000 --margin 0.5 --plot bounds.png
draw gnc train --classes 100 --feature-dim 10 --out run --snapshot-every 6 --plot train.png
draw gnc measure run/snapshots --select split=train --plot measure.png
mv -f -- *.png "$gallery"

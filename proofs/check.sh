#!/usr/bin/env bash
# Checks the proof: compiles every file, in a temporary folder, and fails when a file does not
# compile, when one leaves something unproved, or when a theorem rests on an axiom not listed here.
set -euo pipefail
cd "$(dirname "$0")"

# The standard library's Reals rest on the first three; `classic` is the law of excluded middle.
allowed='sig_forall_dec sig_not_dec functional_extensionality_dep classic'
files='Bisector Definitions Euclidean Separation Optima Statements'

fail() {
  printf 'proof: %s\n' "$*" >&2
  exit 1
}

command -v coqc > /dev/null || fail 'coqc is missing: install Coq 8.16 to 8.20 (package coq)'

for file in *.v; do
  [[ " $files " == *" ${file%.v} "* ]] || fail "$file is not in the list of files to check"
done
unproved='Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check'
unproved+='|Unset +(Guard|Positivity|Universe) +Checking'
if grep -nwE "$unproved" ./*.v; then
  fail 'the lines above assume what is to be proved'
fi

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp ./*.v "$scratch"
cd "$scratch"
for name in $files; do
  coqc -q -Q . GNC "$name.v" > "$name.out" || fail "$name.v does not compile"
done

# Statements.v prints the statements, then what all of them together rest on.
statements="$(sed -nE 's/^Check @(.*)\.$/\1/p' Statements.v)"
for name in $statements; do
  grep -qE "^  @$name,?$" Statements.v || fail "$name is stated, but its axioms are not asked for"
done
[[ "$(tail -n 1 Statements.v)" == 'Print Assumptions theorems.' ]] ||
  fail 'Statements.v does not end with the axioms of all theorems'
grep -qE '^(Axioms:|Closed under the global context)$' Statements.out ||
  fail 'Coq did not say which axioms the theorems rest on'
# A block for each question; an axiom starts its line, its type may go on in indented ones.
axioms="$(sed -nE '/^Axioms:$/,$ { /^( |Axioms:$|Closed under the)/d; s/ *:.*//; s/.*\.//; p }' \
  Statements.out | sort -u)"
for axiom in $axioms; do
  [[ " $allowed " == *" $axiom "* ]] || fail "a theorem rests on the axiom $axiom"
done

sed '/^Axioms:$/,$d' Statements.out
printf '\nproof checked: %s statements; axioms: %s\n' "$(wc -w <<< "$statements")" "$(echo $axioms)"

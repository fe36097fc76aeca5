#!/usr/bin/env bash
# Checks the proof: compiles every file, in a temporary folder, and fails when a file does not
# compile, when one leaves something unproved, or when a theorem rests on an axiom not listed here.
set -euo pipefail
cd "$(dirname "$0")"

# The standard library's Reals rest on the first three; `classic` is the law of excluded middle.
# Names count as Coq prints them: with their module, and at most the library's path before it.
allowed='ClassicalDedekindReals\.sig_forall_dec|ClassicalDedekindReals\.sig_not_dec'
allowed+='|FunctionalExtensionality\.functional_extensionality_dep|Classical_Prop\.classic'
allowed="^((Coq|Stdlib)\.([A-Za-z]+\.)*)?($allowed)\$"
files='Bisector Definitions Euclidean Separation Optima Converse Statements'

fail() {
  printf 'proof: %s\n' "$*" >&2
  exit 1
}

command -v coqc > /dev/null && command -v coqchk > /dev/null ||
  fail 'coqc or coqchk is missing: install Coq (package coq; run on 8.16.1, written for 8.16 to 8.20)'

for file in *.v; do
  [[ " $files " == *" ${file%.v} "* ]] || fail "$file is not in the list of files to check"
done
unproved='Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check'
unproved+='|Unset +(Guard|Positivity|Universe) +Checking'
if grep -nwE "$unproved" ./*.v; then
  fail 'the lines above assume what is to be proved'
fi
# An axiom declared in a module of ours could be printed under an allowed name.
if grep -nwE 'Module|Load|LoadPath|ML' ./*.v; then
  fail 'the lines above may hide where a name comes from'
fi
# In a section, a hypothesis becomes a premise of the theorems; outside, it is an axiom.
awk 'FNR == 1 || /^End / { open = 0 } /^Section / { open = 1 }
  !open && /(^|[^[:alnum:]_])(Hypothes[ie]s|Variables?|Context)([^[:alnum:]_]|$)/ {
    print FILENAME ":" FNR ":" $0; bad = 1 }
  END { exit bad }' ./*.v || fail 'the lines above assume something outside a section'

# Every statement is among the theorems whose axioms are asked for.
statements="$(sed -nE 's/^Check @(.*)\.$/\1/p' Statements.v)"
for name in $statements; do
  grep -qE "^  @$name,?$" Statements.v || fail "$name is stated, but its axioms are not asked for"
done
[[ "$(tail -n 1 Statements.v)" == 'Print Assumptions theorems.' ]] ||
  fail 'Statements.v does not end with the axioms of all theorems'

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
cp ./*.v "$scratch"
cd "$scratch"
for name in $files; do
  coqc -q -w +local-declaration -Q . GNC "$name.v" > "$name.out" || fail "$name.v does not compile"
done

# The independent checker reads the compiled files anew.
coqchk -silent -Q . GNC GNC.Statements > /dev/null || fail 'coqchk does not accept the proof'

# Statements.v prints the statements, then what all of them together rest on.
grep -qE '^(Axioms:|Closed under the global context)$' Statements.out ||
  fail 'Coq did not say which axioms the theorems rest on'
# A block for each question; an axiom starts its line, its type may go on in indented ones.
axioms="$(sed -nE '/^Axioms:$/,$ { /^( |Axioms:$|Closed under the)/d; s/ *:.*//; p }' \
  Statements.out | sort -u)"
if grep -vE "$allowed|^$" <<< "$axioms"; then
  fail 'the theorems rest on the axioms above, which are not allowed'
fi

sed '/^Axioms:$/,$d' Statements.out
printf '\nproof checked: %s statements; axioms: %s\n' "$(wc -w <<< "$statements")" "$(echo $axioms)"

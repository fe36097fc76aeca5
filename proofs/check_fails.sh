#!/usr/bin/env bash
# Checks check.sh: it must refuse each of these broken copies of the proof, for the reason given.
set -euo pipefail
cd "$(dirname "$0")"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# refuse REASON FILE SED: check.sh refuses a copy whose FILE is changed by the sed command.
refuse() {
  rm -rf "$scratch/copy" && mkdir "$scratch/copy"
  cp ./*.v check.sh "$scratch/copy"
  sed -i -E "$3" "$scratch/copy/$2"
  if cmp -s "$2" "$scratch/copy/$2"; then
    printf 'proof: the change %s does not apply to %s\n' "$3" "$2" >&2
    exit 1
  fi
  if "$scratch/copy/check.sh" > "$scratch/out" 2>&1 || ! grep -qF "$1" "$scratch/out"; then
    printf 'proof: check.sh lets pass, or refuses for another reason: %s\n' "$3" >&2
    exit 1
  fi
}

refuse 'outside a section' Bisector.v '/^Open Scope/a Hypothesis sig_not_dec : False.'
refuse 'assume what is to be' Separation.v '0,/^Qed\.$/s/^Qed\.$/Admitted./'
refuse 'hide where a name' Optima.v '$a Module ClassicalDedekindReals.'
refuse 'not asked for' Statements.v '/^  @lemma_C4,$/d'
refuse 'does not compile' Bisector.v 's/\(1 - form w x \+ r\) \/ 2 <=/1 - form w x + r <=/'
refuse 'does not compile' Converse.v 's/16 \* a <= e/a <= e/'
printf 'check.sh refuses the broken copies\n'

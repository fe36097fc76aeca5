(** * The statements, and what they rest on

    Compiling this file prints the main theorems and the axioms that their proofs use.  To trust
    them, read these statements and the definitions that they use: those of Definitions.v, each
    beside the one of the paper that it restates, and those at the head of Bisector.v (form_space,
    sub, norm, bisector). *)

From Coq Require Import Reals.
From GNC Require Import Bisector Definitions Euclidean Separation Optima Converse.

(** The bisector theorem, over any symmetric, bilinear, positive semidefinite form. *)
Check @bisector_theorem.
Check @bisector_pair.
Check @bisector_equality.

(** Its pairwise form for codes in R^d. *)
Check @pairwise_form.
Check @pairwise_form_of_distances.

(** Lemma C.4, and the point of the hull that is nearest to w_k. *)
Check @nearest_point.
Check @outside_hull.
Check @lemma_C4.
Check @lemma_C4_sphere.
Check @best_direction.

(** Every code has a rho and a largest cosine. *)
Check @rho_exists.
Check @max_cosine_exists.

(** t* is attained; rho* = 1 - t* is attained; eq. 11 in terms of t*. *)
Check @t_star_exists.
Check @rho_star_exists.
Check @rho_star_value.
Check @tammes_distance_value.
Check @tammes_code_cosine.

(** Every Tammes code is a Softmax Code; the converse as far as rattlers allow. *)
Check @tammes_is_softmax.
Check @softmax_directions.
Check @softmax_bisects.
Check @same_codes.

(** Where rho* > 0, which [softmax_bisects] asks for: everywhere but on the line with three points
    or more, where every code solves both problems. *)
Check @rho_star_positive.
Check @line_three.

(** The converse holds for K <= 2d, where no point of a Tammes code is a rattler, and wherever no
    Softmax Code has a one-vs-rest rattler; it fails where two points of a Tammes code are in
    contact with each other alone. *)
Check @no_common_negative.
Check @no_rattlers.
Check @same_codes_small.
Check @same_codes_without_rattlers.
Check @tilted_direction.
Check @softmax_not_tammes.

(** What the bisector theorem rests on, and all of the above together. *)
Definition theorems := (
  @bisector_theorem,
  @bisector_pair,
  @bisector_equality,
  @pairwise_form,
  @pairwise_form_of_distances,
  @nearest_point,
  @outside_hull,
  @lemma_C4,
  @lemma_C4_sphere,
  @best_direction,
  @rho_exists,
  @max_cosine_exists,
  @t_star_exists,
  @rho_star_exists,
  @rho_star_value,
  @tammes_distance_value,
  @tammes_code_cosine,
  @tammes_is_softmax,
  @softmax_directions,
  @softmax_bisects,
  @same_codes,
  @rho_star_positive,
  @line_three,
  @no_common_negative,
  @no_rattlers,
  @same_codes_small,
  @same_codes_without_rattlers,
  @tilted_direction,
  @softmax_not_tammes
).

Print Assumptions bisector_theorem.
Print Assumptions theorems.

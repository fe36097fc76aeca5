(** * The statements, and what they rest on

    Compiling this file prints the main theorems and then, for each, the axioms that its proof uses.
    The definitions are in Definitions.v, each beside the one of the paper that it restates. *)

From Coq Require Import Reals.
From GNC Require Import Bisector Definitions Euclidean Separation Optima.

(** The bisector theorem, over any symmetric, bilinear, positive semidefinite form. *)
Check @bisector_theorem.
Check @bisector_pair.
Check @bisector_equality.

(** Its pairwise form for codes in R^d. *)
Check pairwise_form.
Check pairwise_form_of_distances.

(** Lemma C.4, and the point of the hull that is nearest to w_k. *)
Check nearest_point.
Check lemma_C4.
Check lemma_C4_sphere.
Check best_direction.

(** t* is attained; rho* = 1 - t* is attained; eq. 11 in terms of t*. *)
Check t_star_exists.
Check rho_star_exists.
Check rho_star_value.
Check tammes_distance_value.
Check tammes_code_cosine.

(** Every Tammes code is a Softmax Code; the converse as far as rattlers allow. *)
Check tammes_is_softmax.
Check softmax_directions.
Check softmax_bisects.
Check same_codes.

(** Where rho* > 0, which [softmax_bisects] asks for: everywhere but on the line with three points
    or more, where every code solves both problems. *)
Check rho_star_positive.
Check line_three.

Print Assumptions bisector_theorem.
Print Assumptions bisector_pair.
Print Assumptions bisector_equality.
Print Assumptions pairwise_form.
Print Assumptions pairwise_form_of_distances.
Print Assumptions nearest_point.
Print Assumptions lemma_C4.
Print Assumptions lemma_C4_sphere.
Print Assumptions best_direction.
Print Assumptions t_star_exists.
Print Assumptions rho_star_exists.
Print Assumptions rho_star_value.
Print Assumptions tammes_distance_value.
Print Assumptions tammes_code_cosine.
Print Assumptions tammes_is_softmax.
Print Assumptions softmax_directions.
Print Assumptions softmax_bisects.
Print Assumptions same_codes.
Print Assumptions rho_star_positive.
Print Assumptions line_three.

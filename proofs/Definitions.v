(** * What the theorems speak of: codes, distances and optima, as the paper defines them

    "Generalized Neural Collapse for a Large Number of Classes" (arXiv 2310.05351).  The paper
    writes points as columns of W; here W k is the point w_k.  Indices start at 0. *)

From Coq Require Import Reals Arith.
Open Scope R_scope.

(** ** R^d *)

(** f 0 + ... + f (n - 1). *)
Fixpoint sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => sum m f + f m
  end.

(** A vector of R^d is given by its coordinates x 0, ..., x (d - 1); what the function does beyond
    them is ignored, and two vectors are the same if these d coordinates are. *)
Definition vec := nat -> R.
Definition same (d : nat) (x y : vec) : Prop := forall i, (i < d)%nat -> x i = y i.

(** <x, y> and |x - y|. *)
Definition dot (d : nat) (x y : vec) : R := sum d (fun i => x i * y i).
Definition dist (d : nat) (x y : vec) : R := sqrt (sum d (fun i => (x i - y i) * (x i - y i))).

(** ** Extrema: the value is taken, and none is beyond it; an infimum need not be taken

    A number is given by what is true of it: [rho d K W r] below reads "the rho of W is r".  There
    is at most one such number (the first lemmas on extrema in Euclidean.v); that there is one is a
    theorem: [nearest_point], [rho_exists], [max_cosine_exists], [t_star_exists],
    [rho_star_exists]. *)

Definition is_minimum (E : R -> Prop) (m : R) : Prop := E m /\ forall s, E s -> m <= s.
Definition is_maximum (E : R -> Prop) (m : R) : Prop := E m /\ forall s, E s -> s <= m.
Definition is_infimum (E : R -> Prop) (m : R) : Prop :=
  (forall s, E s -> m <= s) /\ (forall b, (forall s, E s -> b <= s) -> b <= m).

(** ** Codes: K points of the unit sphere of R^d, the paper's OB(d, K) *)

Definition code (d K : nat) (W : nat -> vec) : Prop :=
  forall k, (k < K)%nat -> dot d (W k) (W k) = 1.

(** ** The one-vs-rest distance: definition 2.1 and eq. 3 *)

(** Convex weights v on the points other than k, the point [sum_j v_j w_j], and the convex hull
    [conv ({w_j} for j in [K] \ k)]. *)
Definition convex_weights (K k : nat) (v : nat -> R) : Prop :=
  (forall j, (j < K)%nat -> 0 <= v j) /\ v k = 0 /\ sum K v = 1.
Definition combination (K : nat) (v : nat -> R) (W : nat -> vec) : vec :=
  fun i => sum K (fun j => v j * W j i).
Definition hull_of_others (d K : nat) (W : nat -> vec) (k : nat) (y : vec) : Prop :=
  exists v, convex_weights K k v /\ same d y (combination K v W).

(** [dist (w_k, {w_j} for j in [K] \ k)]: below eq. 3 the paper defines dist (v, X) as the infimum
    of |v - y| over y in conv X. *)
Definition one_vs_rest (d K : nat) (W : nat -> vec) (k : nat) (r : R) : Prop :=
  is_infimum (fun s => exists y, hull_of_others d K W k y /\ s = dist d (W k) y) r.

(** Eq. 3: [rho_one-vs-rest (W) = min_k dist (w_k, {w_j} for j in [K] \ k)]. *)
Definition rho (d K : nat) (W : nat -> vec) (r : R) : Prop :=
  is_minimum (fun s => exists k, (k < K)%nat /\ one_vs_rest d K W k s) r.

(** The value of eq. 3: rho* (d, K) = max over all codes W of [rho_one-vs-rest (W)]. *)
Definition rho_star (d K : nat) (r : R) : Prop :=
  is_maximum (fun s => exists W, code d K W /\ rho d K W s) r.

(** Definition 2.1: a Softmax Code is a code whose [rho_one-vs-rest] is the largest possible. *)
Definition softmax_code (d K : nat) (W : nat -> vec) : Prop :=
  code d K W /\ exists r, rho d K W r /\ rho_star d K r.

(** ** The one-vs-one distance and the Tammes problem: eq. 11 *)

(** Eq. 11: [rho_one-vs-one (W) = min_k min_(k' <> k) |w_k - w_k'|]. *)
Definition one_vs_one (d K : nat) (W : nat -> vec) (m : R) : Prop :=
  is_minimum (fun s => exists j k,
    (j < K)%nat /\ (k < K)%nat /\ j <> k /\ s = dist d (W j) (W k)) m.

(** The value of eq. 11, the largest possible [rho_one-vs-one]; a Tammes code is a code that has
    it. *)
Definition tammes_distance (d K : nat) (m : R) : Prop :=
  is_maximum (fun s => exists W, code d K W /\ one_vs_one d K W s) m.
Definition tammes_code (d K : nat) (W : nat -> vec) : Prop :=
  code d K W /\ exists m, one_vs_one d K W m /\ tammes_distance d K m.

(** The largest cosine of two different points, and t* (d, K), its smallest possible value.  As
    [|w_j - w_k|^2 = 2 - 2 <w_j, w_k>], this is eq. 11 in other words: [tammes_distance_value] and
    [tammes_code_cosine] prove it. *)
Definition max_cosine (d K : nat) (W : nat -> vec) (t : R) : Prop :=
  is_maximum (fun s => exists j k,
    (j < K)%nat /\ (k < K)%nat /\ j <> k /\ s = dot d (W j) (W k)) t.
Definition t_star (d K : nat) (t : R) : Prop :=
  is_minimum (fun s => exists W, code d K W /\ max_cosine d K W s) t.

(** Definition 3.4 with the one-vs-one distance in place of the one-vs-rest distance: k is a
    one-vs-one rattler of W if its own smallest distance to another point is not that of W. *)
Definition own_distance (d K : nat) (W : nat -> vec) (k : nat) (m : R) : Prop :=
  is_minimum (fun s => exists j, (j < K)%nat /\ j <> k /\ s = dist d (W j) (W k)) m.
Definition rattler (d K : nat) (W : nat -> vec) (k : nat) : Prop :=
  exists own least, own_distance d K W k own /\ one_vs_one d K W least /\ own <> least.

(** Definition 3.4 itself: k is a one-vs-rest rattler of W if its own one-vs-rest distance is not
    that of W. *)
Definition rest_rattler (d K : nat) (W : nat -> vec) (k : nat) : Prop :=
  exists own least, one_vs_rest d K W k own /\ rho d K W least /\ own <> least.

(** ** Margins *)

(** [min_(j <> k) <w_k - w_j, h>]: by how much h is on the side of class k (lemma C.4). *)
Definition margin (d K : nat) (W : nat -> vec) (k : nat) (h : vec) (m : R) : Prop :=
  is_minimum (fun s => exists j,
    (j < K)%nat /\ j <> k /\ s = dot d (fun i => W k i - W j i) h) m.

(** All margins of (W, H) are at least r, with |h_k| <= 1. *)
Definition margins_at_least (d K : nat) (W H : nat -> vec) (r : R) : Prop :=
  forall k, (k < K)%nat -> dot d (H k) (H k) <= 1 /\
    forall j, (j < K)%nat -> j <> k -> r <= dot d (fun i => W k i - W j i) (H k).

(** The bisected code: [u_k = (w_k + h_k) / |w_k + h_k|]. *)
Definition bisect (d : nat) (W H : nat -> vec) (k : nat) : vec :=
  fun i => (W k i + H k i) / sqrt (dot d (fun i => W k i + H k i) (fun i => W k i + H k i)).

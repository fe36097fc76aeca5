(** * Lemma C.4: the one-vs-rest distance is the largest margin

    Exact for every point, in the hull of the others or not, and without |w_k| = 1: the distance of
    w_k to the hull of the others is the largest [min_(j <> k) <w_k - w_j, h>] over |h| <= 1, and it
    is attained, on both sides. *)

From Coq Require Import Reals Lra Lia Arith Classical_Prop.
From GNC Require Import Bisector Definitions Euclidean.
Open Scope R_scope.

(** ** Convex combinations *)

Lemma dot_combination d K v W y :
  dot d (combination K v W) y = sum K (fun j => v j * dot d (W j) y).
Proof.
  unfold dot, combination.
  rewrite (sum_ext d _ (fun i => sum K (fun j => v j * (W j i * y i)))).
  - rewrite sum_swap. apply sum_ext. intros j _. apply sum_scale.
  - intros i _. rewrite (Rmult_comm _ (y i)), <- sum_scale. apply sum_ext. intros. ring.
Qed.

(** <w_k - sum_j v_j w_j, h> is the mean of the <w_k - w_j, h>. *)
Lemma margin_mean d K W k v h : sum K v = 1 ->
  dot d (fun i => W k i - combination K v W i) h
    = sum K (fun j => v j * dot d (fun i => W k i - W j i) h).
Proof.
  intros Hv. rewrite dot_sub, dot_combination.
  rewrite (sum_ext K (fun j => v j * dot d (fun i => W k i - W j i) h)
    (fun j => dot d (W k) h * v j + -1 * (v j * dot d (W j) h)))
    by (intros; rewrite dot_sub; ring).
  rewrite sum_plus, !sum_scale, Hv. ring.
Qed.

Lemma convex_weight_le_one K k v j : convex_weights K k v -> (j < K)%nat -> v j <= 1.
Proof. intros (Hpos & _ & Hsum) Hj. rewrite <- Hsum. now apply sum_term. Qed.

Lemma convex_weights_only K k j : (j < K)%nat -> j <> k -> convex_weights K k (only j).
Proof.
  intros Hj Hjk. unfold convex_weights. split; [| split].
  - intros i _. unfold only. destruct (Nat.eq_dec i j); lra.
  - unfold only. destruct (Nat.eq_dec k j); [congruence | reflexivity].
  - now apply sum_only_one.
Qed.

(** The point on the way from v to w_j is again in the hull. *)
Definition toward (v : nat -> R) (j : nat) (t : R) : nat -> R :=
  fun m => (1 - t) * v m + t * only j m.

Lemma convex_weights_toward K k v j t : convex_weights K k v -> (j < K)%nat -> j <> k ->
  0 <= t <= 1 -> convex_weights K k (toward v j t).
Proof.
  intros (Hpos & Hk & Hsum) Hj Hjk Ht.
  destruct (convex_weights_only K k j Hj Hjk) as (Opos & Ok & Osum). unfold toward.
  split; [| split].
  - intros i Hi. specialize (Hpos i Hi). specialize (Opos i Hi). nra.
  - rewrite Hk, Ok. ring.
  - rewrite sum_plus, !sum_scale, Hsum, Osum. ring.
Qed.

Lemma combination_toward K v W j t i : (j < K)%nat ->
  combination K (toward v j t) W i = (1 - t) * combination K v W i + t * W j i.
Proof.
  intros Hj. unfold combination, toward.
  rewrite (sum_ext K _ (fun m => (1 - t) * (v m * W m i) + t * (only j m * W m i)))
    by (intros; ring).
  rewrite sum_plus, !sum_scale, (sum_only K j (fun m => W m i)) by exact Hj. ring.
Qed.

(** ** The distance is attained: there is a point of the hull nearest to w_k *)

(** Weights near each other give points near each other. *)
Lemma combination_near d K W : exists C, 0 <= C /\ forall v c e, 0 <= e ->
  (forall j, (j < K)%nat -> - e <= v j - c j <= e) ->
  dist d (combination K v W) (combination K c W) <= C * e.
Proof.
  (* |sum_j (v_j - c_j) w_j,i| <= e * sum_j |w_j,i| =: e A_i, coordinate by coordinate *)
  set (A := fun i => sum K (fun j => Rabs (W j i))).
  exists (sqrt (dot d A A)). split; [apply sqrt_pos |]. intros v c e He Hnear.
  assert (Hco : forall i, - (e * A i) <= combination K v W i - combination K c W i <= e * A i).
  { intros i. unfold combination.
    replace (sum K (fun j => v j * W j i) - sum K (fun j => c j * W j i))
      with (sum K (fun j => (v j - c j) * W j i)).
    2: { rewrite (sum_ext K _ (fun j => v j * W j i + -1 * (c j * W j i))) by (intros; ring).
         rewrite sum_plus, sum_scale. ring. }
    unfold A. rewrite <- sum_scale.
    assert (Hterm : forall j, (j < K)%nat ->
      - (e * Rabs (W j i)) <= (v j - c j) * W j i <= e * Rabs (W j i)).
    { intros j Hj. specialize (Hnear j Hj). unfold Rabs. destruct (Rcase_abs (W j i)); nra. }
    split.
    - replace (- sum K (fun j => e * Rabs (W j i))) with (sum K (fun j => -1 * (e * Rabs (W j i))))
        by (rewrite (sum_scale K (-1)); ring).
      apply sum_le. intros j Hj. specialize (Hterm j Hj). lra.
    - apply sum_le. intros j Hj. apply Hterm, Hj. }
  pose proof (dist_nonneg d (combination K v W) (combination K c W)) as Hd.
  pose proof (dist_square d (combination K v W) (combination K c W)) as Hs.
  pose proof (sqrt_sqrt _ (dot_nonneg d A)) as HA. pose proof (sqrt_pos (dot d A A)) as HA0.
  assert (Hle : dot d (fun i => combination K v W i - combination K c W i)
      (fun i => combination K v W i - combination K c W i) <= e * e * dot d A A).
  { unfold dot. rewrite <- sum_scale. apply sum_le. intros i _. specialize (Hco i). nra. }
  rewrite <- Hs, <- HA in Hle. set (a := sqrt (dot d A A)) in *.
  set (D := dist d (combination K v W) (combination K c W)) in *.
  assert (0 <= a * e) by (apply Rmult_le_pos; assumption).
  destruct (Rle_lt_dec D (a * e)); [assumption | nra].
Qed.

(** The nearest point of the hull, with its weights; its distance is the one-vs-rest distance. *)
Theorem nearest_point d K W k : (2 <= K)%nat ->
  exists v, convex_weights K k v /\ one_vs_rest d K W k (dist d (W k) (combination K v W)) /\
    forall v', convex_weights K k v' ->
      dist d (W k) (combination K v W) <= dist d (W k) (combination K v' W).
Proof.
  intros HK.
  (* the infimum r of the distances *)
  set (E := fun s => exists v, convex_weights K k v /\ s = - dist d (W k) (combination K v W)).
  destruct (completeness E) as [l [Hup Hleast]].
  { exists 0. intros s (v & _ & ->). pose proof (dist_nonneg d (W k) (combination K v W)). lra. }
  { assert (Hj : exists j, (j < K)%nat /\ j <> k).
    { destruct (Nat.eq_dec k 0) as [-> | Hk]; [exists 1%nat | exists 0%nat]; lia. }
    destruct Hj as (j & Hj & Hjk). eexists. exists (only j).
    split; [now apply convex_weights_only | reflexivity]. }
  set (r := - l).
  assert (Hlow : forall v, convex_weights K k v -> r <= dist d (W k) (combination K v W)).
  { intros v Hv. assert (- dist d (W k) (combination K v W) <= l) by (apply Hup; now exists v).
    unfold r. lra. }
  (* weights whose distances tend to r, and their limit c *)
  destruct (limit_point (nat -> R) K (fun i v => v i) 1
    (fun e v => convex_weights K k v /\ dist d (W k) (combination K v W) <= r + e)) as [c0 Hc0].
  - intros e e' v Hee [Hv Hd]. split; [exact Hv | lra].
  - intros e v i Hi [Hv _]. pose proof (convex_weight_le_one K k v i Hv Hi).
    assert (0 <= v i) by now apply Hv. lra.
  - intros e He. apply NNPP. intros Hno.
    assert (l <= l - e); [apply Hleast | lra]. intros s (v & Hv & ->).
    destruct (Rle_lt_dec (- dist d (W k) (combination K v W)) (l - e)) as [H | H]; [exact H |].
    exfalso. apply Hno. exists v. split; [exact Hv | unfold r; lra].
  - set (c := fun j => if Nat.eq_dec j k then 0 else c0 j).
    assert (Hc : forall e, 0 < e -> exists v, convex_weights K k v /\
      dist d (W k) (combination K v W) <= r + e /\
      forall j, (j < K)%nat -> - e <= v j - c j <= e).
    { intros e He. destruct (Hc0 e He) as (v & (Hv & Hd) & Hn). exists v.
      split; [exact Hv |]. split; [exact Hd |]. intros j Hj. unfold c.
      destruct (Nat.eq_dec j k) as [-> | Hjk]; [| now apply Hn].
      destruct Hv as (_ & Hvk & _). rewrite Hvk. lra. }
    assert (Hcw : convex_weights K k c).
    { split; [| split].
      - intros j Hj. apply le_of_near with 1; [lra |]. intros e He _.
        destruct (Hc e He) as (v & (Hv & _ & _) & _ & Hn). specialize (Hv j Hj).
        specialize (Hn j Hj). lra.
      - unfold c. destruct (Nat.eq_dec k k); [reflexivity | contradiction].
      - apply Rle_antisym.
        + apply le_of_near with (INR K); [apply pos_INR |]. intros e He _.
          destruct (Hc e He) as (v & (_ & _ & Hv) & _ & Hn).
          pose proof (sum_near K v c e Hn). lra.
        + apply le_of_near with (INR K); [apply pos_INR |]. intros e He _.
          destruct (Hc e He) as (v & (_ & _ & Hv) & _ & Hn).
          pose proof (sum_near K v c e Hn). lra. }
    assert (Hcr : dist d (W k) (combination K c W) <= r).
    { destruct (combination_near d K W) as (C & HC & Hnear).
      apply le_of_near with (1 + C); [lra |]. intros e He _.
      destruct (Hc e He) as (v & Hv & Hd & Hn).
      pose proof (Hnear v c e ltac:(lra) Hn).
      pose proof (dist_triangle d (W k) (combination K v W) (combination K c W)). lra. }
    assert (Hmin : forall v', convex_weights K k v' ->
      dist d (W k) (combination K c W) <= dist d (W k) (combination K v' W)).
    { intros v' Hv'. specialize (Hlow v' Hv'). lra. }
    exists c. split; [exact Hcw |]. split; [| exact Hmin].
    split.
    + intros s (y & (v' & Hv' & Hy) & ->).
      rewrite (dist_same d (W k) (W k) y (combination K v' W)); [now apply Hmin | now intros i |].
      exact Hy.
    + intros b Hb. apply Hb. exists (combination K c W).
      split; [exists c; now split | reflexivity].
Qed.

Lemma one_vs_rest_exists d K W k : (2 <= K)%nat -> exists r, one_vs_rest d K W k r.
Proof.
  intros HK. destruct (nearest_point d K W k HK) as (v & _ & Hr & _).
  now exists (dist d (W k) (combination K v W)).
Qed.

Lemma one_vs_rest_nonneg d K W k r : one_vs_rest d K W k r -> 0 <= r.
Proof. intros [_ H]. apply H. intros s (y & _ & ->). apply dist_nonneg. Qed.

(** The distance is positive just where w_k is outside the hull, which is what the paper asks. *)
Theorem outside_hull d K W k r : (2 <= K)%nat -> one_vs_rest d K W k r ->
  0 < r <-> ~ hull_of_others d K W k (W k).
Proof.
  intros HK Hr. split.
  - intros Hpos Hin. assert (r <= dist d (W k) (W k)) by (apply Hr; now exists (W k)).
    pose proof (dist_square d (W k) (W k)) as Hs.
    assert (H0 : dot d (fun i => W k i - W k i) (fun i => W k i - W k i) = 0)
      by (apply sum_zero; intros; ring).
    rewrite H0 in Hs. nra.
  - intros Hout. destruct (Rle_lt_or_eq_dec _ _ (one_vs_rest_nonneg d K W k r Hr)) as [Hpos | Hzero];
      [exact Hpos | exfalso; apply Hout].
    destruct (nearest_point d K W k HK) as (v & Hv & Hr' & _).
    pose proof (infimum_unique _ _ _ Hr' Hr) as Heq.
    pose proof (dist_square d (W k) (combination K v W)) as Hs.
    rewrite Heq, <- Hzero, Rmult_0_l in Hs. exists v. split; [exact Hv |]. intros i Hi.
    pose proof (dot_zero d _ (eq_sym Hs) i Hi) as Hz. cbv beta in Hz. lra.
Qed.

(** ** The margin of any direction is at most the distance *)

Lemma margin_le_distance d K W k h r m : one_vs_rest d K W k r -> dot d h h <= 1 ->
  (forall j, (j < K)%nat -> j <> k -> m <= dot d (fun i => W k i - W j i) h) -> m <= r.
Proof.
  intros [_ Hinf] Hh Hm. apply Hinf. intros s (y & (v & Hv & Hy) & ->).
  rewrite (dist_same d (W k) (W k) y (combination K v W)) by (exact Hy || now intros i).
  destruct Hv as (Hpos & Hk & Hsum).
  (* m = sum_j v_j m <= sum_j v_j <w_k - w_j, h> = <w_k - y, h> <= |w_k - y| *)
  apply Rle_trans with (dot d (fun i => W k i - combination K v W i) h).
  - rewrite margin_mean by exact Hsum. rewrite <- (Rmult_1_r m), <- Hsum, <- sum_scale.
    apply sum_le. intros j Hj. destruct (Nat.eq_dec j k) as [-> | Hjk].
    + rewrite Hk. lra.
    + specialize (Hm j Hj Hjk). specialize (Hpos j Hj). nra.
  - apply dot_le_product; [apply dist_nonneg | rewrite dist_square; lra | exact Hh].
Qed.

(** ** The direction from the nearest point to w_k attains it *)

(** With p the nearest point of the hull, <w_k - w_j, w_k - p> >= |w_k - p|^2. *)
Lemma nearest_point_separates d K W k v j :
  convex_weights K k v ->
  (forall v', convex_weights K k v' ->
    dist d (W k) (combination K v W) <= dist d (W k) (combination K v' W)) ->
  (j < K)%nat -> j <> k ->
  dot d (fun i => W k i - combination K v W i) (fun i => W k i - combination K v W i)
    <= dot d (fun i => W k i - W j i) (fun i => W k i - combination K v W i).
Proof.
  intros Hv Hmin Hj Hjk. set (p := combination K v W). set (a := fun i => W k i - p i).
  set (b := fun i => W j i - p i).
  (* for 0 <= t <= 1 the point p + t b is in the hull, so |a|^2 <= |a - t b|^2 *)
  assert (Hq : forall t, 0 <= t <= 1 -> 0 <= t * t * dot d b b - 2 * t * dot d a b).
  { intros t Ht. pose proof (Hmin _ (convex_weights_toward K k v j t Hv Hj Hjk Ht)) as Hle.
    fold p in Hle. set (q := combination K (toward v j t) W) in *.
    pose proof (dist_nonneg d (W k) p). pose proof (dist_nonneg d (W k) q).
    assert (Hsq : dist d (W k) p * dist d (W k) p <= dist d (W k) q * dist d (W k) q)
      by (apply Rmult_le_compat; assumption).
    rewrite !dist_square in Hsq. fold a in Hsq.
    rewrite (dot_same d (fun i => W k i - q i) (fun i => a i - t * b i)
      (fun i => W k i - q i) (fun i => a i - t * b i)) in Hsq.
    - rewrite (dot_sub d a (fun i => t * b i)), !(dot_sub_r d _ a (fun i => t * b i)) in Hsq.
      rewrite !dot_scale, !dot_scale_r, (dot_sym d b a) in Hsq. lra.
    - intros i _. unfold q, a, b, p. rewrite combination_toward by exact Hj. ring.
    - intros i _. unfold q, a, b, p. rewrite combination_toward by exact Hj. ring. }
  assert (Hab : dot d a b <= 0).
  { pose proof (dot_nonneg d b) as Hb. destruct (Rle_lt_dec (dot d a b) 0) as [H | H]; [exact H |].
    exfalso. apply (Rlt_irrefl (dot d a b)). apply Rle_lt_trans with (dot d a b / 2); [| lra].
    apply le_of_near with (dot d b b); [exact Hb |].
    intros e He He1. specialize (Hq e ltac:(lra)).
    assert (Hfactor : 0 <= e * (e * dot d b b - 2 * dot d a b)) by lra.
    destruct (Rle_lt_dec 0 (e * dot d b b - 2 * dot d a b)) as [Hf | Hf]; [lra | nra]. }
  rewrite (dot_same d (fun i => W k i - W j i) (fun i => a i - b i) a a).
  - rewrite dot_sub, (dot_sym d b a). lra.
  - intros i _. unfold a, b. ring.
  - now intros i.
Qed.

(** The direction (w_k - p) / |w_k - p| is of unit length and has margin r everywhere. *)
Theorem best_direction d K W k r : (2 <= K)%nat -> one_vs_rest d K W k r -> 0 < r ->
  exists v, convex_weights K k v /\ dist d (W k) (combination K v W) = r /\
    let h := fun i => / r * (W k i - combination K v W i) in
    dot d h h = 1 /\ forall j, (j < K)%nat -> j <> k -> r <= dot d (fun i => W k i - W j i) h.
Proof.
  intros HK Hr Hpos. destruct (nearest_point d K W k HK) as (v & Hv & Hr' & Hmin).
  pose proof (infimum_unique _ _ _ Hr' Hr) as Heq. exists v. split; [exact Hv |].
  split; [exact Heq |]. simpl.
  pose proof (dist_square d (W k) (combination K v W)) as Hsq. rewrite Heq in Hsq. split.
  - rewrite (dot_scale d (/ r) (fun i => W k i - combination K v W i)), dot_scale_r, <- Hsq.
    field. lra.
  - intros j Hj Hjk. rewrite dot_scale_r.
    pose proof (nearest_point_separates d K W k v j Hv Hmin Hj Hjk) as Hsep.
    rewrite <- Hsq in Hsep. apply Rmult_le_reg_l with r; [exact Hpos |].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. exact Hsep.
Qed.

(** ** Lemma C.4 *)

Lemma margin_exists d K W k h : (2 <= K)%nat -> exists m, margin d K W k h m.
Proof. intros HK. now apply others_minimum. Qed.

Theorem lemma_C4 d K W k r : (2 <= K)%nat ->
  one_vs_rest d K W k r <->
  is_maximum (fun m => exists h, dot d h h <= 1 /\ margin d K W k h m) r.
Proof.
  intros HK.
  assert (Hone : forall r, one_vs_rest d K W k r ->
    is_maximum (fun m => exists h, dot d h h <= 1 /\ margin d K W k h m) r).
  { intros q Hq. assert (Hup : forall h m, dot d h h <= 1 -> margin d K W k h m -> m <= q).
    { intros h m Hh [_ Hleast]. apply margin_le_distance with d K W k h; [exact Hq | exact Hh |].
      intros j Hj Hjk. apply Hleast. now exists j. }
    split; [| intros m (h & Hh & Hm); now apply Hup with h].
    assert (Hat : exists h, dot d h h <= 1 /\
      forall j, (j < K)%nat -> j <> k -> q <= dot d (fun i => W k i - W j i) h).
    { destruct (Rle_lt_or_eq_dec _ _ (one_vs_rest_nonneg d K W k q Hq)) as [Hpos | Hzero].
      - destruct (best_direction d K W k q HK Hq Hpos) as (v & _ & _ & Hh & Hm).
        exists (fun i => / q * (W k i - combination K v W i)). split; [lra | exact Hm].
      - exists (fun _ => 0). split.
        + unfold dot. rewrite sum_zero; [lra | intros; ring].
        + intros j _ _. unfold dot. rewrite sum_zero; [lra | intros; ring]. }
    destruct Hat as (h & Hh & Hm). exists h. split; [exact Hh |].
    destruct (margin_exists d K W k h HK) as [m Hmar].
    replace q with m; [exact Hmar |]. apply Rle_antisym; [now apply Hup with h |].
    destruct Hmar as [(j & Hj & Hjk & ->) _]. now apply Hm. }
  split; [apply Hone |]. intros Hmax.
  destruct (one_vs_rest_exists d K W k HK) as [q Hq].
  now rewrite (maximum_unique _ r q Hmax (Hone q Hq)).
Qed.

(** As the paper states it, over unit directions, for w_k outside the hull: by [outside_hull], that
    is [0 < r]. *)
Theorem lemma_C4_sphere d K W k r : (2 <= K)%nat -> one_vs_rest d K W k r -> 0 < r ->
  is_maximum (fun m => exists h, dot d h h = 1 /\ margin d K W k h m) r.
Proof.
  intros HK Hr Hpos. destruct (proj1 (lemma_C4 d K W k r HK) Hr) as [_ Hup]. split.
  - destruct (best_direction d K W k r HK Hr Hpos) as (v & _ & _ & Hh & Hm).
    set (h := fun i => / r * (W k i - combination K v W i)) in *.
    exists h. split; [exact Hh |].
    destruct (margin_exists d K W k h HK) as [m Hmar].
    assert (m = r) as <-; [| exact Hmar]. apply Rle_antisym.
    + apply Hup. exists h. split; [lra | exact Hmar].
    + destruct Hmar as [(j & Hj & Hjk & ->) _]. now apply Hm.
  - intros m (h & Hh & Hm). apply Hup. exists h. split; [lra | exact Hm].
Qed.

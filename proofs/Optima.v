(** * rho* = 1 - t*, every Tammes code is a Softmax Code, and what is true of the converse *)

From Coq Require Import Reals Lra Lia Arith Classical_Prop.
From GNC Require Import Bisector Definitions Euclidean Separation.
Open Scope R_scope.

(** ** Bisecting a code with directions, in coordinates *)

Lemma bisect_bisector d (W H : nat -> vec) k :
  same d (bisect d W H k) (@bisector (space d) (W k) (H k)).
Proof. intros i _. unfold bisect, bisector, norm. simpl. unfold Rdiv. apply Rmult_comm. Qed.

Lemma sub_margin d (W H : nat -> vec) j k :
  @form (space d) (@sub (space d) (W k) (W j)) (H k) = dot d (fun i => W k i - W j i) (H k).
Proof. apply dot_same; intros i _; [| reflexivity]. unfold sub. simpl. ring. Qed.

Lemma norm_sub_zero d (x y : vec) : @norm (space d) (@sub (space d) x y) = 0 -> same d x y.
Proof.
  intros H. pose proof (@norm_square (space d) (@sub (space d) x y)) as Hs. rewrite H in Hs.
  change (0 * 0 = dot d (@sub (space d) x y) (@sub (space d) x y)) in Hs.
  assert (Hz : dot d (@sub (space d) x y) (@sub (space d) x y) = 0) by lra.
  intros i Hi. pose proof (dot_zero d _ Hz i Hi) as Hi0. unfold sub in Hi0. simpl in Hi0. lra.
Qed.

Section Pair.
Variables (d : nat) (W H : nat -> vec) (j k : nat) (rj rk : R).
Hypothesis (Wj : dot d (W j) (W j) = 1) (Wk : dot d (W k) (W k) = 1).
Hypothesis (Hj : dot d (H j) (H j) <= 1) (Hk : dot d (H k) (H k) <= 1).
Hypothesis (rj_pos : 0 < rj) (rk_pos : 0 < rk).
Hypothesis (mj : rj <= dot d (fun i => W j i - W k i) (H j)).
Hypothesis (mk : rk <= dot d (fun i => W k i - W j i) (H k)).

Local Lemma mj' : rj <= @form (space d) (@sub (space d) (W j) (W k)) (H j).
Proof. now rewrite sub_margin. Qed.
Local Lemma mk' : rk <= @form (space d) (@sub (space d) (W k) (W j)) (H k).
Proof. now rewrite sub_margin. Qed.

Lemma bisect_unit : dot d (bisect d W H k) (bisect d W H k) = 1.
Proof.
  destruct (@bisector_step (space d) (W k) (W j) (H k) rk Wk Wj Hk rk_pos mk') as (Hn & _).
  rewrite (dot_same d _ _ _ _ (bisect_bisector d W H k) (bisect_bisector d W H k)).
  exact (@bisector_unit (space d) (W k) (H k) Hn).
Qed.

Lemma bisect_cosine : dot d (bisect d W H j) (bisect d W H k) <= 1 - (rj + rk) / 2.
Proof.
  rewrite (dot_same d _ _ _ _ (bisect_bisector d W H j) (bisect_bisector d W H k)).
  exact (@bisector_pair (space d) (W j) (W k) (H j) (H k) rj rk
    Wj Wk Hj Hk rj_pos rk_pos mj' mk').
Qed.

Lemma bisect_equality : dot d (bisect d W H j) (bisect d W H k) = 1 - (rj + rk) / 2 ->
  same d (W k) (H k) /\ same d (W k) (bisect d W H k).
Proof.
  intros Heq.
  rewrite (dot_same d _ _ _ _ (bisect_bisector d W H j) (bisect_bisector d W H k)) in Heq.
  destruct (@bisector_equality (space d) (W j) (W k) (H j) (H k) rj rk
    Wj Wk Hj Hk rj_pos rk_pos mj' mk' Heq) as (_ & _ & _ & Hh & Hu).
  apply norm_sub_zero in Hh. apply norm_sub_zero in Hu. split; [exact Hh |].
  intros i Hi. rewrite bisect_bisector by exact Hi. apply Hu, Hi.
Qed.

End Pair.

Lemma another K k : (2 <= K)%nat -> exists j, (j < K)%nat /\ j <> k.
Proof.
  intros HK. destruct (Nat.eq_dec k 0) as [-> | Hk]; [exists 1%nat | exists 0%nat]; lia.
Qed.

(** The pairwise form.  If every class k has a direction h_k, |h_k| <= 1, with margins
    [<w_k - w_j, h_k> >= r_k > 0], then the bisected code has [<u_j, u_k> <= 1 - (r_j + r_k)/2]. *)
Theorem pairwise_form d K W H (r : nat -> R) : (2 <= K)%nat -> code d K W ->
  (forall k, (k < K)%nat -> 0 < r k /\ dot d (H k) (H k) <= 1 /\
    forall j, (j < K)%nat -> j <> k -> r k <= dot d (fun i => W k i - W j i) (H k)) ->
  code d K (bisect d W H) /\
  forall j k, (j < K)%nat -> (k < K)%nat -> j <> k ->
    dot d (bisect d W H j) (bisect d W H k) <= 1 - (r j + r k) / 2.
Proof.
  intros HK HW Hall. split.
  - intros k Hk. destruct (another K k HK) as (j & Hj & Hjk).
    destruct (Hall k Hk) as (Hr & Hh & Hm). apply bisect_unit with j (r k); auto.
  - intros j k Hj Hk Hjk. destruct (Hall k Hk) as (Hr & Hh & Hm).
    destruct (Hall j Hj) as (Hr' & Hh' & Hm'). apply bisect_cosine; auto.
Qed.

(** Finitely many choices at once. *)
Lemma finite_choice (T : Type) (x0 : T) K (P : nat -> T -> Prop) :
  (forall k, (k < K)%nat -> exists x, P k x) -> exists f, forall k, (k < K)%nat -> P k (f k).
Proof.
  induction K as [| K IH]; intros H; [exists (fun _ => x0); intros; lia |].
  destruct IH as [f Hf]; [intros; apply H; lia |]. destruct (H K ltac:(lia)) as [x Hx].
  exists (fun k => if Nat.eq_dec k K then x else f k). intros k Hk.
  destruct (Nat.eq_dec k K) as [-> | Hne]; [exact Hx | apply Hf; lia].
Qed.

(** The pairwise form for the one-vs-rest distances r_k of a code, whose directions are those of
    lemma C.4. *)
Theorem pairwise_form_of_distances d K W (r : nat -> R) : (2 <= K)%nat -> code d K W ->
  (forall k, (k < K)%nat -> one_vs_rest d K W k (r k) /\ 0 < r k) ->
  exists U, code d K U /\ forall j k, (j < K)%nat -> (k < K)%nat -> j <> k ->
    dot d (U j) (U k) <= 1 - (r j + r k) / 2.
Proof.
  intros HK HW Hr.
  destruct (finite_choice vec (fun _ => 0) K (fun k h => dot d h h <= 1 /\
    forall j, (j < K)%nat -> j <> k -> r k <= dot d (fun i => W k i - W j i) h)) as [H HH].
  - intros k Hk. destruct (Hr k Hk) as [Hrk Hpos].
    destruct (best_direction d K W k (r k) HK Hrk Hpos) as (v & _ & _ & Hh & Hm).
    exists (fun i => / r k * (W k i - combination K v W i)). split; [lra | exact Hm].
  - exists (bisect d W H). apply (pairwise_form d K W H r HK HW). intros k Hk.
    split; [apply Hr, Hk |]. now apply HH.
Qed.

(** ** The numbers exist *)

Theorem max_cosine_exists d K W : (2 <= K)%nat -> exists t, max_cosine d K W t.
Proof. intros HK. exact (pairs_maximum K (fun j k => dot d (W j) (W k)) HK). Qed.

Theorem rho_exists d K W : (2 <= K)%nat -> exists r, rho d K W r.
Proof.
  intros HK. apply union_minimum.
  - intros k Hk. left. destruct (one_vs_rest_exists d K W k HK) as [r Hr]. exists r.
    split; [exact Hr |]. intros s Hs. rewrite (infimum_unique _ _ _ Hr Hs). lra.
  - destruct (one_vs_rest_exists d K W 0 HK) as [r Hr]. exists 0%nat, r. split; [lia | exact Hr].
Qed.

Lemma rho_nonneg d K W r : rho d K W r -> 0 <= r.
Proof. intros [(k & _ & Hr) _]. exact (one_vs_rest_nonneg d K W k r Hr). Qed.

Lemma max_cosine_range d K W t : code d K W -> max_cosine d K W t -> -1 <= t <= 1.
Proof. intros HW [(j & k & Hj & Hk & _ & ->) _]. now apply cosine_le_one; apply HW. Qed.

(** The code whose points are all the first unit vector, in R^d with d >= 1. *)
Lemma some_code d K : (1 <= d)%nat -> exists W, code d K W.
Proof.
  intros Hd. exists (fun _ => only 0). intros k _. unfold dot.
  rewrite (sum_only d 0) by lia. unfold only. reflexivity.
Qed.

(** t* exists and is attained: the codes form a compact set. *)
Theorem t_star_exists d K : (1 <= d)%nat -> (2 <= K)%nat -> exists t, t_star d K t.
Proof.
  intros Hd HK.
  (* t = the infimum of the largest cosines *)
  set (E := fun s => exists W, code d K W /\ max_cosine d K W (- s)).
  destruct (completeness E) as [l [Hup Hleast]].
  { exists 1. intros s (W & HW & Ht). pose proof (max_cosine_range d K W (- s) HW Ht). lra. }
  { destruct (some_code d K Hd) as [W HW]. destruct (max_cosine_exists d K W HK) as [t Ht].
    exists (- t), W. split; [exact HW |]. now rewrite Ropp_involutive. }
  set (t := - l).
  assert (Hlow : forall W s, code d K W -> max_cosine d K W s -> t <= s).
  { intros W s HW Hs. assert (- s <= l); [apply Hup | unfold t; lra].
    exists W. split; [exact HW |]. now rewrite Ropp_involutive. }
  (* codes whose largest cosines tend to t, and their limit V *)
  destruct (limit_point (nat -> vec) (K * d) (fun m W => W (m / d)%nat (m mod d)%nat) 1
    (fun e W => code d K W /\ forall j k, (j < K)%nat -> (k < K)%nat -> j <> k ->
      dot d (W j) (W k) <= t + e)) as [c Hc].
  - intros e e' W Hee [HW Hcos]. split; [exact HW |]. intros j k Hj Hk Hjk.
    specialize (Hcos j k Hj Hk Hjk). lra.
  - intros e W m Hm [HW _]. apply coordinate_le_one with d; [apply HW |].
    + pose proof (Nat.div_mod m d ltac:(lia)). nia.
    + apply Nat.mod_upper_bound. lia.
  - intros e He. apply NNPP. intros Hno. assert (l <= l - e); [apply Hleast | lra].
    intros s (W & HW & Hs). destruct (Rle_lt_dec s (l - e)) as [H | H]; [exact H |].
    exfalso. apply Hno. exists W. split; [exact HW |]. intros j k Hj Hk Hjk.
    destruct Hs as [_ Hmax]. assert (dot d (W j) (W k) <= - s); [| unfold t; lra].
    apply Hmax. exists j, k. repeat split; auto.
  - set (V := fun k i => c (k * d + i)%nat : R).
    assert (HV : forall e, 0 < e -> exists W, code d K W /\
      (forall j k, (j < K)%nat -> (k < K)%nat -> j <> k -> dot d (W j) (W k) <= t + e) /\
      forall k i, (k < K)%nat -> (i < d)%nat -> - e <= W k i - V k i <= e).
    { intros e He. destruct (Hc e He) as (W & (HW & Hcos) & Hnear). exists W.
      split; [exact HW |]. split; [exact Hcos |]. intros k i Hk Hi.
      assert (Hm : (k * d + i < K * d)%nat) by nia.
      specialize (Hnear _ Hm). simpl in Hnear.
      assert (Heq : (k * d + i = d * k + i)%nat) by lia.
      rewrite <- (Nat.div_unique _ d k i Hi Heq), <- (Nat.mod_unique _ d k i Hi Heq) in Hnear.
      exact Hnear. }
    (* the products of W are within 3 d e of those of V *)
    assert (Hdot : forall W e j k, code d K W -> 0 < e -> e <= 1 ->
      (forall k i, (k < K)%nat -> (i < d)%nat -> - e <= W k i - V k i <= e) ->
      (j < K)%nat -> (k < K)%nat ->
      - (INR d * (3 * e)) <= dot d (W j) (W k) - dot d (V j) (V k) <= INR d * (3 * e)).
    { intros W e j k HW He He1 Hnear Hj Hk. apply sum_near. intros i Hi.
      pose proof (Hnear j i Hj Hi). pose proof (Hnear k i Hk Hi).
      pose proof (coordinate_le_one d (W j) i (HW j Hj) Hi).
      pose proof (coordinate_le_one d (W k) i (HW k Hk) Hi).
      replace (W j i * W k i - V j i * V k i)
        with ((W j i - V j i) * W k i + W j i * (W k i - V k i)
          - (W j i - V j i) * (W k i - V k i)) by ring.
      assert (forall a b, - e <= a <= e -> -1 <= b <= 1 -> - e <= a * b <= e)
        as Hprod by (intros; nra).
      pose proof (Hprod (W j i - V j i) (W k i) ltac:(lra) ltac:(lra)).
      pose proof (Hprod (W k i - V k i) (W j i) ltac:(lra) ltac:(lra)).
      pose proof (Hprod (W j i - V j i) (W k i - V k i) ltac:(lra) ltac:(lra)). lra. }
    assert (HVcode : code d K V).
    { intros k Hk. apply Rle_antisym.
      - apply le_of_near with (INR d * 3); [pose proof (pos_INR d); lra |].
        intros e He He1. destruct (HV e He) as (W & HW & _ & Hnear).
        pose proof (Hdot W e k k HW He He1 Hnear Hk Hk) as Hd1. rewrite (HW k Hk) in Hd1. lra.
      - apply le_of_near with (INR d * 3); [pose proof (pos_INR d); lra |].
        intros e He He1. destruct (HV e He) as (W & HW & _ & Hnear).
        pose proof (Hdot W e k k HW He He1 Hnear Hk Hk) as Hd1. rewrite (HW k Hk) in Hd1. lra. }
    assert (HVcos : forall j k, (j < K)%nat -> (k < K)%nat -> j <> k ->
      dot d (V j) (V k) <= t).
    { intros j k Hj Hk Hjk. apply le_of_near with (1 + INR d * 3).
      - pose proof (pos_INR d). lra.
      - intros e He He1. destruct (HV e He) as (W & HW & Hcos & Hnear).
        pose proof (Hdot W e j k HW He He1 Hnear Hj Hk).
        specialize (Hcos j k Hj Hk Hjk). lra. }
    destruct (max_cosine_exists d K V HK) as [s Hs].
    assert (Hst : s = t).
    { apply Rle_antisym; [| now apply (Hlow V)].
      destruct Hs as [(j & k & Hj & Hk & Hjk & ->) _]. now apply HVcos. }
    exists t. split; [exists V; split; [exact HVcode | now rewrite <- Hst] |].
    intros q (W & HW & Hq). now apply Hlow with W.
Qed.

Lemma t_star_le_one d K t : t_star d K t -> t <= 1.
Proof. intros [(W & HW & Ht) _]. apply (max_cosine_range d K W t HW Ht). Qed.

(** t* is at most any common bound of the cosines of a code. *)
Lemma t_star_le d K t U b : (2 <= K)%nat -> t_star d K t -> code d K U ->
  (forall j k, (j < K)%nat -> (k < K)%nat -> j <> k -> dot d (U j) (U k) <= b) -> t <= b.
Proof.
  intros HK [_ Hleast] HU Hb. destruct (max_cosine_exists d K U HK) as [s Hs].
  apply Rle_trans with s; [apply Hleast; now exists U |].
  destruct Hs as [(j & k & Hj & Hk & Hjk & ->) _]. now apply Hb.
Qed.

(** ** rho* = 1 - t* *)

(** [rho_one-vs-rest (W) >= 1 - max_cosine (W)]: take h_k = w_k. *)
Lemma rho_ge d K W r t : code d K W -> rho d K W r -> max_cosine d K W t -> 1 - t <= r.
Proof.
  intros HW [(k & Hk & Hr) _] [_ Hmax].
  apply margin_le_distance with d K W k (W k); [exact Hr | now apply Req_le, HW |].
  intros j Hj Hjk. rewrite dot_sub, (HW k Hk).
  assert (dot d (W j) (W k) <= t); [apply Hmax; exists j, k; auto | lra].
Qed.

(** [rho_one-vs-rest (W) <= 1 - t*]: bisect W with its best directions. *)
Lemma rho_le d K W r t : (2 <= K)%nat -> code d K W -> rho d K W r -> t_star d K t -> r <= 1 - t.
Proof.
  intros HK HW Hrho Ht. pose proof (rho_nonneg d K W r Hrho) as H0.
  destruct (Rle_lt_or_eq_dec _ _ H0) as [Hpos | <-]; [| pose proof (t_star_le_one d K t Ht); lra].
  destruct Hrho as [_ Hleast].
  destruct (finite_choice R 0 K (one_vs_rest d K W)) as [q Hq];
    [intros; now apply one_vs_rest_exists |].
  assert (Hrq : forall k, (k < K)%nat -> r <= q k).
  { intros k Hk. apply Hleast. exists k. split; [exact Hk | now apply Hq]. }
  destruct (pairwise_form_of_distances d K W q HK HW) as (U & HU & Hcos).
  - intros k Hk. split; [now apply Hq |]. specialize (Hrq k Hk). lra.
  - assert (t <= 1 - r); [| lra]. apply (t_star_le d K t U); auto. intros j k Hj Hk Hjk.
    specialize (Hcos j k Hj Hk Hjk). pose proof (Hrq j Hj). pose proof (Hrq k Hk). lra.
Qed.

(** The best possible one-vs-rest distance is one minus the best possible largest cosine, and both
    are attained. *)
Theorem rho_star_exists d K : (1 <= d)%nat -> (2 <= K)%nat ->
  exists t, t_star d K t /\ rho_star d K (1 - t).
Proof.
  intros Hd HK. destruct (t_star_exists d K Hd HK) as [t Ht]. exists t. split; [exact Ht |].
  split.
  - pose proof Ht as [(W & HW & Hmax) _]. exists W. split; [exact HW |].
    destruct (rho_exists d K W HK) as [r Hr]. replace (1 - t) with r; [exact Hr |].
    apply Rle_antisym; [now apply (rho_le d K W) | now apply (rho_ge d K W)].
  - intros s (W & HW & Hs). now apply (rho_le d K W).
Qed.

Theorem rho_star_value d K r t : (1 <= d)%nat -> (2 <= K)%nat ->
  rho_star d K r -> t_star d K t -> r = 1 - t.
Proof.
  intros Hd HK Hr Ht. destruct (rho_star_exists d K Hd HK) as (q & Hq & Hrq).
  rewrite (minimum_unique _ t q Ht Hq). now apply (maximum_unique _ r (1 - q) Hr).
Qed.

(** ** Distances and cosines: eq. 11 in terms of t* *)

Lemma dist_cosine d x y : dot d x x = 1 -> dot d y y = 1 ->
  dist d x y = sqrt (2 - 2 * dot d x y).
Proof.
  intros Hx Hy. rewrite <- chord_square by assumption. symmetry. apply sqrt_square, dist_nonneg.
Qed.

Lemma one_vs_one_cosine d K W t : code d K W -> max_cosine d K W t ->
  one_vs_one d K W (sqrt (2 - 2 * t)).
Proof.
  intros HW [(j & k & Hj & Hk & Hjk & ->) Hmax]. split.
  - exists j, k. repeat split; auto. symmetry. apply dist_cosine; now apply HW.
  - intros s (j' & k' & Hj' & Hk' & Hjk' & ->). rewrite dist_cosine by (now apply HW).
    apply sqrt_le_1_alt. assert (dot d (W j') (W k') <= dot d (W j) (W k)); [| lra].
    apply Hmax. exists j', k'. auto.
Qed.

(** The optimum of eq. 11 is sqrt (2 - 2 t* ). *)
Theorem tammes_distance_value d K t : (2 <= K)%nat -> t_star d K t ->
  tammes_distance d K (sqrt (2 - 2 * t)).
Proof.
  intros HK [(W & HW & Ht) Hleast]. split.
  - exists W. split; [exact HW | now apply one_vs_one_cosine].
  - intros s (V & HV & Hs). destruct (max_cosine_exists d K V HK) as [q Hq].
    rewrite (minimum_unique _ s _ Hs (one_vs_one_cosine d K V q HV Hq)).
    apply sqrt_le_1_alt. assert (t <= q); [| lra]. apply Hleast. now exists V.
Qed.

(** The Tammes codes are the codes whose largest cosine is t*. *)
Theorem tammes_code_cosine d K W t : (2 <= K)%nat -> t_star d K t -> code d K W ->
  (tammes_code d K W <-> max_cosine d K W t).
Proof.
  intros HK Ht HW. pose proof (tammes_distance_value d K t HK Ht) as Hbest. split.
  - intros (_ & m & Hm & Hmax). destruct (max_cosine_exists d K W HK) as [q Hq].
    replace t with q; [exact Hq |]. pose proof (max_cosine_range d K W q HW Hq).
    pose proof (t_star_le_one d K t Ht). pose proof (one_vs_one_cosine d K W q HW Hq) as Ho.
    pose proof (minimum_unique _ _ _ Hm Ho) as H1.
    pose proof (maximum_unique _ _ _ Hmax Hbest) as H2.
    rewrite H1 in H2. apply sqrt_inj in H2; lra.
  - intros Hq. split; [exact HW |]. exists (sqrt (2 - 2 * t)).
    split; [now apply one_vs_one_cosine | exact Hbest].
Qed.

(** A code whose cosines are all at most t* is a Tammes code. *)
Lemma tammes_code_of_cosines d K W t : (2 <= K)%nat -> t_star d K t -> code d K W ->
  (forall j k, (j < K)%nat -> (k < K)%nat -> j <> k -> dot d (W j) (W k) <= t) ->
  tammes_code d K W.
Proof.
  intros HK Ht HW Hcos. apply (tammes_code_cosine d K W t HK Ht HW).
  destruct (max_cosine_exists d K W HK) as [q Hq]. replace t with q; [exact Hq |].
  apply Rle_antisym.
  - destruct Hq as [(j & k & Hj & Hk & Hjk & ->) _]. now apply Hcos.
  - destruct Ht as [_ Hleast]. apply Hleast. now exists W.
Qed.

(** ** Every Tammes code is a Softmax Code *)

Theorem tammes_is_softmax d K W : (1 <= d)%nat -> (2 <= K)%nat ->
  tammes_code d K W -> softmax_code d K W.
Proof.
  intros Hd HK HT. pose proof (proj1 HT) as HW. split; [exact HW |].
  destruct (rho_star_exists d K Hd HK) as (t & Ht & Hr). exists (1 - t). split; [| exact Hr].
  destruct (rho_exists d K W HK) as [r Hrho]. replace (1 - t) with r; [exact Hrho |].
  apply Rle_antisym; [now apply (rho_le d K W) |].
  apply (rho_ge d K W r t HW Hrho). now apply (tammes_code_cosine d K W t HK Ht HW).
Qed.

(** ** The converse, as far as rattlers allow *)

(** A point that is no one-vs-one rattler has another point at the largest cosine. *)
Lemma not_rattler_contact d K W k t : (2 <= K)%nat -> code d K W -> (k < K)%nat ->
  max_cosine d K W t -> ~ rattler d K W k ->
  exists j, (j < K)%nat /\ j <> k /\ dot d (W j) (W k) = t.
Proof.
  intros HK HW Hk Ht Hno. pose proof (one_vs_one_cosine d K W t HW Ht) as Hone.
  pose proof (max_cosine_range d K W t HW Ht) as Hrange.
  destruct (others_minimum K k (fun j => dist d (W j) (W k)) HK) as [m Hm].
  assert (Heq : m = sqrt (2 - 2 * t)).
  { apply NNPP. intros Hne. apply Hno. exists m, (sqrt (2 - 2 * t)). auto. }
  destruct Hm as [(j & Hj & Hjk & Hd) _]. exists j. repeat split; auto.
  rewrite Hd, dist_cosine in Heq by (now apply HW).
  pose proof (cosine_le_one d (W j) (W k) (HW j Hj) (HW k Hk)).
  apply sqrt_inj in Heq; lra.
Qed.

(** The directions of lemma C.4: every Softmax Code with rho* > 0 has such an H. *)
Theorem softmax_directions d K W r : (2 <= K)%nat -> softmax_code d K W -> rho_star d K r ->
  0 < r -> exists H, margins_at_least d K W H r.
Proof.
  intros HK (_ & q & Hq & Hqr) Hr Hpos. rewrite (maximum_unique _ q r Hqr Hr) in Hq.
  destruct Hq as [_ Hleast].
  apply (finite_choice vec (fun _ => 0) K (fun k h => dot d h h <= 1 /\
    forall j, (j < K)%nat -> j <> k -> r <= dot d (fun i => W k i - W j i) h)).
  intros k Hk. destruct (one_vs_rest_exists d K W k HK) as [s Hs].
  assert (r <= s) by (apply Hleast; now exists k).
  destruct (best_direction d K W k s HK Hs ltac:(lra)) as (v & _ & _ & Hh & Hm).
  exists (fun i => / s * (W k i - combination K v W i)). split; [lra |].
  intros j Hj Hjk. specialize (Hm j Hj Hjk). lra.
Qed.

(** A Softmax Code W, with any H whose margins are all at least rho*, bisects to a Tammes code U;
    w_k = h_k = u_k for each k that is not a one-vs-one rattler of U; and if U has at most one such
    rattler, then W is a Tammes code. *)
Theorem softmax_bisects d K W H r : (1 <= d)%nat -> (2 <= K)%nat ->
  softmax_code d K W -> rho_star d K r -> 0 < r -> margins_at_least d K W H r ->
  let U := bisect d W H in
  tammes_code d K U /\
  (forall k, (k < K)%nat -> ~ rattler d K U k -> same d (W k) (H k) /\ same d (W k) (U k)) /\
  ((forall j k, (j < K)%nat -> (k < K)%nat -> rattler d K U j -> rattler d K U k -> j = k) ->
    tammes_code d K W).
Proof.
  intros Hd HK HS Hr Hpos HH U. pose proof (proj1 HS) as HW.
  destruct (t_star_exists d K Hd HK) as [t Ht].
  pose proof (rho_star_value d K r t Hd HK Hr Ht) as Hrt.
  destruct (pairwise_form d K W H (fun _ => r) HK HW) as [HU Hcos].
  { intros k Hk. destruct (HH k Hk). auto. }
  fold U in HU, Hcos.
  assert (HT : tammes_code d K U).
  { apply (tammes_code_of_cosines d K U t HK Ht HU). intros j k Hj Hk Hjk.
    specialize (Hcos j k Hj Hk Hjk). lra. }
  assert (Hsame : forall k, (k < K)%nat -> ~ rattler d K U k ->
    same d (W k) (H k) /\ same d (W k) (U k)).
  { intros k Hk Hno. pose proof (proj1 (tammes_code_cosine d K U t HK Ht HU) HT) as Hmax.
    destruct (not_rattler_contact d K U k t HK HU Hk Hmax Hno) as (j & Hj & Hjk & Hdot).
    destruct (HH k Hk) as [Hhk Hmk]. destruct (HH j Hj) as [Hhj Hmj].
    apply bisect_equality with j r r; auto. fold U. rewrite Hdot. lra. }
  split; [exact HT |]. split; [exact Hsame |]. intros Hone.
  apply (tammes_code_of_cosines d K W t HK Ht HW).
  (* one of two points is no rattler; its direction is the point itself *)
  assert (Hhalf : forall j k, (j < K)%nat -> (k < K)%nat -> j <> k -> ~ rattler d K U k ->
    dot d (W j) (W k) <= t).
  { intros j k Hj Hk Hjk Hno. destruct (Hsame k Hk Hno) as [Hwh _].
    destruct (HH k Hk) as [_ Hm]. specialize (Hm j Hj Hjk).
    rewrite dot_sub, <- (dot_same d (W k) (W k) (W k) (H k)),
      <- (dot_same d (W j) (W j) (W k) (H k)), (HW k Hk) in Hm; try exact Hwh; try now intros i.
    lra. }
  intros j k Hj Hk Hjk. destruct (classic (rattler d K U k)) as [Hratt | Hno].
  - rewrite dot_sym. apply Hhalf; auto.
  - now apply Hhalf.
Qed.

(** ** Where rho* is positive: always but on the line with three points or more *)

Lemma sum_two d f : (2 <= d)%nat -> (forall i, (2 <= i)%nat -> f i = 0) ->
  sum d f = f 0%nat + f 1%nat.
Proof.
  intros Hd Hf. induction d as [| d IH]; [lia |]. simpl.
  destruct (Nat.eq_dec d 1) as [-> | Hne]; [simpl; ring |].
  rewrite IH, (Hf d) by lia. ring.
Qed.

Lemma sum_one d f : (1 <= d)%nat -> (forall i, (1 <= i)%nat -> f i = 0) -> sum d f = f 0%nat.
Proof.
  intros Hd Hf. induction d as [| d IH]; [lia |]. simpl.
  destruct (Nat.eq_dec d 0) as [-> | Hne]; [simpl; ring |].
  rewrite IH, (Hf d) by lia. ring.
Qed.

(** Distinct points of a circle: ((1 - k^2) / (1 + k^2), 2 k / (1 + k^2), 0, ..., 0). *)
Definition on_circle (k : nat) : vec := fun i =>
  match i with
  | 0%nat => (1 - INR k * INR k) / (1 + INR k * INR k)
  | 1%nat => 2 * INR k / (1 + INR k * INR k)
  | _ => 0
  end.

Lemma on_circle_dot d j k : (2 <= d)%nat -> dot d (on_circle j) (on_circle k) =
  1 - 2 * ((INR j - INR k) * (INR j - INR k)) / ((1 + INR j * INR j) * (1 + INR k * INR k)).
Proof.
  intros Hd. unfold dot. rewrite sum_two; [| exact Hd |].
  - unfold on_circle. assert (0 < 1 + INR j * INR j) by nra. assert (0 < 1 + INR k * INR k) by nra.
    field. split; lra.
  - intros i Hi. destruct i as [| [| i]]; [lia | lia |]. simpl. ring.
Qed.

Theorem rho_star_positive d K r : (1 <= d)%nat -> (2 <= K)%nat -> (2 <= d)%nat \/ K = 2%nat ->
  rho_star d K r -> 0 < r.
Proof.
  intros Hd HK Hcase Hr. destruct (t_star_exists d K Hd HK) as [t Ht].
  rewrite (rho_star_value d K r t Hd HK Hr Ht). assert (Hlt : t < 1); [| lra].
  assert (HW : exists W, code d K W /\ forall j k, (j < K)%nat -> (k < K)%nat -> j <> k ->
    dot d (W j) (W k) < 1).
  { destruct Hcase as [Hd2 | HK2].
    - exists on_circle. split.
      + intros k _. rewrite on_circle_dot by exact Hd2.
        replace (INR k - INR k) with 0 by ring. unfold Rdiv. ring.
      + intros j k _ _ Hjk. rewrite on_circle_dot by exact Hd2.
        assert (Hne : INR j - INR k <> 0) by (intros H; apply Hjk, INR_eq; lra).
        assert (0 < 2 * ((INR j - INR k) * (INR j - INR k))
          / ((1 + INR j * INR j) * (1 + INR k * INR k))); [| lra].
        apply Rmult_lt_0_compat; [nra |]. apply Rinv_0_lt_compat. apply Rmult_lt_0_compat; nra.
    - subst K. exists (fun k i => match i with
        | 0%nat => match k with 0%nat => 1 | _ => -1 end | _ => 0 end). split.
      + intros k _. unfold dot. rewrite sum_one; [| exact Hd |].
        * destruct k; ring.
        * intros i Hi. destruct i; [lia | ring].
      + intros j k Hj Hk Hjk. unfold dot. rewrite sum_one; [| exact Hd |].
        * destruct j as [| [| j]], k as [| [| k]]; try lia; lra.
        * intros i Hi. destruct i; [lia | ring]. }
  destruct HW as (W & HW & Hcos). destruct (max_cosine_exists d K W HK) as [s Hs].
  apply Rle_lt_trans with s.
  - destruct Ht as [_ Hleast]. apply Hleast. now exists W.
  - destruct Hs as [(j & k & Hj & Hk & Hjk & ->) _]. now apply Hcos.
Qed.

(** On the line, three points or more: rho* = 0, t* = 1, and every code is both a Tammes code and a
    Softmax Code, since two of its points coincide. *)
Theorem line_three K : (3 <= K)%nat ->
  t_star 1 K 1 /\ rho_star 1 K 0 /\
  forall W, code 1 K W -> tammes_code 1 K W /\ softmax_code 1 K W.
Proof.
  intros HK3. assert (HK : (2 <= K)%nat) by lia. assert (Hd : (1 <= 1)%nat) by lia.
  assert (Hmax : forall W, code 1 K W -> max_cosine 1 K W 1).
  { intros W HW.
    assert (Hpm : forall k, (k < K)%nat -> W k 0%nat = 1 \/ W k 0%nat = -1).
    { intros k Hk. specialize (HW k Hk). unfold dot in HW. simpl in HW.
      assert (Hf : (W k 0%nat - 1) * (W k 0%nat + 1) = 0) by lra.
      apply Rmult_integral in Hf. destruct Hf; [left | right]; lra. }
    assert (Hpair : exists j k, (j < K)%nat /\ (k < K)%nat /\ j <> k /\ W j 0%nat * W k 0%nat = 1).
    { destruct (Hpm 0%nat ltac:(lia)) as [H0 | H0], (Hpm 1%nat ltac:(lia)) as [H1 | H1],
        (Hpm 2%nat ltac:(lia)) as [H2 | H2];
        solve [ exists 0%nat, 1%nat; repeat split; try lia; rewrite H0, H1; ring
              | exists 0%nat, 2%nat; repeat split; try lia; rewrite H0, H2; ring
              | exists 1%nat, 2%nat; repeat split; try lia; rewrite H1, H2; ring ]. }
    destruct Hpair as (j & k & Hj & Hk & Hjk & Hp). split.
    - exists j, k. repeat split; auto. unfold dot. simpl. lra.
    - intros s (j' & k' & Hj' & Hk' & _ & ->). now apply cosine_le_one; apply HW. }
  assert (Ht : t_star 1 K 1).
  { destruct (some_code 1 K Hd) as [W HW]. split; [exists W; auto |].
    intros s (V & HV & Hs). rewrite (maximum_unique _ s 1 Hs (Hmax V HV)). lra. }
  split; [exact Ht |]. split.
  - destruct (rho_star_exists 1 K Hd HK) as (t & Ht' & Hr).
    rewrite (minimum_unique _ t 1 Ht' Ht) in Hr. now replace 0 with (1 - 1) by ring.
  - intros W HW. assert (HT : tammes_code 1 K W)
      by (apply (tammes_code_cosine 1 K W 1 HK Ht HW); now apply Hmax).
    split; [exact HT | now apply tammes_is_softmax].
Qed.

(** ** Both problems have the same solutions where no Tammes code has two one-vs-one rattlers *)

Theorem same_codes d K : (1 <= d)%nat -> (2 <= K)%nat ->
  (forall U j k, tammes_code d K U -> (j < K)%nat -> (k < K)%nat ->
    rattler d K U j -> rattler d K U k -> j = k) ->
  forall W, softmax_code d K W <-> tammes_code d K W.
Proof.
  intros Hd HK Hone W. split; [| now apply tammes_is_softmax]. intros HS.
  assert (Hcase : ((2 <= d)%nat \/ K = 2%nat) \/ (d = 1%nat /\ (3 <= K)%nat)) by lia.
  destruct Hcase as [Hcase | [-> HK3]]; [| now apply line_three; [| apply HS]].
  destruct (rho_star_exists d K Hd HK) as (t & _ & Hr).
  pose proof (rho_star_positive d K (1 - t) Hd HK Hcase Hr) as Hpos.
  destruct (softmax_directions d K W (1 - t) HK HS Hr Hpos) as [H HH].
  destruct (softmax_bisects d K W H (1 - t) Hd HK HS Hr Hpos HH) as (HT & _ & Hlast).
  apply Hlast. intros j k Hj Hk. now apply (Hone (bisect d W H) j k HT).
Qed.

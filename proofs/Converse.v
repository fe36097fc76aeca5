(** * The converse: where every Softmax Code is a Tammes code, and where some is not

    For K <= 2d no point of a Tammes code is a one-vs-one rattler, so both problems have the same
    solutions.  Where two points of a Tammes code are in contact with each other alone, some
    Softmax Code is no Tammes code. *)

From Coq Require Import Reals Lra Lia Arith Classical_Prop.
From GNC Require Import Bisector Definitions Euclidean Separation Optima.
Open Scope R_scope.

(** ** A sum without one of its terms, and d + 1 vectors of R^d *)

(** The numbers other than p, in their order. *)
Definition skip (p i : nat) : nat := if i <? p then i else S i.

Lemma skip_other p i : skip p i <> p.
Proof. unfold skip. destruct (Nat.ltb_spec i p); lia. Qed.

Lemma skip_lt p m i : (i < m)%nat -> (skip p i < S m)%nat.
Proof. unfold skip. destruct (Nat.ltb_spec i p); lia. Qed.

Lemma skip_injective p i j : skip p i = skip p j -> i = j.
Proof. unfold skip. destruct (Nat.ltb_spec i p), (Nat.ltb_spec j p); lia. Qed.

Lemma sum_skip m p f : (p <= m)%nat -> sum (S m) f = f p + sum m (fun i => f (skip p i)).
Proof.
  intros Hp. induction m as [| m IH]; [replace p with 0%nat by lia; simpl; ring |].
  destruct (Nat.eq_dec p (S m)) as [-> | Hne].
  - change (sum (S (S m)) f) with (sum (S m) f + f (S m)).
    rewrite (sum_ext (S m) (fun i => f (skip (S m) i)) f); [ring |].
    intros i Hi. unfold skip. destruct (Nat.ltb_spec i (S m)); [reflexivity | lia].
  - change (sum (S (S m)) f) with (sum (S m) f + f (S m)). rewrite IH by lia. simpl.
    replace (skip p m) with (S m); [ring |].
    unfold skip. destruct (Nat.ltb_spec m p); lia.
Qed.

(** More than d vectors of R^d are linearly dependent: by elimination, one coordinate after the
    other. *)
Lemma dependent d : forall n (x : nat -> vec), (d < n)%nat -> exists a,
  (exists i, (i < n)%nat /\ a i <> 0) /\
  forall c, (c < d)%nat -> sum n (fun i => a i * x i c) = 0.
Proof.
  induction d as [| d IH]; intros n x Hn.
  { exists (fun _ => 1). split; [exists 0%nat; split; [lia | lra] | intros c Hc; lia]. }
  destruct (classic (exists p, (p < n)%nat /\ x p d <> 0)) as [(p & Hp & Hxp) | Hno].
  - destruct n as [| n]; [lia |].
    destruct (IH n (fun i c => x (skip p i) c - x (skip p i) d / x p d * x p c) ltac:(lia))
      as (a & (q & Hq & Haq) & Ha).
    set (b := - sum n (fun i => a i * (x (skip p i) d / x p d))).
    set (back := fun k => if k <? p then k else pred k).
    assert (Hback : forall i, back (skip p i) = i).
    { intros i. unfold back, skip. destruct (Nat.ltb_spec i p).
      - destruct (Nat.ltb_spec i p); lia.
      - destruct (Nat.ltb_spec (S i) p); simpl; lia. }
    set (a' := fun k => if Nat.eq_dec k p then b else a (back k)).
    assert (Hskip : forall i, a' (skip p i) = a i).
    { intros i. unfold a'. destruct (Nat.eq_dec (skip p i) p) as [H | _].
      - now apply skip_other in H.
      - now rewrite Hback. }
    assert (Hself : a' p = b) by (unfold a'; destruct (Nat.eq_dec p p); [reflexivity | lia]).
    exists a'. split.
    + exists (skip p q). split; [now apply skip_lt | now rewrite Hskip].
    + intros c Hc. rewrite (sum_skip n p) by lia. rewrite Hself.
      rewrite (sum_ext n _ (fun i => a i * x (skip p i) c)) by (intros; now rewrite Hskip).
      assert (Hsplit : sum n (fun i => a i * x (skip p i) c) + b * x p c
        = sum n (fun i => a i * (x (skip p i) c - x (skip p i) d / x p d * x p c))).
      { rewrite (sum_ext n (fun i => a i * (x (skip p i) c - x (skip p i) d / x p d * x p c))
          (fun i => a i * x (skip p i) c
            + - x p c * (a i * (x (skip p i) d / x p d)))) by (intros; ring).
        rewrite sum_plus, sum_scale. unfold b. ring. }
      rewrite Rplus_comm, Hsplit. destruct (Nat.eq_dec c d) as [-> | Hcd].
      * apply sum_zero. intros i _. field. exact Hxp.
      * apply Ha. lia.
  - destruct (IH n x ltac:(lia)) as (a & Hsome & Ha). exists a. split; [exact Hsome |].
    intros c Hc. destruct (Nat.eq_dec c d) as [-> | Hcd]; [| apply Ha; lia].
    apply sum_zero. intros i Hi. destruct (Req_dec (x i d) 0) as [-> | H]; [ring |].
    exfalso. apply Hno. now exists i.
Qed.

(** ** K <= 2d: no point of a Tammes code is a rattler *)

(** If the inner products of more than d vectors of R^d are at most 0, then no vector has negative
    products with all of them.  For a dependency [sum_i a_i x_i = 0], let z be the sum of the terms
    with a_i > 0, which is minus the sum of the others.  Then [<z, z> <= 0], so z = 0; but
    [<z, y> < 0]. *)
Theorem no_common_negative d n (x : nat -> vec) y : (d < n)%nat ->
  (forall i j, (i < n)%nat -> (j < n)%nat -> i <> j -> dot d (x i) (x j) <= 0) ->
  (forall i, (i < n)%nat -> dot d (x i) y < 0) -> False.
Proof.
  intros Hn Hpairs Hy. destruct (dependent d n x Hn) as (a & (q & Hq & Haq) & Ha).
  set (plus := fun i => Rmax (a i) 0). set (minus := fun i => Rmax (- a i) 0).
  assert (Hparts : forall i, a i = plus i - minus i /\ 0 <= plus i /\ 0 <= minus i
    /\ plus i * minus i = 0).
  { intros i. unfold plus, minus, Rmax.
    destruct (Rle_dec (a i) 0), (Rle_dec (- a i) 0); repeat split; try lra; nra. }
  set (z := combination n plus x).
  assert (Hz : same d z (combination n minus x)).
  { intros c Hc. specialize (Ha c Hc). unfold z, combination.
    rewrite (sum_ext n _ (fun i => plus i * x i c + -1 * (minus i * x i c))) in Ha.
    - rewrite sum_plus, sum_scale in Ha. lra.
    - intros i _. destruct (Hparts i) as (-> & _). ring. }
  assert (Hzz : dot d z z = 0).
  { apply Rle_antisym; [| apply dot_nonneg].
    rewrite (dot_same d z z z _ ltac:(now intros c) Hz). unfold z. rewrite dot_combination.
    assert (Hterm : forall i, (i < n)%nat ->
      0 <= - (plus i * dot d (x i) (combination n minus x))).
    { intros i Hi. rewrite dot_sym, dot_combination.
      replace (- (plus i * sum n (fun j => minus j * dot d (x j) (x i))))
        with (sum n (fun j => - (plus i * minus j) * dot d (x j) (x i))).
      2: { rewrite (sum_ext n _ (fun j => - plus i * (minus j * dot d (x j) (x i))))
             by (intros; ring).
           rewrite sum_scale. ring. }
      apply sum_nonneg. intros j Hj.
      destruct (Hparts i) as (_ & Hi0 & _ & Hi2). destruct (Hparts j) as (_ & _ & Hj0 & _).
      destruct (Nat.eq_dec j i) as [-> | Hji]; [rewrite Hi2; lra |].
      specialize (Hpairs j i Hj Hi Hji). assert (0 <= plus i * minus j) by nra. nra. }
    apply sum_nonneg in Hterm.
    rewrite (sum_ext n _ (fun i => -1 * (plus i * dot d (x i) (combination n minus x))))
      in Hterm by (intros; ring).
    rewrite sum_scale in Hterm. lra. }
  (* every term of <z, y> = 0, with either weights, is at most 0 *)
  assert (Hnone : forall v, (forall i, 0 <= v i) -> same d z (combination n v x) -> v q = 0).
  { intros v Hv Hzv.
    assert (H0 : sum n (fun i => v i * dot d (x i) y) = 0).
    { rewrite <- dot_combination, <- (dot_same d z _ y y Hzv ltac:(now intros c)).
      rewrite (dot_same d z (fun _ => 0) y y (dot_zero d z Hzz) ltac:(now intros c)).
      unfold dot. apply sum_zero. intros. ring. }
    assert (Hall : forall i, (i < n)%nat -> 0 <= -1 * (v i * dot d (x i) y)).
    { intros i Hi. specialize (Hy i Hi). specialize (Hv i). nra. }
    pose proof (sum_term n _ q Hall Hq) as Ht. rewrite sum_scale, H0 in Ht.
    specialize (Hall q Hq). specialize (Hy q Hq). specialize (Hv q). simpl in *. nra. }
  apply Haq. destruct (Hparts q) as (-> & _).
  rewrite (Hnone plus), (Hnone minus); [ring | | | |]; try (intros i; apply (Hparts i)); auto.
  now intros c.
Qed.

(** A one-vs-one rattler has a smaller cosine than t with every other point. *)
Lemma rattler_cosines d K W t k j : code d K W -> max_cosine d K W t -> rattler d K W k ->
  (j < K)%nat -> (k < K)%nat -> j <> k -> dot d (W j) (W k) < t.
Proof.
  intros HW Ht (own & least & [(i & Hi & Hik & Hown) Hmin] & Hleast & Hne) Hj Hk Hjk.
  pose proof (minimum_unique _ _ _ Hleast (one_vs_one_cosine d K W t HW Ht)) as Hl.
  assert (Hle : dot d (W j) (W k) <= t) by (apply Ht; exists j, k; auto).
  destruct (Rle_lt_or_eq_dec _ _ Hle) as [Hlt | Heq]; [exact Hlt |]. exfalso. apply Hne.
  assert (Hjd : dist d (W j) (W k) = least) by (rewrite dist_cosine, Heq; auto).
  apply Rle_antisym.
  - rewrite <- Hjd. apply Hmin. exists j. auto.
  - rewrite Hown. apply Hleast. exists i, k. auto.
Qed.

Lemma sum_tail d m f : (m <= d)%nat -> (forall i, (m <= i)%nat -> f i = 0) ->
  sum d f = sum m f.
Proof.
  intros Hd Hf. induction d as [| d IH]; [now replace m with 0%nat by lia |].
  destruct (Nat.eq_dec m (S d)) as [-> | Hne]; [reflexivity |].
  simpl. rewrite IH, (Hf d) by lia. ring.
Qed.

(** The simplex: m + 1 points in the first m coordinates, with all inner products -1/m. *)
Fixpoint simplex (m k : nat) : vec :=
  match m with
  | O => fun _ => 0
  | S l => fun i =>
      if i <? l then (if k =? m then 0 else sqrt (1 - / (INR m * INR m)) * simplex l k i)
      else if i =? l then (if k =? m then 1 else - / INR m)
      else 0
  end.

Lemma simplex_tail m k i : (m <= i)%nat -> simplex m k i = 0.
Proof.
  intros Hi. destruct m as [| l]; [reflexivity |]. simpl.
  destruct (Nat.ltb_spec i l); [lia |]. destruct (Nat.eqb_spec i l); [lia | reflexivity].
Qed.

Lemma simplex_dot d m : (1 <= m <= d)%nat -> forall j k, (j <= m)%nat -> (k <= m)%nat ->
  dot d (simplex m j) (simplex m k) = if j =? k then 1 else - / INR m.
Proof.
  intros [Hm Hd]. induction m as [| l IH]; [lia |]. intros j k Hj Hk.
  assert (HR : 1 <= INR (S l)) by (rewrite S_INR; pose proof (pos_INR l); lra).
  assert (Hr : 0 < / INR (S l) <= 1).
  { split; [apply Rinv_0_lt_compat; lra |]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  assert (Hinv : / (INR (S l) * INR (S l)) = / INR (S l) * / INR (S l)) by (field; lra).
  set (r := / INR (S l)) in *.
  assert (Hs : sqrt (1 - / (INR (S l) * INR (S l))) * sqrt (1 - / (INR (S l) * INR (S l)))
    = 1 - r * r) by (rewrite sqrt_sqrt; rewrite Hinv; nra).
  set (s := sqrt (1 - / (INR (S l) * INR (S l)))) in *.
  unfold dot. rewrite (sum_tail d (S l)).
  2: exact Hd.
  2: { intros i Hi. rewrite simplex_tail by exact Hi. ring. }
  change (sum (S l) ?f) with (sum l f + f l).  cbv beta.
  assert (Hlow : forall n i, (i < l)%nat ->
    simplex (S l) n i = if n =? S l then 0 else s * simplex l n i).
  { intros n i Hi. unfold s. cbn [simplex]. destruct (Nat.ltb_spec i l); [reflexivity | lia]. }
  assert (Htop : forall n, simplex (S l) n l = if n =? S l then 1 else - r).
  { intros n. unfold r. cbn [simplex]. destruct (Nat.ltb_spec l l); [lia |].
    now rewrite Nat.eqb_refl. }
  rewrite !Htop.
  rewrite (sum_ext l _ (fun i => (if j =? S l then 0 else s * simplex l j i)
    * (if k =? S l then 0 else s * simplex l k i)))
    by (intros i Hi; now rewrite !Hlow).
  destruct (Nat.eqb_spec j (S l)) as [Hj1 | Hj1], (Nat.eqb_spec k (S l)) as [Hk1 | Hk1].
  - rewrite sum_zero by (intros; ring). subst. rewrite Nat.eqb_refl. ring.
  - rewrite sum_zero by (intros; ring). destruct (Nat.eqb_spec j k); [lia | ring].
  - rewrite sum_zero by (intros; ring). destruct (Nat.eqb_spec j k); [lia | ring].
  - rewrite (sum_ext l _ (fun i => (1 - r * r) * (simplex l j i * simplex l k i)))
      by (intros; rewrite <- Hs; ring).
    rewrite sum_scale. destruct (Nat.eq_dec l 0) as [-> | Hl].
    + assert (j = 0%nat) by lia. assert (k = 0%nat) by lia. subst. unfold r. simpl. field.
    + rewrite <- (sum_tail d l (fun i => simplex l j i * simplex l k i)).
      2: lia.
      2: { intros i Hi. rewrite simplex_tail by exact Hi. ring. }
      change (sum d (fun i => simplex l j i * simplex l k i))
        with (dot d (simplex l j) (simplex l k)).
      rewrite IH by lia. assert (HL : 0 < INR l) by (apply (lt_INR 0); lia).
      destruct (Nat.eqb_spec j k); [ring |]. unfold r. rewrite S_INR. field. lra.
Qed.

(** t* <= -1/(K - 1) for K <= d + 1. *)
Lemma t_star_simplex d m t : (1 <= m <= d)%nat -> t_star d (S m) t -> t <= - / INR m.
Proof.
  intros Hm Ht. apply (t_star_le d (S m) t (simplex m)); [lia | exact Ht | |].
  - intros k Hk. rewrite simplex_dot by lia. now rewrite Nat.eqb_refl.
  - intros j k Hj Hk Hjk. rewrite simplex_dot by lia.
    destruct (Nat.eqb_spec j k); [lia | lra].
Qed.

(** t* <= 0 for K <= 2d: the orthoplex. *)
Definition axis (d k : nat) : nat := if k <? d then k else (k - d)%nat.
Definition side (d k : nat) : R := if k <? d then 1 else -1.
Definition orthoplex (d k : nat) : vec := fun i => side d k * only (axis d k) i.

Lemma t_star_orthoplex d K t : (2 <= K <= 2 * d)%nat -> t_star d K t -> t <= 0.
Proof.
  intros HK Ht.
  assert (Hall : forall j k, (j < K)%nat -> (k < K)%nat -> dot d (orthoplex d j) (orthoplex d k)
    = side d j * (side d k * if axis d j =? axis d k then 1 else 0)).
  { intros j k Hj Hk. unfold orthoplex.
    rewrite (dot_scale d (side d j) (only (axis d j))).
    rewrite (dot_scale_r d (side d k) (only (axis d j)) (only (axis d k))).
    f_equal. f_equal. unfold dot. rewrite sum_only.
    - unfold only.
      destruct (Nat.eq_dec (axis d j) (axis d k)), (Nat.eqb_spec (axis d j) (axis d k));
        lia || reflexivity.
    - unfold axis. destruct (Nat.ltb_spec j d); lia. }
  apply (t_star_le d K t (orthoplex d)); [lia | exact Ht | |].
  - intros k Hk. rewrite Hall, Nat.eqb_refl by exact Hk. unfold side. destruct (k <? d); ring.
  - intros j k Hj Hk Hjk. rewrite Hall by assumption. unfold side, axis.
    destruct (Nat.ltb_spec j d), (Nat.ltb_spec k d);
      match goal with |- context [(?a =? ?b)%nat] => destruct (Nat.eqb_spec a b) end; lia || lra.
Qed.

Theorem no_rattlers d K U k : (1 <= d)%nat -> (2 <= K <= 2 * d)%nat -> tammes_code d K U ->
  (k < K)%nat -> ~ rattler d K U k.
Proof.
  intros Hd HK HT Hk Hratt. pose proof (proj1 HT) as HU.
  destruct (t_star_exists d K Hd ltac:(lia)) as [t Ht].
  pose proof (proj1 (tammes_code_cosine d K U t ltac:(lia) Ht HU) HT) as Hmax.
  assert (Hcos : forall i j, (i < K)%nat -> (j < K)%nat -> i <> j -> dot d (U i) (U j) <= t)
    by (intros i j Hi Hj Hij; apply Hmax; exists i, j; auto).
  destruct K as [| m]; [lia |]. pose proof (skip_lt k m) as Hlt.
  destruct (le_lt_dec m d) as [Hmd | Hmd].
  - (* at most d + 1 points: <u_j, u_1 + ... + u_K> <= 0 for all j, and < 0 for j = k *)
    pose proof (t_star_simplex d m t ltac:(lia) Ht) as Hle.
    assert (Hm : 0 < INR m) by (apply (lt_INR 0); lia).
    set (S := combination (S m) (fun _ => 1) U).
    assert (Hrow : forall j b, (j < Datatypes.S m)%nat ->
      (forall i, (i < m)%nat -> dot d (U (skip j i)) (U j) <= b) ->
      dot d S (U j) <= 1 + INR m * b).
    { intros j b Hj Hb. unfold S. rewrite dot_combination, (sum_skip m j) by lia.
      rewrite (HU j Hj). assert (sum m (fun i => 1 * dot d (U (skip j i)) (U j)) <= INR m * b);
        [| lra].
      rewrite <- sum_const. apply sum_le. intros i Hi. specialize (Hb i Hi). lra. }
    assert (Hrow0 : forall j, (j < Datatypes.S m)%nat -> dot d S (U j) <= 0).
    { intros j Hj. replace 0 with (1 + INR m * - / INR m) by (field; lra).
      apply Hrow; [exact Hj |]. intros i Hi. apply Rle_trans with t; [| exact Hle].
      apply Hcos; [now apply skip_lt | exact Hj | apply skip_other]. }
    (* the largest cosine of u_k *)
    destruct (others_minimum (Datatypes.S m) k (fun j => - dot d (U j) (U k)) ltac:(lia))
      as [b [(jb & Hjb & Hjbk & Hb) Hmin]].
    pose proof (rattler_cosines d _ U t k jb HU Hmax Hratt Hjb Hk Hjbk) as Hbt.
    assert (Hneg : dot d S (U k) < 0).
    { apply Rle_lt_trans with (1 + INR m * - b).
      - apply Hrow; [exact Hk |]. intros i Hi.
        assert (b <= - dot d (U (skip k i)) (U k)); [| lra].
        apply Hmin. exists (skip k i). split; [now apply Hlt |]. split; [apply skip_other | auto].
      - assert (- b < - / INR m) by lra.
        replace 0 with (1 + INR m * - / INR m) by (field; lra). nra. }
    pose proof (dot_nonneg d S) as Hnn. unfold S in Hnn at 1.
    rewrite dot_combination in Hnn.
    assert (Hterms : forall j, (j < Datatypes.S m)%nat -> 0 <= -1 * (1 * dot d (U j) S)).
    { intros j Hj. rewrite dot_sym. specialize (Hrow0 j Hj). lra. }
    pose proof (sum_term _ _ k Hterms Hk) as Hterm. rewrite sum_scale in Hterm.
    simpl in Hterm, Hnn. rewrite (dot_sym d (U k) S) in Hterm. lra.
  - (* more: the others are m > d vectors, and u_k has negative products with all of them *)
    pose proof (t_star_orthoplex d (S m) t ltac:(lia) Ht) as H0.
    apply (no_common_negative d m (fun i => U (skip k i)) (U k) Hmd).
    + intros i j Hi Hj Hij. apply Rle_trans with t; [| exact H0].
      apply Hcos; [now apply skip_lt | now apply skip_lt |].
      intros H. now apply skip_injective in H.
    + intros i Hi. apply Rlt_le_trans with t; [| exact H0].
      apply (rattler_cosines d (S m)); auto; apply skip_other.
Qed.

(** For K <= 2d every Softmax Code is a Tammes code. *)
Theorem same_codes_small d K : (1 <= d)%nat -> (2 <= K <= 2 * d)%nat ->
  forall W, softmax_code d K W <-> tammes_code d K W.
Proof.
  intros Hd HK. apply same_codes; [exact Hd | lia |]. intros U j k HT Hj _ Hratt _. exfalso.
  now apply (no_rattlers d K U j).
Qed.

(** The same without rattlers in the sense of the paper: a one-vs-one rattler of a Tammes code,
    which is a Softmax Code, is a one-vs-rest rattler too. *)
Theorem same_codes_without_rattlers d K : (1 <= d)%nat -> (2 <= K)%nat ->
  (forall W k, softmax_code d K W -> (k < K)%nat -> ~ rest_rattler d K W k) ->
  forall W, softmax_code d K W <-> tammes_code d K W.
Proof.
  intros Hd HK Hno. apply same_codes; [exact Hd | exact HK |].
  intros U k j HT Hk _ Hratt _. exfalso.
  pose proof (tammes_is_softmax d K U Hd HK HT) as HS. apply (Hno U k HS Hk).
  pose proof (proj1 HT) as HU. destruct (t_star_exists d K Hd HK) as [t Ht].
  pose proof (proj1 (tammes_code_cosine d K U t HK Ht HU) HT) as Hmax.
  destruct HS as (_ & least & Hleast & Hstar).
  pose proof (rho_star_value d K least t Hd HK Hstar Ht) as Hl.
  destruct (one_vs_rest_exists d K U k HK) as [own Hown].
  exists own, least. split; [exact Hown |]. split; [exact Hleast |].
  destruct (others_minimum K k (fun j => - dot d (U j) (U k)) HK)
    as [b [(i & Hi & Hik & Hb) Hmin]].
  pose proof (rattler_cosines d K U t k i HU Hmax Hratt Hi Hk Hik).
  assert (1 + b <= own); [| lra].
  apply (margin_le_distance d K U k (U k)); [exact Hown | now apply Req_le, HU |].
  intros l Hl' Hlk. rewrite dot_sub, (HU k Hk).
  assert (b <= - dot d (U l) (U k)); [apply Hmin; exists l; auto | lra].
Qed.

(** ** Two points of a Tammes code in contact with each other alone *)

(** Two unit vectors u, v at cosine c, a little above t, and the direction of u tilted away from v:
    h along u - e v.  Its margin from v is 1 - t again, and so is that from every unit vector y
    whose cosine with u is below t by 5 e. *)
Theorem tilted_direction d (u v : vec) c t e :
  dot d u u = 1 -> dot d v v = 1 -> dot d u v = c -> -1 < t <= 1 -> t < c ->
  0 < e < 1 -> e <= 1 + t -> 4 * (c - t) <= e * (1 - t * t) ->
  exists h, dot d h h <= 1 /\ 1 - t <= dot d (fun i => u i - v i) h /\
    forall y, dot d y y = 1 -> dot d y u <= t - 5 * e -> 1 - t <= dot d (fun i => u i - y i) h.
Proof.
  intros Hu Hv Hc Ht Htc He Het Hsmall.
  pose proof (cosine_le_one d u v Hu Hv) as Hc1. rewrite Hc in Hc1.
  set (g := fun i => u i - e * v i).
  assert (Hg : forall y, dot d y g = dot d y u - e * dot d y v).
  { intros y. unfold g. now rewrite (dot_sub_r d y u (fun i => e * v i)), dot_scale_r. }
  assert (Hgg : dot d g g = 1 - 2 * e * c + e * e).
  { rewrite Hg, (dot_sym d g u), (dot_sym d g v), !Hg, (dot_sym d v u), Hu, Hv, Hc. ring. }
  (* |g| <= 1 - e c + e^2/2 =: m <= 1 + 3 e/2 *)
  set (M := sqrt (dot d g g)). set (m := 1 - e * c + e * e / 2).
  pose proof (sqrt_sqrt _ (dot_nonneg d g)) as HM2. pose proof (sqrt_pos (dot d g g)) as HM0.
  fold M in HM2, HM0. rewrite Hgg in HM2.
  assert (HM : 0 < M).
  { destruct (Rle_lt_or_eq_dec _ _ HM0) as [H | H]; [exact H |]. rewrite <- H in HM2. nra. }
  assert (Hm : 0 < m) by (unfold m; nra).
  assert (HMm : M <= m).
  { destruct (Rle_lt_dec M m) as [H | H]; [exact H |]. exfalso.
    assert (Hmm : m * m = M * M + (e * e / 2 - e * c) * (e * e / 2 - e * c))
      by (rewrite HM2; unfold m; field).
    pose proof (Rle_0_sqr (e * e / 2 - e * c)) as Hsq. unfold Rsqr in Hsq. nra. }
  assert (Hm2 : m <= 1 + 3 / 2 * e) by (unfold m; nra).
  assert (Hmargin : forall z, (1 - t) * m <= dot d z g -> 1 - t <= dot d z (fun i => / M * g i)).
  { intros z Hz. rewrite dot_scale_r. apply Rmult_le_reg_l with M; [exact HM |].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. nra. }
  exists (fun i => / M * g i). split; [| split].
  - rewrite dot_scale, dot_scale_r, Hgg, <- HM2. right. field. lra.
  - apply Hmargin. rewrite dot_sub, !Hg, (dot_sym d v u), Hu, Hv, Hc.
    (* with b = c - t: (1 - t) e (1 + t + b - e/2) - b (1 + e) >= 0 *)
    set (b := c - t) in *. assert (Hcb : c = t + b) by (unfold b; ring).
    assert (Hb : 0 < b) by (unfold b; lra). unfold m. rewrite Hcb.
    assert (H1 : 0 <= (1 - t) * e * (1 + t - e)) by (apply Rmult_le_pos; nra).
    assert (H2 : 0 <= (1 - t) * e * b) by (apply Rmult_le_pos; nra).
    assert (H3 : b * (1 + e) <= 2 * b) by nra. nra.
  - intros y Hy Hfar. apply Hmargin. rewrite dot_sub, !Hg, Hu, Hc.
    pose proof (cosine_le_one d y v Hy Hv). assert (e * c <= e) by nra.
    assert (- e <= e * dot d y v) by nra.
    assert ((1 - t) * m <= (1 - t) * (1 + 3 / 2 * e)) by (apply Rmult_le_compat_l; lra).
    assert ((1 - t) * (3 / 2 * e) <= 3 * e) by nra. nra.
Qed.

(** Of two unit vectors x, y at cosine t, x moved towards y by a share a of y. *)
Definition moved (d : nat) (a : R) (x y : vec) : vec :=
  fun i => / sqrt (1 + 2 * a * dot d x y + a * a) * (x i + a * y i).

Section Moved.
Variables (d : nat) (x y : vec) (t a : R).
Hypothesis (x_unit : dot d x x = 1) (y_unit : dot d y y = 1) (xy : dot d x y = t).
Hypothesis (t_range : -1 < t < 1) (a_range : 0 < a <= 1 / 4).

Let N := sqrt (1 + 2 * a * t + a * a).

Local Lemma moved_norm : 1 - a <= N <= 1 + a /\ N * N = 1 + 2 * a * t + a * a.
Proof.
  assert (H : N * N = 1 + 2 * a * t + a * a) by (apply sqrt_sqrt; nra).
  pose proof (sqrt_pos (1 + 2 * a * t + a * a)) as H0. fold N in H0.
  split; [| exact H]. split.
  - destruct (Rle_lt_dec (1 - a) N); [assumption | nra].
  - destruct (Rle_lt_dec N (1 + a)); [assumption | nra].
Qed.

Lemma dot_moved z : N * dot d z (moved d a x y) = dot d z x + a * dot d z y.
Proof.
  destruct moved_norm as [HN _]. unfold moved. rewrite xy. fold N.
  rewrite dot_scale_r, (dot_sym d z), (dot_add d x (fun i => a * y i)), dot_scale,
    (dot_sym d x z), (dot_sym d y z). field. lra.
Qed.

Lemma moved_unit : dot d (moved d a x y) (moved d a x y) = 1.
Proof.
  destruct moved_norm as [HN HN2]. pose proof (dot_moved (moved d a x y)) as H.
  pose proof (dot_moved x) as Hx. pose proof (dot_moved y) as Hy.
  rewrite (dot_sym d y x), x_unit, xy in *. rewrite y_unit in Hy.
  rewrite (dot_sym d (moved d a x y) x), (dot_sym d (moved d a x y) y) in H.
  apply Rmult_eq_reg_l with (N * N); [| nra].
  rewrite Rmult_assoc, H, Rmult_plus_distr_l, Hx. replace (N * (a * dot d y (moved d a x y)))
    with (a * (N * dot d y (moved d a x y))) by ring. rewrite Hy, HN2. ring.
Qed.

End Moved.

(** A code with directions of margins 1 - t* is a Softmax Code. *)
Lemma softmax_of_margins d K V H t : (1 <= d)%nat -> (2 <= K)%nat -> t_star d K t ->
  code d K V -> margins_at_least d K V H (1 - t) -> softmax_code d K V.
Proof.
  intros Hd HK Ht HV HH. split; [exact HV |].
  destruct (rho_star_exists d K Hd HK) as (t' & Ht' & Hstar).
  rewrite (minimum_unique _ t' t Ht' Ht) in Hstar. exists (1 - t). split; [| exact Hstar].
  destruct (rho_exists d K V HK) as [r Hr]. replace (1 - t) with r; [exact Hr |].
  apply Rle_antisym; [now apply (rho_le d K V) |].
  destruct Hr as [(k & Hk & Hrk) _]. destruct (HH k Hk) as [Hh Hm].
  now apply (margin_le_distance d K V k (H k)).
Qed.

(** Finitely many positive numbers are at least some positive number. *)
Lemma common_slack K (g : nat -> R) : (forall j, (j < K)%nat -> 0 < g j) ->
  exists s, 0 < s /\ forall j, (j < K)%nat -> s <= g j.
Proof.
  induction K as [| K IH]; intros Hg; [exists 1; split; [lra | intros; lia] |].
  destruct IH as (s & Hs & Hall); [intros; apply Hg; lia |].
  exists (Rmin s (g K)). split; [apply Rmin_glb_lt; [exact Hs | apply Hg; lia] |].
  intros j Hj. destruct (Nat.eq_dec j K) as [-> | Hne]; [apply Rmin_r |].
  apply Rle_trans with s; [apply Rmin_l | apply Hall; lia].
Qed.

(** The pair moved towards each other: what [tilted_direction] asks for. *)
Lemma moved_pair d (x y : vec) t e a : dot d x x = 1 -> dot d y y = 1 -> dot d x y = t ->
  -1 < t < 1 -> 0 < e < 1 -> 0 < a -> 16 * a <= e ->
  let c := dot d (moved d a x y) (moved d a y x) in
  t < c /\ 4 * (c - t) <= e * (1 - t * t) /\
  forall z, dot d z z = 1 -> dot d z x <= t - 10 * e -> dot d z (moved d a x y) <= t - 5 * e.
Proof.
  intros Hx Hy Hxy Ht He Ha Hae c. assert (Hyx : dot d y x = t) by now rewrite dot_sym.
  assert (Ha4 : 0 < a <= 1 / 4) by lra.
  pose proof (dot_moved d x y t a Hxy Ht Ha4) as Hm.
  destruct (moved_norm t a Ht Ha4) as [HN HN2].
  pose proof (dot_moved d y x t a Hyx Ht Ha4) as Hm'.
  set (N := sqrt (1 + 2 * a * t + a * a)) in *.
  assert (Hc : N * N * (c - t) = 2 * a * (1 - t * t)).
  { pose proof (Hm' x) as H1. pose proof (Hm' y) as H2. rewrite Hx, Hxy in H1.
    rewrite Hy, Hyx in H2. pose proof (Hm (moved d a y x)) as H3.
    rewrite (dot_sym d (moved d a y x) x), (dot_sym d (moved d a y x) y),
      (dot_sym d (moved d a y x) (moved d a x y)) in H3. fold c in H3.
    assert (H4 : N * N * c = N * dot d x (moved d a y x) + a * (N * dot d y (moved d a y x)))
      by (rewrite Rmult_assoc, H3; ring).
    rewrite H1, H2 in H4. rewrite Rmult_minus_distr_l, H4, HN2. ring. }
  assert (Htt : 0 < 1 - t * t) by nra. assert (HNN : 1 / 2 <= N * N) by nra.
  split; [| split].
  - destruct (Rle_lt_dec c t) as [H | H]; [| exact H]. assert (0 < a * (1 - t * t)) by nra. nra.
  - assert (0 <= c - t) by (destruct (Rle_lt_dec t c); nra).
    assert (c - t <= 4 * a * (1 - t * t)) by nra. nra.
  - intros z Hz Hfar. specialize (Hm z). pose proof (cosine_le_one d z y Hz Hy) as Hzy.
    apply Rmult_le_reg_l with N; [lra |]. rewrite Hm.
    assert (a * dot d z y <= a) by nra.
    assert (Hb : - 6 <= t - 5 * e <= 1) by lra.
    assert (t - 5 * e - 6 * a <= N * (t - 5 * e)); [| lra].
    assert (- (6 * a) <= (N - 1) * (t - 5 * e)); [| lra].
    destruct (Rle_lt_dec 0 (N - 1)), (Rle_lt_dec 0 (t - 5 * e)); nra.
Qed.

(** If two points of a Tammes code are in contact with each other, and neither with a third point,
    then some Softmax Code is no Tammes code. *)
Theorem softmax_not_tammes d K W t p q : (2 <= d)%nat -> (3 <= K)%nat ->
  t_star d K t -> tammes_code d K W -> (p < K)%nat -> (q < K)%nat -> p <> q ->
  dot d (W p) (W q) = t ->
  (forall j, (j < K)%nat -> j <> p -> j <> q -> dot d (W j) (W p) < t /\ dot d (W j) (W q) < t) ->
  exists V, softmax_code d K V /\ ~ tammes_code d K V.
Proof.
  intros Hd HK Ht HT Hp Hq Hpq Hc Hfree. pose proof (proj1 HT) as HW.
  assert (Hd1 : (1 <= d)%nat) by lia. assert (HK2 : (2 <= K)%nat) by lia.
  assert (Hcos : forall i j, (i < K)%nat -> (j < K)%nat -> i <> j -> dot d (W i) (W j) <= t).
  { intros i j Hi Hj Hij. apply (tammes_code_cosine d K W t HK2 Ht HW); [exact HT |].
    exists i, j. auto. }
  (* -1 < t* < 1 *)
  assert (Hlow : -1 < t).
  { assert (Hr : exists r, (r < K)%nat /\ r <> p /\ r <> q).
    { destruct (Nat.eq_dec p 0), (Nat.eq_dec q 0), (Nat.eq_dec p 1), (Nat.eq_dec q 1);
        solve [exists 0%nat; lia | exists 1%nat; lia | exists 2%nat; lia]. }
    destruct Hr as (r & Hr & Hrp & Hrq). pose proof (proj1 (Hfree r Hr Hrp Hrq)).
    pose proof (cosine_le_one d (W r) (W p) (HW r Hr) (HW p Hp)). lra. }
  assert (Hhigh : t < 1).
  { destruct (rho_star_exists d K Hd1 HK2) as (t' & Ht' & Hr).
    rewrite (minimum_unique _ t' t Ht' Ht) in Hr.
    pose proof (rho_star_positive d K (1 - t) Hd1 HK2 (or_introl Hd) Hr). lra. }
  (* the slack s of both points, e and a *)
  destruct (common_slack K (fun j => if Nat.eq_dec j p then 1 else if Nat.eq_dec j q then 1
    else Rmin (t - dot d (W j) (W p)) (t - dot d (W j) (W q)))) as (s & Hs & Hslack).
  { intros j Hj. destruct (Nat.eq_dec j p); [lra |]. destruct (Nat.eq_dec j q); [lra |].
    destruct (Hfree j Hj n n0). apply Rmin_glb_lt; lra. }
  set (e := Rmin (1 / 2) (Rmin (1 + t) (s / 10))).
  assert (He0 : 0 < e) by (repeat apply Rmin_glb_lt; lra).
  assert (He1 : e <= 1 / 2) by apply Rmin_l.
  assert (He2 : e <= 1 + t) by (eapply Rle_trans; [apply Rmin_r | apply Rmin_l]).
  assert (He3 : e <= s / 10) by (eapply Rle_trans; [apply Rmin_r | apply Rmin_r]).
  assert (Hfar : forall j, (j < K)%nat -> j <> p -> j <> q ->
    dot d (W j) (W p) <= t - 10 * e /\ dot d (W j) (W q) <= t - 10 * e).
  { intros j Hj Hjp Hjq. specialize (Hslack j Hj). cbv beta in Hslack.
    destruct (Nat.eq_dec j p); [contradiction |]. destruct (Nat.eq_dec j q); [contradiction |].
    pose proof (Rmin_l (t - dot d (W j) (W p)) (t - dot d (W j) (W q))).
    pose proof (Rmin_r (t - dot d (W j) (W p)) (t - dot d (W j) (W q))). lra. }
  set (a := e / 16). assert (Ha0 : 0 < a) by (unfold a; lra).
  assert (Ha : 16 * a <= e) by (unfold a; lra). assert (Ha4 : 0 < a <= 1 / 4) by (unfold a; lra).
  assert (Hc' : dot d (W q) (W p) = t) by now rewrite dot_sym.
  (* the two points u and v, and their directions *)
  set (u := moved d a (W p) (W q)). set (v := moved d a (W q) (W p)).
  assert (Hu : dot d u u = 1) by (apply (moved_unit d (W p) (W q) t); auto).
  assert (Hv : dot d v v = 1) by (apply (moved_unit d (W q) (W p) t); auto).
  destruct (moved_pair d (W p) (W q) t e a) as (Hct & Hcs & Hu_far); auto; [lra |].
  destruct (moved_pair d (W q) (W p) t e a) as (_ & _ & Hv_far); auto; [lra |].
  fold u v in Hct, Hcs, Hu_far, Hv_far.
  destruct (tilted_direction d u v (dot d u v) t e) as (hu & Hhu & Hhuv & Hhu_far); auto; try lra.
  destruct (tilted_direction d v u (dot d u v) t e) as (hv & Hhv & Hhvu & Hhv_far); auto; try lra.
  { apply dot_sym. }
  set (place := fun (x y : vec) (X : nat -> vec) k =>
    if Nat.eq_dec k p then x else if Nat.eq_dec k q then y else X k).
  assert (HV : code d K (place u v W)).
  { intros k Hk. unfold place. destruct (Nat.eq_dec k p); [exact Hu |].
    destruct (Nat.eq_dec k q); [exact Hv | now apply HW]. }
  exists (place u v W). split.
  - apply (softmax_of_margins d K _ (place hu hv W) t); auto.
    intros k Hk. unfold place. destruct (Nat.eq_dec k p) as [-> | Hkp]; [| destruct
      (Nat.eq_dec k q) as [-> | Hkq]]; (split; [auto |]).
    + intros j Hj Hjp. destruct (Nat.eq_dec j p); [contradiction |].
      destruct (Nat.eq_dec j q); [exact Hhuv |].
      apply Hhu_far; [now apply HW |]. apply Hu_far; [now apply HW |]. now apply Hfar.
    + intros j Hj Hjq. destruct (Nat.eq_dec j p); [exact Hhvu |].
      destruct (Nat.eq_dec j q); [contradiction |].
      apply Hhv_far; [now apply HW |]. apply Hv_far; [now apply HW |]. now apply Hfar.
    + rewrite (HW k Hk). lra.
    + intros j Hj Hjk. rewrite dot_sub, (HW k Hk). destruct (Nat.eq_dec j p) as [-> | Hjp].
      * rewrite dot_sym. destruct (Hfar k Hk Hkp Hkq) as [H _].
        specialize (Hu_far (W k) (HW k Hk) H). lra.
      * destruct (Nat.eq_dec j q) as [-> | Hjq].
        -- rewrite dot_sym. destruct (Hfar k Hk Hkp Hkq) as [_ H].
           specialize (Hv_far (W k) (HW k Hk) H). lra.
        -- specialize (Hcos j k Hj Hk Hjk). lra.
  - intros HTV. pose proof (proj1 (tammes_code_cosine d K _ t HK2 Ht HV) HTV) as [_ Hmax].
    assert (dot d u v <= t); [| lra]. apply Hmax. exists p, q. unfold place.
    destruct (Nat.eq_dec p p); [| contradiction]. destruct (Nat.eq_dec q p); [congruence |].
    destruct (Nat.eq_dec q q); [auto | contradiction].
Qed.

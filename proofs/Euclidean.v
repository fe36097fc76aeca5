(** * R^d, finite extrema and compactness, from the standard library's Reals *)

From Coq Require Import Reals Lra Lia Arith Classical_Prop.
From GNC Require Import Bisector Definitions.
Open Scope R_scope.

(** ** Finite sums *)

Lemma sum_ext n f g : (forall i, (i < n)%nat -> f i = g i) -> sum n f = sum n g.
Proof.
  induction n as [| n IH]; simpl; intros H; [reflexivity |].
  rewrite IH by (intros; apply H; lia). rewrite H by lia. reflexivity.
Qed.

Lemma sum_le n f g : (forall i, (i < n)%nat -> f i <= g i) -> sum n f <= sum n g.
Proof.
  induction n as [| n IH]; simpl; intros H; [lra |].
  assert (sum n f <= sum n g) by (apply IH; intros; apply H; lia).
  assert (f n <= g n) by (apply H; lia). lra.
Qed.

Lemma sum_plus n f g : sum n (fun i => f i + g i) = sum n f + sum n g.
Proof. induction n as [| n IH]; simpl; [| rewrite IH]; ring. Qed.

Lemma sum_scale n a f : sum n (fun i => a * f i) = a * sum n f.
Proof. induction n as [| n IH]; simpl; [| rewrite IH]; ring. Qed.

Lemma sum_const n a : sum n (fun _ => a) = INR n * a.
Proof.
  induction n as [| n IH]; [simpl; ring |].
  rewrite S_INR. simpl. rewrite IH. ring.
Qed.

Lemma sum_zero n f : (forall i, (i < n)%nat -> f i = 0) -> sum n f = 0.
Proof.
  intros H. rewrite (sum_ext n f (fun _ => 0)) by exact H. rewrite sum_const. ring.
Qed.

Lemma sum_nonneg n f : (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= sum n f.
Proof. intros H. rewrite <- (sum_zero n (fun _ => 0)) by reflexivity. now apply sum_le. Qed.

(** One term of a sum of non-negative terms is at most the sum. *)
Lemma sum_term n f j : (forall i, (i < n)%nat -> 0 <= f i) -> (j < n)%nat -> f j <= sum n f.
Proof.
  induction n as [| n IH]; intros H Hj; [lia |]. simpl.
  assert (0 <= sum n f) by (apply sum_nonneg; intros; apply H; lia).
  assert (0 <= f n) by (apply H; lia).
  destruct (Nat.eq_dec j n) as [-> | Hn]; [lra |].
  assert (f j <= sum n f) by (apply IH; [intros; apply H |]; lia). lra.
Qed.

Lemma sum_swap n m (f : nat -> nat -> R) :
  sum n (fun i => sum m (fun j => f i j)) = sum m (fun j => sum n (fun i => f i j)).
Proof.
  induction n as [| n IH]; simpl.
  - symmetry. now apply sum_zero.
  - rewrite IH, sum_plus. reflexivity.
Qed.

(** The weights that are 1 at j and 0 elsewhere. *)
Definition only (j : nat) : nat -> R := fun m => if Nat.eq_dec m j then 1 else 0.

Lemma sum_only n j f : (j < n)%nat -> sum n (fun m => only j m * f m) = f j.
Proof.
  induction n as [| n IH]; intros Hj; [lia |]. simpl.
  destruct (Nat.eq_dec n j) as [Hn | Hn].
  - subst j. rewrite sum_zero.
    + unfold only. destruct (Nat.eq_dec n n); [ring | lia].
    + intros i Hi. unfold only. destruct (Nat.eq_dec i n); [lia | ring].
  - rewrite IH by lia. unfold only. destruct (Nat.eq_dec n j); [lia | ring].
Qed.

Lemma sum_only_one n j : (j < n)%nat -> sum n (only j) = 1.
Proof.
  intros Hj. rewrite <- (sum_only n j (fun _ => 1) Hj). apply sum_ext. intros. ring.
Qed.

(** Sums of functions that are near each other are near each other. *)
Lemma sum_near n f g e : (forall i, (i < n)%nat -> - e <= f i - g i <= e) ->
  - (INR n * e) <= sum n f - sum n g <= INR n * e.
Proof.
  intros H.
  assert (Hd : sum n f - sum n g = sum n (fun i => f i - g i)).
  { rewrite (sum_ext n (fun i => f i - g i) (fun i => f i + -1 * g i)) by (intros; ring).
    rewrite sum_plus, sum_scale. ring. }
  rewrite Hd. split.
  - replace (- (INR n * e)) with (INR n * - e) by ring. rewrite <- sum_const.
    apply sum_le. intros i Hi. apply H, Hi.
  - rewrite <- sum_const. apply sum_le. intros i Hi. apply H, Hi.
Qed.

(** ** R^d is a space with a symmetric, bilinear, positive semidefinite form *)

Section Space.
Variable d : nat.
Implicit Types x y z : vec.

Lemma dot_sym x y : dot d x y = dot d y x.
Proof. apply sum_ext. intros. ring. Qed.

Lemma dot_add x y z : dot d (fun i => x i + y i) z = dot d x z + dot d y z.
Proof. unfold dot. rewrite <- sum_plus. apply sum_ext. intros. ring. Qed.

Lemma dot_scale a x z : dot d (fun i => a * x i) z = a * dot d x z.
Proof. unfold dot. rewrite <- sum_scale. apply sum_ext. intros. ring. Qed.

Lemma dot_nonneg x : 0 <= dot d x x.
Proof. apply sum_nonneg. intros. nra. Qed.

Definition space : form_space := {|
  point := vec;
  add := fun x y i => x i + y i;
  scale := fun a x i => a * x i;
  form := dot d;
  form_sym := dot_sym;
  form_add := dot_add;
  form_scale := dot_scale;
  form_nonneg := dot_nonneg
|}.

Lemma dot_same x x' y y' : same d x x' -> same d y y' -> dot d x y = dot d x' y'.
Proof. intros Hx Hy. apply sum_ext. intros i Hi. rewrite Hx, Hy by exact Hi. reflexivity. Qed.

Lemma dot_sub x y z : dot d (fun i => x i - y i) z = dot d x z - dot d y z.
Proof.
  rewrite (dot_same _ (fun i => x i + -1 * y i) z z).
  - rewrite (dot_add x (fun i => -1 * y i)), dot_scale. ring.
  - intros i _. ring.
  - intros i _. reflexivity.
Qed.

Lemma dot_sub_r x y z : dot d x (fun i => y i - z i) = dot d x y - dot d x z.
Proof. rewrite dot_sym, dot_sub, (dot_sym y), (dot_sym z). reflexivity. Qed.

Lemma dot_scale_r a x z : dot d x (fun i => a * z i) = a * dot d x z.
Proof. rewrite dot_sym, dot_scale, dot_sym. reflexivity. Qed.

Lemma dot_zero x : dot d x x = 0 -> same d x (fun _ => 0).
Proof.
  intros H i Hi.
  pose proof (sum_term d (fun i => x i * x i) i ltac:(intros; nra) Hi) as Ht.
  fold (dot d x x) in Ht. simpl in Ht. nra.
Qed.

Lemma coordinate_le_one x i : dot d x x = 1 -> (i < d)%nat -> -1 <= x i <= 1.
Proof.
  intros H Hi.
  pose proof (sum_term d (fun i => x i * x i) i ltac:(intros; nra) Hi) as Ht.
  fold (dot d x x) in Ht. simpl in Ht. nra.
Qed.

(** |x - y|^2 = <x - y, x - y>. *)
Lemma dist_square x y : dist d x y * dist d x y = dot d (fun i => x i - y i) (fun i => x i - y i).
Proof. apply sqrt_sqrt, dot_nonneg. Qed.

Lemma dist_nonneg x y : 0 <= dist d x y.
Proof. apply sqrt_pos. Qed.

Lemma dist_same x x' y y' : same d x x' -> same d y y' -> dist d x y = dist d x' y'.
Proof.
  intros Hx Hy. unfold dist. f_equal. apply sum_ext. intros i Hi.
  rewrite Hx, Hy by exact Hi. reflexivity.
Qed.

Lemma dist_triangle x y z : dist d x z <= dist d x y + dist d y z.
Proof.
  pose proof (@norm_triangle space (fun i => x i - y i) (fun i => y i - z i)) as H.
  unfold norm in H. simpl in H. unfold dist.
  fold (dot d (fun i => x i - y i) (fun i => x i - y i)).
  fold (dot d (fun i => y i - z i) (fun i => y i - z i)).
  rewrite (sum_ext d _ (fun i => (x i - y i + (y i - z i)) * (x i - y i + (y i - z i))))
    by (intros; ring).
  exact H.
Qed.

(** <x, y> <= |x| |y|, in the two forms needed below. *)
Lemma dot_le_product x y r : 0 <= r -> dot d x x <= r * r -> dot d y y <= 1 -> dot d x y <= r.
Proof.
  intros Hr Hx Hy. pose proof (@cauchy_schwarz space x y) as H. simpl in H.
  pose proof (dot_nonneg x). pose proof (dot_nonneg y).
  assert (dot d x x * dot d y y <= r * r) by nra.
  destruct (Rle_lt_dec (dot d x y) r); nra.
Qed.

Lemma cosine_le_one x y : dot d x x = 1 -> dot d y y = 1 -> -1 <= dot d x y <= 1.
Proof.
  intros Hx Hy. pose proof (@cauchy_schwarz space x y) as H. simpl in H.
  rewrite Hx, Hy in H. nra.
Qed.

(** Of unit vectors: |x - y|^2 = 2 - 2 <x, y>. *)
Lemma chord_square x y : dot d x x = 1 -> dot d y y = 1 ->
  dist d x y * dist d x y = 2 - 2 * dot d x y.
Proof. intros Hx Hy. rewrite dist_square, dot_sub, !dot_sub_r, Hx, Hy, (dot_sym y x). ring. Qed.

End Space.

(** ** Extrema of finitely many numbers *)

Lemma minimum_unique E a b : is_minimum E a -> is_minimum E b -> a = b.
Proof. intros [Ha La] [Hb Lb]. apply Rle_antisym; auto. Qed.

Lemma maximum_unique E a b : is_maximum E a -> is_maximum E b -> a = b.
Proof. intros [Ha La] [Hb Lb]. apply Rle_antisym; auto. Qed.

Lemma infimum_unique E a b : is_infimum E a -> is_infimum E b -> a = b.
Proof. intros [Ha La] [Hb Lb]. apply Rle_antisym; auto. Qed.

(** A non-empty finite union of sets, each empty or with a minimum, has a minimum. *)
Lemma union_minimum n (E : nat -> R -> Prop) :
  (forall j, (j < n)%nat -> (exists m, is_minimum (E j) m) \/ (forall s, ~ E j s)) ->
  (exists j s, (j < n)%nat /\ E j s) ->
  exists m, is_minimum (fun s => exists j, (j < n)%nat /\ E j s) m.
Proof.
  induction n as [| n IH]; intros Heach Hsome; [destruct Hsome as (j & _ & Hj & _); lia |].
  destruct (classic (exists j s, (j < n)%nat /\ E j s)) as [Hbefore | Hnone].
  - destruct IH as [m [(jm & Hjm & Hm) Hleast]]; [intros; apply Heach; lia | exact Hbefore |].
    destruct (Heach n) as [[l [Hl Hll]] | Hempty]; [lia | |].
    + destruct (Rle_lt_dec m l) as [Hml | Hlm].
      * exists m. split; [exists jm; split; [lia | exact Hm] |].
        intros s (j & Hj & Hs). destruct (Nat.eq_dec j n) as [-> | Hjn].
        -- specialize (Hll s Hs). lra.
        -- apply Hleast. exists j. split; [lia | exact Hs].
      * exists l. split; [exists n; split; [lia | exact Hl] |].
        intros s (j & Hj & Hs). destruct (Nat.eq_dec j n) as [-> | Hjn]; [now apply Hll |].
        assert (m <= s) by (apply Hleast; exists j; split; [lia | exact Hs]). lra.
    + exists m. split; [exists jm; split; [lia | exact Hm] |].
      intros s (j & Hj & Hs). destruct (Nat.eq_dec j n) as [-> | Hjn].
      * now destruct (Hempty s).
      * apply Hleast. exists j. split; [lia | exact Hs].
  - assert (Honly : forall j s, (j < S n)%nat -> E j s -> j = n).
    { intros j s Hj Hs. destruct (Nat.eq_dec j n) as [Hjn | Hjn]; [exact Hjn |].
      exfalso. apply Hnone. exists j, s. split; [lia | exact Hs]. }
    destruct Hsome as (j & s & Hj & Hs). pose proof (Honly j s Hj Hs) as Hjn. subst j.
    destruct (Heach n) as [[l [Hl Hll]] | Hempty]; [lia | | now destruct (Hempty s)].
    exists l. split; [exists n; split; [lia | exact Hl] |].
    intros q (j & Hq & Eq). rewrite (Honly j q Hq Eq) in Eq. now apply Hll.
Qed.

(** The least value of g j over j <> k. *)
Lemma others_minimum K k (g : nat -> R) : (2 <= K)%nat ->
  exists m, is_minimum (fun s => exists j, (j < K)%nat /\ j <> k /\ s = g j) m.
Proof.
  intros HK. apply (union_minimum K (fun j s => j <> k /\ s = g j)).
  - intros j _. destruct (Nat.eq_dec j k) as [Hjk | Hjk].
    + right. intros s [H _]. contradiction.
    + left. exists (g j). split; [now split |]. intros s [_ ->]. lra.
  - destruct (Nat.eq_dec k 0) as [-> | Hk].
    + exists 1%nat, (g 1%nat). repeat split; lia.
    + exists 0%nat, (g 0%nat). repeat split; lia.
Qed.

(** The least, and the largest, value of g j k over pairs j <> k. *)
Lemma pairs_minimum K (g : nat -> nat -> R) : (2 <= K)%nat -> exists m, is_minimum
  (fun s => exists j k, (j < K)%nat /\ (k < K)%nat /\ j <> k /\ s = g j k) m.
Proof.
  intros HK.
  destruct (union_minimum K (fun j s => exists k, (k < K)%nat /\ k <> j /\ s = g j k))
    as [m [(j & Hj & k & Hk & Hjk & Hm) Hleast]].
  - intros j _. left. now apply others_minimum.
  - exists 0%nat, (g 0%nat 1%nat). split; [lia |]. exists 1%nat. repeat split; lia.
  - exists m. split; [exists j, k; repeat split; auto |].
    intros s (j' & k' & Hj' & Hk' & Hjk' & Hs). apply Hleast.
    exists j'. split; [exact Hj' |]. exists k'. repeat split; auto.
Qed.

Lemma pairs_maximum K (g : nat -> nat -> R) : (2 <= K)%nat -> exists m, is_maximum
  (fun s => exists j k, (j < K)%nat /\ (k < K)%nat /\ j <> k /\ s = g j k) m.
Proof.
  intros HK. destruct (pairs_minimum K (fun j k => - g j k) HK)
    as [m [(j & k & Hj & Hk & Hjk & Hm) Hleast]].
  exists (- m). split; [exists j, k; repeat split; auto; lra |].
  intros s (j' & k' & Hj' & Hk' & Hjk' & ->).
  assert (m <= - g j' k') by (apply Hleast; exists j', k'; repeat split; auto). lra.
Qed.

(** ** Compactness

    P e x reads "x is within e of being optimal".  If each P e contains points whose coordinates
    f 0 x, ..., f (n - 1) x are bounded, then some limit c has points of every P e as near as one
    likes.  The proof takes the lower limit one coordinate after the other, by completeness of the
    reals: no sequence of points has to be chosen. *)

Lemma limit_coordinate (T : Type) (f : T -> R) (B : R) (P : R -> T -> Prop) :
  (forall e e' x, e <= e' -> P e x -> P e' x) ->
  (forall e, 0 < e -> exists x, P e x /\ - B <= f x <= B) ->
  exists c, forall e, 0 < e -> exists x, P e x /\ - e <= f x - c <= e.
Proof.
  intros Hmono Hsome.
  (* c = the supremum of all a with a <= f x for all x near enough to optimal: the lower limit *)
  set (E := fun a => exists e, 0 < e /\ forall x, P e x -> - B <= f x <= B -> a <= f x).
  destruct (completeness E) as [c [Hup Hleast]].
  - exists B. intros a (e & He & Ha). destruct (Hsome e He) as (x & Hx & Hb).
    specialize (Ha x Hx Hb). lra.
  - exists (- B). exists 1. split; [lra |]. intros x _ Hb. lra.
  - exists c. intros e He.
    destruct (classic (exists a, E a /\ c - e < a)) as [(a & (e1 & He1 & Ha) & Hca) | Hno].
    2: { exfalso. assert (c <= c - e); [apply Hleast | lra]. intros a Ea.
         destruct (Rle_lt_dec a (c - e)) as [H | H]; [exact H |].
         exfalso. apply Hno. now exists a. }
    assert (Hmin : 0 < Rmin e e1) by (now apply Rmin_glb_lt).
    destruct (classic (exists x, P (Rmin e e1) x /\ - B <= f x <= B /\ f x < c + e))
      as [(x & Hx & Hb & Hlt) | Hno].
    + exists x. split; [apply Hmono with (Rmin e e1); [apply Rmin_l | exact Hx] |].
      assert (a <= f x); [| lra]. apply Ha; [| exact Hb].
      apply Hmono with (Rmin e e1); [apply Rmin_r | exact Hx].
    + exfalso. assert (c + e <= c); [apply Hup | lra].
      exists (Rmin e e1). split; [exact Hmin |]. intros x Hx Hb.
      destruct (Rle_lt_dec (c + e) (f x)) as [H | H]; [exact H |].
      exfalso. apply Hno. now exists x.
Qed.

Lemma limit_point (T : Type) (n : nat) (f : nat -> T -> R) (B : R) (P : R -> T -> Prop) :
  (forall e e' x, e <= e' -> P e x -> P e' x) ->
  (forall e x i, (i < n)%nat -> P e x -> - B <= f i x <= B) ->
  (forall e, 0 < e -> exists x, P e x) ->
  exists c : nat -> R, forall e, 0 < e ->
    exists x, P e x /\ forall i, (i < n)%nat -> - e <= f i x - c i <= e.
Proof.
  intros Hmono Hbound Hsome. induction n as [| n IH].
  - exists (fun _ => 0). intros e He. destruct (Hsome e He) as [x Hx].
    exists x. split; [exact Hx |]. intros i Hi. lia.
  - destruct IH as [c Hc]; [intros e x i Hi; apply Hbound; lia |].
    destruct (limit_coordinate T (f n) B
      (fun e x => P e x /\ forall i, (i < n)%nat -> - e <= f i x - c i <= e)) as [l Hl].
    + intros e e' x Hee [Hx Hi]. split; [now apply Hmono with e |].
      intros i Hin. specialize (Hi i Hin). lra.
    + intros e He. destruct (Hc e He) as (x & Hx & Hi).
      exists x. split; [now split | apply Hbound with e; [lia | exact Hx]].
    + exists (fun i => if Nat.eq_dec i n then l else c i).
      intros e He. destruct (Hl e He) as (x & (Hx & Hi) & Hn).
      exists x. split; [exact Hx |]. intros i Hin.
      destruct (Nat.eq_dec i n) as [-> | Hne]; [exact Hn | apply Hi; lia].
Qed.

(** a <= b if a <= b + C e for every small e. *)
Lemma le_of_near a b C : 0 <= C -> (forall e, 0 < e -> e <= 1 -> a <= b + C * e) -> a <= b.
Proof.
  intros HC H. destruct (Rle_lt_dec a b) as [Hab | Hab]; [exact Hab |]. exfalso.
  set (e := Rmin 1 ((a - b) / (2 * (C + 1)))).
  assert (Hq : 0 < (a - b) / (2 * (C + 1))).
  { apply Rmult_lt_0_compat; [lra | apply Rinv_0_lt_compat; lra]. }
  assert (He : 0 < e) by (apply Rmin_glb_lt; lra).
  assert (He1 : e <= 1) by apply Rmin_l.
  assert (He2 : e <= (a - b) / (2 * (C + 1))) by apply Rmin_r.
  specialize (H e He He1).
  assert ((C + 1) * e <= (a - b) / 2).
  { replace ((a - b) / 2) with ((C + 1) * ((a - b) / (2 * (C + 1)))) by (field; lra).
    apply Rmult_le_compat_l; lra. }
  lra.
Qed.

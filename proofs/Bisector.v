(** * The bisector theorem, over any symmetric, bilinear, positive semidefinite form

    Two vectors w, x of norm 1 and two vectors h, g of norm at most 1 with margins
    [<w - x, h> >= r1 > 0] and [<x - w, g> >= r2 > 0] have bisectors u, v (the unit vectors along
    w + h and x + g) with [<u, v> <= 1 - (r1 + r2)/2].  The form need not be definite: "not zero"
    means of nonzero seminorm, and two vectors count as equal when their difference has seminorm
    0.  paper/theorem.md has the same proof for readers. *)

From Coq Require Import Reals Lra.
Open Scope R_scope.

(** A set with an addition, a scaling by reals and a symmetric, bilinear, positive semidefinite
    form.  Every real vector space with such a form is one, in particular every real inner product
    space.  The laws of a vector space itself (associativity and so on) are never needed, so they
    are not asked for: the theorem is the stronger for it. *)
Record form_space : Type := {
  point :> Type;
  add : point -> point -> point;
  scale : R -> point -> point;
  form : point -> point -> R;
  form_sym : forall x y, form x y = form y x;
  form_add : forall x y z, form (add x y) z = form x z + form y z;
  form_scale : forall a x z, form (scale a x) z = a * form x z;
  form_nonneg : forall x, 0 <= form x x
}.

Arguments add {_} _ _.
Arguments scale {_} _ _.
Arguments form {_} _ _.

(** x - y, the seminorm |x|, and the vector of seminorm 1 that halves the angle between w and h. *)
Definition sub {E : form_space} (x y : E) : E := add x (scale (-1) y).
Definition norm {E : form_space} (x : E) : R := sqrt (form x x).
Definition bisector {E : form_space} (w h : E) : E := scale (/ norm (add w h)) (add w h).

(** ** Calculating with the form *)

Section Forms.
Context {E : form_space}.
Implicit Types x y z w h g : E.

Lemma form_add_r x y z : form x (add y z) = form x y + form x z.
Proof. now rewrite form_sym, form_add, (form_sym E y), (form_sym E z). Qed.

Lemma form_scale_r a x z : form x (scale a z) = a * form x z.
Proof. now rewrite form_sym, form_scale, form_sym. Qed.

Lemma form_sub x y z : form (sub x y) z = form x z - form y z.
Proof. unfold sub. rewrite form_add, form_scale. ring. Qed.

Lemma form_sub_r x y z : form x (sub y z) = form x y - form x z.
Proof. unfold sub. rewrite form_add_r, form_scale_r. ring. Qed.

Lemma form_sub_self x y : form (sub x y) (sub x y) = form x x - 2 * form x y + form y y.
Proof. rewrite form_sub, !form_sub_r, (form_sym E y x). ring. Qed.

Lemma form_add_self x y : form (add x y) (add x y) = form x x + 2 * form x y + form y y.
Proof. rewrite form_add, !form_add_r, (form_sym E y x). ring. Qed.

Lemma norm_nonneg x : 0 <= norm x.
Proof. apply sqrt_pos. Qed.

Lemma norm_square x : norm x * norm x = form x x.
Proof. apply sqrt_sqrt, form_nonneg. Qed.

(** |x| <= c if <x, x> <= c^2. *)
Lemma norm_le x c : 0 <= c -> form x x <= c * c -> norm x <= c.
Proof.
  intros Hc H. pose proof (norm_square x). pose proof (norm_nonneg x).
  destruct (Rle_lt_dec (norm x) c); nra.
Qed.

Lemma norm_zero x : form x x <= 0 -> norm x = 0.
Proof.
  intros H. pose proof (norm_le x 0 ltac:(lra)). pose proof (norm_nonneg x). lra.
Qed.

(** Cauchy and Schwarz. *)
Theorem cauchy_schwarz x y : form x y * form x y <= form x x * form y y.
Proof.
  assert (H : forall a b, 0 <= a * a * form x x - 2 * (a * b * form x y) + b * b * form y y).
  { intros a b. pose proof (form_nonneg E (sub (scale a x) (scale b y))) as H.
    rewrite form_sub_self, !form_scale, !form_scale_r in H. lra. }
  pose proof (form_nonneg E x). pose proof (form_nonneg E y).
  destruct (Req_dec (form y y) 0) as [Hy | Hy].
  - (* |y| = 0: then <x, y> = 0, for otherwise a large multiple of y makes the square negative *)
    rewrite Hy. pose proof (H (form x y) (form x x + 1)) as Hc. rewrite Hy in Hc.
    nra.
  - pose proof (H (form y y) (form x y)) as Hc.
    assert (0 <= form y y * (form x x * form y y - form x y * form x y)) by lra.
    assert (0 < form y y) by lra.
    destruct (Rle_lt_dec (form x y * form x y) (form x x * form y y)) as [Hle | Hlt];
      [exact Hle | nra].
Qed.

Lemma form_le_norms x y : form x y <= norm x * norm y.
Proof.
  pose proof (cauchy_schwarz x y) as H.
  rewrite <- (norm_square x), <- (norm_square y) in H.
  pose proof (norm_nonneg x). pose proof (norm_nonneg y).
  assert (0 <= norm x * norm y) by (apply Rmult_le_pos; assumption).
  destruct (Rle_lt_dec (form x y) (norm x * norm y)); nra.
Qed.

Lemma norm_triangle x y : norm (add x y) <= norm x + norm y.
Proof.
  pose proof (norm_nonneg x). pose proof (norm_nonneg y). pose proof (form_le_norms x y).
  apply norm_le; [lra |].
  rewrite form_add_self, <- (norm_square x), <- (norm_square y). nra.
Qed.

(** ** One half of the theorem: w with its direction h, and any other vector x *)

(** The bisector of w and h has norm 1. *)
Lemma bisector_unit w h : 0 < norm (add w h) -> form (bisector w h) (bisector w h) = 1.
Proof.
  intros H. unfold bisector. rewrite form_scale, form_scale_r, <- norm_square. field. lra.
Qed.

Lemma form_bisector w h y : 0 < norm (add w h) ->
  norm (add w h) * form y (bisector w h) = form y (add w h).
Proof. intros H. unfold bisector. rewrite form_scale_r. field. lra. Qed.

(** The norm of w + h: it is nonzero, and at most 2. *)
Lemma sum_norm w h : form w w = 1 -> form h h <= 1 -> norm (add w h) <= 2.
Proof.
  intros Hw Hh. assert (norm w <= 1) by (apply norm_le; lra).
  assert (norm h <= 1) by (apply norm_le; lra). pose proof (norm_triangle w h). lra.
Qed.

(** |w + h| = 2 only if w = h, which is then the bisector. *)
Lemma sum_norm_two w h : form w w = 1 -> form h h <= 1 -> norm (add w h) = 2 ->
  norm (sub w h) = 0 /\ norm (sub w (bisector w h)) = 0.
Proof.
  intros Hw Hh H. pose proof (norm_square (add w h)) as H2.
  rewrite H, form_add_self, Hw in H2. split.
  - apply norm_zero. rewrite form_sub_self, Hw. lra.
  - apply norm_zero. rewrite form_sub_self, bisector_unit, Hw by lra.
    pose proof (form_bisector w h w ltac:(lra)) as H3.
    rewrite H, form_add_r, Hw in H3. lra.
Qed.

(** Steps 1 and 2: with delta = 1 - <w, x>, the bisector u of w and h has
    [<w - x, u> >= (delta + r)/2], because [<w - x, w + h> = delta + <w - x, h>] and
    [|w + h| <= 2]. *)
Lemma bisector_step w x h r :
  form w w = 1 -> form x x = 1 -> form h h <= 1 -> 0 < r -> r <= form (sub w x) h ->
  0 < norm (add w h) /\
  1 - form w x + r <= norm (add w h) * form (sub w x) (bisector w h) /\
  (1 - form w x + r) / 2 <= form (sub w x) (bisector w h).
Proof.
  intros Hw Hx Hh Hr Hm.
  assert (Hd : 0 <= 1 - form w x).
  { pose proof (form_nonneg E (sub w x)) as H. rewrite form_sub_self in H. lra. }
  assert (Hs : form (sub w x) (add w h) = 1 - form w x + form (sub w x) h).
  { rewrite form_add_r, (form_sub w x w), Hw, (form_sym E x w). ring. }
  assert (Hpos : 0 < norm (add w h)).
  { pose proof (norm_nonneg (add w h)) as H0.
    pose proof (form_le_norms (sub w x) (add w h)) as Hc.
    destruct (Rle_lt_or_eq_dec _ _ H0) as [Hn | Hn]; [exact Hn |].
    rewrite <- Hn in Hc. lra. }
  pose proof (sum_norm w h Hw Hh) as H2. pose proof (form_bisector w h (sub w x) Hpos) as Hb.
  split; [exact Hpos |]. split; [lra |].
  assert (0 < form (sub w x) (bisector w h)).
  { destruct (Rle_lt_dec (form (sub w x) (bisector w h)) 0); [nra | assumption]. }
  nra.
Qed.

End Forms.

(** ** The theorem *)

Section TwoPairs.
Context {E : form_space}.
Variables (w x h g : E) (r1 r2 : R).
Hypothesis (w_unit : form w w = 1) (x_unit : form x x = 1).
Hypothesis (h_short : form h h <= 1) (g_short : form g g <= 1).
Hypothesis (r1_pos : 0 < r1) (r2_pos : 0 < r2).
Hypothesis (w_margin : r1 <= form (sub w x) h) (x_margin : r2 <= form (sub x w) g).

Let delta := 1 - form w x.
Let s := (r1 + r2) / 2.
Let u := bisector w h.
Let v := bisector x g.

Local Lemma w_step : 0 < norm (add w h) /\ delta + r1 <= norm (add w h) * form (sub w x) u /\
  (delta + r1) / 2 <= form (sub w x) u.
Proof. unfold delta, u. now apply bisector_step. Qed.

Local Lemma x_step : 0 < norm (add x g) /\ delta + r2 <= norm (add x g) * form (sub x w) v /\
  (delta + r2) / 2 <= form (sub x w) v.
Proof. unfold delta, v. rewrite (form_sym E w x). now apply bisector_step. Qed.

Local Lemma delta_nonneg : 0 <= delta.
Proof.
  pose proof (form_nonneg E (sub w x)) as H. rewrite form_sub_self in H. unfold delta. lra.
Qed.

(** Step 3: <w - x, u - v>, at least delta + s, and by Cauchy and Schwarz its square is at most
    |w - x|^2 |u - v|^2 = 2 delta * 2 (1 - <u, v>). *)
Let product := form (sub w x) (sub u v).

Local Lemma product_sum : product = form (sub w x) u + form (sub x w) v.
Proof. unfold product. rewrite form_sub_r, !form_sub. ring. Qed.

Local Lemma product_square : product * product <= 4 * delta * (1 - form u v).
Proof.
  pose proof (cauchy_schwarz (sub w x) (sub u v)) as H. fold product in H.
  rewrite !form_sub_self, w_unit, x_unit in H. unfold u, v in H.
  rewrite !bisector_unit in H by (apply w_step || apply x_step).
  fold u v in H. unfold delta. lra.
Qed.

Local Lemma product_low : delta + s <= product.
Proof.
  rewrite product_sum. pose proof (proj2 (proj2 w_step)). pose proof (proj2 (proj2 x_step)).
  unfold s. lra.
Qed.

Local Lemma delta_pos : 0 < delta.
Proof.
  destruct (Rle_lt_dec delta 0) as [H | H]; [exfalso | exact H].
  assert (H0 : delta = 0) by (pose proof delta_nonneg; lra).
  pose proof product_square as Hsquare. pose proof product_low as Hlow.
  rewrite H0 in Hsquare, Hlow. assert (0 < s) by (unfold s; lra). nra.
Qed.

(** The bisector theorem with its stability term.  Here [delta = 1 - <w, x>] and
    [s = (r1 + r2)/2]; the term [(s - delta)^2 / (4 delta)] says how far from the bound a pair
    stays whose margins differ from [1 - <w, x>]. *)
Theorem bisector_theorem :
  0 < norm (add w h) /\ 0 < norm (add x g) /\ 0 < 1 - form w x /\
  (r1 + r2) / 2 + ((r1 + r2) / 2 - (1 - form w x)) ^ 2 / (4 * (1 - form w x))
    <= 1 - form (bisector w h) (bisector x g).
Proof.
  split; [apply w_step |]. split; [apply x_step |]. split; [apply delta_pos |].
  fold delta s u v.
  replace (s + (s - delta) ^ 2 / (4 * delta)) with ((delta + s) * (delta + s) / (4 * delta)).
  2: { pose proof delta_pos. field. lra. }
  apply Rmult_le_reg_l with (4 * delta); [pose proof delta_pos; lra |].
  replace (4 * delta * ((delta + s) * (delta + s) / (4 * delta)))
    with ((delta + s) * (delta + s)) by (pose proof delta_pos; field; lra).
  pose proof product_square. pose proof product_low.
  assert (0 < s) by (unfold s; lra). pose proof delta_pos. nra.
Qed.

(** The same without the stability term: the pairwise form. *)
Theorem bisector_pair : form (bisector w h) (bisector x g) <= 1 - (r1 + r2) / 2.
Proof.
  destruct bisector_theorem as (_ & _ & Hd & H).
  assert (0 <= ((r1 + r2) / 2 - (1 - form w x)) ^ 2 / (4 * (1 - form w x))).
  { apply Rmult_le_pos; [apply pow2_ge_0 |]. left. apply Rinv_0_lt_compat. lra. }
  lra.
Qed.

(** Equality only where everything coincides: [1 - <w, x> = s], w = h = u and x = g = v. *)
Theorem bisector_equality : form (bisector w h) (bisector x g) = 1 - (r1 + r2) / 2 ->
  1 - form w x = (r1 + r2) / 2 /\
  norm (sub w h) = 0 /\ norm (sub w (bisector w h)) = 0 /\
  norm (sub x g) = 0 /\ norm (sub x (bisector x g)) = 0.
Proof.
  intros Heq. fold delta s u v in Heq |- *.
  pose proof product_square as Hp. pose proof product_low as Hl. rewrite Heq in Hp.
  pose proof delta_pos as Hd. assert (Hs : 0 < s) by (unfold s; lra).
  (* (delta + s)^2 <= product^2 <= 4 delta s, so (delta - s)^2 <= 0 *)
  assert (Hds : delta = s).
  { assert (Hq : (delta + s) * (delta + s) <= product * product) by nra.
    assert (H0 : (delta - s) * (delta - s) <= 0) by lra.
    destruct (Rtotal_order (delta - s) 0) as [H | [H | H]]; [nra | lra | nra]. }
  assert (Hpe : product = 2 * s) by (rewrite Hds in Hp, Hl; nra).
  rewrite product_sum in Hpe.
  (* so <w - x, u> + <x - w, v> = 2 s, its smallest value, which needs |w + h| = |x + g| = 2 *)
  destruct w_step as (Hn1 & Hf1 & Hf2). destruct x_step as (Hn2 & Hg1 & Hg2).
  pose proof (sum_norm w h w_unit h_short) as Hw2.
  pose proof (sum_norm x g x_unit g_short) as Hx2.
  assert (Hsum : s + s = r1 + r2) by (unfold s; lra).
  assert (Hwh : norm (add w h) = 2) by nra.
  assert (Hxg : norm (add x g) = 2) by nra.
  destruct (sum_norm_two w h w_unit h_short Hwh) as [Hw Hwu].
  destruct (sum_norm_two x g x_unit g_short Hxg) as [Hx Hxv].
  repeat split; assumption.
Qed.

End TwoPairs.

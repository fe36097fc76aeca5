"""Fifty intervals of rho*(d, K), with the sources of both ends: a table in Markdown.

    python -m benchmarks.bounds.intervals

Pairs of 3 to 8 dimensions, where bounds by triples of points are stored, two of 10, and five that
sections of lattices have. Delsarte's linear program is asked for everywhere.
"""

from math import ceil, floor

from gnc_cli import bounds

PAIRS = {
    3: (15, 16, 20, 23, 27, 30, 40, 50, 60),
    4: (9, 11, 13, 14, 16, 18, 20, 22, 24, 28, 32, 40),
    5: (11, 13, 17, 20, 24, 30, 40),
    6: (14, 17, 20, 25, 32, 40),
    7: (16, 20, 28, 36, 40),
    8: (18, 24, 32, 40),
    10: (40, 100),
    16: (715,),
    19: (564,),
    20: (336, 1280),
    22: (1024,),
}
SHARES = (5, 2, 1)
"""Percent of the upper end."""


def main() -> None:
    """Measure and print."""
    gaps = []
    print("| d, K | lower end | source | upper end | source | gap, % |")
    print("| --- | --- | --- | --- | --- | --- |")
    for d, sizes in PAIRS.items():
        for K in sizes:
            (best,) = bounds(d, K, lp=True).best
            gaps.append(100.0 * (best.upper - best.lower) / best.upper)
            lower, upper = floor(best.lower * 1e6) / 1e6, ceil(best.upper * 1e6) / 1e6
            print(
                f"| {d}, {K} | {lower:.6f} | {best.lower_name} | {upper:.6f} | {best.upper_name} "
                f"| {gaps[-1]:.1f} |"
            )
    for share in SHARES:
        print(f"gap below {share} %: {sum(gap < share for gap in gaps)} of {len(gaps)}")


if __name__ == "__main__":
    main()

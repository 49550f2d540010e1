"""The posteriors that reference memories share.

Notation: A symbols, a stream of L, a candidate of k, so n = L − k + 1 windows it may have been copied from.
Prior one half; a positive is the content of a uniformly random window, a negative is uniform among the A^k
strings that do not occur (eccbench.txt A.1). What a memory has forgotten it takes to be i.i.d. uniform.
"""

from __future__ import annotations

from math import expm1, inf, log1p


def unseen_in_suffix(held: int, seen: int, length: int, alphabet_size: int) -> float:
    """P(yes) for a candidate that is not in the last `held` of `seen` symbols.

    Of n windows, m = held − k + 1 are known not to be it. Under "yes" it was copied from one of the n − m others,
    whose content is uniform: (n − m)/n · A^−k. Under "no" it is one of the absent strings; each of the A^k is
    absent with probability (1 − A^−k)^n, and this one, absent from m windows already, with (1 − A^−k)^(n−m): a
    share of A^−k (1 − A^−k)^−m. The ratio is (n − m)/n · (1 − A^−k)^m.
    """
    windows = seen - length + 1
    known = max(0, held - length + 1)
    if windows <= known:
        return 0.0
    ratio = (windows - known) / windows * (1 - float(alphabet_size) ** -length) ** known
    return ratio / (1 + ratio)


def passed(passing: float, occurring: float) -> float:
    """P(yes) for a candidate that passed a test which every string that occurred passes.

    Args:
        passing: The share of all A^k strings that pass.
        occurring: The share that occurred; all of them pass.

    A positive passes for certain, a negative with (passing − occurring)/(1 − occurring).

    """
    if passing <= occurring:
        return 1.0
    return 1 / (1 + (passing - occurring) / (1 - occurring))


def occurring_share(gram_share: float, gram: int, length: int, windows: int, alphabet_size: int) -> float:
    """The share of all A^length strings that occurred, reckoned from the share of all A^gram strings that did.

    n uniform draws from N strings leave N (1 − (1 − 1/N)^n) distinct ones. Turned round, the share of grams gives
    the number of draws that it is worth: about n on a maximum-entropy stream, far fewer on one that repeats
    itself. So many draws of longer strings give the share asked for.
    """
    if length == gram:
        return gram_share
    draws = log1p(-gram_share) / log1p(-(float(alphabet_size) ** -gram)) if gram_share < 1 else inf
    return -expm1(min(draws, windows) * log1p(-(float(alphabet_size) ** -length)))

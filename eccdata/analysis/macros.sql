-- Statistics that tables share. Shares are fractions; intervals are STRUCT(low DOUBLE, high DOUBLE), two-sided, 95 %.

-- Wilson's score interval of a binomial share: what independent questions would leave uncertain. Its ends at no and at
-- all successes are 0 and 1, which the formula in floating point misses by a rounding.
CREATE MACRO wilson(successes, trials) AS
  CASE WHEN trials > 0 THEN {
    low: CASE WHEN successes = 0 THEN 0 ELSE greatest(0, (successes + 1.959963984540054e0 ** 2 / 2
      - 1.959963984540054e0 * sqrt(successes::DOUBLE * (trials - successes) / trials + 1.959963984540054e0 ** 2 / 4))
      / (trials + 1.959963984540054e0 ** 2)) END,
    high: CASE WHEN successes = trials THEN 1 ELSE least(1, (successes + 1.959963984540054e0 ** 2 / 2
      + 1.959963984540054e0 * sqrt(successes::DOUBLE * (trials - successes) / trials + 1.959963984540054e0 ** 2 / 4))
      / (trials + 1.959963984540054e0 ** 2)) END
  } END;

CREATE MACRO log_choose(n, k) AS lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);

-- Fisher's exact test of a 2 × 2 table, one-sided: how likely are, with all margins as they are, at least
-- `kept_right` right ones among the kept. Small where the declined are the harder ones.
CREATE MACRO fisher_one_sided(kept_right, kept_wrong, declined_right, declined_wrong) AS
  least(1, list_sum(list_transform(
    range(kept_right, least(kept_right + kept_wrong, kept_right + declined_right) + 1),
    lambda right_among_kept: exp(
      log_choose(kept_right + declined_right, right_among_kept)
      + log_choose(kept_wrong + declined_wrong, kept_right + kept_wrong - right_among_kept)
      - log_choose(kept_right + kept_wrong + declined_right + declined_wrong, kept_right + kept_wrong)
    )
  )));

-- The middle 95 % of a bootstrap's replicates; replicates in which the statistic is undefined (null) are left out.
CREATE MACRO interval_95(replicates) AS
  CASE WHEN count(replicates) > 0 THEN
    {low: quantile_cont(replicates, [0.025, 0.975])[1], high: quantile_cont(replicates, [0.025, 0.975])[2]}
  END;

-- What to pool: every length by itself, the lengths that the paper pools where all of them are there, and all of them.
CREATE MACRO pools(lengths, papers) AS
  list_distinct(list_concat(
    list_transform(lengths, lambda length: [length]),
    CASE WHEN list_has_all(lengths, papers) THEN [papers] ELSE [] END,
    [lengths]
  ));

-- The answer that counts for a confidence: the one that was given and, where the question was declined, the one that
-- P(yes) favours, a tie going to yes. So a confidence is of every question, however many were declined.
CREATE MACRO favours_yes(prediction, probability) AS
  CASE prediction WHEN 'yes' THEN true WHEN 'no' THEN false ELSE probability >= 0.5 END;

-- P(yes) or P(no) of that answer, to twelve decimals: 1 - P(yes) is rounded, and what is equal has to stay so.
CREATE MACRO confidence_of(prediction, probability) AS
  round(CASE WHEN favours_yes(prediction, probability) THEN probability ELSE 1 - probability END, 12);

-- 1 + 1/2 + … + 1/n; from 20 on by Euler's and Maclaurin's formula, which is exact to the last digits there.
CREATE MACRO harmonic(n) AS
  CASE WHEN n < 20 THEN coalesce(list_sum(list_transform(range(1, n + 1), lambda i: 1.0::DOUBLE / i)), 0)
  ELSE ln(n) + 0.57721566490153286e0 + 1 / (2 * n::DOUBLE) - 1 / (12 * n::DOUBLE ** 2) + 1 / (120 * n::DOUBLE ** 4)
    - 1 / (252 * n::DOUBLE ** 6) + 1 / (240 * n::DOUBLE ** 8) END;

-- A sum of fractions, each to twelve decimals, that is the same in whatever order many threads add them up.
CREATE MACRO exact_sum(x) AS sum(round(1e12 * x)::HUGEINT)::DOUBLE / 1e12;
CREATE MACRO exact_avg(x) AS sum(round(1e12 * x)::HUGEINT)::DOUBLE / 1e12 / count(x);

-- The stream-cluster bootstrap in SQL: see bootstrap.py for what each gives and what to mind. All are aggregates over
-- rows of which each is a stream.

CREATE MACRO stream_ratios(num1, den1, num2, den2) AS
  {n1: num1::DOUBLE, d1: den1::DOUBLE, n2: num2::DOUBLE, d2: den2::DOUBLE};

CREATE MACRO interval_of(summary) AS CASE WHEN summary.low IS NOT NULL THEN {low: summary.low, high: summary.high} END;

CREATE MACRO bootstrap_share(num, den) AS
  interval_of(bootstrap_ratios(list(stream_ratios(num, den, 0, 0)), NULL, 1, 0));

CREATE MACRO bootstrap_difference(num1, den1, num2, den2) AS
  interval_of(bootstrap_ratios(list(stream_ratios(num1, den1, num2, den2)), NULL, 1, -1));

CREATE MACRO bootstrap_mean(num1, den1, num2, den2) AS
  interval_of(bootstrap_ratios(list(stream_ratios(num1, den1, num2, den2)), NULL, 0.5, 0.5));

CREATE MACRO bootstrap_contrast(num, den, first, second) AS
  interval_of(bootstrap_ratios(
    coalesce(list(stream_ratios(num, den, 0, 0)) FILTER (first), []),
    coalesce(list(stream_ratios(num, den, 0, 0)) FILTER (second), []),
    1, 0
  ));

CREATE MACRO bootstrap_mean_contrast(num1, den1, num2, den2, first, second) AS
  interval_of(bootstrap_ratios(
    coalesce(list(stream_ratios(num1, den1, num2, den2)) FILTER (first), []),
    coalesce(list(stream_ratios(num1, den1, num2, den2)) FILTER (second), []),
    0.5, 0.5
  ));

CREATE MACRO chance_of(summary) AS
  CASE WHEN summary IS NOT NULL THEN {not_positive: summary.not_positive, undefined: summary.undefined} END;

CREATE MACRO bootstrap_chance(num1, den1, num2, den2) AS
  chance_of(bootstrap_ratios(list(stream_ratios(num1, den1, num2, den2)), NULL, 1, -1));

"""Symbol streams: alphabets, rule sets, Lempel-Ziv rate, membership queries, deviations."""

-- What the paper calls its three subsets (Table 10, Figures 6 and 7): which configurations each is made of, and which
-- lengths the paper pools in it; NULL where it keeps every length to itself. To be joined by config and protocol.
FROM (
  VALUES
    (1, 'synthetic text', 'text', 'membership', [512, 1024]),
    (2, 'synthetic video', 'video-sequential', 'membership-video', [8, 16]),
    (2, 'synthetic video', 'video-spatial', 'membership-video', [8, 16]),
    (3, 'natural video', 'natural', 'natural', NULL)
) AS subset_of(subset_rank, subset, config, protocol, pooled_lengths)

-- The fourteen backbones: in the order of Table 12, with what the legends of Figures 8 and 10 call them, to be joined by
-- `architecture`. A backbone's run names itself "architecture, D=width" (`model`).
FROM (
  VALUES
    (1, 'Compressive Transformer', 'Comp. Transf.'),
    (2, 'DeltaFormer', 'DeltaFormer'),
    (3, 'DeltaNet', 'DeltaNet'),
    (4, 'GLA', 'GLA'),
    (5, 'Gated DeltaNet', 'G. DeltaNet'),
    (6, 'Mamba-2', 'Mamba'),
    (7, 'Memory Mosaic', 'Mem. Mosaic'),
    (8, 'MoM', 'MoM'),
    (9, 'RWKV-7', 'RWKV'),
    (10, 'RetNet', 'RetNet'),
    (11, 'GRU', 'GRU'),
    (12, 'TTT-MLP', 'TTT'),
    (13, 'Transformer (RoPE)', 'Transf. RoPE'),
    (14, 'Transformer (conv)', 'Transf. Conv4')
) AS backbone(place, architecture, legend)

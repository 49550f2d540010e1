"""The sequence mixers, one architecture a file.

The GRU is torch's. The others are written here because no well-kept library has them in a form that runs on a CPU too,
goes on from a state after any number of tokens, and answers many questions from one: flash-linear-attention's layers
are Triton kernels, and transformers' Mamba-2 and gated delta rule take one token or a whole sequence. The tests hold
Mamba-2 and the delta rules to the latter.
"""

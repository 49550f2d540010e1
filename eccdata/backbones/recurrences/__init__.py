"""Linear recurrences of a matrix-valued state S [K, V], each in three forms that give the same.

`stepwise` follows the definition token by token; it is the streaming form and the others' measure. `chunked` computes
T tokens by matrix products within chunks and a scan of logarithmic depth over them, without a Python loop over time.
`write` takes the first for one token and the second for more. `read` gives what each of Q questions would be answered
if it were written next, without the states that would leave.

Tensors are [B, H, T, …], states [B, H, K, V]. Decays come as logarithms, at most 0, and only sums that decay are ever
exponentiated. All is computed in single precision at least, under bf16 autocast too: a state is a sum over thousands
of tokens, and triangular solves have no bf16 kernels.
"""

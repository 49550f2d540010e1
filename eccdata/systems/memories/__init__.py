"""Reference memories: systems that need nothing, and whose scores can be worked out on paper.

Each is the paper's Write and Read (eccbench.txt, equation 1): a state that symbols are folded into, and that
alone answers. Each states P(yes) as a posterior: prior one half, positives copied from uniformly random
positions of the stream, negatives uniform among what is absent (A.1), and a stream about whose forgotten part
nothing is known, which makes every symbol of it equally likely. On maximum-entropy streams that is the truth and
the posterior is calibrated; on compressible ones forgotten windows tend to come back in what is still held, so
the memory errs towards doubt.

What a budget of bits pays for is the symbols, or what stands for them. The two counters that every memory
keeps, how many symbols it has seen and how full it is, are not charged to any.
"""

from .bag import Bag
from .base import Memory, State
from .bloom import Bloom
from .chance import Chance
from .exact import Exact
from .lempel_ziv import LempelZiv
from .window import Window

__all__ = ["Bag", "Bloom", "Chance", "Exact", "LempelZiv", "Memory", "State", "Window"]

"""The most memory that a process of its own has held."""

import sys
from pathlib import Path

# getrusage's figure outlives exec, so that a process starts with what its parent held; that of the kernel does not
_KERNELS = "int(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
_RUSAGE = "__import__('resource').getrusage(0).ru_maxrss"

PEAK_KIB = (
    _KERNELS
    if Path("/proc/self/status").exists()
    else f"{_RUSAGE} // 1024"
    if sys.platform == "darwin"
    else _RUSAGE
)
"""An expression for a process to evaluate at its end: KiB, of physical memory."""

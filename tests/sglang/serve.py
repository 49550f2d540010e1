"""serve.py PARENT_PID [sglang options]: becomes an SGLang server that ends when its parent does.

The kernel's parent-death signal outlives exec, so that a test run killed with -9 leaves no server behind.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h

if __name__ == "__main__":
    parent = int(sys.argv[1])
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it died before the signal was asked for
        sys.exit("the process that wanted this server is gone")
    os.execv(sys.executable, [sys.executable, "-m", "sglang.launch_server", *sys.argv[2:]])

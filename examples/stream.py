#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stream.py MODEL [DEVICE]: moves a checkpoint to a device tensor by tensor, in bounded memory.

Prints mean and standard deviation of each tensor, and the peak memory of the process at the end.
Needs torch.
"""
import resource
import sys

import tare


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cpu"
    for name, tensor in tare.stream(path, device=device, window=64 << 20):
        if tensor.is_floating_point() and tensor.numel() > 1:
            values = tensor.float()
            print(f"{values.mean():12.5f} {values.std():12.5f}  {name}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory: {peak / 1024:.0f} MiB")


main()

# SPDX-License-Identifier: MIT
"""A plugin of pytest: what imports safetensors gets tare in its place."""
import importlib
import sys

import tare.safetensors

sys.modules["safetensors"] = tare.safetensors
for name in ("numpy", "torch"):
    sys.modules["safetensors." + name] = importlib.import_module("tare.safetensors." + name)

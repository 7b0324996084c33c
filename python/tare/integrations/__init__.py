# SPDX-License-Identifier: MIT
"""Loaders for other programs. Each module imports its host when it is used, none is needed."""

"""The three images: what goes into them, whether they are current, how they are built. ``python -m sandbox.images``."""

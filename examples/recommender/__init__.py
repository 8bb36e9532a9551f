"""A recommender end to end, in NumPy alone, PyTorch or JAX: see docs/recommender.md."""

import os

# Matrices this small are multiplied by one thread before two have agreed who does what, above all on a busy machine.
for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_library, "1")

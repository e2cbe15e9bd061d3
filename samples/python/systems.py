"""The 30 systems of all families, and how results are compared."""

import numpy as np

import family_000
import family_001
import family_002
import family_003
import family_004

# The PyTorch module, and the heed function.
SYSTEMS = {name: functions for family in (family_000, family_001, family_002, family_003, family_004)
           for name, functions in family.SYSTEMS.items()}


def distance(a, b):
    """The largest |a - b|, and whether it is within 2e-5 + 1e-4 |b| everywhere; NaN never is."""
    difference = np.abs(a.astype(np.float64) - b)
    return float(np.max(difference, initial=0)), bool((difference <= 2e-5 + 1e-4 * np.abs(b)).all())

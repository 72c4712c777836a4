"""Names for the array types that the whole project passes around."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntVector = NDArray[np.int32]
IntMatrix = NDArray[np.int32]
LongVector = NDArray[np.int64]
LongMatrix = NDArray[np.int64]
FloatVector = NDArray[np.float64]
FloatMatrix = NDArray[np.float64]
BoolVector = NDArray[np.bool_]

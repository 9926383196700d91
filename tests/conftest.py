"""The same numbers on every machine: one BLAS thread, no display, the same examples in property tests."""

import os

# Read once, when NumPy is first imported: so they are set before anything imports it.
for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[_threads] = "1"
os.environ["MPLBACKEND"] = "Agg"

from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],  # says how busy the machine is, not whether the law holds
)
settings.load_profile("deterministic")

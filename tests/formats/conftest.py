"""Hypothesis without a time limit, because the first example of a test may compile a kernel."""

from hypothesis import settings

settings.register_profile("kernels", deadline=None)
settings.load_profile("kernels")

"""Kernels are compiled once and cached under a fingerprint of their sources. (being written)"""

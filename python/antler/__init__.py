"""Antler: reconstruct dynamical systems from time series."""

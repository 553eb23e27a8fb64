"""Exports a trained run for serving and for devices: `python -m export RUN`."""

"""Measurements; see RESULTS.md."""

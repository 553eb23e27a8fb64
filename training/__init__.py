"""Trains a `tfxformer.Transformer`: `python -m training RECIPE`."""

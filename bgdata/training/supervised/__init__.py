"""Supervised learning: networks learn the chances of labelled positions."""

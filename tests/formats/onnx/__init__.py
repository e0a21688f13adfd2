"""Tests of our ONNX files."""

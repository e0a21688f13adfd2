"""The ONNX files that we write."""

"""Networks of bgdata as files of ONNX and PyTorch: inputs, classes, layers and rules in one graph, in exact
integers."""

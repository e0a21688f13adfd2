"""Our networks as ONNX files: inputs, classes, layers and the limits of the rules in one graph, in exact integers."""

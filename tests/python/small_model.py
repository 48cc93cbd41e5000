"""The model of tests that need no particular one: two inputs, two classes."""

LAYERS = """
[model]
name = "small"
input = [2]
[[model.layers]]
type = "linear"
name = "scores"
block = "A"
out_features = 2
"""
#: A configuration that trains it. Further keys of [execution] may follow.
TRAINING = LAYERS + """
[execution]
mode = "training"
"""

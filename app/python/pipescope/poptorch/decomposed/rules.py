"""The functions that take the place of PyTorch's while a model is traced (__init__.py)."""

#: {function of PyTorch: the function in its place}
RULES = {}


def rule(*functions):
    """Decorate a function: it takes the place of these functions of PyTorch."""

    def register(decomposition):
        for function in functions:
            RULES[function] = decomposition
        return decomposition

    return register


def axis_of(dim, x):
    """Return the number of an axis of a tensor, counted from 0. An axis that it lacks is PyTorch's IndexError."""
    count = max(x.dim(), 1)
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim % count

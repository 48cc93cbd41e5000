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

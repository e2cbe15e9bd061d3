"""PyTorch, if it is installed. Without it the classes of the families can still be defined, and their heed functions run."""

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

    class nn:  # noqa: N801  (the name that PyTorch gives it)
        Module = object

"""Prints the normalized mean square error of matmuls of normally distributed matrices with 8-bit elements, one scale for each row
of a and each column of b, beside that of f16. The error is why matrix units do not use int8 by default. Needs numpy."""
import numpy as np

SIDE = 256  # rows of a, columns of b


def int8(x, axis):
    scale = np.abs(x).max(axis=axis, keepdims=True) / 127
    return np.round(x / scale) * scale


def f16(x, axis):
    return x.astype(np.float16).astype(np.float64)


def error(a, b, exact):
    return np.sum((a @ b - exact) ** 2) / np.sum(exact**2)


random = np.random.default_rng(1)
print("depth   int8      int8 weights  f16")
for depth in (64, 768, 4096):
    a, b = random.standard_normal((SIDE, depth)), random.standard_normal((depth, SIDE))
    exact = a @ b
    errors = [error(int8(a, 1), int8(b, 0), exact), error(a, int8(b, 0), exact), error(f16(a, 1), f16(b, 0), exact)]
    print(f"{depth:5d}   {errors[0]:.1e}   {errors[1]:.1e}       {errors[2]:.1e}")

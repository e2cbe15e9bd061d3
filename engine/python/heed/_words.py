"""The numbers of C's enumerators, by their words in Python. Made by engine/c/generate.py of the C++ headers: change those, and run it."""

from __future__ import annotations

import enum
from typing import Dict


class Status(enum.IntEnum):
    """The kind of a failure."""

    OK = 0
    INVALID_ARGUMENT = 1  # a parameter is outside its documented range
    INVALID_GRAPH = 2  # the graph carries a mistake made while it was built
    SHAPE_MISMATCH = 3  # shapes that must agree do not
    DTYPE_MISMATCH = 4  # element types that must agree do not
    MISSING_WEIGHT = 5  # the graph names a weight that the Weights do not hold
    MISSING_BUFFER = 6  # an input or output of the plan was not bound
    EXTENT_OUT_OF_RANGE = 7  # an extent is below 1, above the maximum it was declared with, or not given
    BUFFER_TOO_SMALL = 8  # a bound buffer holds fewer bytes than the tensor needs
    INDEX_OUT_OF_RANGE = 9  # an embedding id lies outside its table, or an index of append or take beyond the end
    NOT_FOUND = 10  # no device, file or name matches
    UNSUPPORTED = 11  # valid, but this device or this version cannot do it
    OUT_OF_MEMORY = 12  # host memory
    OUT_OF_DEVICE_MEMORY = 13
    DEVICE_LOST = 14  # the GPU stopped; the same graph can be compiled for the CPU
    INVALID_FILE = 15  # damaged or hostile file content
    DRIVER_ERROR = 16  # Vulkan returned an error that has no closer name here
    NOT_READY = 17  # some pipelines of the plan were not made yet; see Plan.prepare
    FILE_ERROR = 18  # a file cannot be written: the disk is full, or the folder is not there


DTYPE: Dict[str, int] = {"f32": 0, "f16": 1, "bf16": 2, "i32": 3, "u8": 4, "q8_0": 5, "q4_0": 6, "q4_1": 7, "q5_0": 8, "q5_1": 9,
    "q4_k": 10, "q5_k": 11, "q6_k": 12}
LOG_LEVEL: Dict[str, int] = {"debug": 0, "info": 1, "warning": 2, "error": 3}
ACTIVATION: Dict[str, int] = {"none": 0, "relu": 1, "gelu_erf": 2, "gelu_tanh": 3, "silu": 4, "tanh": 5}
CAUSAL: Dict[str, int] = {"none": 0, "top_left": 1, "bottom_right": 2}
MASK_MEANING: Dict[str, int] = {"exclude": 0, "keep": 1}
REDUCTION: Dict[str, int] = {"sum": 0, "mean": 1, "product": 2, "max": 3, "min": 4, "log_sum_exp": 5, "l2": 6}
SCORES: Dict[str, int] = {"none": 0, "scaled": 1, "capped": 2, "masked": 3}
PADDING: Dict[str, int] = {"constant": 0, "reflect": 1, "edge": 2, "wrap": 3}
ROTARY_PAIRS: Dict[str, int] = {"adjacent": 0, "halves": 1}
ROTARY_SCALING_KIND: Dict[str, int] = {"none": 0, "linear": 1, "llama3": 2}
NORM_PLACEMENT: Dict[str, int] = {"post": 0, "pre": 1}
NORM_KIND: Dict[str, int] = {"layer": 0, "rms": 1}
LOSS_REDUCTION: Dict[str, int] = {"none": 0, "sum": 1, "mean": 2}
DEVICE_KIND: Dict[str, int] = {"cpu": 0, "discrete_gpu": 1, "integrated_gpu": 2, "virtual_gpu": 3, "software_gpu": 4,
    "other_gpu": 5}
PIPELINE_CREATION: Dict[str, int] = {"now": 0, "deferred": 1, "background": 2}
SELF_TEST_VERDICT: Dict[str, int] = {"passed": 0, "wrong": 1, "failed": 2, "timed_out": 3, "unused": 4}
UPDATE_RULE: Dict[str, int] = {"adamw": 0, "sgd": 1}
INITIAL: Dict[str, int] = {"zeros": 0, "ones": 1, "normal": 2, "xavier_uniform": 3, "xavier_normal": 4, "kaiming_uniform": 5,
    "kaiming_normal": 6}
OVERFLOW: Dict[str, int] = {"drop_oldest": 0, "stop": 1}
TEXT_END: Dict[str, int] = {"none": 0, "end_of_turn": 1, "stop_string": 2, "most_tokens": 3, "context_full": 4, "cancelled": 5,
    "complete": 6, "no_token": 7}
SPEECH_TASK: Dict[str, int] = {"transcribe": 0, "translate": 1}
MEMORY_USE: Dict[str, int] = {"device": 0, "constants": 1, "staging": 2, "shared": 3}

#!/usr/bin/env python3
"""Writes witness.onnx with PyPI's onnx (1.23.2), so that model_file_test.cpp also reads a file that heed's tests did not write.

    witness.py [FILE]
"""
import pathlib
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

TYPES = ("FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 BOOL FLOAT16 DOUBLE UINT32 UINT64 BFLOAT16").split()


def initializers():
    for name in TYPES:
        kind = getattr(TensorProto, name)
        values = [0, 1, 1] if name == "BOOL" else [0, 1, 100] if name.startswith("UINT") else [0, 1, -100]
        yield helper.make_tensor(name + ".listed", kind, [3, 1], values)
        yield numpy_helper.from_array(np.array([values]).T.astype(helper.tensor_dtype_to_np_dtype(kind)), name + ".raw")


def model():
    f32, branch = TensorProto.FLOAT, helper.make_tensor_value_info("b", TensorProto.FLOAT, None)
    branches = [helper.make_graph([helper.make_node(op, ["x"], ["b"])], op, [], [branch]) for op in ("Neg", "Abs")]
    nodes = [
        helper.make_node("Constant", [], ["flag"], "constant", value=helper.make_tensor("", TensorProto.BOOL, [], [True])),
        helper.make_node("If", ["flag"], ["t"], "choice", then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Scaled", ["t"], ["y"], "", domain="local", by=2.5),
        helper.make_node("Clip", ["y", "", "FLOAT.raw"], ["z"], "na\u00efve"),
    ]
    scaled = helper.make_function("local", "Scaled", ["a"], ["b"], [
        helper.make_node("Constant", [], ["s"]), helper.make_node("Mul", ["a", "s"], ["b"])],
        [helper.make_opsetid("", 18)], ["by"])
    by = helper.make_attribute("value_float", 0.0)
    by.ref_attr_name = "by"
    by.ClearField("f")
    scaled.node[0].attribute.append(by)
    graph = helper.make_graph(nodes, "witness", [helper.make_tensor_value_info("x", f32, ["batch", 3, None])],
                              [helper.make_tensor_value_info("z", f32, ["batch", 3, 7])], list(initializers()))
    return helper.make_model(graph, producer_name="witness.py", functions=[scaled], ir_version=10,
                             opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("local", 1)])


made = model()
checker.check_model(made)
path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("witness.onnx"))
path.write_bytes(made.SerializeToString(deterministic=True))

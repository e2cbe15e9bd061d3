"""The interface as the writers need it: the declarations of the headers, their C names, and how each type is converted from C to C++."""

from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Dict, List, Optional, Tuple

import headers
import interface
from headers import Enum, Function, Member, Misunderstood, Struct

NUMBERS = {"int": "int32_t", "int64_t": "int64_t", "uint32_t": "uint32_t", "uint64_t": "uint64_t", "float": "float", "double": "double",
           "size_t": "size_t"}
TEXTS = ("std::string_view", "std::string")


def snake(name: str) -> str:
    """GeluErf -> gelu_erf."""
    if name in interface.WORDS:
        return interface.WORDS[name]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("DType", "Dtype")).lower()


@dataclasses.dataclass
class Type:
    """The C++ type of a member or parameter. `kind` selects its form in C; `of` is the enum or struct."""

    kind: str
    cpp: str
    of: str = ""

    @property
    def is_optional(self) -> bool:
        return self.kind.startswith("optional ")


class Interface:
    def __init__(self, include: pathlib.Path) -> None:
        self.headers = headers.read(include, interface.HEADERS)
        self.enums, self.structs, self.functions, self.constants = headers.merged(self.headers)
        self.enum_names: Dict[str, Tuple[str, str]] = {}
        for name in self.enums:
            short = snake(name.rsplit("::", 1)[-1])
            self.enum_names[name] = interface.ENUMS.get(name, ("heed_" + short, f"HEED_{short.upper()}_"))
        self.options = [s for s in self.structs.values() if not self.is_by_hand(s.name) and s.name not in interface.RESULTS]
        self.results = [self.structs[name] for name in interface.RESULTS]
        self._check()
        for struct in self.options:
            for member in struct.members:
                self.type_of(member.type, struct.name, member)

    def _check(self) -> None:
        """Checks that everything is either generated or listed as written by hand, and that the lists have no unknown names."""
        known = set(self.enums) | set(self.structs) | {f.name for f in self.functions} | set(self.constants)
        for name in (*interface.ENUMS, *interface.STRUCTS, *interface.RESULTS, *interface.SHADER_ENUMS):
            if name not in known:
                raise Misunderstood(f"interface.py names {name}, which no header declares")
        for name in interface.BY_HAND - {"to_string"} - known:
            raise Misunderstood(f"interface.py names {name}, which no header declares")
        for struct, member in interface.MEMBERS:
            if struct not in known or member not in [m.name for m in self.structs[struct].members]:
                raise Misunderstood(f"interface.py names {struct}::{member}, which no header declares")
        signatures = {f.signature for f in self.functions}
        for signature in interface.OVERLOADS:
            if signature not in signatures:
                raise Misunderstood(f"interface.py names {signature}, which no header declares")
        made: Dict[str, Function] = {}
        self.operations: List[Function] = []  # of Graph
        self.layers: List[Function] = []  # of heed::nn
        for function in self.functions:
            scope = function.name.rpartition("::")[0]
            if self.is_by_hand(function.name):
                continue
            if any(p.type.startswith("std::initializer_list") for p in function.parameters):
                continue  # there is an overload with a span
            if scope not in ("Graph", "nn"):
                raise self.fail(function, f"{function.name} is neither of Graph nor of heed::nn; is it written by hand?")
            name = self.c_function(function)
            if name in made:
                raise self.fail(function, f"{function.signature} would be {name}, as another function; give it a name in OVERLOADS")
            made[name] = function
            (self.operations if scope == "Graph" else self.layers).append(function)
        for name, constant in self.constants.items():
            if self.is_by_hand(name):
                continue
            if self.find(constant.type, name) not in self.structs:
                raise Misunderstood(f"the constant {name} is of {constant.type}; is it written by hand?")

    @staticmethod
    def fail(where: object, what: str) -> Misunderstood:
        header, line = getattr(where, "header", "?"), getattr(where, "line", 0)
        return Misunderstood(f"{header}:{line}: {what}")

    @staticmethod
    def is_by_hand(name: str) -> bool:
        """Members of a class that is written by hand are also written by hand, except those of Graph."""
        scope = name.rpartition("::")[0]
        return name in interface.BY_HAND or (scope != "Graph" and scope in interface.BY_HAND)

    # --- Names ------------------------------------------------------------------------------------------------------------

    def find(self, name: str, scope: str) -> str:
        """The full name of a type that is used within a scope."""
        parts = scope.split("::")
        for end in range(len(parts), -1, -1):
            full = "::".join([*parts[:end], name])
            if full in self.enums or full in self.structs:
                return full
        return name

    def c_struct(self, name: str) -> str:
        return interface.STRUCTS.get(name, "heed_" + snake(name.rsplit("::", 1)[-1]))

    def c_enumerator(self, enum: str, value: str) -> str:
        prefix = self.enum_names[enum][1]
        repeated = prefix.removesuffix("_").rsplit("_", 1)[-1] + "_"  # HEED_END_ and END_OF_TURN
        return prefix + snake(value).upper().removeprefix(repeated)

    def c_function(self, function: Function) -> str:
        scope, _, name = function.name.rpartition("::")
        name = interface.OVERLOADS.get(function.signature, name)
        return f"heed_{snake(scope.rsplit('::', 1)[-1])}_{name}"

    def c_constant(self, name: str) -> str:
        """nn::kFusedQkv -> heed_nn_fused_qkv."""
        scope, _, short = name.rpartition("::")
        return f"heed_{snake(scope)}_{snake(short.removeprefix('k'))}"

    def named_constants(self) -> List[headers.Constant]:
        return [c for name, c in self.constants.items() if not self.is_by_hand(name)]

    # --- Types ------------------------------------------------------------------------------------------------------------

    def type_of(self, cpp: str, scope: str, where: Member) -> Type:
        if (scope, where.name) in interface.MEMBERS:
            return Type("by hand", cpp)
        if cpp == "bool":
            return Type("bool", cpp)
        if cpp in NUMBERS:
            return Type("number", cpp)
        if cpp in TEXTS:
            return Type("text", cpp)
        if cpp in ("Tensor", "Dim", "Mask", "Log", "UploadProgress"):
            return Type(cpp.lower(), cpp)
        if cpp == "const Shape&":
            return Type("shape", cpp)
        if cpp == "Tensor*":
            return Type("wanted", cpp)
        if cpp == "std::span<const std::byte>":
            return Type("bytes", cpp)
        if headers.span_of(cpp) in ("Tensor", "int"):
            return Type(headers.span_of(cpp).lower() + "s", cpp)
        inner = headers.optional_of(cpp)
        if inner is not None:
            of = self.type_of(inner, scope, where)
            if of.kind in ("enum", "struct", "dim") or inner in ("float", "uint32_t"):
                return Type("optional " + of.kind, cpp, of.of or inner)
        inner = headers.const_ref_of(cpp) or cpp
        full = self.find(inner, scope)
        if full in self.enums:
            return Type("enum", cpp, full)
        if full in self.structs and full not in interface.BY_HAND:
            return Type("struct", cpp, full)
        raise Misunderstood(f"line {where.line}: {scope} has {where.name} of the type {cpp}, which the generator does not know")

    def member_types(self, struct: Struct) -> List[Tuple[Member, Type]]:
        return [(m, self.type_of(m.type, struct.name, m)) for m in struct.members]

    def parameters(self, function: Function) -> List[Tuple[Member, Type]]:
        """The parameters without the graph."""
        scope = function.name.rpartition("::")[0]
        given = function.parameters[1:] if scope == "nn" else function.parameters
        if scope == "nn" and function.parameters[0].type != "Graph&":
            raise self.fail(function, f"{function.name} does not begin with a Graph&")
        given = [dataclasses.replace(p, default=interface.DEFAULTS.get((function.name, p.name), p.default)) for p in given]
        return [(p, self.type_of(p.type, scope, p)) for p in given]

    def needs_graph(self, struct: str) -> bool:
        """Whether a struct contains tensors or dims, so that its conversion needs a graph."""
        for _, kind in self.member_types(self.structs[struct]):
            if kind.kind in ("tensor", "dim", "mask", "wanted", "optional dim"):
                return True
            if kind.kind in ("struct", "optional struct") and self.needs_graph(kind.of):
                return True
        return False

    def gives_weights(self, struct: str) -> bool:
        """Whether a struct requests tensors in addition to the result."""
        return any(t.kind == "wanted" or (t.kind in ("struct", "optional struct") and self.gives_weights(t.of))
                   for _, t in self.member_types(self.structs[struct]))

"""Writes the C headers, and the C++ files that forward the calls."""

from __future__ import annotations

import textwrap
from typing import Dict, List, Tuple

import interface
from comments import InC, reflowed
from headers import Enum, Function, Member, Struct
from model import NUMBERS, Interface, Type, snake

WIDTH = 120
MADE = "Made by engine/c/generate.py of the C++ headers: change those, and run it."


def block(lines: List[str], indent: str = "") -> List[str]:
    return [f"{indent}// {line}".rstrip() for line in reflowed(lines, WIDTH - len(indent) - 3)]


def header(guard: str, intro: List[str], includes: List[str], body: List[str]) -> str:
    lines = [*block([MADE, "", *intro]), "// clang-format off", f"#ifndef {guard}", f"#define {guard}", ""]
    lines += [f"#include {name}" for name in includes]
    lines += ["", "#ifdef __cplusplus", 'extern "C" {', "#endif", "", *body]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""])


def prototype(result: str, name: str, parameters: List[str], behind: str) -> List[str]:
    """Wraps a prototype after commas."""
    parts = [part + "," for part in parameters[:-1]] + [(parameters[-1] if parameters else "void") + ")" + behind]
    lines = [f"{result} {name}({parts[0]}"]
    for part in parts[1:]:
        if len(lines[-1]) + 1 + len(part) > WIDTH:
            lines.append("    " + part)
        else:
            lines[-1] += " " + part
    return lines


def aligned(lines: List[str]) -> List[str]:
    """Aligns trailing comments of neighbouring lines in one column, if there is room."""
    out: List[str] = []
    run: List[Tuple[str, str]] = []

    def end() -> None:
        column = max((len(code) for code, _ in run), default=0)
        for code, comment in run:
            wide = f"{code:<{column}}  // {comment}"
            out.append(wide if len(wide) <= WIDTH else f"{code}  // {comment}")
        run.clear()

    for line in lines:
        code, mark, comment = line.partition("  // ")
        if mark and code.strip():
            run.append((code, comment))
        else:
            end()
            out.append(line)
    end()
    return out


class Writer:
    def __init__(self, made: Interface, translate: InC) -> None:
        self.made, self.translate = made, translate

    # --- Enums ------------------------------------------------------------------------------------------------------------

    def _enum(self, enum: Enum) -> List[str]:
        c_type, _ = self.made.enum_names[enum.name]
        lines = block(self.translate(enum.comment)) + [f"typedef int32_t {c_type};", "enum {"]
        for value in enum.values:
            line = f"  {self.made.c_enumerator(enum.name, value.name)} = {value.default},"
            comment = " ".join(self.translate(value.comment))
            if comment and len(line) + len(comment) + 4 > WIDTH:
                lines += block([comment], "  ") + [line]
            else:
                lines.append(f"{line}  // {comment}".rstrip(" /") if not comment else f"{line}  // {comment}")
        return [*aligned(lines), "};", ""]

    def enums_h(self) -> str:
        body = [line for enum in self.made.enums.values() for line in self._enum(enum)]
        return header("HEED_C_ENUMS_H", ["Enums of the interface. Their numbers are those of C++ and of the shaders."], ["<stdint.h>"], body)

    def enums_glsl(self, functions: List[str]) -> str:
        """`functions` are the enumerators of the sheet of elementwise functions, in order."""
        lines = [f"// {MADE}", "#ifndef HEED_ENUMS_GLSL", "#define HEED_ENUMS_GLSL"]
        for name in interface.SHADER_ENUMS:
            lines += [f"#define {self.made.c_enumerator(name, v.name)} {v.default}u" for v in self.made.enums[name].values]
        lines += [f"#define HEED_FUNCTION_{snake(name).upper()} {i}u" for i, name in enumerate(functions)]
        return "\n".join([*lines, "#endif", ""])

    # --- Members and parameters -----------------------------------------------------------------------------------------------

    def _declared(self, name: str, kind: Type) -> List[Tuple[str, str]]:
        """The (type, name) pairs in C for a member or parameter."""
        simple = {"bool": "int32_t", "text": "const char*", "tensor": "heed_tensor", "dim": "heed_dim", "optional dim": "heed_dim",
                  "wanted": "heed_tensor*", "log": "const heed_log*"}
        if kind.kind == "number":
            return [(NUMBERS[kind.cpp], name)]
        if kind.kind in simple:
            return [(simple[kind.kind], name)]
        if kind.kind in ("enum", "optional enum"):
            return [(self.made.enum_names[kind.of][0], name)]
        if kind.kind == "optional number":
            return [("float" if kind.of == "float" else "int64_t", name)]
        if kind.kind == "struct":
            return [(self.made.c_struct(kind.of), name)]
        if kind.kind == "optional struct":
            return [(f"const {self.made.c_struct(kind.of)}*", name)]
        if kind.kind == "mask":
            return [("heed_tensor", name), ("heed_mask_meaning", name + "_meaning")]
        if kind.kind == "uploadprogress":
            return [("void (*)(void* user, uint64_t done, uint64_t total)", name), ("void*", name + "_user")]
        if kind.kind == "bytes":
            return [("const void*", name), ("size_t", name + "_bytes")]
        if kind.kind == "shape":
            return [("const heed_dim*", name), ("size_t", "rank")]
        if kind.kind in ("tensors", "ints"):
            return [("const heed_tensor*" if kind.kind == "tensors" else "const int32_t*", name), ("size_t", name + "_count")]
        raise AssertionError(kind)

    @staticmethod
    def _declaration(c_type: str, name: str) -> str:
        if "(*)" in c_type:
            return c_type.replace("(*)", f"(*{name})", 1)
        return f"{c_type} {name}"

    def _members(self, struct: Struct, member: Member, kind: Type) -> List[Tuple[str, str]]:
        by_hand = interface.MEMBERS.get((struct.name, member.name))
        if by_hand is not None:
            return [(c_type, name) for c_type, name, _ in by_hand[0]]
        return self._declared(member.name, kind)

    # --- Structs ------------------------------------------------------------------------------------------------------------

    UNSET = {"optional number": "NaN: not set", "optional dim": "-1: not set", "optional enum": "HEED_DTYPE_DEFAULT: not set",
             "optional struct": "NULL: not set", "wanted": "NULL: not wanted", "log": "NULL: none; copied"}

    def _comment(self, struct: Struct, member: Member, kind: Type) -> List[str]:
        by_hand = interface.MEMBERS.get((struct.name, member.name))
        lines = self.translate([by_hand[1]] if by_hand else member.comment)
        unset = self.UNSET.get(kind.kind)
        if by_hand is None and unset:
            if kind.of == "uint32_t":
                unset = "-1: not set"
            if lines and lines[-1]:
                lines[-1] += f". {unset}" if not lines[-1].endswith(".") else f" {unset}."
            else:
                lines = [unset]
        return lines

    def _struct(self, struct: Struct) -> List[str]:
        name = self.made.c_struct(struct.name)
        lines = block(self.translate(struct.comment)) + [f"typedef struct {name} {{", f"  size_t size;  // set by {name}_init"]
        shown: List[str] = []  # the comment already written above, for members that share one
        for member, kind in self.made.member_types(struct):
            declared = [self._declaration(*d) + ";" for d in self._members(struct, member, kind)]
            comment = self._comment(struct, member, kind)
            text = " ".join(comment)
            if member.comment and member.comment is shown:
                text, comment = "", []
            shown = member.comment
            if not declared:
                continue
            line = "  " + declared[0] + (f"  // {text}" if text else "")
            if len(line) > WIDTH or len(comment) > 1:
                lines += block(comment, "  ")
                line = "  " + declared[0]
            lines.append(line)
            lines += ["  " + d for d in declared[1:]]
        lines.append(f"}} {name};")
        return [*aligned(lines), f"HEED_API heed_status {name}_init({name}* options);", ""]

    def _result(self, struct: Struct) -> List[str]:
        name = self.made.c_struct(struct.name)
        lines = block(self.translate(struct.comment)) + [f"typedef struct {name} {{"]
        for member in struct.members:
            comment = self.translate(member.comment)
            line = f"  heed_tensor {member.name};"
            if len(comment) == 1 and len(line) + len(comment[0]) + 4 <= WIDTH:
                lines.append(f"{line}  // {comment[0]}")
            else:
                lines += block(comment, "  ") + [line]
        return [*aligned(lines), f"}} {name};", ""]

    def options_h(self) -> str:
        intro = [
            "Options. Each struct has a function that fills it with C++'s defaults. Calls refuse a struct that it has not filled:",
            "",
            "  heed_matmul_options options;",
            "  heed_matmul_options_init(&options);",
            "  options.transpose_b = 1;",
            "",
            "Calls accept NULL for these defaults. Flags are int32_t: 0 or 1. Tensors that are 0 and texts that are NULL are not used. "
            "A mask has a second member for its meaning: set both."]
        body = [line for s in self.made.options for line in self._struct(s)]
        body += [line for s in self.made.results for line in self._result(s)]
        for constant in self.made.named_constants():
            body += block(self.translate(constant.comment)) + [self._constant(constant) + ";", ""]
        return header("HEED_C_OPTIONS_H", intro, ["<heed/c/base.h>"], body)

    def _constant(self, constant: object) -> str:
        kind = self.made.c_struct(self.made.find(constant.type, constant.name))  # type: ignore[attr-defined]
        return f"HEED_API const {kind}* {self.made.c_constant(constant.name)}(void)"  # type: ignore[attr-defined]

    # --- Functions --------------------------------------------------------------------------------------------------------

    def _signature(self, function: Function) -> Tuple[str, List[str]]:
        """The type of the result, and the parameters."""
        parameters = ["heed_graph* graph"]
        for member, kind in self.made.parameters(function):
            if kind.kind == "struct":
                parameters.append(f"const {self.made.c_struct(kind.of)}* {member.name}")
            else:
                parameters += [self._declaration(*d) for d in self._declared(member.name, kind)]
        result = {"Tensor": "heed_tensor", "Dim": "heed_dim", "void": "heed_status"}.get(function.result)
        if result is None:
            full = self.made.find(function.result, function.name)
            if full not in interface.RESULTS:
                raise self.made.fail(function, f"{function.name} returns {function.result}, which the generator does not know")
            result = "heed_tensor"
            parameters.append(f"{self.made.c_struct(full)}* result")
        return result, parameters

    def functions_h(self, guard: str, intro: List[str], includes: List[str], functions: List[Function]) -> str:
        body: List[str] = []
        for function in functions:
            result, parameters = self._signature(function)
            comment = self.translate(function.comment)
            if parameters[-1].endswith("* result"):
                first = self.made.structs[self.made.find(function.result, function.name)].members[0].name
                comment.append(f"Returns `{first}`; *result, if not NULL, receives all results.")
            if body and not comment and body[-1] == "":
                body.pop()
            body += block(comment) + prototype("HEED_API " + result, self.made.c_function(function), parameters, ";") + [""]
        return header(guard, intro, includes, body)

    def operations_h(self) -> str:
        return self.functions_h("HEED_C_OPERATIONS_H", [
            "Operations of graphs. graph.h has the rules for all of them. An invalid tensor is 0."],
            ["<heed/c/options.h>"], self.made.operations)

    def nn_h(self) -> str:
        intro = next(h.intro for h in self.made.headers if h.name == "nn.hpp")
        kept = [line for line in intro if not line.startswith("  ")]
        kept = [line for i, line in enumerate(kept) if line or (i and kept[i - 1])]
        return self.functions_h("HEED_C_NN_H", self.translate(kept), ["<heed/c/graph.h>"], self.made.layers)

    # --- C++ ----------------------------------------------------------------------------------------------------------------

    def _read_member(self, struct: Struct, member: Member, kind: Type, call: str) -> List[str]:
        name = member.name
        given, made = f"given->{name}", f"made.{name}"
        if (struct.name, name) in interface.MEMBERS or kind.kind == "log":
            return []
        if kind.kind == "bool":
            return [f"{made} = {given} != 0;"]
        if kind.kind == "number":
            return [f"{made} = {given};"]
        if kind.kind == "text":
            return [f"{made} = {call}.text_or({given});"]
        if kind.kind == "enum" and kind.of == "DType":
            return [f"{made} = {call}.dtype({given});"]
        if kind.kind == "optional enum" and kind.of == "DType":
            return [f"{made} = {call}.dtype_if({given});"]
        if kind.kind == "enum":
            return [f"{made} = {self._one_of(kind.of, given, name, call)};"]
        if kind.kind == "tensor":
            return [f"{made} = on.tensor_if({given});"]
        if kind.kind == "dim":
            return [f"{made} = on.dim({given});"]
        if kind.kind == "optional dim":
            return [f"if ({given} != -1) {made} = on.dim({given});"]
        if kind.kind == "optional number" and kind.of == "float":
            return [f"if (!std::isnan({given})) {made} = {given};"]
        if kind.kind == "optional number":
            return [f'{made} = {call}.word_if({given}, "{name}");']
        if kind.kind == "mask":
            return [f'{made} = on.mask({given}, {given}_meaning, "{name}");']
        if kind.kind == "wanted":
            return [f"{made} = on.wanted({given});"]
        if kind.kind in ("struct", "optional struct"):
            on = "on" if self.made.needs_graph(kind.of) else call
            if kind.kind == "struct":
                return [f"{made} = read({on}, &{given});"]
            return [f"if ({given} != nullptr) {made} = read({on}, {given});"]
        if kind.kind == "uploadprogress":
            return [f"{made} = {{{given}, {given}_user}};"]
        if kind.kind == "bytes":
            return [f'if ({call}.has_array({given}, {given}_bytes, "{name}"))',
                    f"  {made} = {{static_cast<const std::byte*>({given}), {given}_bytes}};"]
        raise self.made.fail(struct, f"{struct.name}::{name} of the kind {kind.kind} cannot be read from C")

    def _one_of(self, enum: str, given: str, name: str, call: str) -> str:
        last = self.made.enums[enum].values[-1].name
        return f'{call}.one_of({given}, heed::{enum}::{last}, "{name}")'

    def _write_member(self, struct: Struct, member: Member, kind: Type) -> List[str]:
        name = member.name
        by_hand = interface.MEMBERS.get((struct.name, name))
        if by_hand is not None:
            return [f"to.{c_name} = {default};" for _, c_name, default in by_hand[0]]
        to, source = f"to.{name}", f"from.{name}"
        if kind.kind in ("bool", "number"):
            return [f"{to} = {source};"]
        if kind.kind == "text":
            return [f"{to} = {source}.empty() ? nullptr : {source}.data();"]
        if kind.kind == "enum":
            return [f"{to} = static_cast<{self.made.enum_names[kind.of][0]}>({source});"]
        if kind.kind == "optional enum":
            return [f"{to} = {source} ? static_cast<{self.made.enum_names[kind.of][0]}>(*{source}) : -1;"]
        if kind.kind == "dim":
            return [f"{to} = {source}.value;"]
        if kind.kind == "optional dim":
            return [f"{to} = -1;"]
        if kind.kind == "optional number":
            return [f"{to} = {source} ? *{source} : {'NAN' if kind.of == 'float' else 'int64_t{-1}'};"]
        if kind.kind == "mask":
            return [f"{to}_meaning = -1;"]
        if kind.kind == "struct":
            return [f"{to} = to_c({source});"]
        return []  # zeros

    def _first(self, struct: Struct) -> str:
        return "Building& on" if self.made.needs_graph(struct.name) else "Call& call"

    def options_hpp(self) -> str:
        lines = [f"// {MADE}", "//", "// Conversions of options. `read` checks a C struct and converts it; NULL gives the defaults. `to_c` omits tensors, since they belong to a graph.",
                 "// clang-format off", "#pragma once", ""]
        lines += [f"#include <heed/{h.name}>" for h in self.made.headers if not h.name.startswith("vulkan")]
        lines += ["", '#include "c/graph_object.hpp"', "", "namespace heed::c {", ""]
        for struct in self.made.options:
            lines.append(f"heed::{struct.name} read({self._first(struct)}, const {self.made.c_struct(struct.name)}* given);")
            lines.append(f"{self.made.c_struct(struct.name)} to_c(const heed::{struct.name}& from);")
        return "\n".join([*lines, "", "}  // namespace heed::c", ""])

    def _conversions(self, struct: Struct) -> List[str]:
        c_name, first = self.made.c_struct(struct.name), self._first(struct)
        call = "on.call()" if first.startswith("Building") else "call"
        lines = [f"heed::{struct.name} read({first}, const {c_name}* given) {{", f"  heed::{struct.name} made;",
                 f'  if (given == nullptr || !check_struct({call}, given, sizeof(*given), "{c_name}")) return made;']
        for member, kind in self.made.member_types(struct):
            lines += ["  " + line for line in self._read_member(struct, member, kind, call)]
        written = ["  " + line for member, kind in self.made.member_types(struct) for line in self._write_member(struct, member, kind)]
        source = " from" if any("from." in line for line in written) else ""
        return [*lines, "  return made;", "}", "", f"{c_name} to_c(const heed::{struct.name}&{source}) {{", f"  {c_name} to = {{}};",
                "  to.size = sizeof(to);", *written, "  return to;", "}", ""]

    def options_cpp(self) -> str:
        lines = [f"// {MADE}", "// clang-format off", "#include <cmath>", "", '#include "c/generated/options.hpp"', "", "namespace heed::c {", ""]
        for struct in self.made.options:
            lines += self._conversions(struct)
        lines.append("// C and C++ have the same numbers for enumerators.")
        for enum in self.made.enums.values():
            if enum.name.startswith("vulkan::"):
                continue  # a build may lack it
            lines += [f"static_assert({self.made.c_enumerator(enum.name, v.name)} == static_cast<int>(heed::{enum.name}::{v.name}));"
                      for v in enum.values]
        lines += ["", "// Fills a struct of options with the defaults of C++'s Options. Texts point into a static object.",
                  "template <class Options, class T>", "static heed_status init(const char* function, T* options) {",
                  "  static const auto* const usual = new Options;  // never destroyed, so that no code runs at the process' exit",
                  "  Call call(function);", '  if (call.has(options, "options")) *options = to_c(*usual);', "  return call.status();", "}"]
        lines += ["", "}  // namespace heed::c", "", "using namespace heed::c;", ""]
        for struct in self.made.options:
            name = self.made.c_struct(struct.name)
            lines += [f"heed_status {name}_init({name}* options) {{ return init<heed::{struct.name}>(__func__, options); }}"]
        for constant in self.made.named_constants():
            kind = self.made.c_struct(self.made.find(constant.type, constant.name))
            lines += ["", f"const {kind}* {self.made.c_constant(constant.name)}(void) {{",
                      f"  static const {kind} names = to_c(heed::{constant.name});", "  return &names;", "}"]
        return "\n".join(lines) + "\n"

    def _argument(self, function: Function, member: Member, kind: Type) -> str:
        name = member.name
        if kind.kind == "tensor":
            return f"on.tensor_if({name})" if member.default == "{}" else f'on.tensor({name}, "{name}")'
        if kind.kind == "enum" and kind.of != "DType":
            return self._one_of(kind.of, name, name, "on.call()")
        if kind.kind == "struct":
            return f"read({'on' if self.made.needs_graph(kind.of) else 'on.call()'}, {name})"
        simple: Dict[str, str] = {
            "bool": f"{name} != 0", "number": name, "text": f'on.call().text({name}, "{name}")', "dim": f"on.dim({name})",
            "enum": f"on.call().dtype({name})", "optional enum": f"on.call().dtype_if({name})",
            "optional number": f'on.call().word_if({name}, "{name}")', "mask": f'on.mask({name}, {name}_meaning, "{name}")',
            "shape": f"on.shape({name}, rank)", "tensors": f'on.tensors({name}, {name}_count, "{name}")',
            "ints": f'on.call().array({name}, {name}_count, "{name}")'}
        if kind.kind not in simple or (kind.kind == "optional number" and kind.of != "uint32_t"):
            raise self.made.fail(function, f"{function.name} has {name} of the kind {kind.kind}, which cannot be read from C")
        return simple[kind.kind]

    def _definition(self, function: Function) -> List[str]:
        result, parameters = self._signature(function)
        scope, _, name = function.name.rpartition("::")
        arguments = [self._argument(function, m, k) for m, k in self.made.parameters(function)]
        lines = prototype(result, self.made.c_function(function), parameters, " {")

        def call_on(graph: str) -> str:
            return f"{graph}.{name}({', '.join(arguments)})" if scope == "Graph" else \
                f"heed::{scope}::{name}({', '.join([graph, *arguments])})"

        if function.result == "void":
            lines += ["  Building on(__func__, graph);", f"  if (on) {call_on('on.graph().it')};", "  return on.end();", "}"]
        elif parameters[-1].endswith("* result"):
            full = self.made.find(function.result, function.name)
            members = [m.name for m in self.made.structs[full].members]
            names = ", ".join(f"on.name(made.{m})" for m in members)
            lines += ["  if (result != nullptr) *result = {};", "  Building on(__func__, graph);", "  if (!on) return 0;",
                      f"  const heed::{full} made = {call_on('on.graph().it')};", "  on.give();",
                      f"  const {self.made.c_struct(full)} named = {{{names}}};", "  if (result != nullptr) *result = named;",
                      f"  return named.{members[0]};", "}"]
        else:
            lines += ["  Building on(__func__, graph);", f"  return on.add([&](heed::Graph& g) {{ return {call_on('g')}; }});", "}"]
        return [*lines, ""]

    def functions_cpp(self, functions: List[Function]) -> str:
        lines = [f"// {MADE}", "// clang-format off", "#include <heed/c/heed.h>", "", '#include "c/generated/options.hpp"', "",
                 "using namespace heed::c;", ""]
        for function in functions:
            lines += self._definition(function)
        return "\n".join(lines[:-1]) + "\n"

"""Writes the part of the Python package that mirrors the headers: names of enumerators, dataclasses for options, operations and layers."""

from __future__ import annotations

import re
import textwrap
from typing import Collection, List, Tuple

import interface
from comments import InPython, reflowed
from headers import Function, Member, Struct
from model import Interface, Type, snake

WIDTH = 132
MADE = "Made by engine/c/generate.py of the C++ headers: change those, and run it."


def module(intro: str, imports: List[str], body: List[str]) -> str:
    return "\n".join([f'"""{intro} {MADE}"""', "", "from __future__ import annotations", "", *imports, "", *body]).rstrip("\n") + "\n"


def docstring(lines: List[str], indent: str) -> List[str]:
    if not lines:
        return []
    text = reflowed(lines, WIDTH - len(indent))
    while text and not text[-1]:
        text.pop()
    text = [f"{indent}{line}".rstrip() for line in text]
    text[0] = indent + '"""' + text[0].strip()
    if text[-1].endswith('"'):
        text[-1] += " "
    text[-1] += '"""'
    return text


def wrapped(text: str, indent: str) -> List[str]:
    """Wraps code after commas."""
    lines = [""]
    for part in re.split(r"(?<=,) ", text):
        if lines[-1] and len(lines[-1]) + 1 + len(part) > WIDTH:
            lines.append(indent + part)
        else:
            lines[-1] += (" " if lines[-1] else "") + part
    return lines


def used_of(module_name: str, names: List[str], body: List[str]) -> str:
    """An import of the names that the body uses."""
    text = "\n".join(body)
    used = [name for name in names if re.search(rf"\b{name}[(.]", text)]
    return f"from .{module_name} import {', '.join(used)}"


class Writer:
    def __init__(self, made: Interface, translate: InPython, of_elements: Collection[str]) -> None:
        self.made, self.translate = made, translate
        self.of_elements = {f"Graph::{name}" for name in of_elements}

    @staticmethod
    def short(name: str) -> str:
        return name.rsplit("::", 1)[-1]

    def words_of(self, enum: str) -> str:
        """The constant with an enum's words."""
        return self.made.enum_names[enum][0].removeprefix("heed_").upper()

    # --- Words ------------------------------------------------------------------------------------------------------------

    def words_py(self) -> str:
        status = self.made.enums["Status"]
        body = ["", "class Status(enum.IntEnum):", '    """The kind of a failure."""', ""]
        for value in status.values:
            comment = " ".join(self.translate(value.comment))
            body.append(f"    {snake(value.name).upper()} = {value.default}" + (f"  # {comment}" if comment else ""))
        body += ["", ""]
        for enum in self.made.enums.values():
            if enum.name == "Status":
                continue
            pairs = ", ".join(f'"{snake(v.name)}": {v.default}' for v in enum.values)
            body += wrapped(f"{self.words_of(enum.name)}: Dict[str, int] = {{{pairs}}}", "    ")
        return module("The numbers of C's enumerators, by their words in Python.", ["import enum", "from typing import Dict"], body)

    # --- Members ----------------------------------------------------------------------------------------------------------

    def default_of(self, member: Member, kind: Type, scope: str) -> str:
        """Returns the C++ default in Python syntax, or an empty text."""
        text = member.default
        if kind.kind in ("tensor", "mask", "text", "optional number", "optional dim", "optional enum", "optional struct", "log", "bytes",
                         "uploadprogress") and text in ("", "{}"):
            return "None" if text == "{}" or kind.kind in ("tensor", "mask") else ""
        if kind.kind == "text":
            return text
        if kind.kind == "bool":
            return {"true": "True", "false": "False", "": ""}[text]
        if kind.kind in ("number", "dim"):
            limits = {"UINT64_MAX": "2**64 - 1", "INT64_MAX": "2**63 - 1"}
            if text in limits:
                return limits[text]
            number = re.fullmatch(r"(-?[\d.]+(?:e[+-]?\d+)?)f?", text)
            if text and not number:
                raise self.made.fail(member, f"{scope}::{member.name} has the default {text!r}, which the generator does not know")
            return number.group(1) if number else ""
        if kind.kind == "enum":
            return f'"{snake(text.rsplit("::", 1)[-1])}"' if text else ""
        if kind.kind == "struct":
            short = self.short(kind.of)
            fields = ", ".join(f"{name}={value}" for name, value in re.findall(r"\.(\w+)=(\"[^\"]*\")", text))
            return f"field(default_factory=lambda: {short}({fields}))" if fields else f"field(default_factory={short})"
        raise self.made.fail(member, f"{scope}::{member.name} of the kind {kind.kind} has the default {text!r}")

    def hint_of(self, kind: Type, default: str) -> str:
        simple = {"bool": "bool", "text": "str", "tensor": "Tensor", "dim": "Size", "mask": "Mask", "enum": "str", "shape": "Sequence[Size]",
                  "tensors": "Sequence[Tensor]", "ints": "Sequence[int]", "optional dim": "Size", "optional enum": "str"}
        if kind.kind in ("number", "optional number"):
            hint = "float" if "float" in kind.cpp or "double" in kind.cpp else "int"
        elif kind.kind == "struct":
            hint = self.short(kind.of)
        elif kind.kind == "optional struct":
            hint = self.short(kind.of)
            if any(self.made.find(c.type, c.name) == kind.of for c in self.made.named_constants()):
                hint = f"Union[{hint}, str]"
        else:
            hint = simple[kind.kind]
        return f"Optional[{hint}]" if default == "None" else hint

    def how_of(self, kind: Type) -> str:
        """How _c.pack converts a field."""
        if kind.kind in ("enum", "optional enum"):
            return f"_words.{self.words_of(kind.of)}"
        if kind.kind in ("number", "optional number"):
            return '"float"' if "float" in kind.cpp or "double" in kind.cpp else '"int"'
        return {"bool": '"bool"', "text": '"text"', "tensor": '"tensor"', "dim": '"size"', "optional dim": '"size"', "mask": '"mask"',
                "wanted": '"wanted"', "struct": '"struct"', "optional struct": '"pointer"'}[kind.kind]

    def fields_of(self, struct: Struct) -> List[Tuple[Member, Type, str, str]]:
        """The Python fields of a struct as (member, type, name, default); others, such as callbacks, are written by hand."""
        found = []
        for member, kind in self.made.member_types(struct):
            if (struct.name, member.name) in interface.MEMBERS:
                shown = interface.PYTHON_MEMBERS.get((struct.name, member.name))
                if shown is not None:
                    found.append((member, Type(shown[0], shown[1], shown[1]), member.name, shown[2]))
            elif kind.kind == "wanted":
                found.append((member, kind, "return_" + member.name, "False"))
            elif kind.kind not in ("log", "uploadprogress", "bytes"):
                found.append((member, kind, member.name, self.default_of(member, kind, struct.name)))
        return found

    # --- Options ----------------------------------------------------------------------------------------------------------

    def fields_doc(self, struct: Struct) -> List[str]:
        """The docstring's text for each field: the words of an enum, and the field's comment."""
        lines: List[str] = []
        names: List[str] = []  # names of the fields that share a comment
        fields = self.fields_of(struct)
        for i, (member, kind, name, _) in enumerate(fields):
            names.append(name)
            if i + 1 < len(fields) and fields[i + 1][0].comment is member.comment and member.comment:
                continue
            text = " ".join(self.translate(member.comment)).strip()
            if kind.kind in ("enum", "optional enum") and kind.of in self.made.enums and kind.of != "DType":
                words = ", ".join(f'"{snake(value.name)}"' for value in self.made.enums[kind.of].values)
                text = f"one of {words}." + (f" {text[0].upper()}{text[1:]}" if text else "")
            elif kind.kind == "struct" and not text:
                text = f"{self.short(kind.of)}."
            if text:
                lines.append(f"- {', '.join(names)}: {text}" + ("" if text[-1] in ".:)" else "."))
            names = []
        return ["", *lines] if lines else []

    def _dataclass(self, struct: Struct) -> List[str]:
        comment = self.translate(struct.comment) or [f"Options of {snake(self.short(struct.name).removesuffix('Options'))}."]
        lines = ["", "@dataclass", f"class {self.short(struct.name)}:", *docstring([*comment, *self.fields_doc(struct)], "    "), ""]
        for _, kind, name, default in self.fields_of(struct):
            hint = "bool" if kind.kind == "wanted" else self.hint_of(kind, default)
            lines.append(f"    {name}: {hint}" + (f" = {default}" if default else ""))
        kinds = ", ".join(f'"{name}": {self.how_of(kind)}' for _, kind, name, _ in self.fields_of(struct))
        lines += ["", f'    _ctype: ClassVar[str] = "{self.made.c_struct(struct.name)}"',
                  *["    " + part for part in wrapped(f"_kinds: ClassVar[Dict[str, Any]] = {{{kinds}}}", "    ")]]
        return [*lines, ""]

    def _result(self, struct: Struct, gives_weights: bool) -> List[str]:
        fields, lines = [], []
        for member in struct.members:
            may_lack = any("invalid unless" in line for line in member.comment)
            comment = self.translate([line.replace("invalid unless", "None unless") for line in member.comment])
            fields.append(f"    {member.name}: {'Optional[Tensor]' if may_lack else 'Tensor'}")
            lines.append(f"- {member.name}: {' '.join(comment)}" + ("" if comment[-1].endswith(".") else "."))
        if gives_weights:
            fields.append("    weights: Tuple[Optional[Tensor], ...]")
            lines.append("- weights: of each attention of the options, if it asks for them.")
        intro = self.translate(struct.comment) or [f"Results of {snake(self.short(struct.name).removesuffix('Result'))}."]
        return ["", f"class {self.short(struct.name)}(NamedTuple):", *docstring([*intro, "", *lines], "    "), "", *fields, ""]

    def options_py(self) -> str:
        body: List[str] = []
        for struct in self.made.options:
            body += self._dataclass(struct)
        weighted = {self.made.find(f.result, f.name) for f in self.made.layers
                    if any(t.kind == "struct" and self.made.gives_weights(t.of) for _, t in self.made.parameters(f))}
        for struct in self.made.results:
            body += self._result(struct, struct.name in weighted)
        groups: List[str] = []
        for constant in self.made.named_constants():
            kind = self.made.find(constant.type, constant.name)
            fields = ", ".join(f"{n}={v}" for n, v in re.findall(r"\.(\w+)=(\"[^\"]*\")", constant.value))
            name = snake(self.short(constant.name).removeprefix("k"))
            body += ["", *[f"# {line}" for line in self.translate(constant.comment)], f"{name.upper()} = {self.short(kind)}({fields})"]
            groups.append(f'"{name}": {name.upper()}')
        body += ["", "# What may be given by name.", *wrapped(f"NAMED: Dict[str, Any] = {{{', '.join(groups)}}}", "    ")]
        imports = ["from dataclasses import dataclass, field", "from typing import Any, ClassVar, Dict, NamedTuple, Optional, Tuple, Union", "",
                   "from . import _words", "from .tensor import Mask, Size, Tensor"]
        return module("Options and results, with C++'s defaults.", imports, body)

    # --- Functions --------------------------------------------------------------------------------------------------------

    def _argument(self, function: Function, member: Member, kind: Type, graph: str) -> str:
        """The C argument for a parameter."""
        name = member.name
        given = {
            "tensor": f'{graph}._tensor_id({name}, "{name}")' if self._may_lack(member, kind) else f'{graph}._id_of({name}, "{name}")',
            "dim": f'{graph}._size_id({name}, "{name}")', "text": f'encoded({name}, "{name}")', "bool": f'truth({name}, "{name}")',
            "number": f'{"real" if kind.cpp in ("float", "double") else "whole" if "64" in kind.cpp else "int32"}({name}, "{name}")',
            "enum": f'word(_words.{self.words_of(kind.of) if kind.of in self.made.enums else ""}, {name}, "{name}")',
            "optional enum": f'word_if(_words.{self.words_of(kind.of) if kind.of in self.made.enums else ""}, {name}, "{name}")',
            "optional number": f'number_if({name}, "{name}")', "mask": f'*{graph}._mask({name}, "{name}")',
            "shape": f'*{graph}._shape({name}, "{name}")', "tensors": f'*{graph}._tensor_ids({name}, "{name}")', "ints": f'*ints({name}, "{name}")'}
        return given[kind.kind]

    @staticmethod
    def _may_lack(member: Member, kind: Type) -> bool:
        return member.default == "{}"

    def _parameter(self, function: Function, member: Member, kind: Type) -> str:
        default = self.default_of(member, kind, function.name) if member.default else ""
        return f"{member.name}: {self.hint_of(kind, default)}" + (f" = {default}" if default else "")

    def _operation(self, function: Function) -> List[str]:
        name = self.made.c_function(function).removeprefix("heed_graph_")
        parameters, arguments, lines = ["self"], ["self._c"], []
        may_be_numbers = ["a", "b"] if function.name in self.of_elements else []
        for member, kind in self.made.parameters(function):
            if member.name in may_be_numbers:
                parameters.append(f"{member.name}: Operand")
                if member.name == "a":
                    arguments.append("*self._operands(a=a, b=b)")
                continue
            if kind.kind != "struct":
                parameters.append(self._parameter(function, member, kind))
                arguments.append(self._argument(function, member, kind, "self"))
                continue
            fields = self.fields_of(self.made.structs[kind.of])
            parameters += ["*"] + [f"{n}: {self.hint_of(t, d)} = {d}" if not d.startswith("field(") else
                                   f"{n}: Optional[{self.short(t.of)}] = None" for _, t, n, d in fields]
            lines += wrapped(f"        options = {self.short(kind.of)}({', '.join(n for _, _, n, _ in fields)})", " " * 12)
            arguments.append("pack(options, keep, self)")
        struct = self.made.find(function.result, function.name)
        if struct in interface.RESULTS:
            lines.append(f'        result = ffi.new("{self.made.c_struct(struct)} *")')
            arguments.append("result")
        keeps = "pack(options, keep, self)" in arguments
        call = f"lib.{self.made.c_function(function)}({', '.join(arguments)})"
        result = {"Tensor": "Tensor", "Dim": "Dim", "void": "None"}.get(function.result, self.short(struct))
        head = wrapped(f"    def {name}({', '.join(parameters)}) -> {result}:", " " * 8)
        doc = self.translate(function.comment)
        if function.name in self.of_elements:
            named = [member.name for member, _ in self.made.parameters(function)]
            doc = [*doc, "", "The shapes of a and b broadcast; one of them may be a number." if "b" in named else "The result has x's shape."]
        for _, kind in self.made.parameters(function):
            if kind.kind == "struct":
                doc = [*doc, *self.fields_doc(self.made.structs[kind.of])]
        body = [*docstring(doc, " " * 8)]
        if keeps:
            body.append("        keep = Keep()")
        body += lines
        if struct in interface.RESULTS:
            body += wrapped(f"        self._new({call})", " " * 12)
            body.append(f"        return {self.short(struct)}(*self._all_of(result))")
        else:
            made = {"Tensor": f"return self._new({call})", "Dim": f"return self._dim({call})", "void": f"self._check({call})"}[function.result]
            body += wrapped(f"        {made}", " " * 12)
        return [*head, *body, ""]

    def operations_py(self) -> str:
        functions = [f for f in self.made.operations if f.name not in interface.PYTHON_BY_HAND]
        used = sorted({self.short(k.of) for f in functions for _, k in self.made.parameters(f) if k.kind == "struct"} |
                      {self.short(k.of) for f in functions for _, t in self.made.parameters(f) if t.kind == "struct"
                       for _, k, _, _ in self.fields_of(self.made.structs[t.of]) if k.kind == "struct"} |
                      {self.short(self.made.find(f.result, f.name)) for f in functions} - {"Tensor", "Dim", "void"})
        used = [u for u in used if u not in ("Tensor", "Dim", "void")]
        body = ["", "class Operations(Building):", '    """The operations of Graph."""', ""]
        for function in functions:
            body += self._operation(function)
        imports = ["from typing import Optional, Sequence", "", "from . import _words", "from ._building import Building",
                   used_of("_c", ["Keep", "encoded", "ffi", "int32", "ints", "lib", "number_if", "pack", "real", "truth", "whole", "word", "word_if"], body),
                   *wrapped(f"from ._options import {', '.join(used)}", "    ")[:1], "from .tensor import Dim, Mask, Operand, Size, Tensor"]
        imports[5] = f"from ._options import ({', '.join(used)})" if len(", ".join(used)) > 100 else imports[5]
        return module("Operations of graphs.", imports, body)

    def _layer(self, function: Function) -> List[str]:
        name = self.short(function.name)
        parameters, arguments, structs = [], ["g._c"], []
        for member, kind in self.made.parameters(function):
            if kind.kind == "struct":
                structs.append((member.name, kind))
                parameters.append(f"{member.name}: Optional[{self.short(kind.of)}] = None")
                arguments.append(f"pack({member.name}, keep, g)")
            else:
                parameters.append(self._parameter(function, member, kind))
                arguments.append(self._argument(function, member, kind, "g"))
        if structs:
            parameters.append("**fields: Any")
        first = self.made.parameters(function)[0][0].name
        struct = self.made.find(function.result, function.name)
        weighted = any(self.made.gives_weights(k.of) for _, k in structs)
        result = self.short(struct) if struct in interface.RESULTS else "Layer" if weighted else "Tensor"
        doc = self.translate(function.comment)
        if structs:
            doc = [*doc, "", f"Keywords are the fields of {' and '.join(dict.fromkeys(self.short(k.of) for _, k in structs))}."]
        body = [*docstring(doc, "    "), f'    g = graph_of({first}, "{first}")']
        if structs:
            body.append("    keep = Keep()")
            pairs = ", ".join(f"{n}=({self.short(k.of)}, {n})" for n, k in structs)
            body += wrapped(f"    {', '.join(n for n, _ in structs)}{',' if len(structs) == 1 else ''} = options_of(fields, {pairs})", " " * 8)
        if struct in interface.RESULTS:
            body.append(f'    result = ffi.new("{self.made.c_struct(struct)} *")')
            arguments.append("result")
        call = f"g._new(lib.{self.made.c_function(function)}({', '.join(arguments)}))"
        if struct in interface.RESULTS:
            body += wrapped(f"    {call}", " " * 8)
            more = ", tuple(g._given(keep))" if weighted else ""
            body.append(f"    return {self.short(struct)}(*g._all_of(result){more})")
        elif weighted:
            body += wrapped(f"    return g._with_weights({call}, keep)", " " * 8)
        else:
            body += wrapped(f"    return {call}", " " * 8)
        return ["", *wrapped(f"def {name}({', '.join(parameters)}) -> {result}:", " " * 8), *body, ""]

    def layers_py(self) -> str:
        functions = [f for f in self.made.layers if f.name not in interface.PYTHON_BY_HAND]
        used = sorted({self.short(k.of) for f in functions for _, k in self.made.parameters(f) if k.kind == "struct"} |
                      {self.short(self.made.find(f.result, f.name)) for f in functions} - {"Tensor"})
        body = ["", "# The output, or with return_weights the output and the weights of each attention, None where they are not asked for.",
                "Layer = Any", ""]
        for function in functions:
            body += self._layer(function)
        imports = ["from typing import Any, Optional", "", "from . import _words",
                   used_of("_c", ["Keep", "encoded", "ffi", "int32", "lib", "options_of", "pack", "real", "truth", "whole", "word", "word_if"], body),
                   *textwrap.wrap(f"from ._options import ({', '.join(used)})", WIDTH, subsequent_indent=" " * 23),
                   "from .tensor import Mask, Tensor, graph_of"]
        return module("Layers of heed.nn.", imports, body)

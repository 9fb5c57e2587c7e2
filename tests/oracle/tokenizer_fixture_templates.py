"""Chat templates, as their authors publish them, for make_tokenizer_fixtures.py."""

RAISE = "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
SYSTEM_FIRST = ("{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
                "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
                "{% set system_message = false %}{% endif %}")
ALTERNATE = "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}" + RAISE + "{% endif %}"

TEMPLATES = [
    {"name": "chatml",  # notes-mini
     "jinja": "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
              "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"},
    {"name": "chatml",  # SmolLM2
     "default_system": "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
     "jinja": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are "
              "a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + "
              "message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
              "{{ '<|im_start|>assistant\n' }}{% endif %}"},
    {"name": "chatml",  # Qwen2.5, without tools
     "default_system": "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
     "jinja": "{%- if messages[0]['role'] == 'system' %}\n    {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}\n"
              "{%- else %}\n    {{- '<|im_start|>system\\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\\n' }}\n"
              "{%- endif %}\n{%- for message in messages %}\n    {%- if (message.role == \"user\") or (message.role == \"system\" and not "
              "loop.first) or (message.role == \"assistant\") %}\n        {{- '<|im_start|>' + message.role + '\\n' + message.content + "
              "'<|im_end|>' + '\\n' }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n"
              "{%- endif %}\n"},
    {"name": "chatml",  # LFM2, without tools
     "jinja": "{{- bos_token -}}{%- for message in messages -%}{{- \"<|im_start|>\" + message[\"role\"] + \"\\n\" -}}"
              "{{- message[\"content\"] + \"<|im_end|>\\n\" -}}{%- endfor -%}{%- if add_generation_prompt -%}"
              "{{- \"<|im_start|>assistant\\n\" -}}{%- endif -%}"},
    {"name": "llama-2",
     "jinja": SYSTEM_FIRST + "{% for message in loop_messages %}" + ALTERNATE +
              "{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + "
              "message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}"
              "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
              "{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"},
    {"name": "llama-3",
     "jinja": "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + "
              "'<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}"
              "{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"},
    {"name": "llama-3",  # 3.1, without tools
     "jinja": "{{- bos_token }}\n{%- if not date_string is defined %}\n    {%- set date_string = \"26 Jul 2024\" %}\n{%- endif %}\n"
              "{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content']|trim %}\n    {%- set messages = "
              "messages[1:] %}\n{%- else %}\n    {%- set system_message = \"\" %}\n{%- endif %}\n"
              "{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}\n{{- \"Cutting Knowledge Date: December 2023\\n\" }}\n"
              "{{- \"Today Date: \" + date_string + \"\\n\\n\" }}\n{{- system_message }}\n{{- \"<|eot_id|>\" }}\n{%- for message in messages %}\n"
              "    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}\n"
              "{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}\n{%- endif %}\n"},
    {"name": "mistral", "system": False,  # 7B v0.1 and v0.2
     "jinja": "{{ bos_token }}{% for message in messages %}" + ALTERNATE + "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + "
              "' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and "
              "assistant roles are supported!') }}{% endif %}{% endfor %}"},
    {"name": "mistral-v3", "turns_max": 3,  # 7B v0.3, without tools; its system text stands before the last question
     "jinja": SYSTEM_FIRST + "{{- bos_token }}{%- for message in loop_messages %}{%- if message['role'] == 'user' %}{%- if loop.last and "
              "system_message %}{{- \"[INST] \" + system_message + \"\\n\\n\" + message[\"content\"] + \"[/INST]\" }}{%- else %}{{- \"[INST] \" + "
              "message[\"content\"] + \"[/INST]\" }}{%- endif %}{%- else %}{{- \" \" + message[\"content\"] + eos_token }}{%- endif %}{%- endfor %}"},
    {"name": "mistral-tekken", "turns_max": 3,  # Nemo, without tools
     "jinja": SYSTEM_FIRST + "{{- bos_token }}{%- for message in loop_messages %}{%- if message['role'] == 'user' %}{%- if loop.last and "
              "system_message %}{{- \"[INST]\" + system_message + \"\\n\\n\" + message[\"content\"] + \"[/INST]\" }}{%- else %}{{- \"[INST]\" + "
              "message[\"content\"] + \"[/INST]\" }}{%- endif %}{%- else %}{{- message[\"content\"] + eos_token }}{%- endif %}{%- endfor %}"},
    {"name": "gemma", "system": False,
     "jinja": "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
              "{% for message in messages %}" + ALTERNATE + "{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}"
              "{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}"
              "{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"},
    {"name": "gemma",  # 3, text only
     "jinja": "{{ bos_token }}\n{%- if messages[0]['role'] == 'system' -%}\n    {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}\n"
              "    {%- set loop_messages = messages[1:] -%}\n{%- else -%}\n    {%- set first_user_prefix = \"\" -%}\n    {%- set loop_messages = "
              "messages -%}\n{%- endif -%}\n{%- for message in loop_messages -%}\n    {%- if (message['role'] == 'assistant') -%}\n        "
              "{%- set role = \"model\" -%}\n    {%- else -%}\n        {%- set role = message['role'] -%}\n    {%- endif -%}\n    "
              "{{ '<start_of_turn>' + role + '\n' + (first_user_prefix if loop.first else \"\") }}\n    {%- if message['content'] is string -%}\n"
              "        {{ message['content'] | trim }}\n    {%- endif -%}\n    {{ '<end_of_turn>\n' }}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n    {{'<start_of_turn>model\n'}}\n{%- endif -%}\n"},
    {"name": "phi-3",
     "jinja": "{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}"
              "{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}"
              "{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}"
              "{% else %}{{ eos_token }}{% endif %}"},
    {"name": "phi-4",
     "jinja": "{% for message in messages %}{% if (message['role'] == 'system') %}{{'<|im_start|>system<|im_sep|>' + message['content'] + "
              "'<|im_end|>'}}{% elif (message['role'] == 'user') %}{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}"
              "{% elif (message['role'] == 'assistant') %}{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}{% endif %}"
              "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"},
]

MISTRAL_7 = ("{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{%- set system_message = messages[0]['content'] %}{%- set loop_messages = "
             "messages[1:] %}{%- else %}{%- set loop_messages = messages %}{%- endif %}")
ROLES = ("{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n"
         "{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n"
         "{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n"
         "{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}")
R1 = ("{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, "
      "system_prompt='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}"
      "{%- endif %}{%- endfor %}{{bos_token}}{{ns.system_prompt}}{%- for message in messages %}{%- if message['role'] == 'user' %}"
      "{{'<｜User｜>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none %}"
      "{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}"
      "{{'<｜Assistant｜>' + content + '<｜end▁of▁sentence｜>'}}{%- endif %}{%- endfor -%}{% if add_generation_prompt %}"
      "{{'<｜Assistant｜>HEAD'}}{% endif %}").replace("'<｜end▁of▁sentence｜>'", "eos_token")
SMOLLM3_THINKS = (
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face. Your role as an assistant involves thoroughly exploring questions "
    "through a systematic thinking process before providing the final precise and accurate solutions. This requires engaging in a comprehensive "
    "cycle of analysis, summarizing, exploration, reassessment, reflection, backtracking, and iteration to develop well-considered thinking "
    "process. Please structure your response into two main sections: Thought and Solution using the specified format: <think> Thought section "
    "</think> Solution section. In the Thought section, detail your reasoning process in steps. Each step should include detailed considerations "
    "such as analysing questions, summarizing relevant findings, brainstorming new ideas, verifying the accuracy of the current steps, refining "
    "any errors, and revisiting previous steps. In the Solution section, based on various attempts, explorations, and reflections from the "
    "Thought section, systematically present the final solution that you deem correct. The Solution section should be logical, accurate, and "
    "concise and detail necessary steps needed to reach the conclusion.")
SMOLLM3 = (
    "{%- if enable_thinking is not defined -%}\n{%- set enable_thinking = true -%}\n{%- endif -%}\n\n{%- if enable_thinking -%}\n"
    "{%- set reasoning_mode = \"/think\" -%}\n{%- else -%}\n{%- set reasoning_mode = \"/no_think\" -%}\n{%- endif -%}\n\n"
    "{{- \"<|im_start|>system\\n\" -}}\n{%- if messages[0].role == \"system\" -%}\n{%- set system_message = messages[0].content -%}\n"
    "{%- set custom_instructions = system_message.replace(\"/no_think\", \"\").replace(\"/think\", \"\").rstrip() -%}\n{%- endif -%}\n"
    "{{- \"## Metadata\\n\\n\" -}}\n{{- \"Knowledge Cutoff Date: June 2025\\n\" -}}\n{{- \"Reasoning Mode: \" + reasoning_mode + \"\\n\\n\" -}}\n"
    "{{- \"## Custom Instructions\\n\\n\" -}}\n{%- if custom_instructions -%}\n{{- custom_instructions + \"\\n\\n\" -}}\n"
    "{%- elif reasoning_mode == \"/think\" -%}\n{{- \"" + SMOLLM3_THINKS + "\\n\\n\" -}}\n{%- else -%}\n"
    "{{- \"You are a helpful AI assistant named SmolLM, trained by Hugging Face.\\n\\n\" -}}\n{%- endif -%}\n"
    "{%- for message in messages -%}\n{%- set content = message.content if message.content is string else \"\" -%}\n"
    "{%- if message.role == \"user\" -%}\n    {{ \"<|im_start|>\" + message.role + \"\\n\"  + content + \"<|im_end|>\\n\" }}\n"
    "{%- elif message.role == \"assistant\" -%}\n    {% generation %}\n    {%- if reasoning_mode == \"/think\" -%}\n"
    "        {{ \"<|im_start|>assistant\\n\" + content.lstrip(\"\\n\") + \"<|im_end|>\\n\" }}\n    {%- else -%}\n"
    "        {{ \"<|im_start|>assistant\\n\" + \"<think>\\n\\n</think>\\n\" + content.lstrip(\"\\n\") + \"<|im_end|>\\n\" }}\n    {%- endif -%}\n"
    "    {% endgeneration %}\n{%- endif -%}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n{%- if reasoning_mode == \"/think\" -%}\n"
    "    {{ \"<|im_start|>assistant\\n\" }}\n{%- else -%}\n    {{ \"<|im_start|>assistant\\n\" + \"<think>\\n\\n</think>\\n\"  }}\n{%- endif -%}\n"
    "{%- endif -%}\n")
QWEN3 = (
    "{%- if messages[0].role == 'system' %}\n    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n{%- endif %}\n"
    "{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}\n{%- for message in messages[::-1] %}\n"
    "    {%- set index = (messages|length - 1) - loop.index0 %}\n    {%- if ns.multi_step_tool and message.role == \"user\" and message.content is "
    "string %}\n        {%- set ns.multi_step_tool = false %}\n        {%- set ns.last_query_index = index %}\n    {%- endif %}\n{%- endfor %}\n"
    "{%- for message in messages %}\n    {%- set content = message.content %}\n    {%- if (message.role == \"user\") or (message.role == \"system\" "
    "and not loop.first) %}\n        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}\n    {%- elif message.role == "
    "\"assistant\" %}\n        {%- set reasoning_content = '' %}\n        {%- if '</think>' in content %}\n            {%- set reasoning_content = "
    "content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n            {%- set content = "
    "content.split('</think>')[-1].lstrip('\\n') %}\n        {%- endif %}\n        {%- if loop.index0 > ns.last_query_index %}\n            "
    "{{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}\n"
    "        {%- else %}\n            {{- '<|im_start|>' + message.role + '\\n' + content }}\n        {%- endif %}\n        {{- '<|im_end|>\\n' }}\n"
    "    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n    {%- if enable_thinking is defined "
    "and enable_thinking is false %}\n        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- endif %}\n{%- endif %}")
QWEN35 = (  # without tools and images
    "{%- macro render_content(content, do_vision_count, is_system_content=false) %}\n    {{- content }}\n{%- endmacro %}\n"
    "{%- if messages[0].role == 'system' %}\n    {%- set content = render_content(messages[0].content, false, true)|trim %}\n"
    "    {{- '<|im_start|>system\\n' + content + '<|im_end|>\\n' }}\n{%- endif %}\n"
    "{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}\n{%- for message in messages[::-1] %}\n"
    "    {%- set index = (messages|length - 1) - loop.index0 %}\n    {%- if ns.multi_step_tool and message.role == \"user\" %}\n"
    "        {%- set ns.multi_step_tool = false %}\n        {%- set ns.last_query_index = index %}\n    {%- endif %}\n{%- endfor %}\n"
    "{%- for message in messages %}\n    {%- set content = render_content(message.content, true)|trim %}\n    {%- if message.role == \"user\" %}\n"
    "        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}\n    {%- elif message.role == \"assistant\" %}\n"
    "        {%- set reasoning_content = '' %}\n        {%- if '</think>' in content %}\n            {%- set reasoning_content = "
    "content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}\n            {%- set content = "
    "content.split('</think>')[-1].lstrip('\\n') %}\n        {%- endif %}\n        {%- set reasoning_content = reasoning_content|trim %}\n"
    "        {%- if loop.index0 > ns.last_query_index %}\n            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content + "
    "'\\n</think>\\n\\n' + content }}\n        {%- else %}\n            {{- '<|im_start|>' + message.role + '\\n' + content }}\n        "
    "{%- endif %}\n        {{- '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n"
    "    {{- '<|im_start|>assistant\\n' }}\n    {%- if enable_thinking is defined and enable_thinking is false %}\n"
    "        {{- '<think>\\n\\n</think>\\n\\n' }}\n    {%- else %}\n        {{- '<think>\\n' }}\n    {%- endif %}\n{%- endif %}")
GRANITE_DEFAULT = "Knowledge Cutoff Date: April 2024.\nYou are Granite, developed by IBM. You are a helpful AI assistant."
GRANITE_4_DEFAULT = "You are a helpful assistant. Please ensure responses are professional, accurate, and safe."

TEMPLATES += [  # tools left out
    {"name": "chatml",  # Qwen2
     "default_system": "You are a helpful assistant.",
     "jinja": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful "
              "assistant.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
              "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"},
    {"name": "chatml",  # Qwen3 2507, which always thinks
     "jinja": "{%- if messages[0].role == 'system' %}\n    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n{%- endif %}\n"
              "{%- for message in messages %}\n    {%- if message.role == \"user\" or message.role == \"assistant\" %}\n        "
              "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n    {%- endif %}\n{%- endfor %}\n"
              "{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n<think>\\n' }}\n{%- endif %}"},
    {"name": "qwen3", "thinking": [None, True, False], "jinja": QWEN3},
    {"name": "qwen3", "thinking": [None, True, False], "jinja": QWEN35},
    {"name": "smollm3", "default_system": SMOLLM3_THINKS, "thinking": [None, True, False],  # without its line of today's date
     "jinja": SMOLLM3},
    {"name": "yi",  # 1.5
     "jinja": "{% if messages[0]['role'] == 'system' %}{% set system_message = messages[0]['content'] %}{% endif %}{% if system_message is "
              "defined %}{{ system_message }}{% endif %}{% for message in messages %}{% set content = message['content'] %}{% if message['role'] "
              "== 'user' %}{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n<|im_start|>assistant\\n' }}{% elif message['role'] == 'assistant' %}"
              "{{ content + '<|im_end|>' + '\\n' }}{% endif %}{% endfor %}"},
    {"name": "deepseek-r1", "jinja": R1.replace("HEAD", "<think>\\n")},
    {"name": "deepseek-r1", "jinja": R1.replace("HEAD", "")},  # as first published
    {"name": "deepseek-v2",
     "jinja": "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{{ bos_token }}"
              "{% for message in messages %}{% if message['role'] == 'user' %}{{ 'User: ' + message['content'] + '\n\n' }}"
              "{% elif message['role'] == 'assistant' %}{{ 'Assistant: ' + message['content'] + eos_token }}"
              "{% elif message['role'] == 'system' %}{{ message['content'] + '\n\n' }}{% endif %}{% endfor %}"
              "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"},
    {"name": "granite",  # 3.0
     "jinja": "{%- for message in messages %}\n    {%- if message['role'] == 'system' %}\n    {{- '<|start_of_role|>system<|end_of_role|>' + "
              "message['content'] + '<|end_of_text|>\\n' }}\n    {%- elif message['role'] == 'user' %}\n    {{- '<|start_of_role|>user<|end_of_role|>' + "
              "message['content'] + '<|end_of_text|>\\n' }}\n    {%- elif message['role'] == 'assistant' %}\n    "
              "{{- '<|start_of_role|>assistant<|end_of_role|>'  + message['content'] + '<|end_of_text|>\\n' }}\n    {%- endif %}\n    {%- if loop.last "
              "and add_generation_prompt %}\n    {{- '<|start_of_role|>assistant<|end_of_role|>' }}\n    {%- endif %}\n{%- endfor %}"},
    {"name": "granite", "default_system": GRANITE_DEFAULT,  # 3.3, without its sentence of today's date
     "jinja": "{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content'] %}\n    {%- set loop_messages = "
              "messages[1:] %}\n{%- else %}\n    {%- set system_message = \"Knowledge Cutoff Date: April 2024.\\nYou are Granite, developed by IBM.\" %}\n"
              "    {%- set system_message = system_message + \" You are a helpful AI assistant.\" %}\n    {%- set loop_messages = messages %}\n"
              "{%- endif %}\n{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\\n' }}\n{%- for message in loop_messages %}\n"
              "    {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\\n' }}\n{%- endfor %}\n"
              "{%- if add_generation_prompt %}\n    {{- '<|start_of_role|>assistant<|end_of_role|>' }}\n{%- endif %}\n"},
    {"name": "granite", "default_system": GRANITE_4_DEFAULT,  # 4.0, without documents
     "jinja": "{%- set g4_default_system_message = 'You are a helpful assistant. Please ensure responses are professional, accurate, and "
              "safe.' %}\n{%- set ns = namespace(default_system_message=g4_default_system_message, system_message='') %}\n"
              "{%- if messages[0].role == 'system' %}\n    {%- set ns.system_message = messages[0].content %}\n{%- endif %}\n"
              "{%- if ns.system_message %}\n    {{- '<|start_of_role|>system<|end_of_role|>' + ns.system_message + '<|end_of_text|>\\n' }}\n"
              "{%- else %}\n    {{- '<|start_of_role|>system<|end_of_role|>' + ns.default_system_message + '<|end_of_text|>\\n' }}\n"
              "{%- endif %}\n{%- for message in messages %}\n    {%- if (message.role == 'user') or (message.role == 'system' and not "
              "loop.first) %}\n        {{- '<|start_of_role|>' + message.role + '<|end_of_role|>' + message.content + '<|end_of_text|>\\n' }}\n"
              "    {%- elif message.role == 'assistant' %}\n        {{- '<|start_of_role|>' + message.role + '<|end_of_role|>' + "
              "message.content }}\n        {{- '<|end_of_text|>\\n' }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n"
              "    {{- '<|start_of_role|>assistant<|end_of_role|>' }}\n{%- endif %}\n"},
    {"name": "mistral-v7",  # Large 2411
     "jinja": MISTRAL_7 + "{%- if system_message is defined %}{{- \"[SYSTEM_PROMPT] \" + system_message + \"[/SYSTEM_PROMPT]\" }}{%- endif %}"
              "{%- for message in loop_messages %}{%- if message['role'] == 'user' %}{{- \"[INST] \" + message[\"content\"] + \"[/INST]\" }}{%- else %}"
              "{{- \" \" + message[\"content\"] + eos_token }}{%- endif %}{%- endfor %}"},
    {"name": "mistral-v7-tekken", "no_system": False,  # Small 3.1; its default text says today's date
     "jinja": "{%- set today = strftime_now(\"%Y-%m-%d\") %}\n{%- set default_system_message = \"You are Mistral Small 3, a Large Language Model (LLM) "
              "created by Mistral AI, a French startup headquartered in Paris. The current date is \" + today + \".\" %}\n{{- bos_token }}\n"
              "{%- if messages[0]['role'] == 'system' %}\n    {%- set system_message = messages[0]['content'] %}\n    {%- set loop_messages = "
              "messages[1:] %}\n{%- else %}\n    {%- set system_message = default_system_message %}\n    {%- set loop_messages = messages %}\n{%- endif %}\n"
              "{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}\n{%- for message in loop_messages %}\n    {%- if message['role'] == 'user' %}\n"
              "        {{- '[INST]' + message['content'] + '[/INST]' }}\n    {%- elif message['role'] == 'assistant' %}\n        "
              "{{- message['content'] + eos_token }}\n    {%- endif %}\n{%- endfor %}\n"},
    {"name": "phi-4-mini",
     "jinja": "{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}{{ '<|' + "
              "message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}{% else %}{{ '<|' + "
              "message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}"
              "{% else %}{{ eos_token }}{% endif %}"},
    {"name": "zephyr", "jinja": ROLES},  # Zephyr, TinyLlama
    {"name": "olmo-2",
     "jinja": "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>\n' + message['content'] + '\n' }}"
              "{% elif message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] + '\n' }}{% elif message['role'] == 'assistant' %}"
              "{% if not loop.last %}{{ '<|assistant|>\n'  + message['content'] + eos_token + '\n' }}{% else %}{{ '<|assistant|>\n'  + "
              "message['content'] + eos_token }}{% endif %}{% endif %}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
              "{% endfor %}"},
    {"name": "harmony",  # gpt-oss, without tools, thoughts and its line of today's date
     "jinja": "{{- \"<|start|>system<|message|>\" }}\n{{- \"You are ChatGPT, a large language model trained by OpenAI.\\n\" }}\n"
              "{{- \"Knowledge cutoff: 2024-06\\n\\n\" }}\n{%- if reasoning_effort is not defined %}\n    {%- set reasoning_effort = \"medium\" %}\n"
              "{%- endif %}\n{{- \"Reasoning: \" + reasoning_effort + \"\\n\\n\" }}\n{{- \"# Valid channels: analysis, commentary, final. Channel "
              "must be included for every message.\" }}\n{{- \"<|end|>\" }}\n{%- if messages[0].role == \"developer\" or messages[0].role == "
              "\"system\" %}\n    {%- set developer_message = messages[0].content %}\n    {%- set loop_messages = messages[1:] %}\n{%- else %}\n"
              "    {%- set developer_message = \"\" %}\n    {%- set loop_messages = messages %}\n{%- endif %}\n{%- if developer_message %}\n"
              "    {{- \"<|start|>developer<|message|>\" }}\n    {{- \"# Instructions\\n\\n\" }}\n    {{- developer_message }}\n"
              "    {{- \"\\n\\n\" }}\n    {{- \"<|end|>\" }}\n{%- endif %}\n{%- for message in loop_messages -%}\n"
              "    {%- if message.role == 'assistant' -%}\n        {%- if loop.last and not add_generation_prompt %}\n"
              "            {{- \"<|start|>assistant<|channel|>final<|message|>\" + message.content + \"<|return|>\" }}\n        {%- else %}\n"
              "            {{- \"<|start|>assistant<|channel|>final<|message|>\" + message.content + \"<|end|>\" }}\n        {%- endif %}\n"
              "    {%- elif message.role == 'user' -%}\n        {{- \"<|start|>user<|message|>\" + message.content + \"<|end|>\" }}\n"
              "    {%- endif -%}\n{%- endfor -%}\n{%- if add_generation_prompt -%}\n<|start|>assistant\n{%- endif -%}"},
    {"name": "gemma-4", "thinking": [None, True, False], "if_asked": True,  # without tools, images and kept thoughts
     "jinja": "{%- macro strip_thinking(text) -%}\n    {%- set ns = namespace(result='') -%}\n"
              "    {%- for part in text.split('<channel|>') -%}\n        {%- if '<|channel>' in part -%}\n"
              "            {%- set ns.result = ns.result + part.split('<|channel>')[0] -%}\n        {%- else -%}\n"
              "            {%- set ns.result = ns.result + part -%}\n        {%- endif -%}\n    {%- endfor -%}\n"
              "    {{- ns.result | trim -}}\n{%- endmacro -%}\n\n{%- set loop_messages = messages -%}\n{{- bos_token -}}\n"
              "{#- Handle System/Tool Definitions Block -#}\n"
              "{%- if (enable_thinking is defined and enable_thinking) or messages[0]['role'] in ['system', 'developer'] -%}\n"
              "    {{- '<|turn>system\\n' -}}\n\n    {#- Inject Thinking token at the very top of the FIRST system turn -#}\n"
              "    {%- if enable_thinking is defined and enable_thinking -%}\n        {{- '<|think|>\\n' -}}\n    {%- endif -%}\n\n"
              "    {%- if messages[0]['role'] in ['system', 'developer'] -%}\n        {{- messages[0]['content'] | trim -}}\n"
              "        {%- set loop_messages = messages[1:] -%}\n    {%- endif -%}\n\n    {{- '<turn|>\\n' -}}\n{%- endif %}\n\n"
              "{#- Loop through messages -#}\n{%- for message in loop_messages -%}\n"
              "    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}\n"
              "        {{- '<|turn>' + role + '\\n' }}\n\n            {%- if message['content'] is string -%}\n"
              "                {%- if role == 'model' -%}\n                    {{- strip_thinking(message['content']) -}}\n"
              "                {%- else -%}\n                    {{- message['content'] | trim -}}\n                {%- endif -%}\n"
              "            {%- endif -%}\n\n            {{- '<turn|>\\n' -}}\n{%- endfor -%}\n\n{%- if add_generation_prompt -%}\n"
              "        {{- '<|turn>model\\n' -}}\n        {%- if not enable_thinking | default(false) -%}\n"
              "            {{- '<|channel>thought\\n<channel|>' -}}\n        {%- endif -%}\n{%- endif -%}"},
]

GLM = (  # without tools and kept thoughts
    "[gMASK]<sop>{% for m in messages %}\n{%- if m.role == 'user' -%}<|user|>LINE{{ m.content }}\n{%- elif m.role == 'assistant' -%}\n"
    "<|assistant|>\n{{- EMPTY }}\n{%- if m.content.strip() -%}\n{{ BEFORE + m.content.strip() }}\n{%- endif -%}\n"
    "{%- elif m.role == 'tool' -%}\n<|observation|>\n{%- elif m.role == 'system' -%}\n<|system|>LINE{{ m.content }}\n{%- endif -%}\n{%- endfor -%}\n"
    "{%- if add_generation_prompt -%}\n    <|assistant|>{{- HEAD -}}\n{%- endif -%}")
NEMOTRON_2 = (
    "{{- '<SPECIAL_10>System\n' + (messages[0]['content'].replace('/think', '').replace('/no_think', '').strip() if messages[0]['role'] == "
    "'system' else '') + '\n\n' -}}\n{%- for message in messages %}\n  {%- set content = message['content'] %}\n"
    "  {%- if message['role'] == 'user' -%}\n    {{- '<SPECIAL_11>User\n' + content.replace('/think', '').replace('/no_think', '').strip() + '\n' }}\n"
    "  {%- elif message['role'] == 'assistant' -%}\n    {{- '<SPECIAL_11>Assistant\n' + content.strip() + '\n<SPECIAL_12>\n' -}}\n  {%- endif -%}\n"
    "{%- endfor -%}\n{%- if add_generation_prompt -%}\n  {{- '<SPECIAL_11>Assistant\n' -}}\n"
    "  {%- if enable_thinking is defined and enable_thinking is false -%}\n    {{- '<think></think>' -}}\n  {%- else -%}\n    {{- '<think>\n' -}}\n"
    "  {%- endif -%}\n{%- endif -%}")
NEMOTRON_3 = (
    "{%- set enable_thinking = enable_thinking if enable_thinking is defined else True %}\n"
    "{%- set truncate_history_thinking = truncate_history_thinking if truncate_history_thinking is defined else True %}\n"
    "{%- if messages[0][\"role\"] == \"system\" %}\n    {%- set system_message = messages[0][\"content\"] %}\n    {%- set loop_messages = messages[1:] %}\n"
    "{%- else %}\n    {%- set system_message = \"\" %}\n    {%- set loop_messages = messages %}\n{%- endif %}\n"
    "{{- \"<|im_start|>system\\n\" + system_message }}\n{{- '<|im_end|>\\n' }}\n{%- for message in loop_messages %}\n"
    "    {%- if message.role == \"assistant\" %}\n        {%- set content = \"<think></think>\" ~ message.content -%}\n"
    "        {{- '<|im_start|>assistant\\n<think></think>' ~ (message.content | trim) ~ '<|im_end|>\\n' }}\n"
    "    {%- elif message.role == \"user\" %}\n        {{- '<|im_start|>' + message.role + '\\n' }}\n        {{- message.content }}\n"
    "        {{- '<|im_end|>\\n' }}\n    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {%- if enable_thinking %}\n"
    "        {{- '<|im_start|>assistant\\n<think>\\n' }}\n    {%- else %}\n        {{- '<|im_start|>assistant\\n<think></think>' }}\n    {%- endif %}\n{%- endif %}")
TEMPLATES += [
    {"name": "glm-4.5",  # without its word /nothink
     "jinja": GLM.replace("LINE", "\n").replace("EMPTY", "'\\n<think></think>'").replace("BEFORE", "'\\n'").replace("HEAD", "''")},
    {"name": "glm-4.7", "thinking": [None, True, False],
     "jinja": GLM.replace("LINE", "").replace("EMPTY", "'</think>'").replace("BEFORE", "''").replace(
         "HEAD", "'</think>' if (enable_thinking is defined and not enable_thinking) else '<think>'")},
    {"name": "nemotron-2", "thinking": [None, True, False], "jinja": NEMOTRON_2},
    {"name": "nemotron-3", "thinking": [None, True, False], "jinja": NEMOTRON_3},
]

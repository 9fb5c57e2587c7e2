"""Texts, chats and chat templates for make_tokenizer_fixtures.py."""

TEXTS = [
    "", " ", "  ", "\n", "\t", "\n\n\n", " \n \n", "a", " a", "a ", "  a  b   c    ",
    "Hello, world!", "The quick brown fox jumps over the lazy dog.",
    "I've been told he's there; they'RE sure, WE'LL see, y'all'd've gone. Isn't it? 'tis.",
    "Ms. O'Neil-Smith paid $1,234.56 (about £1,000) on 2024-02-29 at 07:45:30.",
    # Scripts.
    "Größe, façade, naïve, Łódź, smørrebrød, İstanbul, ﬁn, Ǆ",
    "Cửa Việt, thử nghiệm tiếng Việt có dấu.",
    "Καλημέρα κόσμε· τι κάνεις;", "Съешь ещё этих мягких французских булок, да выпей чаю.",
    "السلام عليكم، كيف حالك؟ ١٢٣٤٥", "שלום עולם, מה שלומך היום?", "नमस्ते दुनिया, आप कैसे हैं? १२३",
    "ฉันรักภาษาไทยและกินข้าวผัด", "今天天气很好，我们去公园散步吧。2024年12月31日", "吾輩は猫である。名前はまだ無い。カタカナ①",
    "동해물과 백두산이 마르고 닳도록", "გამარჯობა მსოფლიო", "வணக்கம் உலகம்", "ሰላም ለዓለም", "Բարեւ աշխարհ",
    "កាន់តែពិសេសអាចខលចេញ", "ᎣᏏᏲ 𐌰𐌱𐌲 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𒀭𒂗",
    # Numbers.
    "3 33 333 3333 33333 333333 3.14159 1e-5 0xFF ½ Ⅷ x² 10⁻³ ٣٫١٤ 万", "1a2b3c a1b2c3 007",
    # Code.
    "def f(x, *args, **kwargs):\n    \"\"\"Doc.\"\"\"\n    return [i**2 for i in range(x) if i % 2 == 0]\n",
    "#include <vector>\nint main() {\n\tstd::vector<int> v{1, 2, 3};\n\treturn v.size() != 3;\n}\n\n\n",
    "SELECT * FROM t WHERE a >= 10 AND b LIKE '%x_%'; -- comment",
    "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\\\\b\": \"c\\n\"}}", "if(x){y=z;}else{--y;}//!?<=>=->::&&||",
    "https://example.org/a/b?c=d&e=%20f#g user@example.com C:\\Users\\me", "snake_case camelCase SCREAMING_CASE kebab-case",
    # Emoji.
    "🙂", "👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🇩🇪🇯🇵 ❤️ ☕️ ✅", "🚀🚀🚀 (normal) 😶‍🌫️ (joined) 1️⃣",
    # White space and control characters.
    "a\r\nb\rc\n\n  d\t\te", "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u0085g", "a\u200bb\u200dc\ufeffd\u180ee\u00ade",
    "    indented\n        more\n\t\ttabs \n trailing   ", "x\x00y\x01z\x1b[0m\x7f", "\n \n\t\n  word  \n",
    " \u3000 a \u2003\u2003b\u00a0\u00a0", "word \n\nword\n \nword\t \n",
    # Marks, symbols, repetition.
    "------======= ''''''```````\"\"\"\"......!!!!!!??????", "¿Qué? ¡Sí! «guillemets» „quotes“ – — … ‰ № ™ © ± × ÷ ∑ ∞ ≈",
    "e\u0301 a\u0308\u0323 Z\u0351\u036b\u0343", "$$$ +++ <<< ^^^ ~~~ |||", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ababababababababababab",
    "▁ ▁▁a ▁", "Ġ Ċ ĠĠ", "<0x41> <0x0A> <unk> [UNK]",
    "<|endoftext|> <|im_start|>user</s> <s> [INST]",
    "Once upon a time, in a small harbour town by the northern sea, there lived an old clockmaker whose hands never shook.\n"
    "He kept 17 clocks (all wrong), a grey cat named \"Minute\", and a letter he had not opened since 1987.",
]

CHATS = [
    [("user", "Hello!")],
    [("system", "You are terse."), ("user", "Hi")],
    [("system", "  Two\n\nlines. "), ("user", " spaced  ")],
    [("user", "One?"), ("assistant", "First."), ("user", "\n\nTwo?\n")],
    [("system", "S"), ("user", "1+1?"), ("assistant", " 2 "), ("user", "Und 2×3?"), ("assistant", "6"), ("user", "Danke 🙂")],
]

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

"""Writes tests/golden/tokenizer/tools.json: chats with tools, calls and results as transformers renders them with the
templates that the models' authors publish. The templates themselves are not kept here.

    python3 tests/oracle/make_tool_fixtures.py TEMPLATES   # a folder with them, named as in llama.cpp's models/templates
    # needs: pip install transformers jinja2
"""
import json
import pathlib
import sys

from transformers.utils.chat_template_utils import render_jinja_template

from tokenizer_fixture_file import OUT

CITY = {"type": "string", "description": "A city's name."}
TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {
            "city": CITY, "days": {"type": "integer", "default": 1}, "unit": {"type": "string", "enum": ["celsius", "kelvin"]}},
            "required": ["city"]}}},
    {"type": "function", "function": {
        "name": "note", "description": "Keeps a note.",
        "parameters": {"type": "object", "properties": {
            "text": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}, "loud": {"type": "boolean"},
            "place": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x"]}},
            "required": ["text", "tags"]}}},
]
WEATHER = ("get_weather", {"city": "Zürich", "days": 3})
NOTE = ("note", {"tags": ["a", "b c"], "text": "One \"line\".\nAnother."})
SYSTEM = {"role": "system", "content": "You are terse."}


def calls_of(*calls, text=""):
    return {"role": "assistant", "content": text, "tool_calls": [
        {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(calls)]}


def result(i, text):
    return {"role": "tool", "tool_call_id": f"call_{i}", "content": text}


ASK, SAID, THANKS = ({"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "Sunny."},
                     {"role": "user", "content": "Thanks!"})
CHATS = {
    "one": [ASK, calls_of(WEATHER), result(0, "sunny, 25°"), SAID, THANKS],
    "with_text": [SYSTEM, ASK, calls_of(NOTE, text="Let me see."), result(0, "kept\n\ntwice"), SAID, THANKS],
    "open": [SYSTEM, ASK, calls_of(NOTE, text="Let me see."), result(0, "kept")],
    "goes_on": [SYSTEM, ASK, calls_of(NOTE), result(0, "kept")],
    "two": [SYSTEM, ASK, calls_of(WEATHER, NOTE), result(0, "sunny"), result(1, "kept"), SAID, THANKS],
}

# gpt-oss's template writes the recipient of a call first, and results as JSON. Here they are as the guide to the format has
# them, which is how the model writes calls itself. Today's date is left out, as everywhere.
HARMONY = [
    ('{{- "Current date: " + strftime_now("%Y-%m-%d") + "\\n\\n" }}', '{{- "\\n" }}'),
    ('{{- "<|start|>assistant to=" }}', '{{- "<|start|>assistant<|channel|>commentary to=" }}'),
    ('tool_call.name + "<|channel|>commentary " }}', 'tool_call.name + " <|constrain|>" }}'),
    ('message.content|tojson + "<|end|>"', 'message.content + "<|end|>"'),
]

# template: its name for --template. chats: those that it renders as we do: most leave out or add thoughts in others.
MOST = ["one", "with_text", "two"]
FORMS = [
    {"form": "json", "template": "qwen3", "file": "Qwen-Qwen3-0.6B.jinja"},
    {"form": "xml", "template": "qwen3.5", "file": "Qwen3.5-4B.jinja"},
    {"form": "xml-coder", "template": "qwen3-coder", "file": "Qwen3-Coder.jinja"},
    {"form": "harmony", "template": "harmony", "file": "openai-gpt-oss-120b.jinja", "chats": ["one", "open"], "changes": HARMONY},
    # Its template writes the text beside a call behind the result.
    {"form": "gemma-4", "template": "gemma-4", "file": "google-gemma-4-31B-it.jinja", "chats": ["one", "two", "goes_on"]},
    {"form": "glm", "template": "glm-4.5", "file": "GLM-4.6.jinja"},
    {"form": "glm-4.7", "template": "glm-4.7", "file": "GLM-4.7-Flash.jinja"},
    # Its template takes calls as a part of the text.
    {"form": "lfm2", "template": "lfm2", "file": "LFM2-8B-A1B.jinja", "chats": ["one"], "calls_as_text":
     "<|tool_call_start|>[get_weather(city='Zürich', days=3)]<|tool_call_end|>"},
    {"form": "lfm2.5", "template": "lfm2.5", "file": "LFM2.5-8B-A1B.jinja", "chats": ["one"]},  # no escapes in "two"
    {"form": "nemotron", "template": "nemotron-2", "file": "NVIDIA-Nemotron-Nano-v2.jinja"},
    {"form": "xml-nemotron", "template": "nemotron-3", "file": "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja"},
]


def cases(folder):
    out = []
    for form in FORMS:
        jinja = (folder / form["file"]).read_text(encoding="utf-8")
        for old, new in form.get("changes", []):
            assert old in jinja, (form["file"], old)
            jinja = jinja.replace(old, new)
        for name in form.get("chats", MOST):
            messages = json.loads(json.dumps(CHATS[name]))
            given = [dict(message, content=form["calls_as_text"]) if "calls_as_text" in form and "tool_calls" in message
                     else message for message in messages]  # templates change what they are given
            rendered = render_jinja_template([given], tools=TOOLS, chat_template=jinja, add_generation_prompt=True,
                                             bos_token="<s>", eos_token="</s>", **form.get("options", {}))[0][0]
            out.append({"form": form["form"], "template": form["template"], "chat": name,
                        "thinking": form.get("options", {}).get("enable_thinking", True), "messages": json.loads(json.dumps(CHATS[name])),
                        "rendered": rendered})
    return out


def main():
    document = {"tools": TOOLS, "cases": cases(pathlib.Path(sys.argv[1]))}
    (OUT / "tools.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()

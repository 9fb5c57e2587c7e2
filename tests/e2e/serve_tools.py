"""Every form of tools, by the server, with the bundled model: told to call, it does so in the form of its template.

    serve_tools.py PATH/TO/satchel PATH/TO/notes-mini-q8_0.gguf

The model has few control tokens: where a template needs others, a copy of its file names some pieces anew.
"""
import json
import pathlib
import struct
import sys
import tempfile

from serving import Server, events_of

PARAMETERS = {"type": "object", "properties": {"pet": {"type": "string", "maxLength": 6}, "n": {"type": "integer", "minimum": 1, "maximum": 9},
                                               "kind": {"enum": ["cat", "dog"]}}, "required": ["pet", "n", "kind"]}
FUNCTION = {"name": "find_pet", "description": "Who keeps it?", "parameters": PARAMETERS}
QUESTION = [{"role": "user", "content": "Anna keeps three parrots. Which pet?"}]
TEMPLATES = {
    "qwen3": [], "qwen3.5": [], "qwen3-coder": [], "nemotron-3": [],
    "lfm2": ["<|tool_list_start|>", "<|tool_list_end|>", "<|tool_call_start|>", "<|tool_call_end|>", "<|tool_response_start|>",
             "<|tool_response_end|>"],
    "lfm2.5": ["<|tool_call_start|>", "<|tool_call_end|>"],
    "harmony": ["<|start|>", "<|message|>", "<|channel|>", "<|end|>", "<|call|>", "<|constrain|>", "<|return|>"],
    "gemma-4": ["<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>", "<|tool_response>",
                "<tool_response|>", '<|"|>', "<|think|>"],
    "glm-4.5": ["[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"],
    "glm-4.7": ["[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>"],
    "nemotron-2": ["<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>"],
}


class File:
    """A GGUF file, whose pieces can be given other names."""
    SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
    STRING, ARRAY, CONTROL, ALIGNMENT = 8, 9, 3, 32

    def __init__(self, path):
        self.bytes = pathlib.Path(path).read_bytes()
        _, _, self.n_tensors, n_pairs = struct.unpack_from("<IIQQ", self.bytes)
        self.at, self.arrays = 24, {}
        for _ in range(n_pairs):
            key = self.string()
            kind = self.number("<I")
            self.value(kind, key)
        self.end_of_pairs = self.at
        for _ in range(self.n_tensors):
            self.string()
            n = self.number("<I")
            self.at += 8 * n + 4 + 8
        self.end_of_tensors = self.at

    def number(self, form):
        (value,) = struct.unpack_from(form, self.bytes, self.at)
        self.at += struct.calcsize(form)
        return value

    def string(self):
        n = self.number("<Q")
        self.at += n
        return self.bytes[self.at - n:self.at].decode()

    def value(self, kind, key):
        if kind == self.STRING:
            return self.string()
        if kind != self.ARRAY:
            self.at += self.SIZES[kind]
            return None
        of, n = self.number("<I"), self.number("<Q")
        places = self.arrays[key] = []
        for _ in range(n):
            places.append(self.at)
            self.value(of, "")
        return None

    def with_control(self, names):
        """The last pieces but these that are single characters get the names."""
        tokens, types = self.arrays["tokenizer.ggml.tokens"], self.arrays["tokenizer.ggml.token_type"]
        head = bytearray(self.bytes[:self.end_of_pairs])
        for name, i in zip(names, range(600, 600 + len(names))):
            struct.pack_into("<i", head, types[i], self.CONTROL)
        for name, i in reversed(list(zip(names, range(600, 600 + len(names))))):
            (n,) = struct.unpack_from("<Q", head, tokens[i])
            head[tokens[i]:tokens[i] + 8 + n] = struct.pack("<Q", len(name)) + name.encode()
        out = head + self.bytes[self.end_of_pairs:self.end_of_tensors]
        padded = lambda n: n + -n % self.ALIGNMENT
        out += b"\0" * (padded(len(out)) - len(out))
        return bytes(out) + self.bytes[padded(self.end_of_tensors):]


def check(call, arguments):
    pet = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert call == "find_pet" and set(pet) == {"pet", "n", "kind"}, (call, arguments)
    assert isinstance(pet["pet"], str) and len(pet["pet"]) <= 6 and 1 <= pet["n"] <= 9 and pet["kind"] in ("cat", "dog"), pet
    return pet


def ok(answer):
    status, body = answer
    assert status == 200, body
    return body


def seeded(server, path, body, has_called):
    """The body with a seed by which the model calls, and the answer. gpt-oss's template cannot be told not to think, and this
    model's thoughts seldom end."""
    for seed in range(40):
        whole = {**body, "temperature": 1.5, "seed": seed}
        answer = ok(server.post(path, whole))
        if has_called(answer):
            return whole, answer
    raise AssertionError(f"no call: {answer}")


def chat_completions(server):
    offer = {"tools": [{"type": "function", "function": FUNCTION}], "max_tokens": 160, "reasoning_effort": "none"}
    must = {**offer, "tool_choice": "required", "parallel_tool_calls": False, "messages": QUESTION}
    must, body = seeded(server, "/v1/chat/completions", must, lambda body: body["choices"][0]["finish_reason"] == "tool_calls")
    choice = body["choices"][0]
    assert choice["finish_reason"] == "tool_calls" and not choice["message"].get("content"), body
    [call] = choice["message"]["tool_calls"]
    check(call["function"]["name"], call["function"]["arguments"])
    # Spelled in another way, and back with what came of it: what was read is not read again.
    spaced = {**call, "function": {**call["function"], "arguments": json.dumps(json.loads(call["function"]["arguments"]), indent=1)}}
    further = QUESTION + [{"role": "assistant", "content": None, "tool_calls": [spaced]},
                          {"role": "tool", "tool_call_id": call["id"], "content": "Anna <|call|><|im_end|>"}]
    answer = ok(server.post("/v1/chat/completions", {**offer, "messages": further, "max_tokens": 8}))
    assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] >= body["usage"]["prompt_tokens"], answer
    streamed = ""
    for _, data in events_of(server.ask("/v1/chat/completions", {**must, "stream": True})):
        if data != "[DONE]" and json.loads(data)["choices"]:
            for part in json.loads(data)["choices"][0]["delta"].get("tool_calls", []):
                streamed += part["function"].get("arguments", "")
    assert streamed == call["function"]["arguments"], streamed
    none = ok(server.post("/v1/chat/completions", {**offer, "messages": QUESTION, "tool_choice": "none", "max_tokens": 8}))
    assert "tool_calls" not in none["choices"][0]["message"], none


def responses(server):
    offer = {"tools": [{"type": "function", **FUNCTION}], "tool_choice": "required", "parallel_tool_calls": False,
             "reasoning": {"effort": "none"}}
    _, body = seeded(server, "/v1/responses", {**offer, "input": "Which pet?"},
                     lambda body: any(one["type"] == "function_call" for one in body["output"]))
    [item] = [one for one in body["output"] if one["type"] == "function_call"]
    check(item["name"], item["arguments"])
    # The call is known by its response alone.
    output = [{"type": "function_call_output", "call_id": item["call_id"], "output": "Anna"}]
    further = ok(server.post("/v1/responses", {**offer, "tool_choice": "auto", "input": output, "previous_response_id": body["id"],
                                               "max_output_tokens": 8}))
    assert further["usage"]["input_tokens_details"]["cached_tokens"] >= body["usage"]["input_tokens"], further["usage"]


def messages(server):
    offer = {"tools": [{"name": "find_pet", "input_schema": PARAMETERS}], "max_tokens": 160, "thinking": {"type": "disabled"}}
    once = {"type": "tool", "name": "find_pet"}
    _, body = seeded(server, "/v1/messages", {**offer, "messages": QUESTION, "tool_choice": once},
                     lambda body: body["stop_reason"] == "tool_use")
    [block] = [one for one in body["content"] if one["type"] == "tool_use"]
    check(block["name"], block["input"])
    chat = QUESTION + [{"role": "assistant", "content": body["content"]},
                       {"role": "user", "content": [{"type": "tool_result", "tool_use_id": block["id"], "content": "Anna"}]}]
    answer = ok(server.post("/v1/messages", {**offer, "messages": chat, "max_tokens": 8}))
    assert answer["usage"]["cache_read_input_tokens"] >= body["usage"]["input_tokens"], answer["usage"]


def main():
    program, model = sys.argv[1:3]
    file = File(model)
    with tempfile.TemporaryDirectory() as folder:
        for template, tokens in TEMPLATES.items():
            path = pathlib.Path(folder, template + ".gguf")
            path.write_bytes(file.with_control(tokens))
            with Server(program, "--model", str(path), "--template", template) as server:
                for test in (chat_completions, responses, messages):
                    try:
                        test(server)
                    except Exception:
                        print("failed:", template, test.__name__, flush=True)
                        raise
            print("ok", template, flush=True)


if __name__ == "__main__":
    main()

"""The official clients of OpenAI, Anthropic and LangChain against `satchel serve` with the bundled model.

    serve_clients.py PATH/TO/satchel

Starts the server on a free port and asks it through the packages. Exits with 77, which ctest
shows as skipped, where one of them is not installed.
"""
import asyncio
import json
import pathlib
import sys
import tempfile
import threading
import time
from typing import Annotated, Literal, Optional

from serving import Server, run

try:
    import anthropic
    import langchain_openai
    import openai
    import pydantic
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TOKEN = "0123456789abcdef0123456789abcdef"
NOTE = [{"role": "user", "content": "Anna keeps three parrots."}, {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "What does Anna keep?"}]
HOT = dict(temperature=1.4, seed=5, extra_body={"top_k": 0, "min_p": 0, "top_p": 1})


class Clients(Server):
    def __init__(self, program, folder):
        token = pathlib.Path(folder, "token")
        if not token.exists():
            token.touch(mode=0o600)
            token.write_text(TOKEN)
        super().__init__(program, "--store", folder, "--token-file", str(token))

    def openai(self, **options):
        return openai.OpenAI(base_url=self.url + "/v1", api_key=options.pop("key", TOKEN), max_retries=0, **options)

    def anthropic(self, **options):
        return anthropic.Anthropic(base_url=self.url, api_key=options.pop("key", TOKEN), max_retries=0, **options)

    def langchain(self, **options):
        return langchain_openai.ChatOpenAI(base_url=self.url + "/v1", api_key=TOKEN, model=self.model, max_retries=0, **options)


def raises(kind, work, **facts):
    try:
        work()
    except kind as error:
        for name, value in facts.items():
            assert getattr(error, name) == value, (name, getattr(error, name), value)
        return error
    raise AssertionError(f"no {kind.__name__}")


def openai_lists_models(server):
    client = server.openai()
    assert [model.id for model in client.models.list()] == [server.model]
    assert client.models.retrieve(server.model).id == server.model
    raises(openai.NotFoundError, lambda: client.models.retrieve("other"), code="model_not_found")


def openai_chats_whole_and_streamed(server):
    client = server.openai()
    whole = client.chat.completions.create(model=server.model, messages=NOTE)
    text = whole.choices[0].message.content
    assert text and whole.choices[0].finish_reason == "stop"
    assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
    chunks = list(client.chat.completions.create(model=server.model, messages=NOTE, stream=True,
                                                 stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text
    assert chunks[-1].choices == [] and chunks[-1].usage.prompt_tokens == whole.usage.prompt_tokens
    assert chunks[-2].choices[0].finish_reason == "stop"
    # The same question once more: nothing of it was read.
    assert chunks[-1].usage.prompt_tokens_details.cached_tokens == whole.usage.prompt_tokens
    with client.chat.completions.stream(model=server.model, messages=NOTE) as stream:
        assert stream.get_final_completion().choices[0].message.content == text


def openai_limits_stops_and_seeds(server):
    client = server.openai()
    ask = lambda **more: client.chat.completions.create(model=server.model, messages=NOTE, **more)
    cut = ask(max_tokens=2)
    assert cut.choices[0].finish_reason == "length" and cut.usage.completion_tokens == 2
    text = ask().choices[0].message.content
    stopped = ask(stop=[text[3:6]])
    assert stopped.choices[0].message.content == text[:text.index(text[3:6])]
    assert stopped.choices[0].finish_reason == "stop"
    assert ask(**HOT).choices[0].message.content == ask(**HOT).choices[0].message.content


def openai_errors_have_their_classes(server):
    client = server.openai()
    ask = lambda messages=NOTE, **more: client.chat.completions.create(model=server.model, messages=messages, **more)
    raises(openai.AuthenticationError, lambda: server.openai(key="wrong").models.list(), code="invalid_api_key")
    raises(openai.BadRequestError, lambda: ask(temperature=-1), param="temperature")
    raises(openai.BadRequestError, lambda: ask(n=2), param="n")
    raises(openai.BadRequestError, lambda: ask(logprobs=True), param="logprobs")
    tool = {"type": "function", "function": {"name": "f", "parameters": {"not": {}}}}
    raises(openai.BadRequestError, lambda: ask(tools=[tool]), param="tools")
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}]
    raises(openai.BadRequestError, lambda: ask(image), param="messages[0].content[0].type")
    raises(openai.BadRequestError, lambda: ask([{"role": "user", "content": "word " * 5000}]),
           code="context_length_exceeded")
    raises(openai.NotFoundError, lambda: client.chat.completions.create(model="gpt-x", messages=NOTE), param="model")
    raises(openai.PermissionDeniedError, lambda: server.openai(default_headers={"Origin": "https://a.example"}).models.list())
    raises(openai.PermissionDeniedError, lambda: server.openai(default_headers={"Host": "a.example"}).models.list())
    too_soon = server.openai(timeout=0.001)
    raises(openai.APITimeoutError, lambda: too_soon.chat.completions.create(model=server.model, messages=NOTE))


def openai_a_long_session_grows_in_the_cache(server):
    client = server.openai()
    chat, last = [], 0
    for turn in range(20):
        chat.append({"role": "user", "content": f"Note {turn}: Bruno has {turn} stamps. Häßlich 😀?"})
        answer = client.chat.completions.create(model=server.model, messages=chat, max_tokens=8,
                                                extra_headers={"X-Satchel-Session": "long"})
        assert turn == 0 or answer.usage.prompt_tokens_details.cached_tokens > last, turn
        last = answer.usage.prompt_tokens
        chat.append({"role": "assistant", "content": answer.choices[0].message.content})


def openai_async_and_two_at_once(server):
    async def both():
        client = openai.AsyncOpenAI(base_url=server.url + "/v1", api_key=TOKEN, max_retries=0)
        ask = lambda text: client.chat.completions.create(model=server.model, max_tokens=8,
                                                          messages=[{"role": "user", "content": text}])
        one, two = await asyncio.gather(ask("One?"), ask("Two?"))
        assert one.choices and two.choices
        stream = await client.chat.completions.create(model=server.model, messages=NOTE, stream=True)
        assert [chunk async for chunk in stream][-1].choices[0].finish_reason == "stop"
    asyncio.run(both())


def openai_a_closed_stream_frees_the_server(server):
    client = server.openai()
    stream = client.chat.completions.create(model=server.model, messages=[{"role": "user", "content": "A story."}],
                                            stream=True, max_tokens=100000, **HOT)
    next(iter(stream))
    stream.close()
    began = time.monotonic()
    client.chat.completions.create(model=server.model, messages=NOTE, max_tokens=1)
    assert time.monotonic() - began < 1


class Pet(pydantic.BaseModel):
    """What is known of a pet, as people write schemas."""

    kind: Literal["cat", "parrot"]
    keeper: Annotated[str, pydantic.Field(max_length=12)]
    age: Annotated[int, pydantic.Field(ge=0, le=20)]
    toys: Annotated[list[Literal["ball", "bell"]], pydantic.Field(max_length=2)]
    home: Optional[Literal["barn", "mill"]]


TOOL = {"name": "find_pet", "description": "Who keeps it?",
        "parameters": {"type": "object", "properties": {"kind": {"enum": ["cat", "parrot"]},
                                                        "n": {"type": "integer", "minimum": 1, "maximum": 9}},
                       "required": ["kind", "n"], "additionalProperties": False}}


def is_find(name, arguments):
    return name == "find_pet" and arguments["kind"] in ("cat", "parrot") and 1 <= arguments["n"] <= 9


def openai_schemas(server):
    client = server.openai()
    for more in ({}, HOT):
        parsed = client.chat.completions.parse(model=server.model, messages=NOTE, response_format=Pet, **more)
        assert parsed.choices[0].finish_reason == "stop" and isinstance(parsed.choices[0].message.parsed, Pet)
    assert isinstance(client.responses.parse(model=server.model, input="Which pet?", text_format=Pet).output_parsed, Pet)
    cut = client.chat.completions.create(model=server.model, messages=NOTE, max_tokens=3,
                                         response_format={"type": "json_object"})
    assert cut.choices[0].finish_reason == "length" and cut.choices[0].message.content.startswith("{")
    answer = client.chat.completions.create(model=server.model, messages=NOTE,
                                            extra_body={"grammar": 'root ::= "yes" | "no"'})
    assert answer.choices[0].message.content in ("yes", "no")
    raises(openai.BadRequestError, lambda: client.chat.completions.create(
        model=server.model, messages=NOTE, extra_body={"grammar": "root ::= ("}), param="grammar")


def openai_tools(server):
    client = server.openai()
    offer = dict(model=server.model, tools=[{"type": "function", "function": TOOL}], parallel_tool_calls=False)
    called = client.chat.completions.create(messages=NOTE, tool_choice="required", **offer)
    assert called.choices[0].finish_reason == "tool_calls"
    [call] = called.choices[0].message.tool_calls
    assert is_find(call.function.name, json.loads(call.function.arguments))
    chat = NOTE + [called.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "Anna"}]
    answer = client.chat.completions.create(messages=chat, max_tokens=20, **offer)
    assert answer.usage.prompt_tokens_details.cached_tokens > called.usage.prompt_tokens
    with client.chat.completions.stream(messages=NOTE, tool_choice="required", **offer) as stream:
        [streamed] = stream.get_final_completion().choices[0].message.tool_calls
    assert streamed.function.arguments == call.function.arguments
    flat = dict(model=server.model, tools=[{"type": "function", "strict": True, **TOOL}], parallel_tool_calls=False)
    response = client.responses.create(input="Which pet?", tool_choice="required", **flat)
    [item] = response.output
    assert item.type == "function_call" and is_find(item.name, json.loads(item.arguments))
    with client.responses.stream(input="Which pet?", tool_choice="required", **flat) as stream:
        assert stream.get_final_response().output[0].arguments == item.arguments
    further = [{"role": "user", "content": "Which pet?"}, item.to_dict(),
               {"type": "function_call_output", "call_id": item.call_id, "output": "Anna"}]
    assert client.responses.create(input=further, max_output_tokens=8, **flat).usage.input_tokens_details.cached_tokens > 0


def anthropic_tools(server):
    client = server.anthropic()
    tool = {"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["parameters"]}
    offer = dict(model=server.model, max_tokens=90, tools=[tool])
    once = {"type": "any", "disable_parallel_tool_use": True}
    used = client.messages.create(messages=NOTE, tool_choice=once, **offer)
    [block] = used.content
    assert used.stop_reason == "tool_use" and is_find(block.name, block.input)
    with client.messages.stream(messages=NOTE, tool_choice=once, **offer) as stream:
        assert stream.get_final_message().content[0].input == block.input
    chat = NOTE + [{"role": "assistant", "content": used.content},
                   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": block.id, "content": "Anna"}]}]
    answer = client.messages.create(messages=chat, **offer)
    assert answer.usage.cache_read_input_tokens > used.usage.input_tokens


def openai_completions(server):
    client = server.openai()
    whole = client.completions.create(model=server.model, prompt="What does Anna keep?", max_tokens=8)
    assert whole.choices[0].text and whole.usage.prompt_tokens > 0
    parts = client.completions.create(model=server.model, prompt="What does Anna keep?", max_tokens=8, stream=True)
    assert "".join(part.choices[0].text for part in parts) == whole.choices[0].text


def openai_responses(server):
    client = server.openai()
    whole = client.responses.create(model=server.model, input="What does Anna keep?", instructions="Be brief.")
    assert whole.output_text and whole.status == "completed"
    assert whole.usage.input_tokens_details.cached_tokens == 0
    events = list(client.responses.create(model=server.model, instructions="Be brief.", stream=True,
                                          input=[{"role": "user", "content": "What does Anna keep?"}]))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [e.type for e in events[:4]] == ["response.created", "response.in_progress", "response.output_item.added",
                                            "response.content_part.added"]
    assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == whole.output_text
    assert events[-1].type == "response.completed" and events[-1].response.output_text == whole.output_text
    assert events[-1].response.usage.input_tokens_details.cached_tokens == whole.usage.input_tokens
    with client.responses.stream(model=server.model, input="What does Anna keep?", instructions="Be brief.") as stream:
        assert stream.get_final_response().output_text == whole.output_text
    cut = client.responses.create(model=server.model, input="What does Anna keep?", max_output_tokens=2)
    assert cut.status == "incomplete" and cut.incomplete_details.reason == "max_output_tokens"
    first = client.responses.create(model=server.model, input="Anna keeps three parrots.")
    follow = lambda response: client.responses.create(model=server.model, input="What does Anna keep?",
                                                      previous_response_id=response.id)
    assert follow(first).usage.input_tokens_details.cached_tokens > first.usage.input_tokens
    unkept = client.responses.create(model=server.model, input="Anna keeps three parrots.", store=False)
    raises(openai.BadRequestError, lambda: follow(unkept), param="previous_response_id", code="previous_response_not_found")


def anthropic_messages(server):
    client = server.anthropic()
    whole = client.messages.create(model=server.model, max_tokens=40, system="Be brief.", messages=NOTE)
    assert whole.content[0].type == "text" and whole.stop_reason == "end_turn"
    assert whole.usage.cache_read_input_tokens == 0
    counted = client.messages.count_tokens(model=server.model, system="Be brief.", messages=NOTE)
    assert counted.input_tokens == whole.usage.input_tokens
    with client.messages.stream(model=server.model, max_tokens=40, system="Be brief.", messages=NOTE) as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    assert text == whole.content[0].text == last.content[0].text
    assert last.usage.cache_read_input_tokens == counted.input_tokens and last.usage.input_tokens == 0
    assert last.usage.output_tokens == whole.usage.output_tokens
    stopped = client.messages.create(model=server.model, max_tokens=40, system="Be brief.", messages=NOTE,
                                     stop_sequences=[text[3:6]])
    assert stopped.stop_reason == "stop_sequence" and stopped.stop_sequence == text[3:6]
    assert client.messages.create(model=server.model, max_tokens=2, messages=NOTE).stop_reason == "max_tokens"


def anthropic_errors_have_their_classes(server):
    client = server.anthropic()
    ask = lambda messages=NOTE, **more: client.messages.create(model=server.model, max_tokens=4, messages=messages, **more)
    raises(anthropic.AuthenticationError, lambda: server.anthropic(key="wrong").messages.create(
        model=server.model, max_tokens=4, messages=NOTE))
    raises(anthropic.NotFoundError, lambda: client.messages.create(model="other", max_tokens=4, messages=NOTE))
    error = raises(anthropic.BadRequestError, lambda: ask([{"role": "user", "content": "word " * 5000}]))
    assert error.body["error"]["code"] == "context_length_exceeded"
    raises(anthropic.BadRequestError, lambda: ask(tools=[{"name": "f", "input_schema": {"not": {}}}]))
    raises(anthropic.BadRequestError, lambda: ask(extra_body={"temperature": 3}))


def langchain_chats_whole_and_streamed(server):
    chat = [SystemMessage("Be brief."), HumanMessage("Anna keeps three parrots."), AIMessage("Noted."),
            HumanMessage("What does Anna keep?")]
    for more in ({}, {"use_responses_api": True}):
        model = server.langchain(stream_usage=True, **more)
        whole = model.invoke(chat)
        assert whole.text and whole.usage_metadata["output_tokens"] > 0
        chunks = list(model.stream(chat))
        assert "".join(chunk.text for chunk in chunks) == whole.text
        [usage] = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
        assert usage["input_tokens"] == whole.usage_metadata["input_tokens"]
        # The same question once more: nothing of it was read.
        assert usage["input_token_details"]["cache_read"] == usage["input_tokens"]


def langchain_follows_responses_by_their_ids(server):
    model = server.langchain(use_responses_api=True, use_previous_response_id=True)
    chat = [HumanMessage("Anna keeps three parrots.")]
    note = model.invoke(chat)
    answer = model.invoke(chat + [note, HumanMessage("What does Anna keep?")])
    assert answer.usage_metadata["input_token_details"]["cache_read"] > note.usage_metadata["input_tokens"]


def langchain_tools_and_schemas(server):
    question = [HumanMessage("Which pet?")]
    for more in ({}, {"use_responses_api": True}):
        model = server.langchain(**more)
        tool = {"type": "function", "function": TOOL}
        called = model.bind_tools([tool], tool_choice="any", parallel_tool_calls=False).invoke(question)
        [call] = called.tool_calls
        assert is_find(call["name"], call["args"])
        further = question + [called, ToolMessage("Anna", tool_call_id=call["id"])]
        answer = model.bind_tools([tool]).invoke(further, max_tokens=20)
        assert answer.usage_metadata["input_token_details"]["cache_read"] > called.usage_metadata["input_tokens"]
        assert isinstance(model.with_structured_output(Pet).invoke(question), Pet)


def langchain_errors_have_their_classes(server):
    raises(openai.BadRequestError, lambda: server.langchain(temperature=3).invoke("Hello"), param="temperature")
    raises(openai.BadRequestError, lambda: server.langchain().invoke("word " * 5000), code="context_length_exceeded")


def both_together(server):
    failed = []
    def talk(who):
        try:
            client = server.openai()
            chat = []
            for turn in range(3):
                chat.append({"role": "user", "content": f"Person {who}, turn {turn}?"})
                answer = client.chat.completions.create(model=server.model, messages=chat, max_tokens=6)
                chat.append({"role": "assistant", "content": answer.choices[0].message.content})
        except Exception as error:
            failed.append(error)
    threads = [threading.Thread(target=talk, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def a_chat_to_come_back_to(server):
    client = server.openai()
    chat = [{"role": "user", "content": "Carla owns a mill. Dora owns a barn."}]
    answer = client.chat.completions.create(model=server.model, messages=chat, max_tokens=8)
    chat += [{"role": "assistant", "content": answer.choices[0].message.content},
             {"role": "user", "content": "Who owns a mill?"}]
    return chat, answer.usage.prompt_tokens


def main():
    tests = [work for name, work in globals().items()
             if callable(work) and name.startswith(("openai_", "anthropic_", "langchain_", "both_"))]
    with tempfile.TemporaryDirectory() as folder:
        with Clients(sys.argv[1], folder) as server:
            run(tests, server)
            chat, n_read = a_chat_to_come_back_to(server)
        with Clients(sys.argv[1], folder) as server:
            answer = server.openai().chat.completions.create(model=server.model, messages=chat, max_tokens=8)
            assert answer.usage.prompt_tokens_details.cached_tokens > n_read
        print("ok a restart keeps the cache", flush=True)
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}, langchain-openai {langchain_openai.__version__}: "
          f"{len(tests) + 1} tests passed")


if __name__ == "__main__":
    main()

"""Open Responses (openresponses.org) against `satchel serve` with the bundled model.

    serve_responses.py PATH/TO/satchel

The cases of its compliance tests, written anew: fields of responses and events by its schema of 2026-04-24, the order
of events by its specification. Two differ: a model without training for tools is made to call one, and an image is
refused by name.
"""
import json
import sys

from serving import Server, events_of, run

ANY, NONE = object(), type(None)
WEATHER = {"type": "function", "name": "get_weather", "description": "The weather of a place.",
           "parameters": {"type": "object", "properties": {"place": {"type": "string", "maxLength": 20}},
                          "required": ["place"], "additionalProperties": False}}
PART = {"type": {"output_text"}, "text": str, "annotations": [ANY], "logprobs": [ANY]}
STATUS = {"in_progress", "completed", "incomplete"}
ITEM = ({"type": {"message"}, "id": str, "status": STATUS, "role": {"assistant"}, "content": [PART]},
        {"type": {"function_call"}, "id": str, "call_id": str, "name": str, "arguments": str, "status": STATUS})
FORMAT = ({"type": {"text", "json_object"}},
          {"type": {"json_schema"}, "name": str, "description": (str, NONE), "schema": dict, "strict": bool})
RESPONSE = {
    "id": str, "object": {"response"}, "created_at": int, "completed_at": (int, NONE),
    "status": {"in_progress", "completed", "incomplete", "failed"}, "incomplete_details": ({"reason": str}, NONE),
    "model": str, "previous_response_id": (str, NONE), "instructions": (str, NONE), "output": [ITEM],
    "error": ({"code": str, "message": str}, NONE),
    "tools": [{"type": {"function"}, "name": str, "description": (str, NONE), "parameters": (dict, NONE), "strict": bool}],
    "tool_choice": ({"none", "auto", "required"}, {"type": {"function"}, "name": str}), "truncation": {"disabled"},
    "parallel_tool_calls": bool, "text": {"format": FORMAT}, "top_p": (int, float), "presence_penalty": (int, float),
    "frequency_penalty": (int, float), "top_logprobs": int, "temperature": (int, float),
    "reasoning": {"effort": (str, NONE), "summary": (str, NONE)},
    "usage": ({"input_tokens": int, "output_tokens": int, "total_tokens": int,
               "input_tokens_details": {"cached_tokens": int}, "output_tokens_details": {"reasoning_tokens": int}}, NONE),
    "max_output_tokens": (int, NONE), "max_tool_calls": (int, NONE), "store": bool, "background": bool,
    "service_tier": str, "metadata": dict, "safety_identifier": (str, NONE), "prompt_cache_key": (str, NONE)}
WITH_RESPONSE = {"response": RESPONSE}
WITH_ITEM = {"output_index": int, "item": ITEM}
OF_ITEM = {"item_id": str, "output_index": int}
OF_PART = {**OF_ITEM, "content_index": int}
EVENTS = {"response.created": WITH_RESPONSE, "response.in_progress": WITH_RESPONSE,
          "response.completed": WITH_RESPONSE, "response.incomplete": WITH_RESPONSE, "response.failed": WITH_RESPONSE,
          "response.output_item.added": WITH_ITEM, "response.output_item.done": WITH_ITEM,
          "response.content_part.added": {**OF_PART, "part": PART}, "response.content_part.done": {**OF_PART, "part": PART},
          "response.output_text.delta": {**OF_PART, "delta": str, "logprobs": [ANY]},
          "response.output_text.done": {**OF_PART, "text": str, "logprobs": [ANY]},
          "response.function_call_arguments.delta": {**OF_ITEM, "delta": str},
          "response.function_call_arguments.done": {**OF_ITEM, "arguments": str}}


def misfit(value, shape, path):
    """Where a value is not of a shape: a type, a set of texts, a tuple of shapes, a list or an object; None: nowhere."""
    if shape is ANY:
        return None
    if isinstance(shape, tuple):
        found = [misfit(value, one, path) for one in shape]
        return None if None in found else max(found, key=len)  # the one that came furthest
    if isinstance(shape, set):
        return None if isinstance(value, str) and value in shape else f"{path}: {value!r}"
    if isinstance(shape, type):
        return None if type(value) is shape else f"{path}: {value!r}"
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{path}: {value!r}"
        return next(filter(None, (misfit(one, shape[0], f"{path}[{i}]") for i, one in enumerate(value))), None)
    if not isinstance(value, dict):
        return f"{path}: {value!r}"
    missing = [name for name in shape if name not in value]
    if missing:
        return f"{path}: without {missing}"
    return next(filter(None, (misfit(value[name], of, f"{path}.{name}") for name, of in shape.items())), None)


def checked(value, shape):
    wrong = misfit(value, shape, "")
    assert wrong is None, wrong
    return value


def say(role, text):
    return {"type": "message", "role": role, "content": text}


def create(server, given, **more):
    status, response = server.post("/v1/responses", {"model": server.model, "input": given, "max_output_tokens": 120, **more})
    assert status == 200, response
    checked(response, RESPONSE)
    assert response["output"], "no output"
    return response


def refusal(server, given, **more):
    status, body = server.post("/v1/responses", {"model": server.model, "input": given, **more})
    return status, checked(body, {"error": {"message": str, "type": str, "param": (str, NONE), "code": (str, NONE)}})["error"]


def text_of(response):
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def check_item(events, item):
    """The events of one item, from its beginning to its end."""
    kinds = [event["type"].removeprefix("response.") for event in events]
    first, last = events[0]["item"], events[-1]["item"]
    assert first["status"] == "in_progress" and last == item, (first, last, item)
    assert {event.get("item_id", item["id"]) for event in events} == {item["id"]} == {first["id"]}
    deltas = "".join(event["delta"] for event in events if event["type"].endswith(".delta"))
    steps = [kind for kind, before in zip(kinds, [None] + kinds) if kind != before]  # a row of deltas is one step
    if item["type"] == "function_call":
        assert steps == ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done",
                         "output_item.done"], steps
        assert deltas == events[-2]["arguments"] == item["arguments"]
    else:
        assert [step for step in steps if step != "output_text.delta"] == [
            "output_item.added", "content_part.added", "output_text.done", "content_part.done", "output_item.done"], steps
        assert steps.count("output_text.delta") <= 1 and first["content"] == []
        assert deltas == events[-3]["text"] == events[-2]["part"]["text"] == item["content"][0]["text"]


def stream(server, given, **more):
    """Its last response, after all its events were checked."""
    answer = server.ask("/v1/responses", {"model": server.model, "input": given, "max_output_tokens": 120, "stream": True, **more})
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
    named = list(events_of(answer))
    assert named.pop() == (None, "[DONE]")
    events = [json.loads(data) for _, data in named]
    for number, ((name, _), event) in enumerate(zip(named, events)):
        checked(event, {"type": set(EVENTS), "sequence_number": int, **EVENTS.get(event["type"], {})})
        assert event["sequence_number"] == number and event["type"] == name
    last = events[-1]["response"]
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[0]["response"]["status"] == "in_progress" and events[-1]["type"] == "response." + last["status"]
    assert {event["response"]["id"] for event in (events[0], events[1], events[-1])} == {last["id"]}
    inside = [event for event in events if "output_index" in event]
    assert events[2:-1] == inside
    assert [event["output_index"] for event in inside] == sorted(event["output_index"] for event in inside)
    for index, item in enumerate(last["output"]):
        check_item([event for event in inside if event["output_index"] == index], item)
    assert inside[-1]["output_index"] == len(last["output"]) - 1
    return last


def basic_response(server):
    response = create(server, [say("user", "What does Anna keep? Say it in three words.")])
    assert response["status"] == "completed" and text_of(response)
    assert response["completed_at"] >= response["created_at"]
    assert create(server, "What does Anna keep? Say it in three words.")["output"][0]["content"] == response["output"][0]["content"]


def streaming_response(server):
    given = [say("user", "Count from 1 to 5.")]
    whole, last = create(server, given), stream(server, given)
    assert last["status"] == "completed" and text_of(last) == text_of(whole)
    assert last["id"] != whole["id"]
    # Twice the same question: nothing of it was read again.
    assert last["usage"]["input_tokens_details"]["cached_tokens"] == last["usage"]["input_tokens"]


def system_prompt(server):
    question = "What does Anna keep?"
    response = create(server, [say("system", "You are a pirate."), say("user", question)])
    assert response["status"] == "completed" and response["instructions"] is None
    # It was read: as an instruction it is the same prompt, for a developer too.
    for given, more in ((question, {"instructions": "You are a pirate."}),
                        ([say("developer", "You are a pirate."), say("user", question)], {})):
        again = create(server, given, **more)
        assert again["usage"]["input_tokens_details"]["cached_tokens"] == response["usage"]["input_tokens"]
        assert again["instructions"] == more.get("instructions")


def tool_calling(server):
    question = [say("user", "What's the weather like in San Francisco?")]
    offer = {"tools": [WEATHER], "tool_choice": "required", "parallel_tool_calls": False}
    for ask in (create, stream):
        response = ask(server, question, **offer)
        [call] = response["output"]
        assert response["status"] == "completed" and call["type"] == "function_call" and call["name"] == "get_weather"
        assert list(json.loads(call["arguments"])) == ["place"]
        assert response["tools"] == [{**WEATHER, "strict": True}] and response["tool_choice"] == "required"
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "Clear."}
    answer = create(server, question + [call, result], **{**offer, "tool_choice": "auto"})
    assert answer["usage"]["input_tokens_details"]["cached_tokens"] >= response["usage"]["input_tokens"]
    named = create(server, question, **{**offer, "tool_choice": {"type": "function", "name": "get_weather"}})
    assert named["tool_choice"] == {"type": "function", "name": "get_weather"}


def image_input(server):
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    status, error = refusal(server, [{"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "What do you see?"}, image]}])
    assert status == 400 and error["param"] == "input[0].content[1].type" and error["code"] == "unsupported"


def multi_turn(server):
    chat = [say("user", "Alice keeps bees."), say("assistant", "Noted."), say("user", "What does Alice keep?")]
    response = create(server, chat)
    assert response["status"] == "completed"
    assert response["usage"]["input_tokens"] > create(server, chat[-1:])["usage"]["input_tokens"]
    # An answer goes back as it came.
    further = create(server, chat + response["output"] + [say("user", "Who keeps bees?")])
    assert further["usage"]["input_tokens_details"]["cached_tokens"] > response["usage"]["input_tokens"]


def stateful_conversation(server):
    first = create(server, [say("system", "You are a pirate."), say("user", "Alice keeps bees.")])
    for ask in (create, stream):
        then = ask(server, "What does Alice keep?", previous_response_id=first["id"])
        assert then["previous_response_id"] == first["id"] and then["store"] is True
        assert then["usage"]["input_tokens_details"]["cached_tokens"] > first["usage"]["input_tokens"]
    status, error = refusal(server, "What does Alice keep?", previous_response_id="resp_0")
    assert status == 400 and error["code"] == "previous_response_not_found" and error["param"] == "previous_response_id"


def a_response_had_again(server):
    def get(name):
        response = server.ask(f"/v1/responses/{name}")
        return response.status, json.loads(response.read())

    for ask in (create, stream):
        response = ask(server, "Which pet?")
        assert get(response["id"]) == (200, response)
    unkept = create(server, "Which pet?", store=False)
    for name in (unkept["id"], "resp_0"):
        status, body = get(name)
        error = checked(body, {"error": {"message": str, "type": str, "param": (str, NONE), "code": (str, NONE)}})["error"]
        assert status == 404 and error["type"] == "invalid_request_error" and name in error["message"]


def incomplete_response(server):
    for ask in (create, stream):
        response = ask(server, "Tell a story.", max_output_tokens=2)
        assert response["status"] == response["output"][-1]["status"] == "incomplete"
        assert response["incomplete_details"] == {"reason": "max_output_tokens"} and response["completed_at"] is None


def what_was_asked_is_said_again(server):
    schema = {"type": "object", "properties": {"pet": {"enum": ["cat", "parrot"]}}, "required": ["pet"]}
    asked = {"instructions": "Be brief.", "temperature": 0.5, "top_p": 0.9, "metadata": {"order": "7"}, "tool_choice": "auto",
             "reasoning": {"effort": "low", "summary": None}, "prompt_cache_key": "group", "safety_identifier": "someone"}
    more = {"text": {"format": {"type": "json_schema", "name": "pet", "schema": schema}}, "truncation": "disabled", "n": 1}
    for ask in (create, stream):
        response = ask(server, "Which pet?", **asked, **more)
        assert {name: response[name] for name in asked} == asked
        assert response["text"]["format"] == {"type": "json_schema", "name": "pet", "description": None, "schema": schema,
                                              "strict": True}
        assert json.loads(text_of(response))["pet"] in ("cat", "parrot")


def what_cannot_be_done_is_refused(server):
    for more, param in (({"background": True}, "background"), ({"top_logprobs": 2}, "top_logprobs"),
                        ({"frequency_penalty": 1}, "frequency_penalty"), ({"max_tool_calls": 3}, "max_tool_calls"),
                        ({"metadata": {"a": 1}}, "metadata"), ({"conversation": "conv_1"}, "conversation"),
                        ({"temperature": "hot"}, "temperature"), ({"store": "yes"}, "store")):
        status, error = refusal(server, "Hello", **more)
        assert status == 400 and error["param"] == param and error["type"] == "invalid_request_error", error
    for given in (None, 5, [], [{"type": "item_reference", "id": "msg_1"}], [say("wizard", "Hello")]):
        assert refusal(server, given)[0] == 400


def main():
    with Server(sys.argv[1]) as server:
        run([basic_response, streaming_response, system_prompt, tool_calling, image_input, multi_turn, stateful_conversation,
             a_response_had_again, incomplete_response, what_was_asked_is_said_again, what_cannot_be_done_is_refused], server)


if __name__ == "__main__":
    main()

// OpenAI's responses: what is given is a text, or a list of messages.
//   source  OpenAI's API reference; Open Responses
#include <algorithm>

#include "app/serve/chat_request.h"

namespace satchel::serve {
namespace {

constexpr std::size_t kPairsMax = 16, kPairBytesMax = 512;  // of metadata, as in the reference

// What a response says again as it was asked.
void read_echo(Fields& fields, ChatRequest& request) {
  for (const char* name :
       {"metadata", "safety_identifier", "prompt_cache_key", "previous_response_id"})
    if (const Json* given = fields.find(name)) request.echo[name] = *given;
  fields.text("safety_identifier", kPairBytesMax);
  request.echo["store"] = fields.flag("store", true);
  const Json metadata = request.echo.value("metadata", Json::object());
  const auto is_pair = [](const Json& value) {
    return value.is_string() && value.get_ref<const std::string&>().size() <= kPairBytesMax;
  };
  if (!metadata.is_object() || metadata.size() > kPairsMax ||
      !std::ranges::all_of(metadata, is_pair))
    fields.fail("metadata", "must be an object of up to 16 texts of up to 512 bytes.");
}

void read_text(const Json& text, Fields& fields, ChatRequest& request) {
  Fields inside(text, "text");
  if (const Json* format = inside.find("format")) {
    read_format(*format, "text.format", fields, request.shape);
    request.echo["text"] = {{"format", *format}};
    if (request.shape.kind == AnswerShape::Kind::json_schema) {
      Json& said = request.echo["text"]["format"];
      said = {{"type", "json_schema"}, {"name", ""}, {"description", Json()}};
      said.update(*format);
      said["strict"] = true;  // an answer is always within its schema
    }
  }
  if (inside.error()) fields.fail(*inside.error());
}

void read_reasoning(const Json& reasoning, Fields& fields, ChatRequest& request) {
  Fields inside(reasoning, "reasoning");
  const std::string effort = inside.text("effort");
  request.thinks = effort != "none";
  request.echo["reasoning"] = {{"effort", effort.empty() ? Json() : Json(effort)},
                               {"summary", Json()}};
  if (inside.error()) fields.fail(*inside.error());
}

void read_item(const Json& given, const std::string& path, Fields& fields, ChatRequest& request) {
  Fields item(given, path);
  const std::string type = item.text("type");
  if (type == "reasoning") return;  // thoughts are no part of a message
  if (type == "function_call" || type == "function_call_output") {
    const std::string name = item.text("name");
    const std::string arguments = item.text("arguments", kArgumentsBytesMax);
    const std::string id = item.text("call_id");
    const Json* const output = item.find("output");
    if (item.error()) return fields.fail(*item.error());
    if (type == "function_call")
      return add_call({.id = id, .name = name, .arguments = arguments}, request);
    std::string text = content_text(output != nullptr ? *output : Json(), item.path_of("output"),
                                    fields, {"input_text", "output_text", "text"});
    return add_result({.call_id = id, .text = std::move(text)}, request);
  }
  const std::string role = item.text("role");
  const Json* content = item.find("content");
  if (!type.empty() && type != "message")
    item.fail("type", "must be message, function_call or function_call_output.", "unsupported");
  if (item.error()) return fields.fail(*item.error());
  add_message(role,
              content_text(content != nullptr ? *content : Json(), item.path_of("content"), fields,
                           {"input_text", "output_text", "text"}),
              item.path_of("role"), fields, request);
}

}  // namespace

Parsed parse_response(const Json& body, const Defaults& defaults, ChatRequest& request) {
  Fields fields(body);
  read_sampling(fields, defaults, request);
  read_identity(fields, request);
  request.sampling.n_tokens_max =
      fields.whole("max_output_tokens", request.sampling.n_tokens_max, 1, kTokensMax);
  read_openai_limits(fields);
  for (const char* name : {"conversation", "background", "prompt"})
    fields.unsupported(name, "is not supported.");
  fields.unsupported("max_tool_calls",
                     "is not supported: parallel_tool_calls: false allows one call at most.");
  read_echo(fields, request);
  request.previous = fields.text("previous_response_id");
  read_tools(fields, request);
  if (const Json* text = fields.find("text")) read_text(*text, fields, request);
  if (const Json* reasoning = fields.find("reasoning")) read_reasoning(*reasoning, fields, request);
  if (const Json* system = fields.find("instructions")) {
    request.system = content_text(*system, "instructions", fields, {"input_text", "text"});
    request.echo["instructions"] = *request.system;
    request.system_own = request.system->size();
  }
  const Json* input = fields.find("input");
  if (input != nullptr && input->is_string())
    request.messages.push_back({.role = runtime::Role::user, .text = input->get<std::string>()});
  else if (input == nullptr || !input->is_array())
    fields.fail("input", "must be a text or a list of messages.");
  else
    for (std::size_t i = 0; i < input->size() && !fields.error(); ++i)
      read_item((*input)[i], "input[" + std::to_string(i) + "]", fields, request);
  request.system_end = request.system.value_or("").size();
  if (request.system_own > 0 && request.system_own < request.system_end)
    request.system_own += kSystemJoin.size();
  return finished(fields, request);
}

}  // namespace satchel::serve

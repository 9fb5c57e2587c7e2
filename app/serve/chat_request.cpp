#include "app/serve/chat_request.h"

#include <algorithm>
#include <utility>

namespace satchel::serve {
namespace {

constexpr std::size_t kIgnoredMax = 32;
constexpr double kTopPMin = 1e-6;  // 0 is asked for by those who mean the likeliest token

std::uint64_t seed_of(Fields& fields, std::uint64_t fallback) {
  const Json* seed = fields.find("seed");
  if (seed == nullptr) return fallback;
  if (seed->is_number_integer()) return static_cast<std::uint64_t>(seed->get<std::int64_t>());
  fields.fail("seed", "must be a whole number.");
  return fallback;
}

bool read_stream_options(Fields& fields) {
  const Json* options = fields.find("stream_options");
  if (options == nullptr) return false;
  Fields inside(*options, "stream_options");
  const bool wants_usage = inside.flag("include_usage", false);
  if (inside.error()) fields.fail(*inside.error());
  return wants_usage;
}

// OpenAI's, of one message of the model.
void read_calls(const Json& calls, const std::string& path, Fields& fields, ChatRequest& request) {
  if (!calls.is_array()) return fields.fail(bad_field(path, path + " must be a list."));
  for (std::size_t i = 0; i < calls.size() && !fields.error(); ++i) {
    Fields call(calls[i], path + "[" + std::to_string(i) + "]");
    const Json* const function = call.find("function");
    const std::string id = call.text("id");
    if (call.error()) return fields.fail(*call.error());
    if (function == nullptr) return fields.fail(bad_field(path, "Only functions are called here."));
    Fields inside(*function, call.path_of("function"));
    const std::string name = inside.text("name");
    const std::string arguments = inside.text("arguments", kArgumentsBytesMax);
    if (inside.error()) return fields.fail(*inside.error());
    add_call({.id = id, .name = name, .arguments = arguments}, request);
  }
}

void read_message(const Json& given, const std::string& path, Fields& fields,
                  ChatRequest& request) {
  Fields message(given, path);
  const std::string role = message.text("role");
  message.unsupported("audio", "is not supported.");
  message.find("refusal");
  const std::string call_id = message.text("tool_call_id");
  message.find("reasoning_content");  // thoughts are no part of a message
  const Json* content = message.find("content");
  const Json* calls = message.find("tool_calls");
  const bool has_calls = role == "assistant" && calls != nullptr && !calls->empty();
  if (!has_calls) message.unsupported("tool_calls", "are the model's alone.");
  if (message.error()) return fields.fail(*message.error());
  std::string text = has_calls && content == nullptr
                         ? ""
                         : content_text(content != nullptr ? *content : Json(),
                                        message.path_of("content"), fields, {"text"});
  if (role == "tool")
    add_result({.call_id = call_id, .text = std::move(text)}, request);
  else
    add_message(role, std::move(text), message.path_of("role"), fields, request);
  if (has_calls) read_calls(*calls, message.path_of("tool_calls"), fields, request);
  for (std::string& name : message.unread()) request.ignored.push_back(std::move(name));
}

void read_messages(Fields& fields, ChatRequest& request) {
  const Json* messages = fields.find("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty())
    return fields.fail("messages", "must be a list of messages.");
  for (std::size_t i = 0; i < messages->size() && !fields.error(); ++i)
    read_message((*messages)[i], "messages[" + std::to_string(i) + "]", fields, request);
}

}  // namespace

bool is_session_id(std::string_view id) {
  return !id.empty() && id.size() <= kSessionBytesMax &&
         std::ranges::all_of(id, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '/'; });
}

bool is_recipe_name(std::string_view name) {
  return std::ranges::all_of(
      name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

std::string content_text(const Json& content, const std::string& path, Fields& fields,
                         std::initializer_list<std::string_view> types) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) {
    fields.fail(bad_field(path, path + " must be a text or a list of text parts."));
    return text;
  }
  for (std::size_t i = 0; i < content.size(); ++i) {
    Fields part(content[i], path + "[" + std::to_string(i) + "]");
    const std::string type = part.text("type");
    if (type == "thinking" || type == "redacted_thinking") continue;  // no part of a message
    const Json* said = part.find("text");
    if (std::ranges::find(types, type) == types.end() || said == nullptr || !said->is_string()) {
      fields.fail(bad_field(part.path_of("type"), "Only text is supported.", "unsupported"));
      return text;
    }
    text += (text.empty() ? "" : "\n") + said->get<std::string>();
  }
  return text;
}

void add_message(const std::string& role, std::string text, const std::string& path, Fields& fields,
                 ChatRequest& request) {
  if (role == "user" || role == "assistant") {
    const auto who = role == "user" ? runtime::Role::user : runtime::Role::assistant;
    request.messages.push_back({.role = who, .text = std::move(text)});
    return;
  }
  const bool is_system = role == "system" || role == "developer";
  if (is_system && request.messages.empty()) {
    request.system = (request.system ? *request.system + std::string(kSystemJoin) : "") + text;
    return;
  }
  fields.fail(bad_field(path, is_system ? "A system message must come first."
                                        : "must be system, developer, user, assistant or tool."));
}

void read_sampling(Fields& fields, const Defaults& defaults, ChatRequest& request) {
  runtime::Sampling& sampling = request.sampling;
  sampling = defaults.sampling;
  sampling.temperature = fields.number("temperature", sampling.temperature, 0, 2);
  sampling.top_p = std::max(fields.number("top_p", sampling.top_p, 0, 1), kTopPMin);
  sampling.top_k = fields.whole("top_k", sampling.top_k, 0, kTokensMax);
  sampling.min_p = fields.number("min_p", sampling.min_p, 0, 0.999);
  sampling.repetition_penalty =
      fields.number("repetition_penalty", sampling.repetition_penalty, 1, 2);
  sampling.seed = seed_of(fields, sampling.seed);
  request.streams = fields.flag("stream", false);
  request.model = fields.text("model");
}

void read_identity(Fields& fields, ChatRequest& request) {
  request.group = fields.text("prompt_cache_key");
  if (!request.group.empty() && !is_session_id(request.group))
    fields.fail("prompt_cache_key", "must be printable, without spaces and \"/\", at most 128.");
  if (const Json* ours = fields.find("satchel")) {
    Fields inside(*ours, "satchel");
    request.session = inside.text("session");
    request.recipe = inside.text("recipe");
    if (!is_recipe_name(request.recipe)) inside.fail("recipe", "must be a name.");
    if (!request.session.empty() && !is_session_id(request.session))
      inside.fail("session", "must be printable, without spaces and \"/\", at most 128.");
    if (inside.error()) return fields.fail(*inside.error());
    for (std::string& name : inside.unread()) request.ignored.push_back(std::move(name));
  }
}

void read_openai_limits(Fields& fields) {
  fields.only("n", 1, "must be 1: one answer is given.");
  fields.only("frequency_penalty", 0, "must be 0: use repetition_penalty.");
  fields.only("presence_penalty", 0, "must be 0: use repetition_penalty.");
  fields.unsupported("logprobs", "is not supported.");
  fields.only("top_logprobs", 0, "is not supported.");
  fields.unsupported("logit_bias", "is not supported.");
}

Parsed finished(Fields& fields, ChatRequest& request) {
  if (!fields.error()) {
    const auto& messages = request.messages;
    if (messages.empty() || messages.front().role != runtime::Role::user)
      fields.fail("messages", "must begin with a user's message.");
    else if (messages.back().role != runtime::Role::user)
      fields.fail("messages", "must end with a user's message.", "unsupported");
  }
  if (fields.error()) return fields.error();
  for (std::string& name : fields.unread()) request.ignored.push_back(std::move(name));
  if (request.ignored.size() > kIgnoredMax) request.ignored.resize(kIgnoredMax);
  return std::nullopt;
}

Parsed parse_chat(const Json& body, const Defaults& defaults, ChatRequest& request) {
  Fields fields(body);
  read_sampling(fields, defaults, request);
  read_identity(fields, request);
  read_openai_limits(fields);
  request.sampling.n_tokens_max =
      fields.whole("max_tokens", request.sampling.n_tokens_max, 1, kTokensMax);
  request.sampling.n_tokens_max =
      fields.whole("max_completion_tokens", request.sampling.n_tokens_max, 1, kTokensMax);
  request.stop = fields.texts("stop", kStopsMax);
  request.wants_usage = read_stream_options(fields);
  request.thinks = fields.text("reasoning_effort") != "none";
  for (const char* name : {"functions", "audio"}) fields.unsupported(name, "is not supported.");
  read_tools(fields, request);
  fields.only("modalities", Json::array({"text"}), "only [\"text\"] is supported.");
  if (const Json* format = fields.find("response_format"))
    read_format(*format, "response_format", fields, request.shape);
  read_grammar(fields, request.shape);
  read_messages(fields, request);
  return finished(fields, request);
}

Parsed parse_completion(const Json& body, const Defaults& defaults, ChatRequest& request) {
  Fields fields(body);
  read_sampling(fields, defaults, request);
  read_identity(fields, request);
  read_openai_limits(fields);
  fields.only("best_of", 1, "must be 1: one answer is given.");
  fields.unsupported("echo", "is not supported.");
  fields.only("suffix", "", "is not supported.");
  request.sampling.n_tokens_max =
      fields.whole("max_tokens", request.sampling.n_tokens_max, 1, kTokensMax);
  request.stop = fields.texts("stop", kStopsMax);
  request.wants_usage = read_stream_options(fields);
  read_grammar(fields, request.shape);
  std::vector<std::string> prompts = fields.texts("prompt", 1);
  if (prompts.size() == 1)
    request.messages.push_back({.role = runtime::Role::user, .text = std::move(prompts.front())});
  else
    fields.fail("prompt", "must be one text.");
  return finished(fields, request);
}

}  // namespace satchel::serve

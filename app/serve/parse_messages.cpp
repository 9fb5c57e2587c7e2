// Anthropic's messages.
//   source  Anthropic's API reference (2023-06-01)
#include <algorithm>
#include <string>

#include "app/serve/chat_request.h"

namespace satchel::serve {
namespace {

bool wants_thoughts(Fields& fields) {
  const Json* thinking = fields.find("thinking");
  if (thinking == nullptr) return true;
  Fields inside(*thinking, "thinking");
  const std::string type = inside.text("type");
  inside.find("budget_tokens");
  if (type != "enabled" && type != "disabled" && type != "adaptive")
    inside.fail("type", "must be enabled, adaptive or disabled.");
  if (inside.error()) fields.fail(*inside.error());
  return type != "disabled";
}

// What a tool gave: a text or a list of texts; nothing is one, too.
ToolResult result_of(Fields& block, Fields& fields) {
  const std::string id = block.text("tool_use_id");
  const bool is_error = block.flag("is_error", false);
  const Json* const content = block.find("content");
  const std::string text =
      content == nullptr ? "" : content_text(*content, block.path_of("content"), fields, {"text"});
  return {.call_id = id, .text = (is_error ? "Error: " : "") + text};
}

// A message's blocks: texts are joined; the model's calls and what came of them stand between.
void read_blocks(const std::string& role, const Json& content, const std::string& path,
                 Fields& fields, ChatRequest& request) {
  const auto type_of = [](const Json& block) {
    return block.is_object() && block.contains("type") && block["type"].is_string()
               ? block["type"].get<std::string>()
               : "";
  };
  const auto is_of_tools = [&](const Json& block) {
    return type_of(block) == "tool_use" || type_of(block) == "tool_result";
  };
  if (!content.is_array() || std::ranges::none_of(content, is_of_tools))
    return add_message(role, content_text(content, path + ".content", fields, {"text"}),
                       path + ".role", fields, request);
  bool has_message = false;  // of this one's texts
  for (std::size_t i = 0; i < content.size() && !fields.error(); ++i) {
    Fields block(content[i], path + ".content[" + std::to_string(i) + "]");
    const std::string type = block.text("type");
    if (type == "tool_use" && role == "assistant") {
      const Json* const input = block.find("input");
      if (!has_message) request.messages.push_back({.role = runtime::Role::assistant});
      add_call({.id = block.text("id"),
                .name = block.text("name"),
                .arguments = input != nullptr ? dump(*input) : "{}"},
               request);
      has_message = true;
    } else if (type == "tool_result" && role == "user") {
      add_result(result_of(block, fields), request);
      has_message = true;
    } else {
      const std::string text =
          content_text(Json::array({content[i]}), path + ".content", fields, {"text"});
      if (has_message)
        request.messages.back().text += (request.messages.back().text.empty() ? "" : "\n") + text;
      else if (!text.empty())
        add_message(role, text, path + ".role", fields, request);
      has_message = has_message || !text.empty();
    }
    if (block.error()) fields.fail(*block.error());
  }
}

}  // namespace

Parsed parse_messages(const Json& body, const Defaults& defaults, ChatRequest& request) {
  Fields fields(body);
  read_sampling(fields, defaults, request);
  read_identity(fields, request);
  if (fields.find("max_tokens") == nullptr) fields.fail("max_tokens", "is required.");
  request.sampling.n_tokens_max = fields.whole("max_tokens", 1, 1, kTokensMax);
  request.stop = fields.texts("stop_sequences", kStopsMax);
  request.thinks = wants_thoughts(fields);
  if (const Json* output = fields.find("output_config")) {
    Fields inside(*output, "output_config");
    if (const Json* format = inside.find("format"))
      read_format(*format, "output_config.format", fields, request.shape);
    if (inside.error()) fields.fail(*inside.error());
  }
  read_tools(fields, request);
  fields.unsupported("mcp_servers", "is not supported.");
  if (const Json* system = fields.find("system"))
    request.system = content_text(*system, "system", fields, {"text"});
  const Json* messages = fields.find("messages");
  if (messages == nullptr || !messages->is_array())
    fields.fail("messages", "must be a list of messages.");
  for (std::size_t i = 0; messages != nullptr && i < messages->size() && !fields.error(); ++i) {
    Fields message((*messages)[i], "messages[" + std::to_string(i) + "]");
    const std::string role = message.text("role");
    const Json* content = message.find("content");
    if (role != "user" && role != "assistant") message.fail("role", "must be user or assistant.");
    if (message.error()) {
      fields.fail(*message.error());
      break;
    }
    read_blocks(role, content != nullptr ? *content : Json(), "messages[" + std::to_string(i) + "]",
                fields, request);
  }
  return finished(fields, request);
}

}  // namespace satchel::serve

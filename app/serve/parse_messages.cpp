// Anthropic's messages.
//   source  Anthropic's API reference (2023-06-01)
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

}  // namespace

Parsed parse_messages(const Json& body, const Defaults& defaults, ChatRequest& request) {
  Fields fields(body);
  read_sampling(fields, defaults, request);
  read_identity(fields, request);
  if (fields.find("max_tokens") == nullptr) fields.fail("max_tokens", "is required.");
  request.sampling.n_tokens_max = fields.whole("max_tokens", 1, 1, kTokensMax);
  request.stop = fields.texts("stop_sequences", kStopsMax);
  request.thinks = wants_thoughts(fields);
  fields.unsupported("tools", "is not supported.");
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
    add_message(role,
                content_text(content != nullptr ? *content : Json(), message.path_of("content"),
                             fields, {"text"}),
                message.path_of("role"), fields, request);
  }
  return finished(fields, request);
}

}  // namespace satchel::serve

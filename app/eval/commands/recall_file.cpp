#include "app/eval/commands/recall_file.h"

#include <utility>

#include "app/eval/commands/json_lines.h"

namespace satchel::app {
namespace {

Result<RecallExchange> exchange_of(const Json& json) {
  if (!json.is_object()) return wrong_line("is not a JSON object");
  if (json.contains("say") == json.contains("ask"))
    return wrong_line(R"(needs either "say" or "ask")");
  RecallExchange exchange;
  if (json.contains("say")) {
    SATCHEL_TRY_ASSIGN(exchange.text, text_at(json, "say"));
    return exchange;
  }
  SATCHEL_TRY_ASSIGN(exchange.text, text_at(json, "ask"));
  SATCHEL_TRY_ASSIGN(exchange.value, text_at(json, "value"));
  SATCHEL_TRY_ASSIGN(exchange.kind, optional_text_at(json, "kind"));
  return exchange;
}

Result<RecallConversation> conversation_of(const Json& json) {
  RecallConversation conversation;
  SATCHEL_TRY_ASSIGN(conversation.set, optional_text_at(json, "set"));
  SATCHEL_TRY_ASSIGN(conversation.notes, text_at(json, "notes"));
  SATCHEL_TRY_ASSIGN(const Json* exchanges, array_at(json, "exchanges"));
  for (const Json& each : *exchanges) {
    Result<RecallExchange> exchange = exchange_of(each);
    if (!exchange.ok())
      return wrong_line("exchange " + std::to_string(conversation.exchanges.size() + 1) + " " +
                        exchange.error().message);
    conversation.exchanges.push_back(std::move(exchange).value());
  }
  return conversation;
}

}  // namespace

Result<std::vector<RecallConversation>> read_recall_file(const std::string& path) {
  std::vector<RecallConversation> all;
  SATCHEL_TRY(for_each_line(path, [&](const Json& json) -> Result<void> {
    SATCHEL_TRY_ASSIGN(RecallConversation conversation, conversation_of(json));
    conversation.number = all.size();
    all.push_back(std::move(conversation));
    return {};
  }));
  return all;
}

}  // namespace satchel::app

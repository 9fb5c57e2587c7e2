#include "app/cli/recall_file.h"

#include <algorithm>

#include "app/cli/console.h"

namespace satchel::app {
namespace {

// Without its subject: who calls knows what it looked at.
Error wrong(std::string what) {
  return {ErrorKind::corrupt, "DOC_FORMAT", std::move(what)};
}

std::string quoted(const char* key) {
  return "\"" + std::string(key) + "\"";
}

enum class Needed { no, yes };

// "" where the key may be left out and is.
Result<std::string> text_at(const Json& object, const char* key, Needed needed) {
  const auto found = object.find(key);
  if (found == object.end()) {
    if (needed == Needed::no) return std::string();
    return wrong("has no " + quoted(key));
  }
  if (!found->is_string()) return wrong("has a " + quoted(key) + " that is no text");
  if (needed == Needed::yes && found->get_ref<const std::string&>().empty())
    return wrong("has an empty " + quoted(key));
  return found->get<std::string>();
}

Result<RecallExchange> exchange_of(const Json& json) {
  if (!json.is_object()) return wrong("is no JSON object");
  if (json.contains("say") == json.contains("ask")) return wrong(R"(needs either "say" or "ask")");
  RecallExchange exchange;
  if (json.contains("say")) {
    SATCHEL_TRY_ASSIGN(exchange.text, text_at(json, "say", Needed::yes));
    return exchange;
  }
  SATCHEL_TRY_ASSIGN(exchange.text, text_at(json, "ask", Needed::yes));
  SATCHEL_TRY_ASSIGN(exchange.value, text_at(json, "value", Needed::yes));
  SATCHEL_TRY_ASSIGN(exchange.kind, text_at(json, "kind", Needed::no));
  return exchange;
}

Result<RecallConversation> conversation_of(const Json& json) {
  if (!json.is_object()) return wrong("is no JSON object");
  RecallConversation conversation;
  SATCHEL_TRY_ASSIGN(conversation.set, text_at(json, "set", Needed::no));
  SATCHEL_TRY_ASSIGN(conversation.notes, text_at(json, "notes", Needed::yes));
  const auto exchanges = json.find("exchanges");
  if (exchanges == json.end() || !exchanges->is_array()) return wrong(R"(has no "exchanges")");
  for (const Json& each : *exchanges) {
    Result<RecallExchange> exchange = exchange_of(each);
    if (!exchange.ok())
      return wrong("exchange " + std::to_string(conversation.exchanges.size() + 1) + " " +
                   exchange.error().message);
    conversation.exchanges.push_back(std::move(exchange).value());
  }
  return conversation;
}

}  // namespace

Result<std::vector<RecallConversation>> read_recall_file(const std::string& path) {
  SATCHEL_TRY_ASSIGN(const std::string lines, read_text_file(path));
  std::vector<RecallConversation> all;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    Result<RecallConversation> conversation =
        conversation_of(Json::parse(lines.substr(at, end - at), nullptr, false));
    if (!conversation.ok())
      return wrong(path + ":" + std::to_string(all.size() + 1) + ": " +
                   conversation.error().message + ".");
    all.push_back(std::move(conversation).value());
    all.back().number = all.size() - 1;
    at = end + 1;
  }
  return all;
}

}  // namespace satchel::app

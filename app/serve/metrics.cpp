#include "app/serve/metrics.h"

namespace satchel::serve {
namespace {

void add(std::string& text, const std::string& name, const char* type, std::uint64_t value) {
  text += "# TYPE satchel_" + name + " " + type + "\nsatchel_" + name + " " +
          std::to_string(value) + "\n";
}

}  // namespace

std::string to_text(const Metrics& metrics, std::uint64_t n_asked) {
  std::string text = "# TYPE satchel_http_responses_total counter\n";
  for (std::size_t i = 1; i < metrics.responses.size(); ++i)
    text += "satchel_http_responses_total{class=\"" + std::to_string(i) + "xx\"} " +
            std::to_string(metrics.responses[i]) + "\n";
  add(text, "answers_total", "counter", metrics.answers);
  add(text, "answers_cut_total", "counter", metrics.answers_cut);
  add(text, "clients_left_total", "counter", metrics.clients_left);
  add(text, "prompt_tokens_total", "counter", metrics.prompt_tokens);
  add(text, "cached_tokens_total", "counter", metrics.cached_tokens);
  add(text, "answer_tokens_total", "counter", metrics.answer_tokens);
  add(text, "chats_closed_total", "counter", metrics.chats_closed);
  add(text, "chats_open", "gauge", metrics.chats_open);
  add(text, "chats_known", "gauge", metrics.chats_known);
  add(text, "requests_in_work", "gauge", n_asked);
  add(text, "arena_bytes", "gauge", metrics.arena_bytes);
  add(text, "arena_used_bytes", "gauge", metrics.arena_used_bytes);
  return text;
}

}  // namespace satchel::serve

// Anthropic's messages: an answer is a list of blocks, thoughts first.
//   source  Anthropic's API reference (2023-06-01), streaming messages
#include "app/serve/form.h"

namespace satchel::serve {
namespace {

class MessagesForm final : public Form {
 public:
  MessagesForm(AnswerFacts facts, SendEvent send)
      : Form(std::move(facts), std::move(send)), id_(fresh_id("msg_")) {}

  Json whole(const Outcome& outcome) override {
    Json out = head();
    if (!outcome.thoughts.empty()) out["content"].push_back(thought_block(outcome.thoughts));
    if (!outcome.text.empty() || outcome.calls.empty())
      out["content"].push_back(text_block(outcome.text));
    for (const ToolCall& call : outcome.calls) out["content"].push_back(call_block(call));
    out.update(ending(outcome));
    out["usage"] = usage(outcome.n_prompt, outcome.n_cached, outcome.n_answer);
    out["satchel"] = satchel_part(outcome, facts_.request);
    return out;
  }

  void begin() override {
    Json message = head();
    message.update(Json{{"stop_reason", Json()}, {"stop_sequence", Json()}});
    message["usage"] = usage(facts_.n_prompt, facts_.n_prompt - facts_.n_unread, 0);
    send("message_start", {{"message", std::move(message)}});
    has_begun_ = true;
  }
  void thought(std::string_view text) override {
    open_block(Block::thoughts);
    delta({{"type", "thinking_delta"}, {"thinking", text}});
  }
  void said(std::string_view text) override {
    open_block(Block::text);
    delta({{"type", "text_delta"}, {"text", text}});
  }
  void called(const ToolCall& call) override {
    close_block();
    Json block = call_block(call);
    block["input"] = Json::object();
    send("content_block_start", {{"index", n_blocks_++}, {"content_block", std::move(block)}});
    block_ = Block::call;
    delta({{"type", "input_json_delta"}, {"partial_json", call.arguments}});
    close_block();
  }
  void keep_alive() override { send("ping", Json::object()); }
  void end(const Outcome& outcome) override {
    if (!has_begun_) begin();
    if (outcome.calls.empty()) open_block(Block::text);
    close_block();
    send("message_delta", {{"delta", ending(outcome)},
                           {"usage", usage(outcome.n_prompt, outcome.n_cached, outcome.n_answer)},
                           {"satchel", satchel_part(outcome, facts_.request)}});
    send("message_stop", Json::object());
  }
  void fail(const ApiError& error) override {
    send_("error", dump(to_json(error, Dialect::anthropic)));
  }

 private:
  enum class Block { none, thoughts, text, call };

  static Json text_block(const std::string& text) {
    return {{"type", "text"}, {"text", text}, {"citations", Json()}};
  }
  static Json thought_block(const std::string& text) {
    return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
  }
  static Json call_block(const ToolCall& call) {
    const Json input = Json::parse(call.arguments, nullptr, false);
    return {{"type", "tool_use"},
            {"id", call.id},
            {"name", call.name},
            {"input", input.is_object() ? input : Json::object()}};
  }
  // Cached tokens are counted apart from the others here.
  static Json usage(std::size_t n_prompt, std::size_t n_cached, std::size_t n_answer) {
    return {{"input_tokens", n_prompt - n_cached},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", n_cached},
            {"output_tokens", n_answer}};
  }
  static Json ending(const Outcome& outcome) {
    if (!outcome.stop_text.empty())
      return {{"stop_reason", "stop_sequence"}, {"stop_sequence", outcome.stop_text}};
    const char* const end = outcome.calls.empty() ? "end_turn" : "tool_use";
    return {{"stop_reason", outcome.is_cut() ? "max_tokens" : end}, {"stop_sequence", Json()}};
  }
  Json head() const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", facts_.model},
            {"content", Json::array()}};
  }

  void send(const std::string& type, Json event) const {
    Json whole{{"type", type}};
    whole.update(event);
    send_(type, dump(whole));
  }
  void delta(Json what) const {
    send("content_block_delta", {{"index", n_blocks_ - 1}, {"delta", std::move(what)}});
  }
  void open_block(Block wanted) {
    if (block_ == wanted) return;
    close_block();
    block_ = wanted;
    send("content_block_start",
         {{"index", n_blocks_++},
          {"content_block", wanted == Block::text ? text_block("") : thought_block("")}});
  }
  void close_block() {
    if (block_ != Block::none) send("content_block_stop", {{"index", n_blocks_ - 1}});
    block_ = Block::none;
  }

  const std::string id_;
  Block block_ = Block::none;
  std::size_t n_blocks_ = 0;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<Form> make_messages_form(AnswerFacts facts, SendEvent send) {
  return std::make_unique<MessagesForm>(std::move(facts), std::move(send));
}

}  // namespace satchel::serve

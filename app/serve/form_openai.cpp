// OpenAI's chat completions and completions.
//   source  OpenAI's API reference; clients trip over a listed field that is missing, so that each
//           is sent, null where it has nothing
#include "app/serve/form.h"

namespace satchel::serve {
namespace {

const char* finish_reason(const Outcome& outcome) {
  if (outcome.is_cut()) return "length";
  return outcome.calls.empty() ? "stop" : "tool_calls";
}

Json call_json(const ToolCall& call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

class OpenAiForm : public Form {
 public:
  OpenAiForm(AnswerFacts facts, SendEvent send, const char* prefix)
      : Form(std::move(facts), std::move(send)), id_(fresh_id(prefix)) {}

  void end(const Outcome& outcome) override {
    Json last = chunk(Json::object(), finish_reason(outcome));
    last["satchel"] = satchel_part(outcome, facts_.request);
    send(last);
    if (facts_.request.wants_usage) {
      Json usage = head(kChunk);
      usage["choices"] = Json::array();
      usage["usage"] = openai_usage(outcome);
      send(usage);
    }
    send_("", "[DONE]");
  }
  void fail(const ApiError& error) override { send(to_json(error, Dialect::openai)); }
  void keep_alive() override { send(chunk(Json::object(), Json())); }

 protected:
  static constexpr bool kChunk = true;
  virtual const char* object(bool is_chunk) const = 0;
  // delta: an object; what it says to somebody who reads chunks
  virtual Json choice(const Json& delta, const Json& finish) const = 0;

  Json head(bool is_chunk) const {
    return {{"id", id_},
            {"object", object(is_chunk)},
            {"created", created_s_},
            {"model", facts_.model},
            {"system_fingerprint", Json()}};
  }
  Json chunk(const Json& delta, const Json& finish) const {
    Json out = head(kChunk);
    out["choices"] = Json::array({choice(delta, finish)});
    if (facts_.request.wants_usage) out["usage"] = Json();
    return out;
  }
  Json document(const Outcome& outcome, Json only_choice) const {
    Json out = head(!kChunk);
    only_choice["finish_reason"] = finish_reason(outcome);
    out["choices"] = Json::array({std::move(only_choice)});
    out["usage"] = openai_usage(outcome);
    out["satchel"] = satchel_part(outcome, facts_.request);
    return out;
  }
  void send(const Json& event) const { send_("", dump(event)); }

 private:
  const std::string id_;
};

class ChatForm final : public OpenAiForm {
 public:
  ChatForm(AnswerFacts facts, SendEvent send)
      : OpenAiForm(std::move(facts), std::move(send), "chatcmpl-") {}

  Json whole(const Outcome& outcome) override {
    const bool has_text = !outcome.text.empty() || outcome.calls.empty();
    Json message{{"role", "assistant"},
                 {"content", has_text ? Json(outcome.text) : Json()},
                 {"refusal", Json()},
                 {"annotations", Json::array()}};
    for (const ToolCall& call : outcome.calls) message["tool_calls"].push_back(call_json(call));
    if (!outcome.thoughts.empty()) message["reasoning_content"] = outcome.thoughts;
    return document(outcome, {{"index", 0},
                              {"message", std::move(message)},
                              {"logprobs", Json()},
                              {"finish_reason", Json()}});
  }
  void begin() override {
    send(chunk({{"role", "assistant"}, {"content", ""}, {"refusal", Json()}}, Json()));
  }
  void thought(std::string_view text) override {
    send(chunk({{"reasoning_content", text}}, Json()));
  }
  void said(std::string_view text) override { send(chunk({{"content", text}}, Json())); }
  void called(const ToolCall& call) override {
    Json one = call_json(call);
    one["index"] = n_calls_++;
    send(chunk({{"tool_calls", Json::array({std::move(one)})}}, Json()));
  }

 private:
  std::size_t n_calls_ = 0;

  const char* object(bool is_chunk) const override {
    return is_chunk ? "chat.completion.chunk" : "chat.completion";
  }
  Json choice(const Json& delta, const Json& finish) const override {
    return {{"index", 0}, {"delta", delta}, {"logprobs", Json()}, {"finish_reason", finish}};
  }
};

class CompletionForm final : public OpenAiForm {
 public:
  CompletionForm(AnswerFacts facts, SendEvent send)
      : OpenAiForm(std::move(facts), std::move(send), "cmpl-") {}

  Json whole(const Outcome& outcome) override {
    return document(outcome, choice({{"text", outcome.text}}, Json()));
  }
  void begin() override {}
  void thought(std::string_view) override {}
  void said(std::string_view text) override { send(chunk({{"text", text}}, Json())); }
  void called(const ToolCall&) override {}  // its requests have no tools

 private:
  const char* object(bool) const override { return "text_completion"; }
  Json choice(const Json& delta, const Json& finish) const override {
    return {{"index", 0},
            {"text", delta.value("text", "")},
            {"logprobs", Json()},
            {"finish_reason", finish}};
  }
};

}  // namespace

std::unique_ptr<Form> make_chat_form(AnswerFacts facts, SendEvent send) {
  return std::make_unique<ChatForm>(std::move(facts), std::move(send));
}

std::unique_ptr<Form> make_completion_form(AnswerFacts facts, SendEvent send) {
  return std::make_unique<CompletionForm>(std::move(facts), std::move(send));
}

}  // namespace satchel::serve

// OpenAI's responses: one output item, a message with one text.
//   source  OpenAI's API reference; Open Responses, streaming events
#include "app/serve/form.h"

namespace satchel::serve {
namespace {

class ResponseForm final : public Form {
 public:
  ResponseForm(AnswerFacts facts, SendEvent send)
      : Form(std::move(facts), std::move(send)),
        id_(fresh_id("resp_")),
        item_id_(fresh_id("msg_")) {}

  Json whole(const Outcome& outcome) override {
    const char* const status = outcome.is_cut() ? "incomplete" : "completed";
    Json out = response(status);
    if (outcome.is_cut())
      out["incomplete_details"] = {{"reason", outcome.finish == runtime::Finish::n_tokens_max
                                                  ? "max_output_tokens"
                                                  : name_of(outcome.finish)}};
    out["output"] = Json::array({item(status, outcome.text)});
    out["usage"] = {{"input_tokens", outcome.n_prompt},
                    {"input_tokens_details", {{"cached_tokens", outcome.n_cached}}},
                    {"output_tokens", outcome.n_answer},
                    {"output_tokens_details", {{"reasoning_tokens", outcome.n_thoughts}}},
                    {"total_tokens", outcome.n_prompt + outcome.n_answer}};
    out["satchel"] = satchel_part(outcome, facts_.request);
    return out;
  }

  void begin() override {
    announce();
    Json begun = item("in_progress", "");
    begun["content"] = Json::array();
    send("response.output_item.added", {{"output_index", 0}, {"item", std::move(begun)}});
    send("response.content_part.added", in_part({{"part", part("")}}));
    has_begun_ = true;
  }
  void thought(std::string_view) override {}  // counted, not shown
  void said(std::string_view text) override {
    send("response.output_text.delta", in_part({{"delta", text}, {"logprobs", Json::array()}}));
  }
  void keep_alive() override {
    if (n_sent_ == 0)
      announce();
    else
      send("response.in_progress", {{"response", response("in_progress")}});
  }
  void end(const Outcome& outcome) override {
    if (!has_begun_) begin();
    const char* const status = outcome.is_cut() ? "incomplete" : "completed";
    send("response.output_text.done",
         in_part({{"text", outcome.text}, {"logprobs", Json::array()}}));
    send("response.content_part.done", in_part({{"part", part(outcome.text)}}));
    send("response.output_item.done", {{"output_index", 0}, {"item", item(status, outcome.text)}});
    send(std::string("response.") + status, {{"response", whole(outcome)}});
  }
  void fail(const ApiError& error) override {
    if (n_sent_ == 0) announce();
    Json failed = response("failed");
    failed["error"] = {{"code", error.code}, {"message", error.message}};
    send("response.failed", {{"response", std::move(failed)}});
  }

 private:
  static Json part(const std::string& text) {
    return {{"type", "output_text"},
            {"text", text},
            {"annotations", Json::array()},
            {"logprobs", Json::array()}};
  }
  Json item(const char* status, const std::string& text) const {
    return {{"id", item_id_},
            {"type", "message"},
            {"status", status},
            {"role", "assistant"},
            {"content", Json::array({part(text)})}};
  }
  Json response(const char* status) const {
    const ChatRequest& request = facts_.request;
    return {{"id", id_},
            {"object", "response"},
            {"created_at", facts_.created_s},
            {"status", status},
            {"background", false},
            {"error", Json()},
            {"incomplete_details", Json()},
            {"instructions", request.system ? Json(*request.system) : Json()},
            {"max_output_tokens", request.sampling.n_tokens_max},
            {"model", facts_.model},
            {"output", Json::array()},
            {"parallel_tool_calls", false},
            {"previous_response_id", Json()},
            {"reasoning", {{"effort", Json()}, {"summary", Json()}}},
            {"store", false},
            {"temperature", request.sampling.temperature},
            {"text", {{"format", {{"type", "text"}}}}},
            {"tool_choice", "none"},
            {"tools", Json::array()},
            {"top_p", request.sampling.top_p},
            {"truncation", "disabled"},
            {"usage", Json()},
            {"metadata", Json::object()}};
  }
  Json in_part(Json what) const {
    Json out{{"item_id", item_id_}, {"output_index", 0}, {"content_index", 0}};
    out.update(what);
    return out;
  }
  void announce() {
    if (n_sent_ > 0) return;
    send("response.created", {{"response", response("in_progress")}});
    send("response.in_progress", {{"response", response("in_progress")}});
  }
  void send(const std::string& type, Json event) {
    Json whole{{"type", type}, {"sequence_number", n_sent_++}};
    whole.update(event);
    send_(type, dump(whole));
  }

  const std::string id_, item_id_;
  std::size_t n_sent_ = 0;
  bool has_begun_ = false;
};

}  // namespace

std::unique_ptr<Form> make_response_form(AnswerFacts facts, SendEvent send) {
  return std::make_unique<ResponseForm>(std::move(facts), std::move(send));
}

}  // namespace satchel::serve

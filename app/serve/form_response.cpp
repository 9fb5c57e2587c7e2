// OpenAI's responses: the output is a message with one text, and an item for each call of a tool.
//   source  OpenAI's API reference; Open Responses, whose schema requires each field
#include <optional>
#include <utility>

#include "app/serve/form.h"

namespace satchel::serve {
namespace {

Json choice_json(const ToolChoice& choice) {
  using Calls = runtime::ToolAnswers::Calls;
  if (!choice.name.empty()) return {{"type", "function"}, {"name", choice.name}};
  if (choice.calls == Calls::none) return "none";
  return choice.calls == Calls::must ? "required" : "auto";
}

Json tools_json(const std::vector<Tool>& tools) {
  Json list = Json::array();
  for (const Tool& tool : tools)
    list.push_back({{"type", "function"},
                    {"name", tool.name},
                    {"description", tool.description},
                    {"parameters",
                     Json::parse(tool.parameters.empty() ? "{}" : tool.parameters, nullptr, false)},
                    {"strict", true}});
  return list;
}

class ResponseForm final : public Form {
 public:
  ResponseForm(AnswerFacts facts, SendEvent send)
      : Form(std::move(facts), std::move(send)),
        id_(keeps() ? ResponseIds::make(facts_.session, facts_.request) : fresh_id("resp_")),
        item_id_(fresh_id("msg_")) {}

  Json whole(const Outcome& outcome) override {
    const char* const status = outcome.is_cut() ? "incomplete" : "completed";
    Json out = response(status);
    if (!outcome.is_cut()) out["completed_at"] = now_s();
    if (outcome.is_cut())
      out["incomplete_details"] = {{"reason", outcome.finish == runtime::Finish::n_tokens_max
                                                  ? "max_output_tokens"
                                                  : name_of(outcome.finish)}};
    if (!outcome.text.empty() || outcome.calls.empty())
      out["output"].push_back(item(status, outcome.text));
    for (const ToolCall& call : outcome.calls)
      out["output"].push_back(call_item(call, "completed"));
    out["usage"] = {{"input_tokens", outcome.n_prompt},
                    {"input_tokens_details", {{"cached_tokens", outcome.n_cached}}},
                    {"output_tokens", outcome.n_answer},
                    {"output_tokens_details", {{"reasoning_tokens", outcome.n_thoughts}}},
                    {"total_tokens", outcome.n_prompt + outcome.n_answer}};
    out["satchel"] = satchel_part(outcome, facts_.request);
    if (keeps()) facts_.ids.keep(id_, outcome.kept, dump(out));
    return out;
  }

  void begin() override { announce(); }
  void thought(std::string_view) override {}  // counted, not shown
  void said(std::string_view text) override {
    open_message();
    text_ += text;
    send("response.output_text.delta", in_part({{"delta", text}, {"logprobs", Json::array()}}));
  }
  void called(const ToolCall& call) override {
    close_message("completed");
    const std::size_t index = n_items_++;
    Json begun = call_item(call, "in_progress");
    begun["arguments"] = "";
    const Json in_item{{"item_id", begun["id"]}, {"output_index", index}};
    const auto with = [&](Json what) {
      what.update(in_item);
      return what;
    };
    send("response.output_item.added", {{"output_index", index}, {"item", std::move(begun)}});
    send("response.function_call_arguments.delta", with({{"delta", call.arguments}}));
    send("response.function_call_arguments.done",
         with({{"name", call.name}, {"arguments", call.arguments}}));
    send("response.output_item.done",
         {{"output_index", index}, {"item", call_item(call, "completed")}});
  }
  void keep_alive() override {
    if (n_sent_ == 0)
      announce();
    else
      send("response.in_progress", {{"response", response("in_progress")}});
  }
  void end(const Outcome& outcome) override {
    announce();
    const char* const status = outcome.is_cut() ? "incomplete" : "completed";
    if (outcome.calls.empty()) open_message();
    close_message(status);
    send(std::string("response.") + status, {{"response", whole(outcome)}});
    send_("", "[DONE]");
  }
  void fail(const ApiError& error) override {
    if (n_sent_ == 0) announce();
    Json failed = response("failed");
    failed["error"] = {{"code", error.code}, {"message", error.message}};
    send("response.failed", {{"response", std::move(failed)}});
    send_("", "[DONE]");
  }

 private:
  bool keeps() const { return facts_.request.echo.value("store", true); }
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
    Json out{{"id", id_},
             {"object", "response"},
             {"created_at", created_s_},
             {"completed_at", Json()},
             {"status", status},
             {"background", false},
             {"error", Json()},
             {"frequency_penalty", 0},
             {"incomplete_details", Json()},
             {"instructions", Json()},
             {"max_output_tokens", request.sampling.n_tokens_max},
             {"max_tool_calls", Json()},
             {"metadata", Json::object()},
             {"model", facts_.model},
             {"output", Json::array()},
             {"parallel_tool_calls", !request.tool_choice.is_one},
             {"presence_penalty", 0},
             {"previous_response_id", Json()},
             {"prompt_cache_key", Json()},
             {"reasoning", {{"effort", Json()}, {"summary", Json()}}},
             {"safety_identifier", Json()},
             {"service_tier", "default"},
             {"temperature", request.sampling.temperature},
             {"text", {{"format", {{"type", "text"}}}}},
             {"tool_choice", choice_json(request.tool_choice)},
             {"tools", tools_json(request.tools)},
             {"top_logprobs", 0},
             {"top_p", request.sampling.top_p},
             {"truncation", "disabled"},
             {"usage", Json()}};
    out.update(request.echo);
    return out;
  }
  static Json call_item(const ToolCall& call, const char* status) {
    return {{"id", "fc_" + call.id}, {"type", "function_call"}, {"status", status},
            {"call_id", call.id},    {"name", call.name},       {"arguments", call.arguments}};
  }
  // One message, before all calls.
  void open_message() {
    if (message_index_) return;
    message_index_ = n_items_++;
    Json begun = item("in_progress", "");
    begun["content"] = Json::array();
    send("response.output_item.added",
         {{"output_index", *message_index_}, {"item", std::move(begun)}});
    send("response.content_part.added", in_part({{"part", part("")}}));
  }
  void close_message(const char* status) {
    if (!message_index_ || std::exchange(is_closed_, true)) return;
    send("response.output_text.done", in_part({{"text", text_}, {"logprobs", Json::array()}}));
    send("response.content_part.done", in_part({{"part", part(text_)}}));
    send("response.output_item.done",
         {{"output_index", *message_index_}, {"item", item(status, text_)}});
  }
  Json in_part(Json what) const {
    Json out{{"item_id", item_id_}, {"output_index", *message_index_}, {"content_index", 0}};
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
  std::size_t n_sent_ = 0, n_items_ = 0;
  std::optional<std::size_t> message_index_;  // among the items; none: there is none
  bool is_closed_ = false;                    // the message
  std::string text_;                          // of it
};

}  // namespace

std::unique_ptr<Form> make_response_form(AnswerFacts facts, SendEvent send) {
  return std::make_unique<ResponseForm>(std::move(facts), std::move(send));
}

}  // namespace satchel::serve

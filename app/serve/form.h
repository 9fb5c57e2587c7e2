// Form: how an answer is told in one of the interfaces that clients speak, whole or as it is made.
//   order    streamed: keep_alive* begin (thought | said | called | keep_alive)* (end | fail); each
//            once but those with a star. fail may come first
//   add one  a file with its class and its maker, a parser in chat_request.h, a row in routes.cpp
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/serve/desk.h"
#include "app/serve/response_ids.h"
#include "kernels/base/clock.h"

namespace satchel::serve {

// One server-sent event; the name may be "".
using SendEvent = std::function<void(std::string_view name, const std::string& data)>;

struct AnswerFacts {
  const ChatRequest& request;
  const Clock& clock;
  ResponseIds& ids;
  std::string model, session;
  std::size_t n_prompt = 0, n_unread = 0;  // tokens; to be read of them
};

class Form {
 public:
  explicit Form(AnswerFacts facts, SendEvent send = {})
      : facts_(std::move(facts)), send_(std::move(send)), created_s_(now_s()) {}
  virtual ~Form() = default;

  virtual Json whole(const Outcome& outcome) = 0;

  virtual void begin() = 0;
  virtual void thought(std::string_view text) = 0;
  virtual void said(std::string_view text) = 0;
  virtual void called(const ToolCall& call) = 0;
  virtual void keep_alive() = 0;
  virtual void end(const Outcome& outcome) = 0;
  virtual void fail(const ApiError& error) = 0;

 protected:
  std::int64_t now_s() const { return facts_.clock.wall_ms() / 1000; }

  const AnswerFacts facts_;
  const SendEvent send_;
  const std::int64_t created_s_;
};

using MakeForm = std::unique_ptr<Form> (*)(AnswerFacts facts, SendEvent send);
std::unique_ptr<Form> make_chat_form(AnswerFacts facts, SendEvent send);
std::unique_ptr<Form> make_completion_form(AnswerFacts facts, SendEvent send);
std::unique_ptr<Form> make_messages_form(AnswerFacts facts, SendEvent send);
std::unique_ptr<Form> make_response_form(AnswerFacts facts, SendEvent send);

Json to_json(const runtime::Fidelity& fidelity);  // null: not measured
// What all of them say beside their own: the field "satchel".
Json satchel_part(const Outcome& outcome, const ChatRequest& request);
// "end_of_turn", "max_tokens" …
const char* name_of(runtime::Finish finish);
Json openai_usage(const Outcome& outcome);

}  // namespace satchel::serve

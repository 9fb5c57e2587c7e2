#include "app/eval/measure/book_reading.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "app/eval/measure/kept_chat.h"
#include "app/eval/measure/passes.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/clock.h"

namespace satchel::eval {
namespace {

using runtime::Session;

class Reader {
 public:
  Reader(const kvcache::Recipe& recipe, const Book& book, std::size_t limit_bytes,
         std::stop_token stop)
      : recipe_(recipe), book_(book), limit_bytes_(limit_bytes), stop_(std::move(stop)) {}

  Result<BookReading> read(runtime::Engine& engine, runtime::Engine& other,
                           const runtime::ProgressFn& progress);

 private:
  runtime::SessionOptions options(const runtime::Engine& engine) const {
    runtime::SessionOptions out(recipe_);
    out.budget_bytes = limit_bytes_;
    out.beyond = runtime::BeyondContext::episodes;
    out.thinking = engine.chat_template().least_thinking();
    return out;
  }
  Result<void> read_text(Session& session, std::size_t n_layers,
                         const runtime::ProgressFn& progress);
  Result<void> resume(runtime::Engine& other, const KeptChat& kept);
  Result<void> ask(Session& session, const KeptChat& kept);
  // On a copy of the chat. named: the parts to be seen; none: those that the question needs.
  Result<runtime::GenerateReport> answer(Session& session, const KeptChat& kept,
                                         const std::string& question,
                                         const std::vector<std::size_t>& named) const;
  Result<std::vector<std::string>> parts_of(const KeptChat& kept) const;

  const kvcache::Recipe& recipe_;
  const Book& book_;
  const std::size_t limit_bytes_;
  const std::stop_token stop_;
  const SystemClock clock_;
  BookReading out_;
};

Result<void> Reader::read_text(Session& session, std::size_t n_layers,
                               const runtime::ProgressFn& progress) {
  const double began = clock_.steady_ms();
  SATCHEL_TRY_ASSIGN(const auto parts, session.add_document("book", book_.text));
  out_.n_parts = parts.size();
  const auto first =
      std::ranges::find(session.messages(), parts.front().answer, &runtime::SessionMessage::id);
  const std::size_t first_end = first->end;
  SATCHEL_TRY(session.read(stop_, [&](const runtime::Progress& now) {
    const bool has_first = now.phase == runtime::Phase::read_prompt &&
                           now.done / n_layers >= first_end && out_.first_part_ms == 0;
    if (has_first) out_.first_part_ms = clock_.steady_ms() - began;
    if (progress) progress(now);
  }));
  out_.read_ms = clock_.steady_ms() - began;
  const double read = clock_.steady_ms();
  SATCHEL_TRY(session.idle(stop_, {}));
  out_.idle_ms = clock_.steady_ms() - read;
  if (stop_.stop_requested()) return stopped();
  return {};
}

Result<void> Reader::resume(runtime::Engine& other, const KeptChat& kept) {
  SATCHEL_TRY_ASSIGN(const auto left, kept.left_by_a_kill());
  SATCHEL_TRY_ASSIGN(const auto session, other.new_session(left->kept(options(other))));
  SATCHEL_TRY_ASSIGN(const runtime::ResumeReport back, session->resume(stop_, {}));
  out_.resume_ms = back.ms;
  out_.n_reread = back.n_reread;
  return {};
}

Result<std::vector<std::string>> Reader::parts_of(const KeptChat& kept) const {
  std::vector<std::string> out;
  SATCHEL_TRY_ASSIGN(const auto messages, kept.library().messages(kept.id()));
  for (const runtime::StoredMessage& message : messages)
    if (message.kind == runtime::MessageKind::document && message.role == runtime::Role::user)
      out.push_back(message.text);
  return out;
}

std::vector<std::size_t> parts_with(const std::string& fact,
                                    const std::vector<std::string>& parts) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].find(fact) != std::string::npos) out.push_back(i);
  return out;
}

// The parts that are no episodes yet are the last, and seen.
bool is_in_reach(std::size_t part, const runtime::SeenEpisodes& episodes) {
  return part >= episodes.n_all || std::ranges::count(episodes.seen, part) > 0;
}

Result<runtime::GenerateReport> Reader::answer(Session& session, const KeptChat& kept,
                                               const std::string& question,
                                               const std::vector<std::size_t>& named) const {
  SATCHEL_TRY_ASSIGN(const runtime::ChatId chat, kept.library().create_chat({}));
  SATCHEL_TRY_ASSIGN(const auto copy, session.fork(chat));
  SATCHEL_TRY(copy->name_episodes(named));
  SATCHEL_TRY(copy->add_user(question));
  const auto greedy = runtime::Sampling::plain_greedy(kBookAnswerTokensMax);
  SATCHEL_TRY_ASSIGN(const runtime::GenerateReport said, copy->generate(greedy, {}, stop_, {}));
  if (said.finish == runtime::Finish::stopped) return stopped();
  return said;
}

Result<void> Reader::ask(Session& session, const KeptChat& kept) {
  SATCHEL_TRY_ASSIGN(const std::vector<std::string> parts, parts_of(kept));
  std::vector<double> times;
  for (std::size_t i = 0; i < book_.questions.size(); ++i) {
    const eval::ChatQuestion& question = book_.questions[i];
    const std::vector<std::size_t> with_fact = parts_with(book_.facts[i], parts);
    const double began = clock_.steady_ms();
    SATCHEL_TRY_ASSIGN(const runtime::GenerateReport said, answer(session, kept, question.ask, {}));
    times.push_back(clock_.steady_ms() - began);
    std::vector<std::size_t> named = with_fact;  // those that are near are seen anyway
    std::erase_if(named, [&](std::size_t part) { return part >= said.episodes.n_all; });
    SATCHEL_TRY_ASSIGN(const runtime::GenerateReport told,
                       answer(session, kept, question.ask, named));
    out_.answers.push_back(
        {.text = said.text,
         .right = judge(question, said.text).right,
         .in_reach = std::ranges::any_of(
             with_fact, [&](std::size_t part) { return is_in_reach(part, said.episodes); }),
         .right_told = judge(question, told.text).right});
  }
  out_.answer_ms = median(std::move(times));
  return {};
}

Result<BookReading> Reader::read(runtime::Engine& engine, runtime::Engine& other,
                                 const runtime::ProgressFn& progress) {
  SATCHEL_TRY_ASSIGN(const auto kept, KeptChat::make());
  SATCHEL_TRY_ASSIGN(const auto session, engine.new_session(kept->kept(options(engine))));
  SATCHEL_TRY(read_text(*session, engine.config().n_layers(), progress));
  out_.n_tokens = session->tokens().size();
  out_.stats = session->stats();
  const double began = clock_.steady_ms();
  SATCHEL_TRY(session->save());
  out_.save_ms = clock_.steady_ms() - began;
  SATCHEL_TRY_ASSIGN(out_.disk_bytes, kept->bytes_on_disk());
  SATCHEL_TRY(resume(other, *kept));
  SATCHEL_TRY(ask(*session, *kept));
  return std::move(out_);
}

}  // namespace

Result<BookReading> read_book(runtime::Engine& engine, runtime::Engine& other,
                              const kvcache::Recipe& recipe, const Book& book,
                              std::size_t limit_bytes, std::stop_token stop,
                              const runtime::ProgressFn& progress) {
  return Reader(recipe, book, limit_bytes, std::move(stop)).read(engine, other, progress);
}

}  // namespace satchel::eval

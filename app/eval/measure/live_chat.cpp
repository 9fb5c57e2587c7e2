#include "app/eval/measure/live_chat.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "app/eval/measure/kept_chat.h"
#include "app/eval/measure/passes.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/clock.h"

namespace satchel::eval {
namespace {

using runtime::GenerateReport;
using runtime::Session;

std::vector<std::string> texts_of(std::span<const runtime::StoredMessage> messages) {
  std::vector<std::string> out;
  for (const runtime::StoredMessage& message : messages) out.push_back(message.text);
  return out;
}

// What the turns of a row took.
struct Turns {
  LiveRow row;
  std::vector<double> read_ms, answer_ms, answer_cpu_ms;
  std::size_t n_before = 0;  // messages before the row

  LiveRow done() const {
    LiveRow out = row;
    const auto n = static_cast<double>(std::max<std::size_t>(answer_ms.size(), 1));
    out.read_ms = median(read_ms);
    out.answer_ms = median(answer_ms);
    out.answer_cpu_ms = median(answer_cpu_ms);
    out.idle_ms /= n;
    out.save_ms /= n;
    return out;
  }
};

class Holder {
 public:
  Holder(runtime::Engine& engine, runtime::Engine& other, const kvcache::Recipe& recipe,
         const LiveSpec& spec, std::stop_token stop)
      : engine_(engine), other_(other), recipe_(recipe), spec_(spec), stop_(std::move(stop)) {}

  Result<LiveChat> hold(const Chat& chat, const std::function<void(const LiveRow&)>& told);

 private:
  runtime::SessionOptions options() const {
    runtime::SessionOptions out(recipe_);
    out.budget_bytes = spec_.limit_bytes;
    out.thinking = engine_.chat_template().least_thinking();
    return out;
  }
  Result<GenerateReport> say(Session& session, const std::string& text) const;
  Result<void> turn(const ChatMessage& message);
  Result<void> work();
  Result<void> end_row(const std::function<void(const LiveRow&)>& told);
  Result<void> kill(const std::string& next);

  runtime::Engine &engine_, &other_;
  const kvcache::Recipe& recipe_;
  const LiveSpec& spec_;
  const std::stop_token stop_;
  const SystemClock clock_;
  std::unique_ptr<KeptChat> kept_;
  std::unique_ptr<Session> session_;
  std::size_t n_messages_ = 0;
  bool is_killed_ = false;  // the last of out_.resumes waits for the chat's own answer
  Turns turns_;
  LiveChat out_;
};

Result<GenerateReport> Holder::say(Session& session, const std::string& text) const {
  SATCHEL_TRY(session.add_user(text));
  const auto greedy = runtime::Sampling::plain_greedy(kLiveAnswerTokensMax);
  SATCHEL_TRY_ASSIGN(GenerateReport report, session.generate(greedy, {}, stop_, {}));
  if (report.finish == runtime::Finish::stopped) return stopped();
  if (runtime::is_whole(report.finish)) return report;
  return Error{ErrorKind::out_of_memory, "CACHE_FULL", report.message};
}

Result<void> Holder::turn(const ChatMessage& message) {
  const double began = clock_.steady_ms(), began_cpu = cpu_ms();
  SATCHEL_TRY_ASSIGN(const GenerateReport report, say(*session_, message.text));
  const double ms = clock_.steady_ms() - began;
  turns_.answer_ms.push_back(ms);
  turns_.answer_cpu_ms.push_back(cpu_ms() - began_cpu);
  turns_.read_ms.push_back(ms - report.ms);
  n_messages_ += 2;
  if (message.asked) {
    const ChatVerdict verdict = judge(*message.asked, report.text);
    ++turns_.row.n_asked;
    if (verdict.right) ++turns_.row.n_right;
    if (verdict.stale) ++turns_.row.n_stale;
  }
  if (std::exchange(is_killed_, false)) out_.resumes.back().answer = report.text;
  turns_.row.used_bytes = std::max(turns_.row.used_bytes, session_->stats().arena_used_bytes);
  return {};
}

Result<void> Holder::work() {
  const double began = clock_.steady_ms();
  SATCHEL_TRY(session_->idle(stop_, {}));
  const double worked = clock_.steady_ms();
  SATCHEL_TRY(session_->save());
  turns_.row.idle_ms += worked - began;
  turns_.row.save_ms += clock_.steady_ms() - worked;
  if (stop_.stop_requested()) return stopped();
  return {};
}

Result<void> Holder::end_row(const std::function<void(const LiveRow&)>& told) {
  const kvcache::CacheStats stats = session_->stats();
  turns_.row.n_messages = n_messages_;
  turns_.row.n_tokens = session_->tokens().size();
  turns_.row.held_bytes = stats.bytes;
  out_.limit_bytes = stats.arena_bytes;
  SATCHEL_TRY_ASSIGN(turns_.row.disk_bytes, kept_->bytes_on_disk());
  out_.rows.push_back(turns_.done());
  told(out_.rows.back());
  turns_ = {
      .row = {}, .read_ms = {}, .answer_ms = {}, .answer_cpu_ms = {}, .n_before = n_messages_};
  return {};
}

Result<void> Holder::kill(const std::string& next) {
  SATCHEL_TRY_ASSIGN(const auto left, kept_->left_by_a_kill());
  SATCHEL_TRY_ASSIGN(const auto session, other_.new_session(left->kept(options())));
  SATCHEL_TRY_ASSIGN(const runtime::ResumeReport back, session->resume(stop_, {}));
  LiveResume resume{.n_messages = n_messages_,
                    .n_reused = back.n_reused,
                    .n_reread = back.n_reread,
                    .ms = back.ms,
                    .answer = {},
                    .answer_there = {}};
  SATCHEL_TRY_ASSIGN(const auto all, kept_->library().messages(kept_->id()));
  SATCHEL_TRY_ASSIGN(const auto there, left->library().messages(left->id()));
  const std::vector<std::string> said = texts_of(all), came_back = texts_of(there);
  const auto same = std::ranges::mismatch(said, came_back);
  resume.n_lost = static_cast<std::size_t>(said.end() - same.in1);
  SATCHEL_TRY(session->idle(stop_, {}));
  SATCHEL_TRY_ASSIGN(const GenerateReport report, say(*session, next));
  resume.answer_there = report.text;
  out_.resumes.push_back(std::move(resume));
  is_killed_ = true;
  return {};
}

Result<LiveChat> Holder::hold(const Chat& chat, const std::function<void(const LiveRow&)>& told) {
  SATCHEL_TRY_ASSIGN(kept_, KeptChat::make());
  SATCHEL_TRY_ASSIGN(session_, engine_.new_session(kept_->kept(options())));
  for (std::size_t i = 0; i + 1 < chat.messages.size(); i += 2) {
    SATCHEL_TRY(turn(chat.messages[i]));
    const bool is_last = i + 3 >= chat.messages.size();
    if (spec_.kill_messages > 0 && n_messages_ % spec_.kill_messages < 2 && !is_last)
      SATCHEL_TRY(kill(chat.messages[i + 2].text));
    SATCHEL_TRY(work());
    if (n_messages_ - turns_.n_before >= spec_.row_messages || is_last) SATCHEL_TRY(end_row(told));
  }
  session_.reset();  // before the store
  return std::move(out_);
}

}  // namespace

Result<LiveChat> hold_live_chat(runtime::Engine& engine, runtime::Engine& other,
                                const kvcache::Recipe& recipe, const Chat& chat,
                                const LiveSpec& spec, std::stop_token stop,
                                const std::function<void(const LiveRow&)>& told) {
  return Holder(engine, other, recipe, spec, std::move(stop)).hold(chat, told);
}

}  // namespace satchel::eval

#include "app/eval/measure/resume_speed.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "app/eval/measure/kept_chat.h"
#include "app/eval/measure/page_cache.h"
#include "app/eval/measure/passes.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/clock.h"
#include "runtime/engine_state.h"

namespace satchel::eval {
namespace {

using runtime::Session;

class Meter {
 public:
  Meter(runtime::Engine& engine, const kvcache::Recipe& recipe, const ResumeSpec& spec,
        std::stop_token stop)
      : engine_(engine), recipe_(recipe), spec_(spec), stop_(std::move(stop)) {}

  Result<ResumeSpeed> run(const runtime::ProgressFn& progress);

 private:
  Result<std::unique_ptr<Session>> new_session() const;
  Result<void> make_chat(const runtime::ProgressFn& progress);
  Result<void> drop_pages(ResumeRounds& out) const;
  Result<double> plain_ms() const;
  Result<ResumeTimes> resume(ResumeRounds& out) const;
  Result<ResumeRounds> rounds();
  Result<bool> thin();

  runtime::Engine& engine_;
  const kvcache::Recipe& recipe_;
  const ResumeSpec& spec_;
  const std::stop_token stop_;
  const SystemClock clock_;
  std::unique_ptr<KeptChat> kept_;
  std::vector<std::filesystem::path> files_;
  ResumeSpeed out_;
};

Result<std::unique_ptr<Session>> Meter::new_session() const {
  runtime::SessionOptions options(recipe_);
  options.budget_bytes = spec_.limit_bytes;
  return engine_.new_session(kept_->kept(std::move(options)));
}

Result<void> Meter::make_chat(const runtime::ProgressFn& progress) {
  SATCHEL_TRY_ASSIGN(const auto session, new_session());
  SATCHEL_TRY(session->add_document("text", spec_.text));
  out_.n_tokens = session->tokens().size();
  if (out_.n_tokens > engine_.config().context)
    return context_full(out_.n_tokens, engine_.config().context);
  const double began = clock_.steady_ms();
  SATCHEL_TRY(session->read(stop_, progress));
  const double read = clock_.steady_ms();
  while (session->has_idle_work() && !stop_.stop_requested())
    SATCHEL_TRY(session->idle(stop_, progress));
  if (stop_.stop_requested()) return stopped();
  const double worked = clock_.steady_ms();
  SATCHEL_TRY(session->save());
  out_.save_ms = clock_.steady_ms() - worked;
  out_.idle_ms = worked - read;
  out_.prefill_ms = read - began;
  out_.stats = session->stats();
  return {};
}

Result<void> Meter::drop_pages(ResumeRounds& out) const {
  SATCHEL_TRY_ASSIGN(const double left, drop_from_page_cache(files_));
  out.still_there = std::max(out.still_there, left);
  return {};
}

Result<double> Meter::plain_ms() const {
  const double began = clock_.steady_ms();
  SATCHEL_TRY(read_plainly(files_));
  return clock_.steady_ms() - began;
}

Result<ResumeTimes> Meter::resume(ResumeRounds& out) const {
  if (stop_.stop_requested()) return stopped();
  engine_.state().arena.reset();  // else its pages would have been touched before
  ResumeTimes times;
  const double began = clock_.steady_ms();
  SATCHEL_TRY(kept_->open_again());
  const double opened = clock_.steady_ms(), opened_cpu = cpu_ms();
  {
    SATCHEL_TRY_ASSIGN(const auto session, new_session());
    SATCHEL_TRY_ASSIGN(const runtime::ResumeReport report, session->resume(stop_, {}));
    times.resume_ms = clock_.steady_ms() - opened;
    times.resume_cpu_ms = cpu_ms() - opened_cpu;
    out.n_reread = std::max(out.n_reread, report.n_reread);
  }
  times.open_ms = opened - began;
  kept_->close();
  return times;
}

Result<ResumeRounds> Meter::rounds() {
  ResumeRounds out;
  SATCHEL_TRY_ASSIGN(out.bytes_on_disk, kept_->bytes_on_disk());
  for (std::size_t round = 0; round < spec_.rounds; ++round) {
    SATCHEL_TRY_ASSIGN(files_, kept_->files());
    SATCHEL_TRY(drop_pages(out));
    SATCHEL_TRY_ASSIGN(const double plain_cold, plain_ms());
    SATCHEL_TRY(drop_pages(out));
    SATCHEL_TRY_ASSIGN(ResumeTimes cold, resume(out));
    cold.plain_ms = plain_cold;
    out.cold.push_back(cold);
    SATCHEL_TRY(plain_ms());  // not all pages are part of a resume
    SATCHEL_TRY_ASSIGN(ResumeTimes warm, resume(out));
    SATCHEL_TRY_ASSIGN(warm.plain_ms, plain_ms());
    out.warm.push_back(warm);
  }
  return out;
}

// Whether there was anything to thin.
Result<bool> Meter::thin() {
  SATCHEL_TRY(kept_->open_again());
  const double began = clock_.steady_ms();
  SATCHEL_TRY_ASSIGN(const std::size_t n_records, kept_->thin(stop_));
  out_.thin_ms = clock_.steady_ms() - began;
  kept_->close();
  return n_records > 0;
}

Result<ResumeSpeed> Meter::run(const runtime::ProgressFn& progress) {
  SATCHEL_TRY_ASSIGN(kept_, KeptChat::make());
  SATCHEL_TRY(make_chat(progress));
  kept_->close();
  SATCHEL_TRY_ASSIGN(out_.saved, rounds());
  if (!spec_.thins) return std::move(out_);
  SATCHEL_TRY_ASSIGN(const bool is_thinned, thin());
  if (is_thinned) {
    SATCHEL_TRY_ASSIGN(out_.thinned, rounds());
  }
  return std::move(out_);
}

}  // namespace

Result<ResumeSpeed> measure_resume(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                   const ResumeSpec& spec, std::stop_token stop,
                                   const runtime::ProgressFn& progress) {
  return Meter(engine, recipe, spec, std::move(stop)).run(progress);
}

}  // namespace satchel::eval

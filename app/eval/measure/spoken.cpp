#include "app/eval/measure/spoken.h"

#include "app/eval/measure/passes.h"

namespace satchel::eval {

Result<Spoken> say(runtime::Session& session, const std::string& text, std::size_t n_tokens_max,
                   const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(const bool fits, fits_context(session.add_user(text)));
  Spoken spoken{.text = {}, .context_tokens = session.tokens().size(), .cut = true};
  if (!fits) return spoken;
  const auto greedy = runtime::Sampling::plain_greedy(n_tokens_max);
  SATCHEL_TRY_ASSIGN(const runtime::GenerateReport report, session.generate(greedy, {}, stop, {}));
  if (report.finish == runtime::Finish::stopped) return stopped();
  if (report.finish == runtime::Finish::cache_full)
    return Error{ErrorKind::out_of_memory, "CACHE_FULL", report.message};
  spoken.text = report.text;
  spoken.cut = report.finish == runtime::Finish::context_full;
  return spoken;
}

}  // namespace satchel::eval

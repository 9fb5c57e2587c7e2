#include "app/serve/form.h"

#include "app/cli/workbench.h"

namespace satchel::serve {

const char* name_of(runtime::Finish finish) {
  switch (finish) {
    case runtime::Finish::end_of_turn:
      return "end_of_turn";
    case runtime::Finish::n_tokens_max:
      return "max_tokens";
    case runtime::Finish::repeats:
      return "repeats";
    case runtime::Finish::stopped:
      return "stopped";
    case runtime::Finish::context_full:
      return "context_full";
    case runtime::Finish::cache_full:
      return "cache_full";
  }
  return "stopped";
}

Json to_json(const runtime::Fidelity& fidelity) {
  if (fidelity.n_tokens == 0) return Json();
  return {{"tokens", fidelity.n_tokens},
          {"agreement", fidelity.agreement},
          {"kl", fidelity.kl},
          {"attention_kept", fidelity.attention_kept},
          {"measured_at_token", fidelity.measured_at},
          {"measured_ms", fidelity.measured_ms}};
}

Json satchel_part(const Outcome& outcome, const ChatRequest& request) {
  Json part{{"session", outcome.session},
            {"finish", outcome.stop_text.empty() ? name_of(outcome.finish) : "stop_text"},
            {"truncated", outcome.is_cut()},
            {"read_tokens", outcome.n_prompt - outcome.n_cached},
            {"reread", app::to_json(outcome.reread)},
            {"read_ms", outcome.read_ms},
            {"answer_ms", outcome.answer_ms},
            {"cache_bytes", outcome.stats.bytes},
            {"cache_bytes_fp16", outcome.stats.fp16_bytes},
            {"evicted_lane_tokens", outcome.stats.n_evicted},
            {"fidelity", to_json(outcome.fidelity)},
            {"ignored", request.ignored}};
  if (!outcome.message.empty()) part["message"] = outcome.message;
  if (outcome.episodes.n_all > 0)
    part["older_parts"] = {{"all", outcome.episodes.n_all}, {"seen", outcome.episodes.seen}};
  return part;
}

Json openai_usage(const Outcome& outcome) {
  return {{"prompt_tokens", outcome.n_prompt},
          {"completion_tokens", outcome.n_answer},
          {"total_tokens", outcome.n_prompt + outcome.n_answer},
          {"prompt_tokens_details", {{"cached_tokens", outcome.n_cached}, {"audio_tokens", 0}}},
          {"completion_tokens_details",
           {{"reasoning_tokens", outcome.n_thoughts}, {"audio_tokens", 0}}}};
}

}  // namespace satchel::serve

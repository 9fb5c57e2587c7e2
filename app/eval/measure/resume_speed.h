// How long a saved chat takes to come back, beside a plain read of the same files and beside
// the prefill of its text.
//   resume  from a library that is open and a model that is loaded, until the next token can be
//           made: a new session in memory that nobody has touched, its messages, its cache
//   cold    the files are not in the page cache of this system
//   needs   an Engine that nobody else uses meanwhile; its memory limit is given up
//   errors  those of Session and storage; CONTEXT_FULL; cancelled/STOPPED
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::eval {

struct ResumeSpec {
  std::string text;             // of the chat's one document
  std::size_t limit_bytes = 0;  // 0: the engine's default
  std::size_t rounds = 5;
  bool thins = false;  // and resumes it as it is once it was thinned
};
struct ResumeTimes {
  double open_ms = 0;    // the library and the saved caches
  double resume_ms = 0;  // see above
  double resume_cpu_ms = 0;
  double plain_ms = 0;  // the files, from the first byte to the last
};
// Resumes of the same files.
struct ResumeRounds {
  std::vector<ResumeTimes> cold, warm;  // of each round
  std::size_t n_reread = 0;             // the most of any round; more than 0: no time compares
  std::uint64_t bytes_on_disk = 0;      // of all files
  double still_there = 0;  // the largest share of the files that could not be put out of the page
                           // cache: above 0, cold times are too good
};
struct ResumeSpeed {
  std::size_t n_tokens = 0;
  double prefill_ms = 0;                // of the text
  double idle_ms = 0, save_ms = 0;      // the work behind it; saving
  kvcache::CacheStats stats;            // before it was saved
  ResumeRounds saved;                   // as it was saved
  double thin_ms = 0;                   // thinning it then
  std::optional<ResumeRounds> thinned;  // where it was asked for, and something could be thinned
};
Result<ResumeSpeed> measure_resume(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                   const ResumeSpec& spec, std::stop_token stop,
                                   const runtime::ProgressFn& progress);

}  // namespace satchel::eval

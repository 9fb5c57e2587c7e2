// Progress and Stop for all long operations.
//   threads  progress is called on the caller's thread, at least every 100 ms of work. `done` never
//            falls, and ends at `total`. Stop is a std::stop_token: any thread may request it; it
//            takes effect within 200 ms on a CPU.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace satchel::runtime {

enum class Phase {
  load_model,
  read_prompt,
  measure_fidelity,
  generate,
  pack,
  profile,    // measuring head budgets; in thousandths
  ask_parts,  // one question of each part of a chat; in parts
};

struct Progress {
  Phase phase = Phase::read_prompt;
  std::size_t done = 0, total = 0;  // read_prompt: token-layers; the others: tokens or bytes
};
using ProgressFn = std::function<void(const Progress&)>;

}  // namespace satchel::runtime

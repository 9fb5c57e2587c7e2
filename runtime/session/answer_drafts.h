// AnswerDrafts: what the steps of one answer try beside the next token: what followed the newest
// tokens before (LookupDrafts), and where that is nothing, what the model makes of a part of its
// cache (SelfDrafts). No answer changes by either.
//   order  (next -> a step of these tokens -> took)*
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/clock.h"
#include "runtime/sampler/lookup_drafts.h"
#include "runtime/session/self_drafts.h"

namespace satchel::runtime {

struct DraftSources {
  bool lookup = true;
  std::size_t self_pages = 0;   // of each lane, for the model's own drafts; 0: it makes none
  std::size_t self_always = 0;  // so many, whether they pay or not; 0: as many as pay
};

class AnswerDrafts {
 public:
  // The clock outlives this.
  AnswerDrafts(const DraftSources& sources, const Clock& clock)
      : sources_(sources), clock_(clock), self_(sources.self_pages, sources.self_always) {}
  // The newest token of the text and what may follow it, at most n_most. Valid until the next call.
  std::span<const std::int32_t> next(const DraftRequest& request);
  // Of what next() gave: how long the step took, and how many drafts were right.
  void took(double ms, std::size_t n_accepted);
  DraftCounts counts() const;
  // Of the newest step: how long the model took for its drafts.
  double self_ms() const { return self_ms_; }

 private:
  enum class Source { none, lookup, self };

  DraftSources sources_;
  const Clock& clock_;
  LookupDrafts lookup_;
  SelfDrafts self_;
  Source source_ = Source::none;
  bool chooses_ = false;  // the step chooses pages, and takes longer by that
  double self_ms_ = 0;
  std::vector<std::int32_t> ids_;
};

}  // namespace satchel::runtime

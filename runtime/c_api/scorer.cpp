// Scorers that a host adds: a function of a lane's keys and values as a stage that recipes name.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kvcache/stages/registry.h"
#include "kvcache/stages/span_rows.h"
#include "runtime/c_api/guard.h"

namespace satchel::c_api {
namespace {

using kvcache::Rows;
using kvcache::SpanLane;

class HostScorer final : public kvcache::SpanScorer {
 public:
  HostScorer(const satchel_scorer& functions, std::string_view name)
      : functions_(functions), name_(name) {}

 private:
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<float> scores) const override {
    SATCHEL_TRY_ASSIGN(const std::vector<float> k, floats_of(backend, lane.k));
    SATCHEL_TRY_ASSIGN(const std::vector<float> v, floats_of(backend, lane.v));
    const satchel_scored_lane shown = {.struct_size = sizeof(satchel_scored_lane),
                                       .kv_head = static_cast<uint32_t>(lane.head()),
                                       .n_tokens = lane.k.n,
                                       .head_dim = lane.k.head_dim,
                                       .first_position = lane.seen.span_first,
                                       .k = k.data(),
                                       .v = v.data()};
    if (functions_.score(functions_.user, &shown, scores.data()) != 0)
      return refused("it ended the call");
    if (!std::ranges::all_of(scores, [](float score) { return std::isfinite(score); }))
      return refused("it gave a score that is not finite");
    return {};
  }

  static Result<std::vector<float>> floats_of(kernels::Backend& backend, const Rows& rows) {
    std::vector<float> out(rows.n * rows.head_dim);
    SATCHEL_TRY(kvcache::each_row(backend, rows, [&](std::size_t t, std::span<const float> row) {
      std::ranges::copy(row, out.begin() + static_cast<std::ptrdiff_t>(t * rows.head_dim));
    }));
    return out;
  }
  Error refused(const char* why) const {
    return {ErrorKind::invalid, "SCORER",
            "The scorer \"" + std::string(name_) + "\" failed: " + why +
                ". The text is kept and can be prefilled with another recipe."};
  }

  const satchel_scorer functions_;
  const std::string_view name_;
};

// As the table of stages keeps it, until the process ends.
struct Registered {
  std::string name;
  kvcache::StageEntry entry;
};

}  // namespace
}  // namespace satchel::c_api

using namespace satchel;
using namespace satchel::c_api;

int32_t satchel_scorer_register(const satchel_scorer* scorer, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (scorer == nullptr) return missing("scorer");
    SATCHEL_TRY_ASSIGN(const satchel_scorer given, taken(scorer));
    if (given.name == nullptr) return missing("name");
    if (given.score == nullptr) return missing("score");
    auto made = std::make_unique<Registered>();
    made->name = given.name;
    made->entry = {
        .kind = kvcache::StageKind::scorer,
        .name = made->name,
        .source = "host",
        .make = [given, name = std::string_view(made->name)](kvcache::Params&) {
          return Result<std::unique_ptr<kvcache::Stage>>(std::make_unique<HostScorer>(given, name));
        }};
    SATCHEL_TRY(kvcache::register_stages({&made->entry, 1}));
    (void)made.release();
    return {};
  });
}

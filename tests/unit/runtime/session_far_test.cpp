// A model and its caches in memory that the host cannot touch, as a card's is: read, packed,
// answered from, saved and restored as in main memory. What reads or writes it by itself crashes
// here.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/session/session.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

class FarCache : public ChatTest, public testing::WithParamInterface<const char*> {
 protected:
  std::vector<std::int32_t> talk(Engine& engine) {
    journal_ = {};
    records_ = {};
    {
      const auto session = open(GetParam(), 0, engine);
      value_of(session->add_document("", held_out_notes()));
      value_of(session->read({}, {}));
      (void)ask(*session, held_out_questions().at(0), 12);
      (void)idle(*session);
      value_of(session->save());
    }
    const auto session = open(GetParam(), 0, engine);
    EXPECT_EQ(resume(*session).reason, kvcache::RereadReason::none);
    (void)ask(*session, held_out_questions().at(1), 12);
    return {session->tokens().begin(), session->tokens().end()};
  }
};

TEST_P(FarCache, says_what_a_cache_in_main_memory_says) {
  EngineOptions options;
  options.model = bundled_model();
  options.backend = "cuda";
  options.backend_folders = {SATCHEL_TEST_LIBRARIES "/fake"};
  const auto far = value_of(Engine::open(options));
  EXPECT_EQ(talk(*far), talk(shared_engine()));
}

// What the stages of these read and write of scores, rows and pages differs most.
INSTANTIATE_TEST_SUITE_P(Recipes, FarCache,
                         testing::Values("balanced", "extreme", "minikv", "h2o", "kivi-2",
                                         "keydiff"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace satchel::runtime

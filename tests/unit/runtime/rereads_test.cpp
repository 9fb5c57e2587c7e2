// Rereads: what is read for the first time counts as nothing else.
#include "runtime/session/rereads.h"

#include <gtest/gtest.h>

namespace satchel::runtime {
namespace {

using kvcache::Reread;
using kvcache::RereadReason;
using All = std::vector<Reread>;

TEST(Rereads, only_what_was_lost_is_read_again) {
  Rereads rereads;
  rereads.read({0, 500});
  EXPECT_EQ(rereads.take(), All());
  rereads.lost({450, 500}, RereadReason::checkpoint);
  rereads.read({450, 470});
  rereads.read({470, 620});
  EXPECT_EQ(rereads.take(), All({{RereadReason::checkpoint, 50}}));
  EXPECT_EQ(rereads.take(), All());
}

TEST(Rereads, what_was_not_read_yet_is_lost_with_what_is_lost_next) {
  Rereads rereads;
  rereads.lost({0, 500}, RereadReason::other_recipe);
  rereads.read({0, 200});
  rereads.lost({0, 200}, RereadReason::lowered);
  rereads.read({0, 600});
  EXPECT_EQ(rereads.take(), All({{RereadReason::other_recipe, 200}, {RereadReason::lowered, 500}}));
  rereads.lost({550, 600}, RereadReason::checkpoint);
  rereads.read({550, 700});
  EXPECT_EQ(rereads.take(), All({{RereadReason::checkpoint, 50}}));
}

TEST(Rereads, text_in_place_of_what_was_cut_off_is_new) {
  Rereads rereads;
  rereads.lost({0, 500}, RereadReason::memory_lost);
  rereads.cut(300);
  const Rereads copy = rereads.copy();
  rereads.read({0, 400});
  EXPECT_EQ(rereads.copy().take(), All()) << "a fork does not tell what its origin read";
  EXPECT_EQ(rereads.take(), All({{RereadReason::memory_lost, 300}}));
  Rereads fork = copy;
  fork.read({0, 400});
  EXPECT_EQ(fork.take(), All({{RereadReason::memory_lost, 300}}));
}

TEST(Rereads, every_reason_has_a_word_and_a_sentence_of_its_own) {
  std::vector<std::string> said;
  for (std::size_t i = 1; i < kvcache::kRereadReasons; ++i) {
    const auto reason = static_cast<RereadReason>(i);
    said.insert(said.end(), {kvcache::reread_word(reason), kvcache::reread_text(reason)});
    EXPECT_TRUE(said.back().ends_with(".")) << said.back();
  }
  std::ranges::sort(said);
  EXPECT_EQ(std::ranges::adjacent_find(said), said.end());
  EXPECT_EQ(kvcache::reread_text(RereadReason::damaged, "record 3."),
            "The saved cache is damaged (record 3).");
  EXPECT_EQ(kvcache::reread_text(RereadReason::none, "x"), "");
  EXPECT_EQ(kvcache::describe({{RereadReason::nothing_saved, 1204}, {RereadReason::gathered, 1}}),
            "Reread 1,204 tokens. There is no saved cache. Reread 1 token. Older turns are "
            "compressed together as one text.");
}

}  // namespace
}  // namespace satchel::runtime

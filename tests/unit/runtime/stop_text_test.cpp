#include "runtime/sampler/stop_text.h"

#include <gtest/gtest.h>

namespace satchel::runtime {
namespace {

// Fed byte by byte, which is the hardest.
std::string shown(const std::string& text, std::vector<std::string> stops, std::string* met) {
  StopText stop(std::move(stops));
  std::string out;
  for (const char c : text) out += stop.push(std::string(1, c));
  out += stop.finish();
  *met = stop.met();
  return out;
}

TEST(StopText, a_text_ends_before_the_first_stop) {
  std::string met;
  EXPECT_EQ(shown("one two END three", {"END", "three"}, &met), "one two ");
  EXPECT_EQ(met, "END");
  EXPECT_EQ(shown("aab", {"ab"}, &met), "a");
  EXPECT_EQ(shown("ENENDX", {"END"}, &met), "EN");
}

TEST(StopText, what_only_began_a_stop_is_shown) {
  std::string met;
  EXPECT_EQ(shown("one EN", {"END"}, &met), "one EN");
  EXPECT_EQ(met, "");
  EXPECT_EQ(shown("no stops", {}, &met), "no stops");
}

TEST(StopText, the_first_in_the_text_counts_not_in_the_list) {
  StopText stop({"later", "first"});
  EXPECT_EQ(stop.push("the first and later"), "the ");
  EXPECT_EQ(stop.met(), "first");
  EXPECT_EQ(stop.push("more"), "");
}

TEST(StopText, what_cannot_become_a_stop_is_not_held_back) {
  StopText stop({"\n\nUser:"});
  EXPECT_EQ(stop.push("a line\n"), "a line");
  EXPECT_EQ(stop.push("next"), "\nnext");
}

}  // namespace
}  // namespace satchel::runtime

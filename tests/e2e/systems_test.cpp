// `satchel systems`, as people and scripts see it.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "process.h"
#include "support/source_dir.h"

namespace satchel::test {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Systems, are_listed_with_their_status_and_place) {
  const Folder home;
  const Finished text = run(home, {"systems"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(has(text.out, "\n  SnapKV ")) << text.out;
  EXPECT_FALSE(has(text.out, " \n")) << "blanks at the end of a line";
  const auto json = run(home, {"systems", "--json"}).json();
  EXPECT_EQ(json["schema"], 1);
  std::set<std::string> statuses;
  for (const auto& system : json["systems"]) {
    EXPECT_TRUE(has(text.out, "\n  " + system["name"].get<std::string>() + " ")) << system;
    statuses.insert(system["status"].get<std::string>());
  }
  EXPECT_EQ(statuses, (std::set<std::string>{"built", "in part", "not built", "refused"}));
}

TEST(Systems, are_described_by_name) {
  const Folder home;
  const Finished built = run(home, {"systems", "elasticcache"});
  EXPECT_EQ(built.exit_code, 0) << built.err;
  for (const char* part : {"Elastic Cache\n", "arXiv:2407.18121", "in part", "elastic-cache\n",
                           "kvcache/mergers/nearest_position.cpp\n", "what Satchel has\n"})
    EXPECT_TRUE(has(built.out, part)) << part << "\n" << built.out;
  EXPECT_FALSE(has(built.out, "why Satchel lacks it"));
  const Finished refused = run(home, {"systems", "MiniCache"});
  EXPECT_TRUE(has(refused.out, "why Satchel lacks it\n")) << refused.out;
  const auto json = run(home, {"systems", "minicache", "--json"}).json();
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["status"], "refused");
  EXPECT_TRUE(has(json["why"], "pages of two layers")) << json;
  EXPECT_EQ(json["recipes"].size(), 0u);
}

TEST(Systems, are_described_with_their_figures_and_tests) {
  const Folder home;
  const Finished measured = run(home, {"systems", "SnapKV"});
  for (const char* part :
       {"  measured here\n", "    in docs/benchmarks/2026-11-recipes.md#", "    by satchel eval ",
        "  the paper's figure\n", "  how they compare\n", "  tests      tests/"})
    EXPECT_TRUE(has(measured.out, part)) << part << "\n" << measured.out;
  const auto json = run(home, {"systems", "SnapKV", "--json"}).json();
  for (const char* key : {"measured", "measured_in", "measured_by", "published", "compared"})
    EXPECT_FALSE(json[key].get<std::string>().empty()) << key;
  EXPECT_GE(json["tests"].size(), 1u);
  EXPECT_TRUE(has(run(home, {"systems", "BatchLLM"}).out, "    not measured\n"));
  EXPECT_TRUE(run(home, {"systems", "BatchLLM", "--json"}).json()["measured"].is_null());
}

TEST(Systems, that_are_unknown_are_answered_with_the_nearest_name) {
  const Folder home;
  const Finished unknown = run(home, {"systems", "zipcash"});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_TRUE(has(unknown.err, "\"zipcash\"") && has(unknown.err, "\"ZipCache\"")) << unknown.err;
  EXPECT_EQ(run(home, {"systems", "KIVI", "--markdown"}).exit_code, 2);
  EXPECT_EQ(run(home, {"systems", "--json", "--markdown"}).exit_code, 2);
}

TEST(Systems, are_printed_as_the_page_of_the_documents) {
  std::ifstream in(source_dir() + "/docs/systems.md");
  std::stringstream page;
  page << in.rdbuf();
  EXPECT_EQ(run(Folder(), {"systems", "--markdown"}).out, page.str());
}

}  // namespace
}  // namespace satchel::test

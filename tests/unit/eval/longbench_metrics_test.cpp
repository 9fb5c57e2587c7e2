// The metrics of LongBench against values that were computed apart from them
// (tests/golden/longbench).
#include "app/eval/longbench/metrics.h"
#include "support/source_dir.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace satchel::eval::longbench {
namespace {

using Json = nlohmann::json;
using Metric =
    std::function<double(const std::string& said, const std::string& truth, const Json&)>;

Metric plain(double (*metric)(std::string_view, std::string_view)) {
  return [metric](const std::string& said, const std::string& truth, const Json&) {
    return metric(said, truth);
  };
}

const std::map<std::string, Metric>& metrics() {
  static const std::map<std::string, Metric> kAll = {
      {"f1", plain(f1)},
      {"f1_chinese", plain(f1_chinese)},
      {"rouge_l", plain(rouge_l)},
      {"rouge_l_chinese", plain(rouge_l_chinese)},
      {"count", plain(count)},
      {"retrieval", plain(retrieval)},
      {"retrieval_chinese", plain(retrieval_chinese)},
      {"code_similarity", plain(code_similarity)},
      {"classification",
       [](const std::string& said, const std::string& truth, const Json& line) {
         return classification(said, truth, line["classes"].get<std::vector<std::string>>());
       }},
  };
  return kAll;
}

TEST(LongBenchMetrics, agree_with_an_independent_computation) {
  std::ifstream in(test::source_dir() + "/tests/golden/longbench/metrics.jsonl");
  std::map<std::string, int> n_between;  // cases that are neither 0 nor 1
  int n = 0;
  for (std::string text; std::getline(in, text); ++n) {
    const Json line = Json::parse(text);
    const auto metric = line["metric"].get<std::string>();
    const auto score = line["score"].get<double>();
    ASSERT_TRUE(metrics().contains(metric)) << metric;
    EXPECT_NEAR(metrics().at(metric)(line["said"], line["truth"], line), score, 1e-9) << text;
    if (score > 0 && score < 1) ++n_between[metric];
  }
  EXPECT_GT(n, 100);
  for (const auto& [name, metric] : metrics()) EXPECT_GT(n_between[name], 0) << name;
}

// What Python strings cannot hold, and right answers that name no paragraph.
TEST(LongBenchMetrics, take_any_bytes) {
  const std::string broken = "caf\xc3 the \xff boat";
  EXPECT_EQ(f1(broken, broken), 1);
  EXPECT_EQ(rouge_l_chinese("\xe6\x9c", "\xe6\x9c"), rouge_l("\xe6 \x9c", "\xe6 \x9c"));
  EXPECT_EQ(code_similarity("\xff", "\xff"), 1);
  EXPECT_EQ(retrieval("Paragraph 1", "none"), 0);
  EXPECT_EQ(retrieval_chinese("1", ""), 0);
  EXPECT_EQ(classification("", "", {}), 0);
  EXPECT_EQ(f1("", ""), 0);
}

}  // namespace
}  // namespace satchel::eval::longbench

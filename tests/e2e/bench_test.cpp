// `satchel bench` as programs drive it that take turns with it: tests/bench/compare_llama_cpp.py.
#include <gtest/gtest.h>

#include <sstream>

#include "process.h"
#include "support/source_dir.h"

namespace satchel::test {
namespace {

using nlohmann::json;

Finished bench(const Folder& home, const std::string& input) {
  return run(home,
             {"bench", "--recipes", "full", "--depths", "16", "--before", "24", "--decode", "2",
              "--rounds", "2", "--paced", "--json"},
             input);
}

TEST(Bench, that_is_paced_measures_once_for_each_line) {
  const Folder home;
  const Finished done = bench(home, "\n\n");
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::istringstream lines(done.out);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "ready");
  for (int round = 0; round < 2; ++round) {
    std::getline(lines, line);
    const json row = json::parse(line, nullptr, false);
    ASSERT_TRUE(row.is_object()) << line;
    EXPECT_EQ(row["recipe"], "full");
    for (const char* speed : {"prefill_tokens_per_s", "decode_tokens_per_s", "prefill_cpu_ms",
                              "decode_cpu_ms", "kv_bytes"})
      EXPECT_GT(row[speed].get<double>(), 0) << speed;
  }
  const json all = done.json()["rows"];
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["depth"], 16);
  EXPECT_EQ(all[0]["before"], 24);
  EXPECT_EQ(all[0]["rounds"], 2);
  EXPECT_EQ(all[0]["cache"]["tokens"], 24 + 2 * (16 + 2)) << "rounds go on in one chat";
}

TEST(Bench, of_resuming_measures_the_saved_chat_and_nothing_else) {
  const Folder home;
  const Finished done = run(home, {"bench", "resume", "--recipes", "balanced,full", "--length",
                                   "600", "--rounds", "2", "--json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const json rows = done.json()["rows"];  // one document: `bench` itself did not run
  ASSERT_EQ(rows.size(), 2u);
  for (const json& row : rows) {
    EXPECT_GT(row["tokens"], 500);
    EXPECT_LT(row["tokens"], 800);
    EXPECT_EQ(row["rounds"], 2);
    EXPECT_EQ(row["reread_tokens"], 0) << "the whole chat came from the saved cache";
    for (const char* measured :
         {"resume_ms_warm", "resume_ms_cold", "plain_read_ms_warm", "plain_read_ms_cold",
          "share_of_plain_read_warm", "share_of_plain_read_cold", "prefill_ms", "bytes_on_disk"})
      EXPECT_GT(row[measured].get<double>(), 0) << measured;
    EXPECT_EQ(row["bytes_fp16"], row["cache"]["kv_bytes_fp16"]);
    EXPECT_GE(row["still_in_page_cache"], 0);
    EXPECT_LE(row["still_in_page_cache"], 1);
  }
  EXPECT_LT(rows[0]["bytes_on_disk"], rows[1]["bytes_on_disk"]) << "balanced, then full";
}

// What is measured and what the limits allow are made of the same parts.
TEST(Bench, of_serving_holds_four_metrics_together) {
  const Folder home;
  const Finished done =
      run(home, {"bench", "serving", "--recipes", "full,balanced", "--depth", "600", "--decode",
                 "4", "--budget", "40MB", "--backend", "cpu", "--json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const json rows = done.json()["rows"];
  ASSERT_EQ(rows.size(), 2u);
  const auto number = [](const json& of, const char* name) { return of[name].get<double>(); };
  for (const json& row : rows) {
    const json &chats = row["concurrency"], &decode = row["decode"], &machine = row["machine"];
    EXPECT_EQ(row["depth"], 600);
    EXPECT_EQ(row["cache"]["tokens"], 604);
    EXPECT_EQ(chats["limit_bytes"], 40'000'000);
    EXPECT_EQ(chats["chats"], 40'000'000 / chats["chat_bytes"].get<std::size_t>());
    EXPECT_EQ(chats["chats_fp16"], 40'000'000 / chats["chat_bytes_fp16"].get<std::size_t>());
    EXPECT_EQ(chats["chat_bytes"], decode["kv_bytes"]);
    EXPECT_DOUBLE_EQ(number(row["prefill"], "possible_ms"),
                     number(row["prefill"], "flops") / number(machine, "fma_flops_per_s") * 1000);
    EXPECT_DOUBLE_EQ(number(decode, "possible_ms"),
                     (number(decode, "weight_bytes") + number(decode, "kv_bytes")) /
                         number(machine, "read_bytes_per_s") * 1000);
    EXPECT_EQ(row["switch"]["reread_tokens"], 0);
    EXPECT_NEAR(number(row["switch"], "tokens"), 600, 120);
    for (const char* time : {"out_ms", "in_ms", "possible_ms", "bytes_on_disk"})
      EXPECT_GT(number(row["switch"], time), 0) << time;
    EXPECT_GT(number(row["prefill"], "ms"), 0);
    EXPECT_GT(number(decode, "ms_per_token"), 0);
  }
  EXPECT_GT(rows[1]["concurrency"]["chats"], rows[0]["concurrency"]["chats"]) << "balanced, full";
  EXPECT_EQ(rows[1]["concurrency"]["chats_fp16"], rows[0]["concurrency"]["chats_fp16"]);
}

TEST(Bench, of_resuming_has_a_row_for_the_chat_once_it_is_thinned) {
  const Folder home;
  const Finished done = run(home, {"bench", "resume", "--recipes", "balanced,full", "--length",
                                   "600", "--rounds", "1", "--thinned", "--json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.err.find("full: nothing of this chat's saved cache can be thinned"),
            std::string::npos)
      << done.err;
  const json rows = done.json()["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FALSE(rows[0]["thinned"]);
  EXPECT_TRUE(rows[1]["thinned"]);
  EXPECT_EQ(rows[1]["recipe"], "balanced");
  EXPECT_EQ(rows[1]["reread_tokens"], 0) << "the whole chat came from the thinned cache";
  EXPECT_LT(rows[1]["bytes_on_disk"], rows[0]["bytes_on_disk"]);
  EXPECT_GT(rows[1]["thin_ms"], 0);
  EXPECT_GT(rows[1]["resume_ms_warm"], 0);
  EXPECT_FALSE(rows[2]["thinned"]) << "full has nothing to thin";
}

TEST(Bench, of_drafts_compares_answers_with_and_without_them) {
  const Folder home;
  const Finished done =
      run(home, {"bench", "drafts", "--text", test::source_dir() + "/docs/samples/notes.txt",
                 "--recipes", "balanced", "--answer", "64", "--rounds", "1", "--json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const json rows = done.json()["rows"];
  ASSERT_EQ(rows.size(), 3u);
  for (const json& row : rows) {
    EXPECT_EQ(row["tokens"], 64);
    EXPECT_EQ(row["other_logits"], 0) << "the same, bit for bit";
    EXPECT_LE(row["drafts_accepted"], row["drafted"]);
    EXPECT_EQ(row["steps"].get<int>() + row["drafts_accepted"].get<int>(), 64);
    EXPECT_GT(row["times_plain"].get<double>(), 0);
  }
  // How many are tried follows the measured time of a step; that most are right does not.
  EXPECT_GT(rows[0]["drafts_accepted"], 0) << rows[0]["answer"];
  EXPECT_GT(2 * rows[0]["drafts_accepted"].get<int>(), rows[0]["drafted"]) << rows[0]["answer"];
  EXPECT_EQ(run(home, {"bench", "drafts", "--text", test::source_dir() + "/docs/samples/notes.txt",
                       "--answer", "1000"})
                .exit_code,
            2);
}

TEST(Bench, of_reading_says_what_selectors_read_beside_all) {
  const Folder home;
  const std::string text = test::source_dir() + "/docs/samples/harbour.txt";
  const Finished done = run(
      home, {"bench", "reading", "--text", text, "--recipes", "full,quest,tidal,double-sparsity",
             "--depths", "1600", "--steps", "16", "--json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const json rows = done.json()["rows"];
  ASSERT_EQ(rows.size(), 4u);
  for (const json& row : rows) {
    EXPECT_GT(row["attention_read"], 0.1) << row["recipe"];
    EXPECT_LE(row["attention_read_worst_layer"], row["attention_read"]) << row["recipe"];
    EXPECT_LE(row["tokens_read"], row["tokens_held"]) << row["recipe"];
    EXPECT_GT(row["times_all"].get<double>(), 0);
  }
  EXPECT_GT(rows[0]["attention_read"], 0.9999) << "full reads all";
  EXPECT_EQ(rows[0]["kl"], 0) << "and differs in nothing from itself";
  EXPECT_EQ(rows[0]["bytes_read"], rows[0]["bytes_held"]);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_LT(rows[i]["tokens_read"], rows[i]["tokens_held"]) << rows[i]["recipe"];
  EXPECT_EQ(
      run(home, {"bench", "reading", "--text", text, "--depths", "1000000", "--json"}).exit_code,
      2);
}

// Blocks of four in half of the layers: an eighth of the bytes.
TEST(Bench, of_blocks_says_what_a_token_takes_beside_a_plain_model) {
  const Folder home;
  const json rows = run(home, {"bench", "blocks", "--before", "64", "--decode", "8", "--rounds",
                               "1", "--recipes", "full", "--json"})
                        .json()["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["model"], "plain");
  EXPECT_EQ(rows[1]["model"], "blocks");
  EXPECT_EQ(rows[0]["fp16_bytes_per_token"], 8 * rows[1]["fp16_bytes_per_token"].get<double>());
  for (const json& row : rows) EXPECT_GT(row["ms_per_token"].get<double>(), 0);
  EXPECT_EQ(run(home, {"bench", "blocks", "--before", "64", "--recipes", "snapkv"}).exit_code, 4);
}

TEST(Bench, of_resuming_refuses_a_chat_longer_than_the_context) {
  const Folder home;
  const Finished done = run(home, {"bench", "resume", "--length", "100000", "--json"});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_EQ(done.json()["error"]["code"], "CONTEXT_FULL") << done.err;
}

TEST(Bench, of_resuming_refuses_options_that_stand_before_it) {
  const Folder home;
  const Finished done = run(home, {"bench", "--model", "big.gguf", "resume"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_NE(done.err.find("takes its options after \"resume\""), std::string::npos) << done.err;
}

TEST(Bench, that_is_paced_says_when_lines_are_missing) {
  const Folder home;
  const Finished done = bench(home, "\n");
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.json()["error"]["code"], "PARAM");
  EXPECT_NE(done.err.find("--paced needs a line"), std::string::npos) << done.err;
}

}  // namespace
}  // namespace satchel::test

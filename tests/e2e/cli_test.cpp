// The command line as scripts see it: output, exit codes, messages.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "process.h"
#include "support/bundled_model.h"
#include "support/source_dir.h"

namespace satchel::test {
namespace {

std::string bundled_bytes() {
  std::ifstream in(kBundledModel, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

TEST(Cli, no_command_and_unknown_options_are_usage_errors) {
  const Folder home;
  EXPECT_EQ(run(home, {}).exit_code, 2);
  EXPECT_EQ(run(home, {"chat", "--no-such-option"}).exit_code, 2);
  EXPECT_EQ(run(home, {"chat", "--prompt", "Hi", "--temperature", "9"}).exit_code, 2);
  EXPECT_EQ(run(home, {"chat", "--prompt", "Hi", "--think", "maybe"}).exit_code, 2);
  EXPECT_EQ(run(home, {"--help"}).exit_code, 0);
}

TEST(Cli, a_model_without_the_switch_is_not_told_to_think) {
  const Folder home;
  const Finished said = run(home, {"chat", "--prompt", "Hi", "--think", "off"});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_NE(said.err.find("[THINKING]"), std::string::npos);
  const auto json = run(home, {"chat", "--prompt", "Hi", "--think", "auto", "--json"}).json();
  EXPECT_EQ(json["thoughts"], "");
  EXPECT_EQ(json["thought_tokens"], 0);
}

TEST(Cli, activations_of_8_bits_answer_and_other_bits_are_refused) {
  const Folder home;
  const auto with = [&](const std::string& bits, const std::string& backend) {
    return run(home, {"bench", "--recipes", "full", "--depths", "16", "--decode", "2", "--backend",
                      backend, "--activations", bits, "--json"});
  };
  const Finished eight = with("8", "cpu");
  EXPECT_EQ(eight.exit_code, 0) << eight.err;
  EXPECT_NE(eight.out.find("8-bit activations"), std::string::npos) << eight.out;
  EXPECT_EQ(with("16", "cpu").out.find("activations"), std::string::npos);
  for (const auto& [bits, backend] : {std::pair("7", "cpu"), std::pair("8", "reference")}) {
    const Finished refused = with(bits, backend);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.json()["error"]["code"], "ACTIVATIONS");
  }
}

TEST(Cli, info_prints_metadata_and_tensors) {
  const Folder home;
  const Finished text = run(home, {"info", kBundledModel});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("llama.attention.head_count_kv"), std::string::npos);
  EXPECT_NE(text.out.find("blk.5.ffn_down.weight"), std::string::npos);
  const auto json = run(home, {"info", kBundledModel, "--json"}).json();
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["tensors"].size(), 56u);
  EXPECT_EQ(json["version"], 3);
}

TEST(Cli, without_a_model_the_bundled_one_is_opened) {
  const Folder home;
  const auto models = run(home, {"info", "--json"}).json()["models"];
  ASSERT_EQ(models.size(), 1u);
  EXPECT_TRUE(std::filesystem::equivalent(models[0]["path"].get<std::string>(), kBundledModel));
  EXPECT_EQ(models[0]["bundled"], true);
}

TEST(Cli, a_damaged_or_missing_model_is_named_with_its_own_exit_code) {
  const Folder home;
  const auto zip = home.write("a.gguf", std::string("PK\x03\x04 not a model", 20));
  const Finished not_a_model = run(home, {"info", zip.string()});
  EXPECT_EQ(not_a_model.exit_code, 4);
  EXPECT_NE(not_a_model.err.find("MODEL_FORMAT"), std::string::npos);

  const std::string whole = bundled_bytes();
  const auto cut = home.write("cut.gguf", whole.substr(0, whole.size() / 3 * 2));
  const Finished truncated =
      run(home, {"chat", "--prompt", "Hi", "--model", cut.string(), "--json"});
  EXPECT_EQ(truncated.exit_code, 4);
  EXPECT_EQ(truncated.json()["error"]["code"], "MODEL_TRUNCATED");

  EXPECT_EQ(run(home, {"info", "/no/such/file.gguf"}).exit_code, 3);
}

TEST(Cli, a_model_that_is_not_there_and_a_folder_for_a_text_say_what_to_do) {
  const Folder home;
  const Finished no_model = run(home, {"chat", "--prompt", "Hi", "--model", "nosuch"});
  EXPECT_EQ(no_model.exit_code, 3);
  EXPECT_NE(no_model.err.find("Available models: notes-mini"), std::string::npos);
  const Finished folder = run(home, {"chat", "--prompt", "Hi", "--document", "/"});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_NE(folder.err.find("\"/\" is a folder. Name the text files in it."), std::string::npos);
}

TEST(Cli, a_budget_that_is_too_small_says_what_would_do) {
  const Folder home;
  const Finished finished = run(home, {"chat", "--prompt", "Hi", "--budget", "10kB"});
  EXPECT_EQ(finished.exit_code, 5);
  EXPECT_NE(finished.err.find("[MEMORY]"), std::string::npos) << finished.err;
}

TEST(Cli, one_shot_answers_and_leaves_nothing_behind) {
  const Folder home;
  const Finished finished = run(home, {"chat", "--prompt", "Hello!", "--json"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_FALSE(finished.json()["answer"].get<std::string>().empty());
  EXPECT_FALSE(std::filesystem::exists(home.path() / ".local"));
}

TEST(Cli, an_answer_follows_a_schema_or_a_grammar_from_a_file) {
  const Folder home;
  const std::string schema = home.write("pet.json", R"({"type": "object", "properties": {
      "pet": {"enum": ["cat", "parrot"]}}, "required": ["pet"], "additionalProperties": false})");
  const std::string grammar = home.write("a.gbnf", "root ::= \"yes\" | \"no\"\n");
  const Finished json = run(home, {"chat", "-q", "--json-schema", schema, "-p", "Which pet?"});
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_TRUE(json.json()["pet"] == "cat" || json.json()["pet"] == "parrot") << json.out;
  const Finished word = run(home, {"chat", "-q", "--grammar", grammar, "-p", "Is it so?"});
  EXPECT_TRUE(word.out == "yes\n" || word.out == "no\n") << word.out;
  const std::string wrong = home.write("wrong.gbnf", "root ::= \"yes\" |\nno\n");
  const Finished refused = run(home, {"chat", "--grammar", wrong, "-p", "Is it so?"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_NE(refused.err.find("wrong.gbnf: Line 2, column 1: There is no rule \"no\""),
            std::string::npos)
      << refused.err;
  EXPECT_EQ(run(home, {"chat", "--grammar", grammar, "--json-schema", schema}).exit_code, 2);
}

TEST(Cli, an_answer_that_repeats_itself_is_ended_and_says_so) {
  const Folder home;
  std::string prompt;
  for (int i = 0; i < 60; ++i) prompt += "bell ";  // the bundled model goes on with it for ever
  const Finished ended =
      run(home, {"chat", "--prompt", prompt, "--json", "--repetition-penalty", "1"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.json()["finish"], "repeats");
  EXPECT_LT(ended.json()["tokens"], 100);
  EXPECT_NE(ended.err.find("began to repeat itself"), std::string::npos) << ended.err;
  const auto asked_for = run(home, {"chat", "--prompt", prompt, "--json", "--repetition-penalty",
                                    "1", "--allow-loops", "--max-tokens", "200"})
                             .json();
  EXPECT_EQ(asked_for["finish"], "n_tokens_max");
  EXPECT_EQ(asked_for["tokens"], 200);
}

TEST(Cli, what_is_not_kept_is_not_said_to_be_kept) {
  const Folder home;
  std::string prompt;
  for (int i = 0; i < 60; ++i) prompt += "bell ";
  const Arguments arguments = {"chat", "--prompt",      prompt,         "--repetition-penalty",
                               "1",    "--allow-loops", "--max-tokens", "0"};
  const Finished one_shot = run(home, arguments);
  EXPECT_EQ(one_shot.exit_code, 5);
  EXPECT_NE(one_shot.err.find("is full"), std::string::npos) << one_shot.err;
  EXPECT_EQ(one_shot.err.find("kept"), std::string::npos) << one_shot.err;
  Arguments named = arguments;
  named.insert(named.end(), {"--chat", "bells"});
  EXPECT_NE(run(home, named).err.find("The chat is kept."), std::string::npos);
}

TEST(Cli, answers_and_documents_have_the_ids_of_the_library) {
  const Folder home;
  const auto document = home.write("todo.txt", "Buy milk on Monday.");
  const auto said = run(home, {"chat", "--chat", "notes", "--document", document.string(),
                               "--prompt", "What is bought?", "--json"})
                        .json();
  const auto rows = run(home, {"chats", "--show", "notes", "--json"}).json()["messages"];
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(said["document_ids"], nlohmann::json::array({rows[0]["id"]}));
  EXPECT_EQ(rows[0]["kind"], "document");
  EXPECT_EQ(rows[0]["title"], "todo.txt");
  EXPECT_EQ(rows[0]["text"], "Buy milk on Monday.");
  EXPECT_EQ(said["message_id"], rows[2]["id"]);
  EXPECT_EQ(said["answer_id"], rows[3]["id"]);
}

TEST(Cli, the_list_of_chats_has_what_their_caches_take) {
  const Folder home;
  run(home, {"chat", "--chat", "notes", "-p", "Hi", "-n", "2"});
  const auto row = run(home, {"chats", "--json"}).json()["chats"][0];
  EXPECT_GT(row["cache_bytes"], 0);
  EXPECT_GT(row["cache_tokens"], 0);
  const std::string list = run(home, {"chats"}).out;
  EXPECT_TRUE(std::regex_search(
      list, std::regex(R"(notes  \(cache [\d.]+ [kM]B, [\d.]+ [kM]B per 1,000 tokens\))")))
      << list;
}

TEST(Cli, a_removed_chat_is_listed_and_restored_by_its_name_or_its_id) {
  const Folder home;
  const auto begin = [&] { run(home, {"chat", "--chat", "notes", "-p", "Hi", "-n", "2"}); };
  const auto remove = [&] { run(home, {"chats", "--remove", "notes"}); };
  const auto names = [&](const Arguments& more) {
    Arguments all{"chats", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const auto json = run(home, all).json();
    std::vector<std::string> listed;
    for (const auto& row : json["chats"]) listed.push_back(row["name"]);
    return listed;
  };
  using Names = std::vector<std::string>;
  begin();
  remove();
  EXPECT_EQ(names({}), Names());
  EXPECT_EQ(names({"--removed"}), Names{"notes"});
  EXPECT_EQ(run(home, {"chats", "--restore", "notes"}).exit_code, 0);
  EXPECT_EQ(names({}), Names{"notes"});
  EXPECT_EQ(names({"--removed"}), Names());
  remove();
  begin();
  remove();
  const Finished several = run(home, {"chats", "--restore", "notes"});
  EXPECT_EQ(several.exit_code, 2);
  EXPECT_NE(several.err.find("Several removed chats"), std::string::npos) << several.err;
  begin();
  EXPECT_NE(run(home, {"chats", "--removed"}).out.find("notes  (id 1)"), std::string::npos);
  EXPECT_EQ(run(home, {"chats", "--restore", "1"}).exit_code, 0);
  EXPECT_EQ(names({}).size(), 2u) << "beside the third, under a name of its own";
  EXPECT_EQ(run(home, {"chats", "--restore", "none"}).exit_code, 3);
}

TEST(Cli, a_removed_chat_is_deleted_at_once_and_no_other) {
  const Folder home;
  run(home, {"chat", "--chat", "notes", "-p", "canary", "-n", "2"});
  const Finished early = run(home, {"chats", "--delete", "notes"});
  EXPECT_EQ(early.exit_code, 2);
  EXPECT_NE(early.err.find("is not removed"), std::string::npos) << early.err;
  EXPECT_EQ(run(home, {"chats", "--json"}).json()["chats"].size(), 1u);
  run(home, {"chats", "--remove", "notes"});
  const Finished gone = run(home, {"chats", "--delete", "notes"});
  EXPECT_EQ(gone.exit_code, 0);
  EXPECT_NE(gone.err.find("for good"), std::string::npos) << gone.err;
  EXPECT_TRUE(run(home, {"chats", "--removed", "--json"}).json()["chats"].empty());
  EXPECT_EQ(run(home, {"chats", "--delete", "notes"}).exit_code, 3);
}

TEST(Cli, the_same_seed_gives_the_same_text_and_another_seed_may_not) {
  const Folder home;
  const auto answer = [&](int seed) {
    return run(home, {"chat", "--prompt", "Where does Wendelin Okonkwo live?", "--json",
                      "--temperature", "2", "--min-p", "0", "--top-k", "0", "--top-p", "1",
                      "--seed", std::to_string(seed), "--max-tokens", "30"})
        .json()["answer"]
        .get<std::string>();
  };
  std::set<std::string> answers;
  for (int seed = 1; seed <= 8; ++seed) answers.insert(answer(seed));
  EXPECT_GT(answers.size(), 1u);
  EXPECT_EQ(answer(3), answer(3));
}

TEST(Cli, estimate_and_recipes_speak_json) {
  const Folder home;
  const auto full = run(home, {"estimate", "--json", "--tokens", "1200"}).json();
  const auto compact =
      run(home, {"estimate", "--json", "--tokens", "1200", "--recipe", "compact"}).json();
  EXPECT_LT(compact["cache_bytes"], full["cache_bytes"]);
  const auto recipes = run(home, {"recipes", "--json"}).json();
  EXPECT_EQ(recipes["presets"].size(), 4u);
  EXPECT_GE(recipes["recipes"].size(), 2u);
  const auto bad = home.write("bad.json", "{\"recipe\": 1, \"name\": \"bad\"");
  EXPECT_EQ(run(home, {"recipes", "--check", bad.string()}).exit_code, 2);
}

TEST(Cli, estimate_says_which_budget_it_goes_by) {
  const Folder home;
  const Finished asked = run(home, {"estimate", "--tokens", "1200", "--budget", "1MB"});
  EXPECT_EQ(asked.exit_code, 5);
  EXPECT_NE(asked.out.find("budget           1.0 MB\n"), std::string::npos) << asked.out;
  EXPECT_NE(asked.out.find("It does not fit the budget"), std::string::npos) << asked.out;
  EXPECT_NE(asked.out.find("too small.\n"), std::string::npos) << asked.out;
  EXPECT_EQ(asked.out.find("of memory is free"), std::string::npos) << "not the reason";
  const Finished unasked = run(home, {"estimate", "--tokens", "1200"});
  EXPECT_NE(unasked.out.find("(default)\n"), std::string::npos) << unasked.out;
  const auto json = run(home, {"estimate", "--json", "--tokens", "1200", "--budget", "1MB"}).json();
  EXPECT_EQ(json["budget_bytes"], 1000000);
  EXPECT_GT(run(home, {"estimate", "--json"}).json()["budget_bytes"], 1000000);
}

std::size_t times_in(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Cli, what_a_chat_is_asked_by_a_command_it_says_when_quiet_too) {
  const Folder home;
  const Finished said = run(home, {"chat", "--chat", "a", "-q", "--budget", "30MB"},
                            "/limit\n/limit 20MB\n/preset\n/preset compact\n/memory\n/help\n");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_NE(said.err.find("The memory limit is 30.0 MB"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("The preset is full"), std::string::npos) << said.err;
  EXPECT_EQ(times_in(said.err, "Add \"now\" to the command to apply it."), 2u) << said.err;
  EXPECT_NE(said.err.find("more fit into the model's context"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("/document FILE"), std::string::npos) << said.err;
}

TEST(Cli, a_wrong_memory_command_in_a_pipe_is_said_once_and_ends_the_chat) {
  const Folder home;
  const struct {
    const char *line, *code;
    int exit_code;
  } kWrong[] = {{"/limit much", "[PARAM]", 2},
                {"/limit 1kB now", "[LIMIT]", 5},
                {"/preset none", "[RECIPE]", 3}};
  for (const auto& wrong : kWrong) {
    const Finished said =
        run(home, {"chat", "--chat", "a"}, std::string("Hello!\n") + wrong.line + "\nAgain?\n");
    EXPECT_EQ(said.exit_code, wrong.exit_code) << said.err;
    EXPECT_EQ(times_in(said.err, wrong.code), 1u) << said.err;
    const Finished after = run(home, {"chat", "--chat", "a"}, "/memory\n");
    EXPECT_NE(after.err.find("Resumed"), std::string::npos) << "its cache was saved: " << after.err;
  }
}

TEST(Cli, a_memory_limit_that_is_too_small_is_said_as_it_was_asked_for) {
  const Finished refused = run(Folder(), {"chat"}, "/limit 1kB now\n");
  EXPECT_EQ(refused.exit_code, 5);
  EXPECT_NE(refused.err.find("A memory limit of 1.0 kB is too small"), std::string::npos)
      << refused.err;
}

TEST(Cli, a_recipe_is_explained_with_every_parameter_given_or_not) {
  const Folder home;
  const auto told = run(home, {"recipes", "--explain", "snapkv", "--json"}).json();
  EXPECT_EQ(told["source"], "arXiv:2404.14469");
  EXPECT_EQ(told["keep"], 0.25);
  const auto named = [&](const std::string& place, const std::string& key) {
    for (const auto& stage : told["stages"])
      if (stage["place"] == place)
        for (const auto& each : stage["parameters"])
          if (each["name"] == key) return each;
    return nlohmann::json{};
  };
  EXPECT_EQ(named("scorer", "window")["value"], 32);
  EXPECT_EQ(named("scorer", "window")["given"], true);
  EXPECT_EQ(named("scorer", "layer_shared")["value"], false);
  EXPECT_EQ(named("scorer", "layer_shared")["given"], false);
  const Finished tiers = run(home, {"recipes", "--explain", "zipcache-2t"});
  EXPECT_NE(tiers.out.find("codec 1 k"), std::string::npos) << tiers.out;
  const auto all = run(home, {"recipes", "--json"}).json();
  EXPECT_GE(all["recipes"].size(), 20u);
  for (const auto& recipe : all["recipes"]) {
    const auto each = run(home, {"recipes", "--explain", recipe["name"], "--json"});
    if (!recipe.contains("keep")) {  // listed, and refused with the reason
      EXPECT_EQ(each.exit_code, 4) << recipe["name"];
      continue;
    }
    EXPECT_EQ(each.exit_code, 0) << recipe["name"];
    EXPECT_GE(each.json()["stages"].size(), 4u) << recipe["name"];
  }
  EXPECT_EQ(run(home, {"recipes", "--explain", "h3o"}).exit_code, 3);
}

TEST(Cli, recipes_list_the_codecs_with_what_they_take) {
  const Folder home;
  const auto json = run(home, {"recipes", "--codecs", "--json"}).json();
  bool is_there = false;
  std::set<std::string> names, unmade;
  for (const auto& codec : json["codecs"]) {
    names.insert(codec["name"].get<std::string>());
    EXPECT_FALSE(codec["source"].get<std::string>().empty()) << codec;
    if (!codec["needs"].get<std::string>().empty()) {
      EXPECT_TRUE(codec["bits_per_value"].empty()) << codec;
      unmade.insert(codec["name"].get<std::string>());
      continue;
    }
    ASSERT_EQ(codec["bits_per_value"].size(), 2u) << codec;
    for (const auto& bits : codec["bits_per_value"]) {
      EXPECT_GT(bits["k"], 1) << codec;
      EXPECT_LE(bits["v"], 16.1) << codec;
    }
    if (codec["name"] != "kivi") continue;
    is_there = true;
    EXPECT_EQ(codec["calibrated"], false);
    EXPECT_EQ(codec["bits_per_value"][1]["head_dim"], 128);
    EXPECT_EQ(codec["bits_per_value"][1]["k"], 3.0);
    EXPECT_EQ(codec["parameters"][0]["name"], "bits");
    EXPECT_EQ(codec["parameters"][0]["default"], 2);
    EXPECT_EQ(codec["parameters"][0]["allowed"], "2 or 4");
  }
  EXPECT_TRUE(is_there);
  for (const char* name :
       {"kivi", "minikv",     "zipcache", "kvquant",   "gear",          "rotatekv",
        "mikv", "qhitter",    "bfp",      "saq",       "minicache",     "think",
        "cskv", "matryoshka", "a2ats",    "shadowkv",  "hadamard-int4", "kvarn",
        "fp8",  "kitty",      "oscar",    "turboquant"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(unmade, std::set<std::string>{"minicache"});
  const auto wide = run(home, {"recipes", "--codecs", "--json", "--head-dim", "256"}).json();
  EXPECT_EQ(wide["codecs"][0]["bits_per_value"].size(), 1u);
  const Finished text = run(home, {"recipes", "--codecs"});
  EXPECT_NE(text.out.find("turboquant"), std::string::npos);
  EXPECT_NE(run(home, {"recipes", "--codecs", "--head-dim", "50"}).exit_code, 0);
  EXPECT_NE(run(home, {"recipes", "--head-dim", "64"}).exit_code, 0);
}

TEST(Cli, profile_keeps_a_table_or_writes_it_where_it_is_told_to) {
  const Folder home;
  const Finished quiet = run(home, {"profile", "--quiet"});
  EXPECT_EQ(quiet.exit_code, 0) << quiet.err;
  const Folder other;
  const std::string table = (other.path() / "lanes.json").string();
  const auto json = run(home, {"profile", "--json", "--output", table}).json();
  EXPECT_EQ(json["lanes"], 12);
  EXPECT_EQ(json["rule"], "kvzip");
  EXPECT_EQ(json["rows"].size(), 5u);
  EXPECT_TRUE(std::filesystem::exists(table));
  EXPECT_EQ(run(home, {"profile", "--texts", "/no/such/file"}).exit_code, 3);
}

TEST(Cli, a_profile_of_one_text_is_said_to_hold_less_well) {
  const Folder home;
  const auto warned = [&](const Arguments& texts) {
    Arguments all = {"profile", "--output", (home.path() / "lanes.json").string(), "--texts"};
    all.insert(all.end(), texts.begin(), texts.end());
    return times_in(run(home, all).err, "Profiled on one text");
  };
  const std::string notes = test::source_dir() + "/docs/samples/notes.txt";
  EXPECT_EQ(warned({notes}), 1u);
  EXPECT_EQ(warned({notes, notes}), 0u);
}

TEST(Cli, a_profile_that_cannot_be_written_is_refused_before_it_is_measured) {
  const Folder home;
  for (const char* command : {"profile", "calibrate"}) {
    const Finished said = run(home, {command, "--output", "/no/such/folder/file"});
    EXPECT_EQ(said.exit_code, 7) << said.err;
    EXPECT_NE(said.err.find("Nothing was measured."), std::string::npos) << said.err;
    EXPECT_EQ(said.out, "");
  }
}

TEST(Cli, info_and_eval_say_which_lane_table_is_in_use) {
  const Folder home;
  const auto in_use = [&] {
    return run(home, {"info", kBundledModel, "--json"}).json()["lane_table"];
  };
  const Arguments eval = {"eval", "recall", "--recipes", "satchel", "--conversations", "1"};
  const Finished before = run(home, eval);
  EXPECT_EQ(before.err.find("Head budgets"), std::string::npos) << before.err;
  EXPECT_EQ(in_use()["from"], "shipped");
  ASSERT_EQ(run(home, {"profile", "--rule", "razor", "--quiet"}).exit_code, 0);
  EXPECT_EQ(in_use()["from"], "folder");
  const std::string file = in_use()["file"];
  for (const Finished& said : {run(home, eval), run(home, {"info", kBundledModel})})
    EXPECT_NE((said.out + said.err).find("Head budgets: made on this machine (razor over"),
              std::string::npos)
        << said.err;
  std::ofstream(file) << "torn";
  EXPECT_EQ(in_use()["from"], "shipped");
  EXPECT_NE(in_use()["damage"].get<std::string>().find(file), std::string::npos);
  const Finished torn = run(home, eval);
  EXPECT_EQ(times_in(torn.err, "A profile file is ignored"), 1u) << torn.err;
  EXPECT_NE(torn.err.find(file), std::string::npos) << torn.err;
}

TEST(Cli, calibrate_keeps_key_bases_or_writes_them_where_it_is_told_to) {
  const Folder home, other;
  const auto in_use = [&] {
    return run(home, {"info", kBundledModel, "--json"}).json()["key_bases"];
  };
  EXPECT_EQ(in_use()["from"], "shipped");
  const std::string output = (other.path() / "keys.bases").string();
  const auto json = run(home, {"calibrate", "--json", "--output", output}).json();
  EXPECT_EQ(json["lanes"], 12);
  EXPECT_EQ(json["texts"].size(), 4u);
  EXPECT_GT(json["texts"][0]["tokens"], 256);
  EXPECT_GT(json["gain_bits"], 0.3);
  EXPECT_EQ(json["bytes"], std::filesystem::file_size(output));
  EXPECT_EQ(in_use()["from"], "shipped") << "they are not used";
  const std::string notes = test::source_dir() + "/docs/samples/notes.txt";
  const Finished made = run(home, {"calibrate", "--text", notes, "--text", notes});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("12 KV heads, calibrated on notes ("), std::string::npos) << made.out;
  EXPECT_NE(made.out.find("fewer bits per value"), std::string::npos) << made.out;
  EXPECT_EQ(in_use()["from"], "folder");
  EXPECT_EQ(in_use()["source"], "queries and keys of notes notes");
  const std::string file = in_use()["file"];
  std::ofstream(file) << "torn";
  EXPECT_EQ(in_use()["from"], "shipped");
  const Arguments chat = {"chat", "--prompt", "Hi", "-n", "1"}, info = {"info", kBundledModel};
  for (const Finished& said : {run(home, chat), run(home, info)}) {
    EXPECT_EQ(said.exit_code, 0) << said.err;
    EXPECT_EQ(times_in(said.err, "A profile file is ignored"), 1u) << said.err;
    EXPECT_NE(said.err.find(file), std::string::npos) << said.err;
  }
  EXPECT_EQ(run(home, {"calibrate", "--text", "/no/such/file"}).exit_code, 3);
}

TEST(Cli, calibrate_with_values_keeps_the_key_bases_and_adds_some_for_values) {
  const Folder home;
  const std::string notes = test::source_dir() + "/docs/samples/notes.txt";
  const Finished made = run(home, {"calibrate", "--values", "--text", notes});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("% of the values' variance"), std::string::npos) << made.out;
  EXPECT_EQ(made.out.find("fewer bits per value"), std::string::npos) << made.out;
  const auto in_use = run(home, {"info", kBundledModel, "--json"}).json()["key_bases"];
  EXPECT_EQ(in_use["from"], "folder");
  EXPECT_EQ(in_use["source"], "queries and keys of code guide notes story");
  const auto json = run(home, {"calibrate", "--values", "--json", "--text", notes}).json();
  EXPECT_TRUE(json["gain_bits"].is_null());
  EXPECT_GT(json["value_share_of_fifth"], 0.2);
}

TEST(Cli, profile_goes_by_the_rule_that_is_named) {
  const Folder home;
  const auto json = run(home, {"profile", "--rule", "razor", "--json"}).json();
  EXPECT_EQ(json["rule"], "razor");
  EXPECT_EQ(json["lanes"], 12);
  EXPECT_EQ(json["texts"].size(), 1u);
  const Finished bad = run(home, {"profile", "--rule", "raisor"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_NE(bad.err.find("Unknown rule \"raisor\". Available rules: kvzip, razor, headkv, duo."),
            std::string::npos)
      << bad.err;
  const Finished help = run(home, {"profile", "--help"});
  EXPECT_NE(help.out.find("--rule"), std::string::npos);
  EXPECT_NE(help.out.find("DuoAttention without training, as in kvpress"), std::string::npos);
}

TEST(Cli, the_demo_resumes_every_token_and_reads_none_again) {
  const Folder home;
  const Finished finished = run(home, {"demo", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out, nullptr, false);  // nothing else there
  ASSERT_TRUE(json.is_object()) << finished.out;
  EXPECT_EQ(json["reused_tokens"], json["chat_tokens"]);
  EXPECT_GT(json["chat_tokens"], 600);
  EXPECT_EQ(json["reread_tokens"], 0);
  EXPECT_LT(json["kv_bytes"], json["kv_bytes_fp16"]);
  // Compact; metadata and positions counted.
  EXPECT_LT(json["body_bytes"].get<double>(), 0.17 * json["body_bytes_fp16"].get<double>());
  EXPECT_GE(json["body_saved"], 0.83);
  for (const char* key : {"agreement", "resume_ms", "recipe", "backend"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const auto& answer : json["answers"]) {
    EXPECT_EQ(answer["correct_full"], true) << answer;
    EXPECT_EQ(answer["correct_packed"], true) << answer;
    EXPECT_EQ(answer["correct_resumed"], true) << answer;
  }
}

TEST(Cli, the_demo_shows_what_each_preset_takes_as_measured_in_that_run) {
  const Folder home;
  const auto json = run(home, {"demo", "--json"}).json();
  ASSERT_EQ(json["presets"].size(), 4u) << json;
  double saved = -1;
  std::string names;
  for (const auto& row : json["presets"]) {
    names += row["preset"].get<std::string>() + " ";
    EXPECT_EQ(row["measured"], true) << row;
    EXPECT_EQ(row["asked"], json["answers"].size()) << row;
    EXPECT_GT(row["body_saved"].get<double>(), saved) << "each saves more than the one before it";
    saved = row["body_saved"];
  }
  EXPECT_EQ(names, "full balanced compact extreme ");
  // Every token kept at 4.5 bits a value, metadata and positions counted.
  const auto balanced = json["presets"][1], compact = json["presets"][2];
  EXPECT_LT(balanced["body_bytes"].get<double>(),
            0.285 * balanced["body_bytes_fp16"].get<double>());
  EXPECT_EQ(compact["body_bytes"], json["body_bytes"]) << "the row of the saved chat itself";
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(json["presets"][i]["right"], json["presets"][i]["asked"]) << json["presets"][i];
  const std::string shown = run(home, {"demo", "--recipe", "compact", "--keep", "0.3"}).out;
  for (const char* name : {"\n  full ", "\n  balanced ", "\n  extreme ", "\n  compact 30.0 % "})
    EXPECT_NE(shown.find(name), std::string::npos) << shown;
}

}  // namespace
}  // namespace satchel::test

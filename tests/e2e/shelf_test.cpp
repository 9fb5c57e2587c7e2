// The shelf: a document that one chat has read begins other chats.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {
namespace fs = std::filesystem;

class Shelf : public testing::Test {
 protected:
  Shelf() {
    std::ifstream in(kHeldOut);
    std::string line;
    do std::getline(in, line);
    while (nlohmann::json::parse(line)["set"] != kHeldOutSet);
    const auto notes = nlohmann::json::parse(line);
    document_ = home_.write("notes.txt", notes["notes"]);
    for (const auto& exchange : notes["exchanges"])
      if (exchange.contains("ask")) questions_.push_back(exchange["ask"]);
  }
  Finished satchel(Arguments arguments, const std::string& input = "") {
    arguments.insert(arguments.end(), {"--store", (home_ / "store").string()});
    return run(home_, arguments, input);
  }
  Finished chat(const std::string& name, const Arguments& more = {}) {
    Arguments all{"chat", "--chat", name, "--prompt", questions_.at(0), "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return satchel(all);
  }
  Arguments reading(const std::string& recipe = "balanced") const {
    return {"--document", document_.string(), "--recipe", recipe};
  }
  nlohmann::json documents() { return satchel({"documents", "--json"}).json()["documents"]; }
  std::uintmax_t cache_bytes() { return fs::file_size(home_ / "store/kvcache.db"); }
  bool has_word_on_disk(const std::string& word) {
    for (const auto& entry : fs::recursive_directory_iterator(home_ / "store")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      if (bytes.find(word) != std::string::npos) return true;
    }
    return false;
  }

  Folder home_;
  fs::path document_;
  std::vector<std::string> questions_;
};

TEST_F(Shelf, a_second_chat_takes_the_document_and_answers_the_same) {
  const auto first = chat("a", reading()).json();
  const std::uintmax_t n_before = cache_bytes();
  const Finished said = chat("b", reading());
  const auto second = said.json();
  const auto listed = documents();
  ASSERT_EQ(listed.size(), 1u) << listed;
  const std::size_t n_tokens = listed[0]["readings"][0]["tokens"];
  EXPECT_EQ(second["shelf_tokens"], n_tokens) << said.out;
  EXPECT_NE(said.err.find("tokens taken from the shelf, nothing read."), std::string::npos)
      << said.err;
  EXPECT_EQ(second["answer"], first["answer"]);
  EXPECT_EQ(first["shelf_tokens"], 0);
  EXPECT_TRUE(second["reread"].empty()) << second;
  // The document's bytes are stored once; what each chat has of its own is a part of them.
  EXPECT_LT(cache_bytes() - n_before, n_before / 2);
  EXPECT_EQ(listed[0]["title"], "notes.txt");
  EXPECT_EQ(listed[0]["kept"], false);
  EXPECT_EQ(listed[0]["readings"][0]["recipe"], "ladder-4");
}

TEST_F(Shelf, another_recipe_reads_it_and_says_why) {
  chat("a", reading());
  const Finished said = chat("b", reading("full"));
  EXPECT_EQ(said.json()["reread"][0]["reason"], "other_recipe") << said.out;
  EXPECT_NE(said.err.find("made with another recipe"), std::string::npos) << said.err;
  EXPECT_EQ(documents()[0]["readings"].size(), 2u);
}

TEST_F(Shelf, goes_with_its_chat_unless_it_is_kept) {
  const std::string word = "Matteo Thorsen";
  chat("a", reading());
  ASSERT_TRUE(has_word_on_disk(word));
  satchel({"chats", "--remove", "a"});
  satchel({"chats", "--delete", "a"});
  EXPECT_TRUE(documents().empty());
  EXPECT_FALSE(has_word_on_disk(word));

  Arguments keeping = reading();
  keeping.push_back("--keep-documents");
  chat("b", keeping);
  satchel({"chats", "--remove", "b"});
  const Finished deleted = satchel({"chats", "--delete", "b"});
  EXPECT_NE(deleted.err.find("stays on the shelf"), std::string::npos) << deleted.err;
  ASSERT_EQ(documents().size(), 1u);
  EXPECT_EQ(documents()[0]["kept"], true);

  const Finished from_shelf = chat("c", {"--shelf", "notes.txt", "--recipe", "balanced"});
  EXPECT_GT(from_shelf.json()["shelf_tokens"], 0) << from_shelf.err;
  const Finished removed = satchel({"documents", "--remove", "notes.txt"});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_TRUE(documents().empty());
  satchel({"chats", "--remove", "c"});
  satchel({"chats", "--delete", "c"});
  EXPECT_FALSE(has_word_on_disk(word));
}

TEST_F(Shelf, is_listed_shown_and_named_in_a_chat) {
  EXPECT_EQ(satchel({"documents"}).exit_code, 3) << "a folder that is not there";
  fs::create_directory(home_ / "store");
  EXPECT_NE(satchel({"documents"}).out.find("The shelf is empty."), std::string::npos);
  const Finished none = satchel({"documents", "--remove", "x"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_NE(none.err.find("DOC_NOT_FOUND"), std::string::npos) << none.err;
  chat("a", reading());
  const std::string id = documents()[0]["id"];
  const Finished listed = satchel({"documents"});
  EXPECT_NE(listed.out.find("notes.txt"), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find(id.substr(0, 8)), std::string::npos) << listed.out;
  std::ifstream in(document_);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(satchel({"documents", "--show", id.substr(0, 8)}).out, text);
  const Finished talk = satchel({"chat", "--chat", "b", "--recipe", "balanced"},
                                "/shelf\n/shelf " + id + "\n/keep\n" + questions_.at(0) + "\n");
  EXPECT_EQ(talk.exit_code, 0) << talk.err;
  EXPECT_NE(talk.err.find("taken from the shelf"), std::string::npos) << talk.err;
  EXPECT_NE(talk.err.find("until you remove it"), std::string::npos) << talk.err;
  EXPECT_EQ(documents()[0]["kept"], true);
}

}  // namespace
}  // namespace satchel::test

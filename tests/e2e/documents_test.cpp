// Documents that are not plain text, through the program: a child of it reads them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "process.h"
#include "support/life_line.h"
#include "support/source_dir.h"

namespace satchel::test {
namespace {

const std::string kFolder = source_dir() + "/tests/golden/documents/";

Finished read(const Folder& home, const std::string& file) {
  return run(home,
             {"chat", "--document", file, "-p", "Which pet does Matteo Thorsen keep?", "--json"});
}

TEST(Documents, are_read_whatever_their_form) {
  const Folder home;
  for (const char* name : {"pets.docx", "pets.epub", "pets.html"}) {
    const Finished done = run(home, {"chat", "--chat", name, "--document", kFolder + name, "-p",
                                     "Who keeps a rabbit?", "-n", "4", "--json"});
    ASSERT_EQ(done.exit_code, 0) << name << done.err;
    const Finished kept = run(home, {"export", name});
    EXPECT_NE(kept.out.find("keeps a rabbit"), std::string::npos) << kept.out;
    EXPECT_NE(kept.out.find("parrot"), std::string::npos) << "to its end: " << kept.out;
  }
}

TEST(Documents, of_pdf_say_where_each_page_begins_or_which_program_is_missing) {
  const Folder home;
  const Finished done = run(home, {"document-text", kFolder + "pets.pdf"});
  ASSERT_EQ(done.exit_code, 0);
  if (done.out.starts_with("failed\nDOC_TYPE\n")) GTEST_SKIP() << "pdftotext is not here";
  EXPECT_EQ(done.out,
            "ok\n[Page 1]\nMatteo Thorsen keeps a rabbit.\n\n[Page 3]\nAna keeps a parrot.\n");
}

// A pdftotext that never ends is a child of the child.
TEST(Documents, that_are_stopped_while_they_are_read_end_all_that_reads_them) {
  const Folder home;
  const LifeLine line(home / "line");
  const std::filesystem::path program = home.write(
      "pdftotext", "#!/bin/sh\nexec 3>" + line.path() + "\necho begun >&3\nsleep 100000\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (home.string() + ":" + path).c_str(), 1);
  Running reading(home, {"chat", "--document", kFolder + "pets.pdf", "-p", "Who?", "--json"});
  setenv("PATH", path.c_str(), 1);
  ASSERT_EQ(line.line(), "begun\n");
  reading.signal(SIGINT);
  const std::string said = reading.read_until("Reading \\\"pets.pdf\\\" was stopped.");
  EXPECT_NE(said.find("STOPPED"), said.npos) << said;
  EXPECT_EQ(reading.wait(), 130);
  EXPECT_TRUE(line.has_ended());
}

TEST(Documents, are_named_where_an_answer_repeats_one_of_their_passages) {
  const Folder home;
  const std::string document =
      home.write("tower.txt",
                 "[Page 1]\nA tower.\n\n[Page 2]\nThe brass bell hangs in the old room "
                 "of\nthe tower. It is quiet there.\n");
  const std::string says = home.write(
      "says.gbnf", "root ::= \"The brass bell hangs in the old room of the tower, they say.\"\n");
  const auto asked = [&](const std::string& how) {
    return run(home, {"chat", "--document", document, "--grammar", says, how, "-p", "Where?"});
  };
  const Finished text = asked("--no-drafts");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, "The brass bell hangs in the old room of the tower, they say.\n");
  EXPECT_NE(text.err.find("from tower.txt, page 2: \"The brass bell hangs in the old room of the "
                          "tower\"\n"),
            std::string::npos)
      << text.err;
  const auto quotes = asked("--json").json()["quotes"];
  ASSERT_EQ(quotes.size(), 1u);
  EXPECT_EQ(quotes[0]["document"], "tower.txt");
  EXPECT_EQ(quotes[0]["page"], 2);
  EXPECT_EQ(quotes[0]["answer_end"], 49);
  EXPECT_EQ(asked("-q").err.find("tower.txt"), std::string::npos);
  EXPECT_TRUE(read(home, document).json()["quotes"].empty());
}

TEST(Documents, that_are_cut_off_or_hostile_are_refused_in_words) {
  const Folder home;
  EXPECT_EQ(read(home, kFolder + "bomb.docx").json()["error"]["code"], "DOC_LIMIT");
  for (const char* name : {"pets.docx", "pets.epub", "pets.pdf"}) {
    std::ifstream in(kFolder + name, std::ios::binary);
    std::stringstream whole;
    whole << in.rdbuf();
    const std::string bytes = whole.str();
    for (std::size_t n = 8; n < bytes.size(); n += 97) {
      std::ofstream(home / "cut", std::ios::binary) << bytes.substr(0, n);
      const Finished done = run(home, {"document-text", (home / "cut").string()});
      EXPECT_EQ(done.exit_code, 0) << name << n;
      EXPECT_TRUE(done.out.starts_with("ok\n") || done.out.starts_with("failed\nDOC_"))
          << name << n << done.out;
    }
  }
  std::filesystem::copy_file(kFolder + "pets.docx", home / "cut.docx");
  std::filesystem::resize_file(home / "cut.docx", 300);
  const Finished cut = read(home, (home / "cut.docx").string());
  EXPECT_EQ(cut.json()["error"]["code"], "DOC_FORMAT");
  EXPECT_EQ(cut.exit_code, 4) << "damaged, not misused";
  std::ofstream(home / "empty.html") << "<p> </p>";
  const Finished empty = read(home, (home / "empty.html").string());
  EXPECT_EQ(empty.json()["error"]["code"], "DOC_NO_TEXT");
  EXPECT_EQ(empty.exit_code, 4);
  const Finished blank = read(home, home.write("blank.txt", " \r\n\t").string());
  EXPECT_EQ(blank.json()["error"]["code"], "DOC_EMPTY");
}

}  // namespace
}  // namespace satchel::test

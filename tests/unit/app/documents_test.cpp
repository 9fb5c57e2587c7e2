// Documents that are not plain text: each format, and archives that mean no good. Fixtures:
// tests/oracle/make_document_fixtures.py.
#include "app/documents/document_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/documents/formats.h"
#include "app/documents/zip_file.h"
#include "support/source_dir.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {

std::filesystem::path fixture(const std::string& name) {
  return test::source_dir() + "/tests/golden/documents/" + name;
}

TEST(Documents, of_word_are_headings_paragraphs_lists_and_tables) {
  const ZipFile file = value_of(ZipFile::open(fixture("pets.docx")));
  EXPECT_EQ(value_of(docx_text(file)),
            "# Pets of the street\n\n"
            "Matteo Thorsen keeps a rabbit & a cat.\n\n"
            "- first\n- second\n\n"
            "Name | Pet\nAna | parrot\n\n"
            "One two\nthree.\n");
}

TEST(Documents, of_epub_are_the_chapters_of_the_spine) {
  const ZipFile file = value_of(ZipFile::open(fixture("pets.epub")));
  EXPECT_EQ(value_of(epub_text(file)),
            "# One\n\nMatteo keeps a rabbit.\n\n# Two\n\nAna keeps a parrot.\n");
}

TEST(Documents, of_html_are_what_a_reader_sees) {
  const auto html_text = [](std::string_view html) { return value_of(app::html_text(html)); };
  EXPECT_EQ(html_text("<title>no</title><h2>A <b>b</b></h2><script>no</script>x<br>y"),
            "## A b\n\nx\ny\n");
  EXPECT_EQ(html_text("<ul><li>one<li>two</ul><p>a &amp; &#228;"), "- one\n- two\n\na & \u00e4\n");
  EXPECT_EQ(html_text("<pre>a\n  b</pre>"), "a\n  b\n");
  EXPECT_EQ(html_text("<table><tr><td>a<td>b<tr><td>c</table>"), "a | b\nc\n");
  EXPECT_EQ(html_text(""), "");
  const std::string_view utf16("\xff\xfe<\0p\0>\0o\0n\0e\0", 14);
  EXPECT_EQ(html_text(utf16), "one\n");
  (void)html_text("<p>\xff\xfe<");  // whatever it is, no crash
}

TEST(Documents, that_are_nested_too_deep_are_refused_and_not_cut) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<div>";
  EXPECT_EQ(html_text(deep + "end").error().code, "DOC_LIMIT");
  std::string fonts;
  for (int i = 0; i < 400; ++i) fonts += "<font>w" + std::to_string(i);
  const Result<std::string> text = html_text(fonts);
  EXPECT_TRUE(!text.ok() || text->find("w399") != text->npos) << "nothing is left out unsaid";
}

TEST(Documents, that_unpack_to_far_more_are_refused) {
  const ZipFile file = value_of(ZipFile::open(fixture("bomb.docx")));
  EXPECT_EQ(docx_text(file).error().code, "DOC_LIMIT");
}

TEST(Documents, that_are_no_archive_or_lack_a_part_are_said_to_be_damaged) {
  EXPECT_EQ(ZipFile::open(fixture("pets.html")).error().code, "DOC_FORMAT");
  const ZipFile file = value_of(ZipFile::open(fixture("pets.docx")));
  EXPECT_EQ(epub_text(file).error().code, "DOC_FORMAT");
}

TEST(Documents, whose_child_was_ended_say_why_and_what_to_do) {
  const Error late = not_read("big.pdf", {ErrorKind::unsupported, "PROCESS_TIME", ""});
  EXPECT_EQ(late.code, "DOC_TIME");
  EXPECT_TRUE(late.message.starts_with("Reading \"big.pdf\" took more than 2 minutes"));
  EXPECT_NE(late.message.find("smaller part"), late.message.npos);
  const Error large = not_read("big.pdf", {ErrorKind::invalid, "PROCESS_LIMIT", ""});
  EXPECT_EQ(large.code, "DOC_LIMIT");
  EXPECT_EQ(large.message,
            "\"big.pdf\": Its text is larger than 16 MiB. Use a smaller part of it.");
  EXPECT_EQ(not_read("big.pdf", {ErrorKind::cancelled, "STOPPED", ""}).message,
            "Reading \"big.pdf\" was stopped.");
  const Error unstarted = not_read("a.pdf", {ErrorKind::internal, "PROCESS", "Cannot start it."});
  EXPECT_EQ(unstarted.code, "PROCESS");
  EXPECT_EQ(unstarted.message, "\"a.pdf\": Cannot start it.");
  EXPECT_EQ(not_read("big.pdf", {ErrorKind::corrupt, "DOC_FORMAT", "It is damaged."}).message,
            "\"big.pdf\": It is damaged.");
}

// With a PATH of a folder of the test's own.
class PdfProgram : public testing::Test {
 protected:
  PdfProgram() { setenv("PATH", folder_.string().c_str(), 1); }
  ~PdfProgram() override { setenv("PATH", before_.c_str(), 1); }
  void install(const std::string& script) const {
    const std::filesystem::path program = folder_ / "pdftotext";
    std::ofstream(program) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  static Error why_not() {
    const Result<std::string> text = pdf_text(fixture("pets.pdf"));
    return text.ok() ? Error{} : text.error();
  }

 private:
  const test::TempFolder folder_;
  const std::string before_ = std::getenv("PATH");
};

TEST_F(PdfProgram, that_is_not_there_is_said_to_be_missing) {
  EXPECT_EQ(why_not().code, "DOC_TYPE");
  EXPECT_THAT(why_not().message, testing::HasSubstr("not installed"));
}

TEST_F(PdfProgram, that_says_too_much_is_told_as_too_much_text) {
  install("exec /bin/cat /dev/zero");
  EXPECT_EQ(why_not().code, "DOC_LIMIT");
}

TEST_F(PdfProgram, that_cannot_be_started_is_not_told_as_missing_or_as_too_much_text) {
  install("exit 0");
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Error why = why_not();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(why.code, "PROCESS");
  EXPECT_EQ(why.kind, ErrorKind::internal);
}

TEST(Documents, are_known_by_their_first_bytes) {
  for (const char* name : {"pets.docx", "pets.epub", "pets.pdf", "pets.html"})
    EXPECT_TRUE(is_rich_document(fixture(name))) << name;
  EXPECT_FALSE(is_rich_document(test::source_dir() + "/docs/samples/notes.txt"));
  EXPECT_THAT(rich_endings(), testing::IsSupersetOf({"pdf", "docx", "epub", "html"}));
}

}  // namespace
}  // namespace satchel::app

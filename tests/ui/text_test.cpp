// What is written in the window: figures, parts of Markdown, progress, the resume chip, documents.
#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>

#include "ui/model/document_file.h"
#include "ui/model/format.h"
#include "ui/model/markdown_parts.h"
#include "ui/model/reading_clock.h"
#include "ui/model/resume_state.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

QString plain(QString text) {
  return text.replace(QChar(QChar::Nbsp), u' ');
}

TEST(Format, bytes_keep_three_digits) {
  EXPECT_EQ(plain(formatBytes(0)), u"0 B"_s);
  EXPECT_EQ(plain(formatBytes(999)), u"999 B"_s);
  EXPECT_EQ(plain(formatBytes(4'410'752)), u"4.41 MB"_s);
  EXPECT_EQ(plain(formatBytes(31'000'000)), u"31.0 MB"_s);
  EXPECT_EQ(plain(formatBytes(999'700'000)), u"1.00 GB"_s);
}

TEST(Format, a_least_limit_is_never_rounded_down) {
  EXPECT_EQ(plain(formatBytesUp(999)), u"999 B"_s);
  EXPECT_EQ(plain(formatBytesUp(41'210'000)), u"41.3 MB"_s);
  EXPECT_EQ(plain(formatBytesUp(41'300'000)), u"41.3 MB"_s);
  EXPECT_EQ(plain(formatBytesUp(999'100'000)), u"1.00 GB"_s);
}

TEST(Format, a_small_share_is_not_none) {
  EXPECT_EQ(plain(formatShare(0)), u"none"_s);
  EXPECT_EQ(plain(formatShare(0.0002)), u"< 0.1 %"_s);
  EXPECT_EQ(plain(formatShare(0.31)), u"31 %"_s);
}

TEST(Format, a_share_below_one_is_never_shown_as_all) {
  EXPECT_EQ(plain(formatPercent(1)), u"100 %"_s);
  EXPECT_EQ(plain(formatPercent(0.99999)), u"99.9 %"_s);
  EXPECT_EQ(plain(formatPercent(0.961)), u"96.1 %"_s);
  EXPECT_EQ(plain(formatPercent(0.5)), u"50 %"_s);
}

TEST(Format, durations_and_ages) {
  EXPECT_EQ(plain(formatSeconds(0.0042)), u"4.2 ms"_s);
  EXPECT_EQ(plain(formatSeconds(0.212)), u"0.21 s"_s);
  EXPECT_EQ(plain(formatSeconds(58)), u"58 s"_s);
  EXPECT_EQ(plain(formatSeconds(200)), u"3 min 20 s"_s);
  EXPECT_EQ(formatAge(59'999), u"just now"_s);
  EXPECT_EQ(formatAge(5 * 60'000), u"5 min ago"_s);
  EXPECT_EQ(formatAge(49ll * 3600 * 1000), u"2 days ago"_s);
}

TEST(Format, a_tip_shows_tags_as_text) {
  EXPECT_EQ(tipText(u"<img src=x> & \n<b>"_s), u"<p>&lt;img src=x&gt; &amp; <br>&lt;b&gt;</p>"_s);
}

TEST(Format, a_link_shows_the_host_that_it_reaches) {
  const auto shown = [](const QString& address) {
    return linkText(QUrl(address, QUrl::StrictMode));
  };
  EXPECT_EQ(shown(u"https://example.org/a?b=c"_s), u"example.org: https://example.org/a?b=c"_s);
  EXPECT_TRUE(shown(u"https://b\u00FCcher.example/"_s).startsWith(u"xn--bcher-kva.example: "_s));
  const QString far = linkText(QUrl(u"https://evil.example/"_s + QString(500, u'a')));
  EXPECT_TRUE(far.startsWith(u"evil.example: https://evil.example/aaa"_s));
  EXPECT_LE(far.size(), 140);
  EXPECT_EQ(shown(u"https://bank.example:pass@evil.example/"_s), QString()) << "a name, not a host";
  for (const QString& other :
       {u"file:///etc/passwd"_s, u"javascript:alert(1)"_s, u"https:///x"_s, u"x"_s})
    EXPECT_EQ(shown(other), QString());
}

TEST(MarkdownParts, a_fence_makes_a_part_of_its_own) {
  const auto parts = markdownParts(u"Before.\n```cpp\nint x;\n\nint y;\n```\nAfter."_s);
  ASSERT_EQ(parts.size(), 3);
  EXPECT_EQ(parts[0], (MessagePart{MessagePart::Prose, u"Before."_s, {}}));
  EXPECT_EQ(parts[1], (MessagePart{MessagePart::Code, u"int x;\n\nint y;"_s, u"cpp"_s}));
  EXPECT_EQ(parts[2], (MessagePart{MessagePart::Prose, u"After."_s, {}}));
}

TEST(MarkdownParts, a_fence_that_is_still_open_is_code) {
  const auto parts = markdownParts(u"```\nhalf"_s);
  ASSERT_EQ(parts.size(), 1);
  EXPECT_EQ(parts[0].kind, MessagePart::Code);
  EXPECT_EQ(parts[0].text, u"half"_s);
}

TEST(MarkdownParts, a_longer_fence_holds_shorter_ones) {
  const auto parts = markdownParts(u"````md\n```\ninner\n```\n````"_s);
  ASSERT_EQ(parts.size(), 1);
  EXPECT_EQ(parts[0].text, u"```\ninner\n```"_s);
}

TEST(MarkdownParts, lists_are_not_cut_so_that_their_numbers_go_on) {
  EXPECT_EQ(markdownParts(u"1. one\n\n2. two\n\n3. three"_s).size(), 1);
  EXPECT_EQ(markdownParts(u"- a\n\n  more of a\n\n- b"_s).size(), 1);
}

TEST(MarkdownParts, paragraphs_are_parts) {
  EXPECT_EQ(markdownParts(u"one\ntwo\n\nthree\n\n# four"_s).size(), 3);
  EXPECT_TRUE(markdownParts(u""_s).isEmpty());
  EXPECT_TRUE(markdownParts(u"\n \n"_s).isEmpty());
}

TEST(MarkdownParts, what_stands_does_not_change_while_the_text_grows) {
  const QString text =
      u"# Head\n\nA paragraph\nof two lines.\n\n- item\n- item\n\nNext *one*.\n\n```py\nx = 1\n\n"
      "y = 2\n```\n\n1. a\n\n2. b\n\nEnd.\n"_s;
  auto before = markdownParts(u""_s);
  for (qsizetype length = 1; length <= text.size(); ++length) {
    const auto now = markdownParts(text.left(length));
    ASSERT_GE(now.size(), before.size()) << length;
    for (qsizetype i = 0; i + 1 < before.size(); ++i) ASSERT_EQ(now[i], before[i]) << length;
    before = now;
  }
}

TEST(ReadingClock, tells_the_time_left_once_it_knows_the_speed) {
  ReadingClock clock;
  clock.begin(10);
  clock.update({runtime::Phase::read_prompt, 0, 1000}, 10);
  EXPECT_LT(clock.secondsLeft(), 0);
  clock.update({runtime::Phase::read_prompt, 200, 1000}, 12);
  EXPECT_NEAR(clock.secondsLeft(), 8, 1e-9);
  EXPECT_EQ(plain(clock.text()), u"Reading 200 of 1,000 tokens · 8 s left"_s);
  EXPECT_NEAR(clock.share(), 0.2, 1e-9);
  // Another phase begins anew.
  clock.update({runtime::Phase::measure_fidelity, 1, 2}, 13);
  EXPECT_LT(clock.secondsLeft(), 0);
}

runtime::ResumeReport report(std::size_t reused, std::size_t reread, const char* message = "") {
  runtime::ResumeReport resume;
  resume.n_chat_tokens = reused + reread;
  resume.n_reused = reused;
  resume.n_reread = reread;
  resume.ms = 212;
  resume.reread_ms_estimate = 58'000;
  resume.message = message;
  return resume;
}

TEST(ResumeState, says_what_was_reused_and_what_that_saved) {
  const ResumeState resume = ResumeState::of(report(31'904, 0));
  EXPECT_EQ(resume.kind, ResumeState::Reused);
  EXPECT_EQ(plain(resume.text),
            u"Resumed 31,904 tokens in 0.21 s. Rereading them would take about 58 s."_s);
}

TEST(ResumeState, says_that_it_saved_nothing) {
  auto slow = report(31'904, 0);
  slow.ms = 61'000;
  EXPECT_TRUE(plain(ResumeState::of(slow).text).endsWith(u"Resuming saved no time."_s));
}

TEST(ResumeState, makes_no_forecast_that_was_not_given) {
  auto unknown = report(100, 0);
  unknown.reread_ms_estimate = 0;
  EXPECT_EQ(plain(ResumeState::of(unknown).text), u"Resumed 100 tokens in 0.21 s."_s);
  EXPECT_EQ(ResumeState::of(report(0, 0)).kind, ResumeState::Hidden);
  runtime::ResumeReport tooLong = report(0, 0, "Longer than the context.");
  tooLong.too_long = true;
  EXPECT_EQ(ResumeState::of(tooLong).kind, ResumeState::TooLong);
  EXPECT_EQ(ResumeState::of(tooLong).text, u"Longer than the context."_s);
}

TEST(ResumeState, says_why_something_was_read_again) {
  const char* const why = kvcache::reread_text(kvcache::RereadReason::other_model);
  const ResumeState all = ResumeState::of(report(0, 1204, why));
  EXPECT_EQ(all.kind, ResumeState::Reread);
  EXPECT_EQ(plain(all.text),
            u"Reread 1,204 tokens in 0.21 s. The cache was made with another model."_s);
  const ResumeState part = ResumeState::of(report(1000, 204, "Damaged."));
  EXPECT_EQ(part.kind, ResumeState::PartlyReread);
  EXPECT_EQ(plain(part.text), u"Reused 1,000 tokens and reread 204 in 0.21 s. Damaged."_s);
}

class DocumentFileTest : public testing::Test {
 protected:
  QString write(const QString& name, const QByteArray& bytes) {
    QFile file(m_folder.filePath(name));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(bytes);
    return file.fileName();
  }
  std::string codeOf(const QString& path) {
    const auto document = DocumentFile::read(path);
    return document.ok() ? "" : document.error().code;
  }
  QTemporaryDir m_folder;
};

TEST_F(DocumentFileTest, reads_utf8_and_says_when_it_was_not) {
  const auto utf8 = DocumentFile::read(write(u"a.md"_s,
                                             "Gr\xc3\xbc\xc3\x9f"
                                             "e\r\nzwei"));
  ASSERT_TRUE(utf8.ok());
  EXPECT_EQ(utf8->title, u"a.md"_s);
  EXPECT_EQ(utf8->text, u"Grüße\nzwei"_s);
  EXPECT_FALSE(utf8->wasRecoded);
  const auto windows = DocumentFile::read(write(u"b.txt"_s, "5 \x80 \x93quoted\x94"));
  ASSERT_TRUE(windows.ok());
  EXPECT_EQ(windows->text, u"5 € “quoted”"_s);
  EXPECT_TRUE(windows->wasRecoded);
}

TEST_F(DocumentFileTest, refuses_by_code) {
  EXPECT_EQ(codeOf(write(u"c.png"_s, "x")), "DOC_TYPE");
  EXPECT_EQ(codeOf(write(u"d.txt"_s, QByteArray("a\0b", 3))), "DOC_TYPE");
  EXPECT_EQ(codeOf(write(u"e.txt"_s, " \n ")), "DOC_EMPTY");
  EXPECT_EQ(codeOf(write(u"f.txt"_s, QByteArray((16 << 20) + 1, 'x'))), "DOC_LIMIT");
  EXPECT_EQ(codeOf(m_folder.filePath(u"none.txt"_s)), "DOC_OPEN");
}

}  // namespace
}  // namespace satchel::ui

// The window's engine on the real runtime with the bundled model and a store on disk; once more in
// a process of its own (CMakeLists.txt).
#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <functional>
#include <optional>
#include <thread>

#include "life.h"
#include "support/memory_chat_store.h"
#include "ui/model/format.h"
#include "ui/model/in_process_engine.h"

namespace satchel::ui {
namespace {

using Phase = AppState::Phase;

constexpr auto kNotes =
    u"Read these notes. The code for the crimson chapel is 1171. Ada Halvorsen comes on Friday at "
    "12. Quentin Ashford works as a pilot. Rita Krause is a sailor by trade.";

class InProcessTest : public testing::Test {
 protected:
  // A new chat under KVzip, which packs later, with a document of about 1,700 tokens: four spans.
  static void readLongUnderKvzip(Life& life);
  // A document read under Compact in a life of its own; what the panel said of its fidelity.
  QString compressAndClose();
  QTemporaryDir m_folder;
};

void InProcessTest::readLongUnderKvzip(Life& life) {
  ASSERT_TRUE(life.openModel()) << life.error();
  ChatSettings settings;
  settings.preset = u"kvzip"_s;
  life.engine.newChat(settings, {});
  ASSERT_TRUE(life.wait([&] { return life.state.memory()->recipeText().contains(u"kvzip"_s); }))
      << life.error();
  life.state.attachDocument(u"notes.txt"_s, QString::fromUtf16(kNotes).repeated(32));
  ASSERT_TRUE(life.waitReady()) << life.error();
}

QString InProcessTest::compressAndClose() {
  Life life(m_folder.path());
  EXPECT_TRUE(life.openModel()) << life.error();
  life.state.memory()->setPresetIndex(2);
  life.state.newChat();
  EXPECT_TRUE(life.waitReady()) << life.error();
  QString notes;
  for (int i = 0; i < 12; ++i) notes += QString::fromUtf16(kNotes) + u' ';
  life.state.attachDocument(u"notes.txt"_s, notes);
  EXPECT_TRUE(life.waitReady()) << life.error();
  EXPECT_TRUE(life.wait([&] { return !life.state.memory()->fidelityAge().isEmpty(); }));
  EXPECT_FALSE(life.state.memory()->bodyText().isEmpty());
  EXPECT_EQ(life.state.memory()->layerBars().size(), 6);
  return life.state.memory()->fidelityText();
}

TEST_F(InProcessTest, a_chat_is_answered_saved_and_resumed_in_the_next_life) {
  QString answer;
  qint64 tokens = 0;
  ChatKey key = 0;
  QList<qint64> ids;
  {
    Life life(m_folder.path());
    ASSERT_TRUE(life.openModel()) << life.error();
    life.state.attachDocument(u"notes.txt"_s, QString::fromUtf16(kNotes));
    ASSERT_TRUE(life.waitReady()) << life.error();
    ASSERT_TRUE(life.send(u"What is the code for the crimson chapel?"_s)) << life.error();
    ASSERT_EQ(life.state.conversation()->rowCount(), 4);
    answer = life.state.conversation()->message(3).text;
    EXPECT_FALSE(answer.isEmpty());
    EXPECT_EQ(life.state.chats()->rowCount(), 1);
    key = life.state.chat().id;
    EXPECT_GT(key, 0);
    for (int row = 0; row < 4; ++row) ids.append(life.state.conversation()->message(row).id);
  }
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.wait([&] { return life.state.chats()->rowCount() == 1; })) << life.error();
  life.state.openChat(key);
  ASSERT_TRUE(life.wait([&] { return life.resumed.count() == 1; })) << life.error();
  ASSERT_EQ(life.state.conversation()->rowCount(), 4);
  EXPECT_EQ(life.state.conversation()->message(0).documentTitle, u"notes.txt"_s);
  EXPECT_EQ(life.state.conversation()->message(0).text, QString::fromUtf16(kNotes));
  EXPECT_EQ(life.state.conversation()->message(3).text, answer);
  for (int row = 0; row < 4; ++row) {
    EXPECT_GT(ids[row], 0);
    EXPECT_EQ(life.state.conversation()->message(row).id, ids[row]) << row;
  }
  const auto report = life.resumed.first();
  EXPECT_EQ(report.n_reused, report.n_chat_tokens);
  EXPECT_EQ(report.n_reread, 0u);
  tokens = qint64(report.n_chat_tokens);
  EXPECT_GT(tokens, 50);
  EXPECT_EQ(life.state.resume().kind, ResumeState::Reused);
  ASSERT_TRUE(life.send(u"When does Ada Halvorsen come?"_s)) << life.error();
  EXPECT_EQ(life.state.conversation()->rowCount(), 6);
}

TEST_F(InProcessTest, an_edit_is_gone_back_from_in_the_next_life) {
  ChatKey key = 0;
  QString first;
  {
    Life life(m_folder.path());
    ASSERT_TRUE(life.openModel()) << life.error();
    life.state.attachDocument(u"notes.txt"_s, QString::fromUtf16(kNotes));
    ASSERT_TRUE(life.waitReady()) << life.error();
    ASSERT_TRUE(life.send(u"What is the code for the crimson chapel?"_s)) << life.error();
    const ConversationModel& rows = *life.state.conversation();
    first = rows.message(3).text;
    key = life.state.chat().id;
    ASSERT_TRUE(life.state.canReplace(2));
    life.state.sendInstead(rows.message(2).id, u"When does Ada Halvorsen come?"_s);
    ASSERT_TRUE(life.wait([&] { return rows.rowCount() == 4 && life.state.canReplace(3); }))
        << life.error();
    EXPECT_NE(rows.message(3).text, first);
    ASSERT_TRUE(life.wait([&] { return rows.message(2).versions.size() == 2; }));
  }
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.openChat(key);
  const ConversationModel& rows = *life.state.conversation();
  ASSERT_TRUE(life.wait([&] { return rows.rowCount() == 4 && !rows.message(2).versions.empty(); }))
      << life.error();
  ASSERT_TRUE(life.waitReady()) << life.error();
  life.state.switchVersion(2, -1);
  ASSERT_TRUE(life.wait([&] { return rows.rowCount() == 4 && rows.message(3).text == first; }))
      << life.error();
  ASSERT_TRUE(life.send(u"Who is a pilot?"_s)) << life.error();
  EXPECT_EQ(rows.rowCount(), 6);
}

TEST_F(InProcessTest, closing_while_it_answers_loses_no_message) {
  {
    Life life(m_folder.path());
    ASSERT_TRUE(life.openModel()) << life.error();
    life.state.send(u"Hello there"_s);
    ASSERT_TRUE(life.wait([&] { return life.state.conversation()->rowCount() >= 1; }));
  }  // ends at once
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.wait([&] { return life.state.chats()->rowCount() == 1; })) << life.error();
  life.state.openChat(life.state.chats()->index(0).data(ChatListModel::KeyRole).toLongLong());
  ASSERT_TRUE(life.wait([&] { return life.resumed.count() == 1; })) << life.error();
  ASSERT_GE(life.state.conversation()->rowCount(), 1);
  EXPECT_EQ(life.state.conversation()->message(0).text, u"Hello there"_s);
}

TEST_F(InProcessTest, what_was_measured_is_shown_and_survives_a_restart) {
  const QString measured = compressAndClose();
  EXPECT_TRUE(measured.contains(u"same next token"_s)) << measured.toStdString();
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.wait([&] { return life.state.chats()->rowCount() == 1; })) << life.error();
  life.state.openChat(life.state.chats()->index(0).data(ChatListModel::KeyRole).toLongLong());
  ASSERT_TRUE(life.wait([&] { return !life.state.memory()->fidelityAge().isEmpty(); }));
  EXPECT_EQ(life.state.memory()->fidelityText(), measured);
  EXPECT_TRUE(life.state.memory()->recipeText().startsWith(u"Compact"_s));
  EXPECT_TRUE(life.wait([&] { return life.state.memory()->ledger()->rowCount() > 0; }));
}

// Row and text of each card of what the limit took.
QStringList cardsOf(const ConversationModel& rows) {
  QStringList cards;
  for (int row = 0; row < rows.rowCount(); ++row)
    if (const PackedNote& note = rows.message(row).packed; !note.isEmpty())
      cards.append(u"%1: %2"_s.arg(row).arg(note.text));
  return cards;
}

TEST_F(InProcessTest, the_card_of_what_the_limit_took_is_there_in_the_next_life) {
  QStringList cards;
  ChatKey key = 0;
  {
    Life life(m_folder.path());
    ASSERT_TRUE(life.openModel()) << life.error();
    life.state.memory()->setPresetIndex(1);
    life.state.memory()->setBudgetBytes(4'000'000);  // room for the document and little more
    life.state.newChat();
    ASSERT_TRUE(life.waitReady()) << life.error();
    life.state.attachFile(QString::fromStdString(test::source_dir() + "/docs/samples/notes.txt"));
    ASSERT_TRUE(life.wait([&] { return life.state.conversation()->rowCount() == 2; }))
        << life.error();
    ASSERT_TRUE(life.waitReady()) << life.error();
    const ConversationModel& rows = *life.state.conversation();
    for (int i = 0; i < 40 && cardsOf(rows).isEmpty(); ++i)
      ASSERT_TRUE(life.send(u"Where does Nina Leroux live?"_s)) << life.error();
    cards = cardsOf(rows);
    ASSERT_FALSE(cards.isEmpty()) << "the limit was not reached";
    key = life.state.chat().id;
  }
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.openChat(key);
  ASSERT_TRUE(life.wait([&] { return life.state.memory()->ledger()->rowCount() > 0; }))
      << life.error();
  EXPECT_EQ(cardsOf(*life.state.conversation()), cards);
}

TEST_F(InProcessTest, packing_makes_way_for_who_writes_goes_on_later_and_frees_memory) {
  Life life(m_folder.path());
  life.state.setTypingRest(std::chrono::hours(1));
  readLongUnderKvzip(life);
  ASSERT_TRUE(life.waitHalfPacked()) << life.error();
  EXPECT_TRUE(life.cache().is_packing);
  life.state.noteTyping();
  ASSERT_TRUE(life.wait([&] { return !life.cache().is_packing; }));
  const runtime::ChatMemory stopped = life.cache();
  EXPECT_LT(stopped.stats.n_pending_probed, stopped.stats.n_pending);
  life.state.setTypingRest(std::chrono::milliseconds(0));
  life.state.noteTyping();
  ASSERT_TRUE(life.waitPacked()) << life.error();
  ASSERT_TRUE(life.wait([&] { return life.cache().fidelity.n_tokens > 0; })) << life.error();
  const runtime::ChatMemory packed = life.cache();
  EXPECT_LT(packed.stats.bytes, stopped.stats.bytes);
  EXPECT_LT(packed.stats.arena_used_bytes, stopped.stats.arena_used_bytes);
}

TEST_F(InProcessTest, packing_makes_way_for_a_message_and_goes_on_after_the_answer) {
  Life life(m_folder.path());
  readLongUnderKvzip(life);
  ASSERT_TRUE(life.waitHalfPacked()) << life.error();
  const std::size_t evicted = life.cache().stats.n_evicted;
  EventSpy<runtime::GenerateReport> answers(&life.engine);
  std::size_t evictedThen = 0;
  const EventSpy<runtime::AnswerStarted> started(
      &life.engine, [&](const auto&) { evictedThen = life.cache().stats.n_evicted; });
  life.state.send(u"What is the code for the crimson chapel?"_s);
  ASSERT_TRUE(life.wait([&] { return answers.count() == 1; })) << life.error();
  EXPECT_EQ(evictedThen, evicted) << "the answer did not wait for the packing";
  ASSERT_TRUE(life.waitPacked()) << life.error();
  EXPECT_GT(life.cache().stats.n_evicted, evicted);
}

TEST_F(InProcessTest, packing_goes_on_where_it_was_in_the_next_life) {
  std::size_t probed = 0, bytes = 0;
  {
    Life life(m_folder.path());
    readLongUnderKvzip(life);
    ASSERT_TRUE(life.waitHalfPacked()) << life.error();
    probed = life.cache().stats.n_pending_probed;
    bytes = life.cache().stats.bytes;
  }
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.wait([&] { return life.state.chats()->rowCount() == 1; })) << life.error();
  life.state.openChat(life.state.chats()->index(0).data(ChatListModel::KeyRole).toLongLong());
  ASSERT_TRUE(life.wait([&] { return !life.caches.isEmpty(); })) << life.error();
  const auto resumed = life.caches.first();
  EXPECT_GE(resumed.stats.n_pending_probed, probed);
  EXPECT_LT(resumed.stats.n_pending_probed, resumed.stats.n_pending);
  ASSERT_TRUE(life.waitPacked()) << life.error();
  EXPECT_LT(life.cache().stats.bytes, bytes);
}

TEST_F(InProcessTest, other_settings_are_applied_to_the_open_chat_and_it_opens_with_them) {
  ChatKey key = 0;
  {
    Life life(m_folder.path());
    ASSERT_TRUE(life.openModel()) << life.error();
    ASSERT_TRUE(life.send(QString::fromUtf16(kNotes))) << life.error();
    key = life.state.chat().id;
    ChatPlan* plan = life.state.memory()->plan();
    plan->setRest(std::chrono::milliseconds(0));
    life.state.memory()->setPresetIndex(1);
    ASSERT_TRUE(life.wait([&] { return plan->canApply(); })) << life.error();
    const auto before = life.saved.count();
    plan->apply();
    ASSERT_TRUE(life.waitReady()) << life.error();
    ASSERT_TRUE(life.wait([&] { return life.saved.count() > before; })) << life.error();
    EXPECT_TRUE(life.state.memory()->recipeText().startsWith(u"Balanced"_s));
    EXPECT_FALSE(life.state.memory()->differsFromChat());
    EXPECT_EQ(life.cache().n_read, life.cache().n_tokens);
    ASSERT_TRUE(life.send(u"What is the code for the crimson chapel?"_s)) << life.error();
  }
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.openChat(key);
  ASSERT_TRUE(life.wait([&] { return life.resumed.count() == 1; })) << life.error();
  EXPECT_TRUE(life.state.memory()->recipeText().startsWith(u"Balanced"_s));
  EXPECT_EQ(life.resumed.first().n_reread, 0u);
}

TEST_F(InProcessTest, a_change_that_is_stopped_leaves_a_chat_that_goes_on) {
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.attachDocument(u"notes.txt"_s, QString::fromUtf16(kNotes).repeated(12));
  ASSERT_TRUE(life.waitReady()) << life.error();
  ChatPlan* plan = life.state.memory()->plan();
  plan->setRest(std::chrono::milliseconds(0));
  life.state.memory()->setPresetIndex(1);
  ASSERT_TRUE(life.wait([&] { return plan->canApply(); })) << life.error();
  plan->apply();
  life.state.stop();
  ASSERT_TRUE(life.waitReady()) << life.error();
  ASSERT_TRUE(life.send(u"Who is a sailor?"_s)) << life.error();
  EXPECT_EQ(life.state.conversation()->rowCount(), 4);
  EXPECT_EQ(life.cache().n_read, life.cache().n_tokens);
}

TEST_F(InProcessTest, after_stop_the_chat_has_the_limit_that_its_session_has) {
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  ChatPlan* plan = life.state.memory()->plan();
  plan->setRest(std::chrono::milliseconds(0));
  life.state.memory()->setPresetIndex(2);
  life.state.newChat();
  life.state.attachDocument(u"notes.txt"_s, QString::fromUtf16(kNotes).repeated(12));
  ASSERT_TRUE(life.waitReady()) << life.error();
  const std::size_t before = life.cache().stats.arena_bytes;
  QSignalSpy told(&life.state, &AppState::noticeShown);
  // Everything is read again first; the lower limit comes after that.
  life.state.memory()->setPresetIndex(0);
  life.state.memory()->setBudgetBytes(quint64(before) * 3 / 4);
  ASSERT_TRUE(life.wait([&] { return plan->canApply(); })) << life.error();
  EventSpy<runtime::MemoryChanged> applied(&life.engine);
  const EventSpy<runtime::Progress> progressed(&life.engine,
                                               [&](const auto&) { life.state.stop(); });
  plan->apply();
  ASSERT_TRUE(life.waitReady()) << life.error();
  ASSERT_EQ(applied.count(), 1);
  EXPECT_FALSE(applied.first().is_whole);
  const runtime::MemorySettings& has = applied.first().memory;
  EXPECT_EQ(runtime::preset_of(has.recipe), "full");
  EXPECT_EQ(life.cache().stats.arena_bytes, before);
  EXPECT_NE(has.limit_bytes, before * 3 / 4) << "which was not reached";
  ASSERT_GE(told.count(), 1);
  const QString notice = told.last()[0].toString();
  EXPECT_TRUE(notice.contains(u"recipe full"_s)) << notice.toStdString();
  EXPECT_TRUE(notice.contains(formatBytes(has.limit_bytes))) << notice.toStdString();
}

TEST_F(InProcessTest, a_chat_without_a_message_takes_what_is_chosen_and_begins_with_it) {
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  life.state.memory()->plan()->setRest(std::chrono::milliseconds(0));
  life.state.memory()->setPresetIndex(2);
  ASSERT_TRUE(life.wait([&] {
    return !life.state.memory()->differsFromChat() && life.state.phase() == Phase::Ready;
  })) << life.error();
  ASSERT_TRUE(life.send(u"Hello"_s)) << life.error();
  EXPECT_TRUE(life.state.memory()->recipeText().startsWith(u"Compact"_s));
  EXPECT_EQ(life.state.chats()->rowCount(), 1);
}

TEST_F(InProcessTest, a_preview_of_the_chat_makes_way_for_a_message) {
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.send(QString::fromUtf16(kNotes))) << life.error();
  EventSpy<runtime::MemoryPreviewed> previews(&life.engine);
  EventSpy<runtime::Failed> failures(&life.engine);
  life.engine.previewChat({u"compact"_s, life.state.memory()->budgetBytes()});
  ASSERT_TRUE(life.send(u"Who is a sailor?"_s)) << life.error();
  EXPECT_EQ(previews.count() + failures.count(), 1) << "it is answered, or told that it was not";
  for (const runtime::Failed& failure : failures)
    EXPECT_EQ(failure.error.kind, ErrorKind::cancelled);
  EXPECT_EQ(life.state.conversation()->rowCount(), 4);
}

TEST_F(InProcessTest, a_model_that_is_none_is_an_error_with_its_code) {
  Life life(m_folder.path());
  life.state.openModel(QString::fromStdString(test::source_dir() + "/LICENSE"));
  EXPECT_FALSE(life.waitReady());
  ASSERT_EQ(life.errors.count(), 1);
  EXPECT_EQ(life.errors[0][0].toString(), u"MODEL_FORMAT"_s);
  EXPECT_EQ(life.state.phase(), Phase::NoModel);
}

TEST_F(InProcessTest, a_message_that_does_not_fit_leaves_no_chat_behind) {
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  QSignalSpy refused(&life.state, &AppState::textRefused);
  const QString text = u"word "_s.repeated(20'000);
  life.state.send(text);
  EXPECT_FALSE(life.waitReady() && life.errors.isEmpty());
  ASSERT_GE(life.errors.count(), 1);
  EXPECT_EQ(life.errors[0][0].toString(), u"CONTEXT_FULL"_s);
  ASSERT_EQ(refused.count(), 1);
  EXPECT_EQ(refused[0][0].toString(), text);
  EXPECT_EQ(life.state.chats()->rowCount(), 0);
  EXPECT_TRUE(life.state.canSend());
}

TEST_F(InProcessTest, the_store_ends_on_the_thread_that_used_it) {
  struct Store : test::MemoryChatStore {
    explicit Store(std::thread::id* its_end)
        : MemoryChatStore(std::make_shared<test::MemoryChats>()), end(its_end) {}
    Store(Store&&) = delete;
    ~Store() override { *end = std::this_thread::get_id(); }
    std::thread::id* end;
  };
  std::thread::id ended;
  { const InProcessEngine engine(std::make_unique<Store>(&ended)); }
  EXPECT_NE(ended, std::thread::id());
  EXPECT_NE(ended, std::this_thread::get_id());
}

TEST_F(InProcessTest, rename_delete_and_undo_reach_the_library) {
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.send(u"Hello"_s)) << life.error();
  const ChatKey key = life.state.chat().id;
  life.state.renameChat(key, u"A better name"_s);
  ASSERT_TRUE(life.wait([&] { return life.state.chat().title == u"A better name"_s; }));
  life.state.deleteChat(key);
  ASSERT_TRUE(life.wait([&] { return life.state.chats()->rowCount() == 0; }));
  ASSERT_TRUE(life.waitReady());
  EXPECT_EQ(life.state.chat().id, 0);
  life.state.restoreDeleted();
  ASSERT_TRUE(life.wait([&] { return life.state.chats()->rowCount() == 1; }));
}

TEST_F(InProcessTest, a_deleted_chat_is_listed_until_it_is_deleted_for_good) {
  Life life(m_folder.path());
  ASSERT_TRUE(life.openModel()) << life.error();
  ASSERT_TRUE(life.send(u"Hello"_s)) << life.error();
  const ChatKey key = life.state.chat().id;
  std::optional<QList<ChatEntry>> listed;
  QObject::connect(&life.state, &AppState::deletedListed, &life.state,
                   [&](const DeletedList& deleted) { listed = deleted.chats; });
  const auto list = [&] {
    listed.reset();
    life.state.listDeleted();
    return life.wait([&] { return listed.has_value(); }) ? listed->size() : -1;
  };
  EXPECT_EQ(list(), 0);
  life.state.deleteNow(key);  // before it is deleted
  ASSERT_TRUE(QTest::qWaitFor([&] { return !life.errors.isEmpty(); }, kWaitMs));
  EXPECT_EQ(life.errors.takeFirst()[0].toString(), u"PARAM"_s);
  EXPECT_EQ(life.state.chats()->rowCount(), 1);
  life.state.deleteChat(key);
  life.engine.keepStopped(key, 1);  // as where it answered until then
  ASSERT_EQ(list(), 1) << life.error();
  EXPECT_EQ(life.state.chats()->rowCount(), 0);
  EXPECT_EQ(listed->front().id, key);
  life.state.deleteNow(key);
  EXPECT_EQ(list(), 0);
}

}  // namespace
}  // namespace satchel::ui

// AppState and MemoryPanelState on a scripted engine, without a window.
#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <QThread>

#include "scenes.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;
using runtime::ChatTask;
using Phase = AppState::Phase;

QString plain(QString text) {
  return text.replace(QChar(QChar::Nbsp), u' ');
}

class AppStateTest : public testing::Test {
 protected:
  AppStateTest() : state(&engine, &clock) {
    engine.script.model = sampleModel();
    engine.script.previews = samplePreviews();
    engine.script.deltas = {u"One "_s, u"two."_s};
  }
  void openModel() {
    state.openModel(u"/m.gguf"_s);
    engine.playAll();
  }
  void failNext(ChatTask task) {
    engine.script.errors.append({task, {ErrorKind::invalid, "SOME_CODE", "What happened."}});
  }
  StillClock clock;
  ScriptedEngine engine;
  AppState state;
};

TEST_F(AppStateTest, nothing_can_be_sent_before_a_model_is_open) {
  EXPECT_FALSE(state.canSend());
  state.send(u"hello"_s);
  EXPECT_FALSE(engine.play());
  openModel();
  EXPECT_TRUE(state.canSend());
}

TEST_F(AppStateTest, a_model_is_ready_only_when_its_first_chat_is_open) {
  bool isEarly = false;
  QObject::connect(&state, &AppState::phaseChanged, &state,
                   [&] { isEarly |= state.canSend() && !state.memory()->hasChat(); });
  openModel();
  EXPECT_FALSE(isEarly);
  EXPECT_TRUE(state.canSend());
}

TEST_F(AppStateTest, a_message_goes_through_reading_and_answering) {
  openModel();
  engine.script.progress = {{runtime::Phase::read_prompt, 5, 10}};
  QSignalSpy phases(&state, &AppState::phaseChanged);
  state.send(u"hello"_s);
  EXPECT_EQ(state.phase(), Phase::Reading);
  engine.play(3);  // enters the library, message, progress
  EXPECT_EQ(state.conversation()->rowCount(), 1);
  engine.play();  // the answer begins
  EXPECT_EQ(state.phase(), Phase::Answering);
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  ASSERT_EQ(state.conversation()->rowCount(), 2);
  EXPECT_EQ(state.conversation()->message(1).text, u"One two."_s);
  EXPECT_EQ(state.conversation()->message(1).state, runtime::MessageState::complete);
  EXPECT_EQ(phases.count(), 3);
}

TEST_F(AppStateTest, the_first_message_brings_the_chat_into_the_list) {
  openModel();
  EXPECT_EQ(state.chats()->rowCount(), 0);
  state.send(u"hello there\nmore"_s);
  engine.playAll();
  ASSERT_EQ(state.chats()->rowCount(), 1);
  EXPECT_EQ(state.chat().title, u"hello there"_s);
  EXPECT_EQ(state.chats()->current(), state.chat().id);
}

TEST_F(AppStateTest, documents_are_read_one_after_the_other) {
  state.openModel(u"/m.gguf"_s);
  state.attachDocument(u"a.txt"_s, u"A"_s);  // while the model loads
  state.attachDocument(u"b.txt"_s, u"B"_s);
  engine.playAll();
  ASSERT_EQ(state.conversation()->rowCount(), 4);
  EXPECT_EQ(state.conversation()->message(0).documentTitle, u"a.txt"_s);
  EXPECT_EQ(state.conversation()->message(2).documentTitle, u"b.txt"_s);
  EXPECT_EQ(state.phase(), Phase::Ready);
}

TEST_F(AppStateTest, stopping_empties_the_queue_of_documents) {
  openModel();
  state.attachDocument(u"a.txt"_s, u"A"_s);
  state.attachDocument(u"b.txt"_s, u"B"_s);
  engine.play(2);
  state.stop();
  engine.playAll();
  EXPECT_EQ(state.conversation()->rowCount(), 1);
  EXPECT_TRUE(state.canSend());
}

// Read on another thread, in their order; what Stop came between is not attached.
TEST_F(AppStateTest, documents_that_are_not_plain_text_are_read_beside_the_window) {
  const QThread* const here = QThread::currentThread();
  DocumentReader reader;
  reader.endings = {u"pdf"_s, u"docx"_s};
  reader.read = [here](const QString& path, const std::stop_token&) -> Result<QString> {
    EXPECT_NE(QThread::currentThread(), here);
    if (path.endsWith(u"bad.pdf"_s)) return Error{ErrorKind::corrupt, "DOC_FORMAT", "Damaged."};
    return QString(u"text of "_s + path);
  };
  state.setDocumentReader(reader);
  EXPECT_TRUE(state.takesDocument(u"/a/b.PDF"_s) && state.takesDocument(u"notes.md"_s));
  EXPECT_FALSE(state.takesDocument(u"photo.png"_s));
  openModel();
  const auto have_come = [this](int rows) {
    return QTest::qWaitFor(
        [&] {
          engine.playAll();
          return state.conversation()->rowCount() == rows;
        },
        1000);
  };
  state.attachFile(u"/a/one.pdf"_s);
  state.attachFile(u"/a/two.docx"_s);
  ASSERT_TRUE(have_come(4));
  EXPECT_EQ(state.conversation()->message(0).documentTitle, u"one.pdf"_s);
  EXPECT_EQ(state.conversation()->message(0).text, u"text of /a/one.pdf"_s);
  EXPECT_EQ(state.conversation()->message(2).documentTitle, u"two.docx"_s);
  const QSignalSpy errors(&state, &AppState::errorShown);
  state.attachFile(u"/a/bad.pdf"_s);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !errors.isEmpty(); }, 5000));
  state.attachFile(u"/a/three.pdf"_s);
  state.stop();
  EXPECT_FALSE(have_come(6));
}

TEST_F(AppStateTest, a_document_stopped_before_it_was_attached_is_told) {
  openModel();
  QSignalSpy notices(&state, &AppState::noticeShown);
  const runtime::Failed stopped{ChatTask::attach_document, {ErrorKind::cancelled, "STOPPED", ""}};
  engine.script.errors.append(stopped);
  state.attachDocument(u"plan.txt"_s, u"a plan"_s);
  engine.playAll();
  ASSERT_EQ(notices.count(), 1);
  EXPECT_EQ(notices.at(0).at(0).toString(), u"\"plan.txt\" was stopped and not attached."_s);
  EXPECT_EQ(state.phase(), AppState::Phase::Ready);
  engine.tell(stopped);
  EXPECT_EQ(notices.count(), 1) << "of another document";
}

TEST_F(AppStateTest, opening_that_is_stopped_says_what_to_do) {
  openModel();
  const QDateTime now = QDateTime::currentDateTime();
  const ChatKey first = engine.addChat(u"First"_s, now, {userMessage(u"hello"_s)});
  const ChatKey second = engine.addChat(u"Second"_s, now, {userMessage(u"goodbye"_s)});
  QSignalSpy notices(&state, &AppState::noticeShown);
  state.openChat(first);
  state.stop();
  engine.playAll();
  ASSERT_EQ(notices.count(), 1);
  EXPECT_EQ(notices.last()[0].toString(),
            u"Opening was stopped. The rest of this chat is read with your next message."_s);
  EXPECT_EQ(state.conversation()->rowCount(), 1);
  EXPECT_TRUE(state.canSend());
  // Before the chat could be shown: the other one stays.
  engine.script.errors.append({ChatTask::open_chat, {ErrorKind::cancelled, "STOPPED", ""}});
  state.openChat(second);
  state.stop();
  engine.playAll();
  ASSERT_EQ(notices.count(), 2);
  EXPECT_EQ(notices.last()[0].toString(),
            u"Opening was stopped. Choose the chat again to open it."_s);
  EXPECT_EQ(state.chat().id, first);
  EXPECT_EQ(state.phase(), Phase::Ready);
  // Another chat instead: that is no stop.
  state.openChat(second);
  state.openChat(first);
  engine.playAll();
  EXPECT_EQ(notices.count(), 2);
}

TEST_F(AppStateTest, an_opening_that_another_takes_the_place_of_ends_nothing) {
  openModel();
  const QDateTime now = QDateTime::currentDateTime();
  const ChatKey first = engine.addChat(u"First"_s, now, {userMessage(u"hello"_s)});
  const ChatKey second = engine.addChat(u"Second"_s, now, {userMessage(u"goodbye"_s)});
  state.send(u"hello"_s);
  engine.play(4);
  ASSERT_EQ(state.phase(), Phase::Answering);
  QSignalSpy notices(&state, &AppState::noticeShown);
  state.stop();  // of the answer alone
  state.openChat(first);
  engine.play();  // the answer ends
  ASSERT_EQ(state.phase(), Phase::Opening);
  state.openChat(second);
  state.attachDocument(u"a.txt"_s, u"A."_s);
  engine.play();  // the first one's opening ends
  EXPECT_EQ(state.phase(), Phase::Opening);
  EXPECT_EQ(notices.count(), 0) << notices.first()[0].toString().toStdString();
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_EQ(state.chat().id, second);
  EXPECT_EQ(state.conversation()->rowCount(), 3) << "what waits for the second one is kept";
}

TEST_F(AppStateTest, stopping_keeps_what_had_come) {
  openModel();
  state.send(u"hello"_s);
  engine.play(4);  // … and the first delta
  state.stop();
  engine.playAll();
  EXPECT_EQ(engine.stopsAsked(), 1);
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_EQ(state.conversation()->message(1).text, u"One "_s);
  EXPECT_EQ(state.conversation()->message(1).state, runtime::MessageState::interrupted);
}

TEST_F(AppStateTest, a_refused_message_comes_back_with_its_error) {
  openModel();
  failNext(ChatTask::send);
  QSignalSpy errors(&state, &AppState::errorShown);
  QSignalSpy refused(&state, &AppState::textRefused);
  state.send(u"hello"_s);
  engine.playAll();
  ASSERT_EQ(errors.count(), 1);
  EXPECT_EQ(errors[0][0].toString(), u"SOME_CODE"_s);
  ASSERT_EQ(refused.count(), 1);
  EXPECT_EQ(refused[0][0].toString(), u"hello"_s);
  EXPECT_TRUE(state.canSend());
}

TEST_F(AppStateTest, a_model_that_does_not_open_leaves_no_model) {
  failNext(ChatTask::open_model);
  openModel();
  EXPECT_EQ(state.phase(), Phase::NoModel);
}

TEST_F(AppStateTest, chats_are_listed_without_a_model) {
  engine.addChat(u"saved"_s, QDateTime::currentDateTime(), sampleConversation());
  failNext(ChatTask::open_model);
  openModel();
  EXPECT_EQ(state.chats()->rowCount(), 1);
}

// Its model is not there: it can be read, and nothing is said in it; another chat can be begun.
TEST_F(AppStateTest, a_chat_that_cannot_be_opened_can_be_read) {
  const ChatKey saved =
      engine.addChat(u"saved"_s, QDateTime::currentDateTime(), sampleConversation());
  openModel();
  failNext(ChatTask::open_chat);
  QSignalSpy errors(&state, &AppState::errorShown);
  QSignalSpy offers(&state, &AppState::cpuOffered);
  state.openChat(saved);
  engine.playAll();
  EXPECT_EQ(errors.count(), 1);
  EXPECT_EQ(offers.count(), 0);
  EXPECT_EQ(state.chat().id, saved);
  EXPECT_EQ(state.conversation()->rowCount(), sampleConversation().size());
  EXPECT_FALSE(state.canSend());
  state.send(u"hello"_s);
  state.attachDocument(u"notes"_s, u"text"_s);
  engine.playAll();
  EXPECT_EQ(state.conversation()->rowCount(), sampleConversation().size());
  state.openChat(saved);  // tried again, when the model is back
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_TRUE(state.canSend());
  EXPECT_EQ(state.conversation()->rowCount(), sampleConversation().size());
}

TEST_F(AppStateTest, leaving_a_chat_while_it_answers_stops_it_and_opens_the_other) {
  const ChatKey saved =
      engine.addChat(u"saved"_s, QDateTime::currentDateTime(), sampleConversation());
  openModel();
  engine.script.resume.n_reused = 10;
  state.send(u"hello"_s);
  engine.play(4);
  state.openChat(saved);
  EXPECT_EQ(engine.stopsAsked(), 1);
  engine.playAll();
  EXPECT_EQ(state.phase(), Phase::Ready);
  EXPECT_EQ(state.chat().id, saved);
  EXPECT_EQ(state.conversation()->rowCount(), sampleConversation().size());
  EXPECT_EQ(state.resume().kind, ResumeState::Reused);
  state.send(u"more"_s);
  EXPECT_EQ(state.resume().kind, ResumeState::Hidden);
}

TEST_F(AppStateTest, a_deleted_chat_can_be_brought_back) {
  const ChatKey saved = engine.addChat(u"saved"_s, QDateTime::currentDateTime(), {});
  openModel();
  state.deleteChat(saved);
  EXPECT_EQ(state.chats()->rowCount(), 0);
  EXPECT_EQ(state.deleted().title, u"saved"_s);
  const ChatKey open = state.chat().id;
  state.restoreDeleted();
  EXPECT_EQ(state.chats()->rowCount(), 1);
  EXPECT_EQ(state.deleted().id, 0);
  EXPECT_EQ(state.chat().id, open) << "bringing a chat back must not open it";
}

TEST_F(AppStateTest, deleted_chats_are_listed_brought_back_or_deleted_for_good) {
  const QDateTime now = QDateTime::currentDateTime();
  const ChatKey older = engine.addChat(u"older"_s, now.addDays(-3), {});
  const ChatKey newer = engine.addChat(u"newer"_s, now.addDays(-1), {});
  engine.addChat(u"kept"_s, now, {});
  openModel();
  QStringList titles;
  QObject::connect(&state, &AppState::deletedListed, &state, [&](const DeletedList& deleted) {
    titles.clear();
    for (const ChatEntry& chat : deleted.chats) titles.append(chat.title);
  });
  state.deleteChat(older);
  state.deleteChat(newer);
  state.listDeleted();
  EXPECT_EQ(titles, QStringList({u"newer"_s, u"older"_s}));
  state.restoreChat(older);
  EXPECT_EQ(state.deleted().id, newer) << "that one can still be brought back by one click";
  state.deleteNow(newer);
  EXPECT_EQ(state.deleted().id, 0);
  state.listDeleted();
  EXPECT_EQ(titles, QStringList());
  EXPECT_EQ(state.chats()->rowCount(), 2);
}

TEST_F(AppStateTest, deleting_the_open_chat_begins_a_new_one) {
  openModel();
  state.send(u"hello"_s);
  engine.playAll();
  state.deleteChat(state.chat().id);
  engine.playAll();
  EXPECT_EQ(state.chat().id, 0);
  EXPECT_EQ(state.conversation()->rowCount(), 0);
  EXPECT_TRUE(state.canSend());
}

TEST_F(AppStateTest, the_end_of_the_context_is_told) {
  openModel();
  engine.script.answer.finish = runtime::Finish::context_full;
  engine.script.answer.message = "The context is full.";
  QSignalSpy errors(&state, &AppState::errorShown);
  state.send(u"hello"_s);
  engine.playAll();
  ASSERT_EQ(errors.count(), 1);
  EXPECT_EQ(errors[0][0].toString(), u"CONTEXT_FULL"_s);
  EXPECT_EQ(state.conversation()->message(1).state, runtime::MessageState::interrupted);
}

TEST_F(AppStateTest, an_answer_ended_for_repeating_itself_is_whole_and_says_so) {
  openModel();
  engine.script.answer.finish = runtime::Finish::repeats;
  engine.script.answer.n_tokens = 70;
  state.send(u"hello"_s);
  engine.playAll();
  EXPECT_EQ(state.conversation()->message(1).state, runtime::MessageState::complete);
  EXPECT_TRUE(state.conversation()->message(1).footnote.contains(u"repeating itself"_s));
}

TEST_F(AppStateTest, the_footnote_of_an_answer_says_what_was_read_again_for_it_and_why) {
  openModel();
  engine.script.answer.read.reread = {{kvcache::RereadReason::checkpoint, 41}};
  state.send(u"hello"_s);
  engine.playAll();
  EXPECT_TRUE(state.conversation()->message(1).footnote.endsWith(
      u" · Reread 41 tokens. The model's state goes back only to the checkpoint before the cut."_s))
      << state.conversation()->message(1).footnote.toStdString();
}

TEST_F(AppStateTest, a_new_chat_gets_what_the_panel_was_set_to) {
  openModel();
  state.memory()->setPresetIndex(2);
  state.memory()->setBudgetBytes(100'000'000);
  state.newChat();
  EXPECT_EQ(engine.settings().preset, u"compact"_s);
  EXPECT_EQ(engine.settings().budgetBytes, 100'000'000u);
  EXPECT_FALSE(state.memory()->differsFromChat());
  state.memory()->setPresetIndex(3);
  EXPECT_TRUE(state.memory()->differsFromChat());
  EXPECT_EQ(engine.settings().preset, u"compact"_s) << "the open chat keeps what it began with";
}

TEST_F(AppStateTest, a_chat_with_the_default_limit_is_what_the_panel_shows_at_first) {
  openModel();
  EXPECT_GT(state.memory()->budgetBytes(), 0u);
  EXPECT_FALSE(state.memory()->differsFromChat());
}

// The recipe of the presets compresses as it reads (trigger end_of_prompt).
TEST_F(AppStateTest, no_preset_is_said_to_wait_for_idle_time) {
  openModel();
  for (int i = 0; i < state.memory()->presetCount(); ++i)
    EXPECT_FALSE(state.memory()->presetLine(i).explanation.contains(u"idle"_s)) << i;
  EXPECT_TRUE(plain(state.memory()->presetLine(2).explanation).endsWith(u"in 4 bits."_s));
}

TEST_F(AppStateTest, fidelity_is_shown_only_where_it_was_measured) {
  openModel();
  EXPECT_EQ(state.memory()->presetLine(0).fidelity, u"exact"_s);
  EXPECT_EQ(state.memory()->presetLine(2).fidelity, u"not measured"_s);
  state.memory()->setPresetIndex(2);
  state.newChat();
  engine.script.cache = sampleCache(u"compact"_s, 4218, clock.wall);
  state.send(u"hello"_s);
  engine.playAll();
  EXPECT_EQ(plain(state.memory()->presetLine(2).fidelity),
            u"96.1 % agreement, measured 2 min ago"_s);
  EXPECT_EQ(state.memory()->presetLine(1).fidelity, u"not measured"_s);
  EXPECT_EQ(plain(state.memory()->fidelityText()), u"96.1 % same next token · KL 0.021 nats"_s);
  EXPECT_EQ(state.memory()->fidelityAge(), u"measured at token 4,218, 2 min ago"_s);
  clock.wall += 60 * 60'000;
  EXPECT_EQ(state.memory()->fidelityAge(), u"measured at token 4,218, 1 h ago"_s);
}

TEST_F(AppStateTest, what_will_be_held_is_told_and_what_has_to_fit_where_it_does_not) {
  openModel();
  MemoryPanelState* memory = state.memory();
  memory->setPresetIndex(2);
  EXPECT_EQ(plain(memory->presetLine(2).bytes), u"26.4 MB"_s) << "held, without what reading takes";
  EXPECT_TRUE(
      plain(memory->previewText()).contains(u"8,192 tokens takes 26.4 MB once compressed"_s));
  runtime::PresetEstimates tight = samplePreviews();
  tight.limit_bytes = tight.default_bytes;
  for (runtime::PresetEstimate& preview : tight.presets) preview.estimate.n_tokens_fit = 4000;
  memory->setPreviews(tight);
  EXPECT_TRUE(plain(memory->previewText())
                  .contains(u"4,000 tokens fit into the limit (estimated). The full context needs "
                            "a limit of 35.4 MB."_s))
      << memory->previewText().toStdString();
}

TEST_F(AppStateTest, on_a_gpu_the_free_memory_is_the_gpus) {
  engine.script.model.on_gpu = true;
  openModel();
  EXPECT_EQ(plain(state.memory()->machineText()), u"5.14 GB free on the GPU"_s);
}

TEST_F(AppStateTest, the_budget_slider_goes_from_little_to_what_the_machine_has) {
  openModel();
  MemoryPanelState* memory = state.memory();
  EXPECT_EQ(memory->budgetBytes(), samplePreviews().default_bytes);
  EXPECT_EQ(memory->budgetAt(0), memory->budgetMin());
  EXPECT_EQ(memory->budgetAt(1), memory->budgetMax());
  EXPECT_EQ(memory->budgetMax(), samplePreviews().free_bytes);
  EXPECT_EQ(plain(memory->machineText()), u"5.14 GB free on this machine"_s);
  quint64 before = 0;
  for (int step = 0; step <= 100; ++step) {
    const quint64 bytes = memory->budgetAt(step / 100.0);
    EXPECT_GE(bytes, before);
    before = bytes;
  }
}

TEST_F(AppStateTest, an_old_preview_does_not_move_the_slider_back) {
  openModel();
  MemoryPanelState* memory = state.memory();
  memory->setBudgetBytes(50'000'000);
  runtime::PresetEstimates late = samplePreviews();
  late.limit_bytes = 70'000'000;
  memory->setPreviews(late);
  EXPECT_EQ(memory->budgetBytes(), 50'000'000u);
}

TEST_F(AppStateTest, layer_bars_tell_tokens_and_bits) {
  openModel();
  EXPECT_TRUE(state.memory()->layerBars().isEmpty());
  state.memory()->setCache(sampleCache(u"extreme"_s, 4000, clock.wall));
  const auto bars = state.memory()->layerBars();
  ASSERT_EQ(bars.size(), 30);
  EXPECT_GT(bars.first().keptShare, bars.last().keptShare);
  EXPECT_NEAR(bars.first().bits, 5.3, 1e-6);
  EXPECT_EQ(bars.first().text,
            u"Layer 0: 1,500–1,740 tokens kept, older ones with 5.3-bit keys and 5.3-bit values"_s);
}

}  // namespace
}  // namespace satchel::ui

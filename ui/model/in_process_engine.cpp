#include "ui/model/in_process_engine.h"

#include <utility>

#include "runtime/chat/chat_errors.h"
#include "runtime/limits/presets.h"
#include "ui/model/format.h"

namespace satchel::ui {

using runtime::ChatTask;

namespace {

constexpr std::size_t kPassagesMost = 50;  // more are not looked through; chosen, not measured

}  // namespace

InProcessEngine::InProcessEngine(std::unique_ptr<runtime::ChatStore> store,
                                 runtime::EngineOptions options, QObject* parent)
    : EngineClient(parent),
      m_service(std::make_unique<runtime::ChatService>(std::move(store), std::move(options))),
      m_sink([this](runtime::ChatHandle, const runtime::ChatEvent& event) {
        if (const auto* opened = std::get_if<runtime::ModelOpened>(&event))
          m_hasThinkingSwitch = opened->model.has_thinking_switch;
        if (const auto* switched = std::get_if<runtime::ModelSwitched>(&event))
          m_hasThinkingSwitch = switched->model.has_thinking_switch;
        QMetaObject::invokeMethod(
            this, [this, event] { Q_EMIT happened(event); }, Qt::QueuedConnection);
      }) {
  m_inSearchThread.moveToThread(&m_searchThread);
  m_searchThread.setObjectName(QStringLiteral("search"));
  m_searchThread.start();
  m_inThread.moveToThread(&m_thread);
  m_thread.setObjectName(QStringLiteral("engine"));
  m_thread.start();
}

InProcessEngine::~InProcessEngine() {
  stop();
  m_previewStop.request_stop();
  m_attendedStop.request_stop();
  m_idleStop.request_stop();
  m_searchStop.request_stop();
  m_searchThread.quit();
  m_searchThread.wait();
  // Behind everything that was asked for: a message still waiting is put into the library first.
  post([this] {
    m_service.reset();
    m_thread.quit();
  });
  m_thread.wait();
}

template <class Work>
void InProcessEngine::post(Work work) {
  QMetaObject::invokeMethod(&m_inThread, std::move(work), Qt::QueuedConnection);
}

// What libraries throw becomes an event: nothing may leave the thread's event loop.
template <class Work>
void InProcessEngine::guard(ChatTask task, const Work& work) {
  const Result<void> done = runtime::caught<void>([&]() -> Result<void> {
    work();
    return {};
  });
  if (!done.ok()) fail(task, done.error());
}

template <class Work>
void InProcessEngine::request(ChatTask task, const std::stop_token& stop, Work work) {
  m_idleStop.request_stop();
  m_previewStop.request_stop();
  // A preview asks again when it had to make way: each would end the other for ever.
  if (task != ChatTask::preview_memory) m_attendedStop.request_stop();
  post([this, task, stop, work = std::move(work)] {
    guard(task, [&] { work(Call{stop, m_sink}); });
  });
  postIdle();
}

void InProcessEngine::postIdle() {
  m_idleStop = std::stop_source();
  post([this, stop = m_idleStop.get_token()] {
    if (stop.stop_requested()) return;
    // CacheChanged shows its progress: Progress is a request's, which may have come meanwhile.
    const auto sink = [this](runtime::ChatHandle chat, const runtime::ChatEvent& event) {
      if (!std::holds_alternative<runtime::Progress>(event)) m_sink(chat, event);
    };
    guard(ChatTask::idle, [&] { (void)m_service->idle(m_open, {stop, sink}); });
  });
}

void InProcessEngine::stop() {
  m_stop.request_stop();
  m_stop = std::stop_source();
}

void InProcessEngine::pauseIdle() {
  m_idleStop.request_stop();
}

void InProcessEngine::resumeIdle() {
  if (m_idleStop.stop_requested()) postIdle();
}

// What fails has been told by an event: the results are for other front ends.

void InProcessEngine::openModel(const QString& path) {
  request(ChatTask::open_model, [this, path](const Call& call) {
    (void)m_service->open_model(path.toStdString(), call);
  });
}

void InProcessEngine::useCpu() {
  request(ChatTask::use_cpu, [this](const Call& call) {
    applyThinking();
    const auto moved = m_service->use_cpu(m_open, sampling(), call);
    if (moved.ok() && m_service->chat(m_open) == nullptr) beginChat({}, {}, call);
  });
}

void InProcessEngine::listChats() {
  request(ChatTask::list_chats, [this](const Call& call) { (void)m_service->chats(call); });
}

void InProcessEngine::newChat(const ChatSettings& settings,
                              const runtime::AnswerSettings& answers) {
  request(ChatTask::begin_chat,
          [this, settings, answers](const Call& call) { beginChat(settings, answers, call); });
}

void InProcessEngine::beginChat(const ChatSettings& settings,
                                const runtime::AnswerSettings& answers, const Call& call) {
  const auto recipe = runtime::resolve_recipe(settings.preset.toStdString());
  if (!recipe.ok()) return fail(ChatTask::begin_chat, recipe.error());
  const auto begun = m_service->begin({.memory = {*recipe, settings.budgetBytes},
                                       .system = answers.system,
                                       .sampling = answers.sampling},
                                      m_open, call);
  if (begun.ok()) m_open = *begun;
}

runtime::Sampling InProcessEngine::sampling() const {
  const runtime::OpenChat* chat = m_service->chat(m_open);
  return chat == nullptr ? runtime::Sampling() : chat->answers().sampling;
}

void InProcessEngine::openChat(ChatKey chat) {
  request(ChatTask::open_chat, [this, chat](const Call& call) {
    const auto opened = m_service->open({chat}, {.instead_of = m_open}, call);
    if (opened.ok()) m_open = opened->chat;
  });
}

void InProcessEngine::renameChat(ChatKey chat, const QString& title) {
  request(ChatTask::rename_chat, [this, chat, title](const Call& call) {
    (void)m_service->rename({chat}, title.toStdString(), call);
  });
}

void InProcessEngine::setFolder(ChatKey chat, const QString& folder) {
  request(ChatTask::rename_chat, [this, chat, folder](const Call& call) {
    (void)m_service->set_folder({chat}, folder.toStdString(), call);
  });
}

void InProcessEngine::setAtTop(ChatKey chat, bool isAtTop) {
  const auto place = isAtTop ? runtime::ListPlace::top : runtime::ListPlace::by_use;
  request(ChatTask::rename_chat, [this, chat, place](const Call& call) {
    (void)m_service->set_place({chat}, place, call);
  });
}

// Not what a stop reaches that comes after it. Nobody asked for it: of a chat that was deleted
// meanwhile nothing is told.
void InProcessEngine::keepStopped(ChatKey chat, qint64 answer) {
  request(ChatTask::rename_chat, std::stop_token(), [this, chat, answer](const Call& call) {
    const auto sink = [this](runtime::ChatHandle handle, const runtime::ChatEvent& event) {
      const auto* failed = std::get_if<runtime::Failed>(&event);
      if (failed == nullptr || failed->error.kind != ErrorKind::not_found) m_sink(handle, event);
    };
    (void)m_service->set_stopped({chat}, {answer}, {call.stop, sink});
  });
}

void InProcessEngine::deleteChat(ChatKey chat) {
  request(ChatTask::remove_chat,
          [this, chat](const Call& call) { (void)m_service->remove({chat}, call); });
}

void InProcessEngine::restoreChat(ChatKey chat) {
  request(ChatTask::restore_chat,
          [this, chat](const Call& call) { (void)m_service->restore({chat}, call); });
}

void InProcessEngine::deleteNow(ChatKey chat) {
  request(ChatTask::remove_chat,
          [this, chat](const Call& call) { (void)m_service->delete_now({chat}, call); });
}

void InProcessEngine::deleteCopy(const QString& name) {
  request(ChatTask::remove_chat, [this, name](const Call& call) {
    (void)m_service->delete_copy(name.toStdString(), call);
  });
}

void InProcessEngine::listDeleted() {
  request(ChatTask::list_chats,
          [this](const Call& call) { (void)m_service->chats(call, runtime::ChatFilter::removed); });
}

void InProcessEngine::search(const QString& words) {
  m_searchStop.request_stop();
  m_searchStop = std::stop_source();
  QMetaObject::invokeMethod(
      &m_inSearchThread,
      [this, words = words.toStdString(), stop = m_searchStop.get_token()] {
        if (stop.stop_requested()) return;
        guard(ChatTask::search, [&] {
          (void)m_service->search({.words = words, .n_most = kPassagesMost}, {stop, m_sink});
        });
      },
      Qt::QueuedConnection);
}

// Beside an answer: nobody should have to wait for one to end.
void InProcessEngine::exportChat(ChatKey chat, const QString& path) {
  QMetaObject::invokeMethod(
      &m_inSearchThread,
      [this, chat, path] {
        guard(ChatTask::edit, [&] {
          (void)m_service->look_aside([&] { return writeChat(chat, path); }, {{}, m_sink});
        });
      },
      Qt::QueuedConnection);
}

Result<void> InProcessEngine::writeChat(ChatKey key, const QString& path) {
  if (!m_writer || m_service->store() == nullptr)
    return Error{ErrorKind::unsupported, "UNSUPPORTED", "Chats cannot be exported here."};
  runtime::ChatLibrary& library = m_service->store()->library();
  SATCHEL_TRY_ASSIGN(const runtime::Chat chat, library.chat({key}));
  SATCHEL_TRY_ASSIGN(const WrittenChat written, m_writer(library, chat, path));
  QString text =
      tr("Wrote %1 messages to \"%2\".").arg(formatCount(qint64(written.messages)), path);
  if (written.damaged > 0)
    text +=
        u' ' + tr("%1 damaged messages were left out.").arg(formatCount(qint64(written.damaged)));
  m_sink({}, runtime::Noticed{text.toStdString()});
  return {};
}

void InProcessEngine::send(const QString& text) {
  m_service->make_way();
  request(ChatTask::send, [this, text](const Call& call) {
    applyThinking();
    (void)m_service->send(m_open, text.toStdString(), sampling(), call);
  });
}

void InProcessEngine::sendInstead(qint64 message, const QString& text) {
  request(ChatTask::send, [this, message, text](const Call& call) {
    applyThinking();
    (void)m_service->send_instead(m_open, {message}, text.toStdString(), sampling(), call);
  });
}

void InProcessEngine::correct(qint64 message, const QString& text) {
  request(ChatTask::correct, [this, message, text](const Call& call) {
    (void)m_service->correct(m_open, {message}, text.toStdString(), call);
  });
}

void InProcessEngine::readExactly() {
  request(ChatTask::correct,
          [this](const Call& call) { (void)m_service->read_exactly(m_open, call); });
}

void InProcessEngine::answerAgain(qint64 answer) {
  request(ChatTask::send, [this, answer](const Call& call) {
    applyThinking();
    (void)m_service->answer_again(m_open, {answer}, sampling(), call);
  });
}

void InProcessEngine::answerLast() {
  request(ChatTask::send, [this](const Call& call) {
    applyThinking();
    (void)m_service->answer(m_open, runtime::Sampling{}, call);
  });
}

void InProcessEngine::switchTo(qint64 version) {
  request(ChatTask::edit, [this, version](const Call& call) {
    (void)m_service->switch_to(m_open, {version}, call);
  });
}

void InProcessEngine::setMark(qint64 message, MessageMark mark) {
  request(ChatTask::edit, [this, message, mark](const Call& call) {
    switch (mark) {
      case MessageMark::None:
        return (void)m_service->unpin(m_open, {message}, call);
      case MessageMark::Pinned:
        return (void)m_service->pin(m_open, {message}, call);
      case MessageMark::Forgotten:
        return (void)m_service->forget(m_open, {message}, call);
    }
  });
}

void InProcessEngine::askAll(const QString& question) {
  m_service->make_way();
  request(ChatTask::send, [this, question](const Call& call) {
    applyThinking();
    (void)m_service->ask_all(m_open, question.toStdString(), sampling(), call);
  });
}

void InProcessEngine::attachDocument(const QString& title, const QString& text) {
  request(ChatTask::attach_document,
          [this, title = title.toStdString(), text = text.toStdString()](const Call& call) {
            applyThinking();
            (void)m_service->attach(m_open, {.title = title, .text = text}, call);
          });
}

void InProcessEngine::listShelf() {
  request(ChatTask::shelf, [this](const Call& call) { (void)m_service->shelf(call); });
}

void InProcessEngine::keepDocument(const QString& id) {
  request(ChatTask::shelf, [this, id = id.toStdString()](const Call& call) {
    (void)m_service->keep_document(id, call);
  });
}

void InProcessEngine::removeDocument(const QString& id) {
  request(ChatTask::shelf, [this, id = id.toStdString()](const Call& call) {
    (void)m_service->remove_document(id, call);
  });
}

void InProcessEngine::attachShelved(const QString& id) {
  request(ChatTask::attach_document, [this, id = id.toStdString()](const Call& call) {
    applyThinking();
    (void)m_service->attach_shelved(m_open, id, call);
  });
}

void InProcessEngine::setAnswers(const runtime::AnswerSettings& answers) {
  request(ChatTask::set_answers, [this, answers](const Call& call) {
    (void)m_service->set_answers(m_open, answers, call);
  });
}

void InProcessEngine::listPrompts() {
  request(ChatTask::prompts, [this](const Call& call) { (void)m_service->prompts(call); });
}

void InProcessEngine::keepPrompt(const QString& name, const QString& text) {
  request(ChatTask::prompts, [this, name, text](const Call& call) {
    (void)m_service->keep_prompt({name.toStdString(), text.toStdString()}, call);
  });
}

void InProcessEngine::removePrompt(const QString& name) {
  request(ChatTask::prompts, [this, name](const Call& call) {
    (void)m_service->remove_prompt(name.toStdString(), call);
  });
}

void InProcessEngine::setThinking(bool thinks) {
  post([this, thinks] { m_thinks = thinks; });
}

// How a chat begins and the answer given to a document depend on it, too. Where there is a switch
// it is never refused.
void InProcessEngine::applyThinking() {
  if (!m_hasThinkingSwitch || m_service->chat(m_open) == nullptr) return;
  (void)m_service->set_thinking(m_open,
                                m_thinks ? runtime::Thinking::automatic : runtime::Thinking::off);
}

void InProcessEngine::goOn() {
  request(ChatTask::go_on, [this](const Call& call) { (void)m_service->go_on(m_open, call); });
}

void InProcessEngine::findQuotes(qint64 answer) {
  request(ChatTask::find_quotes,
          [this, answer](const Call& call) { (void)m_service->quotes(m_open, {answer}, call); });
}

void InProcessEngine::showHeld() {
  request(ChatTask::show_held, [this](const Call& call) { (void)m_service->held(m_open, call); });
}

void InProcessEngine::showAttended() {
  const std::stop_source stop;
  request(ChatTask::show_held, stop.get_token(),
          [this](const Call& call) { (void)m_service->attended(m_open, call); });
  m_attendedStop = stop;
}

void InProcessEngine::listParts() {
  m_service->make_way();
  request(ChatTask::older_parts,
          [this](const Call& call) { (void)m_service->older_parts(m_open, call); });
}

void InProcessEngine::nameParts(const std::vector<std::size_t>& parts) {
  request(ChatTask::older_parts,
          [this, parts](const Call& call) { (void)m_service->name_parts(m_open, parts, call); });
}

void InProcessEngine::estimatePresets(quint64 budgetBytes) {
  request(ChatTask::estimate_presets, [this, budgetBytes](const Call& call) {
    (void)m_service->estimate_presets(budgetBytes, call);
  });
}

void InProcessEngine::previewChat(const ChatSettings& settings) {
  const std::stop_source stop;
  request(ChatTask::preview_memory, stop.get_token(), [this, settings](const Call& call) {
    const auto requested = requestFor(settings);
    if (!requested.ok()) return fail(ChatTask::preview_memory, requested.error());
    (void)m_service->preview_memory(m_open, *requested, call);
  });
  m_previewStop = stop;
}

void InProcessEngine::applyToChat(const ChatSettings& settings) {
  request(ChatTask::change_memory, [this, settings](const Call& call) {
    const auto requested = requestFor(settings);
    if (!requested.ok()) return fail(ChatTask::change_memory, requested.error());
    (void)m_service->change_memory(m_open, *requested, call);
  });
}

// Settings name a recipe only; the open chat may have one of that name with another share kept.
Result<runtime::MemoryRequest> InProcessEngine::requestFor(const ChatSettings& settings) const {
  const runtime::OpenChat* chat = m_service->chat(m_open);
  if (chat == nullptr) return runtime::MemoryRequest{};  // which the service refuses
  runtime::MemorySettings wanted{chat->memory().recipe, settings.budgetBytes};
  const std::string preset = settings.preset.toStdString();
  if (runtime::preset_of(wanted.recipe) != preset) {
    SATCHEL_TRY_ASSIGN(wanted.recipe, runtime::resolve_recipe(preset));
  }
  return runtime::request_for(chat->memory(), wanted);
}

void InProcessEngine::fail(ChatTask task, const Error& error) {
  m_sink(m_open, runtime::Failed{task, error});
}

}  // namespace satchel::ui

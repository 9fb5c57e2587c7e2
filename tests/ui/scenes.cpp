#include "scenes.h"

#include <QApplication>
#include <QThread>

namespace satchel::ui {

using namespace Qt::StringLiterals;

Scene::Scene() : state(&engine, &clock) {
  engine.script.model = sampleModel();
  engine.script.previews = samplePreviews();
  engine.script.shelf = sampleShelf();
  WindowOptions options;
  options.sampleTitle = u"sample-notes.txt"_s;
  options.sampleText = sampleDocument();
  options.sampleQuestion = u"Where is the spare key?"_s;
  options.tourModel = u"/models/notes-mini.gguf"_s;
  options.modelFolder = u"~/.local/share/satchel/models"_s;
  options.modelTools = sampleModelTools();
  options.models = [] {
    return QList<ModelChoice>{
        {u"/models/SmolLM2-135M-Instruct.gguf"_s, u"SmolLM2-135M-Instruct"_s, 94'000'000},
        {u"/models/notes-mini.gguf"_s, u"notes-mini (bundled)"_s, 2'825'952}};
  };
  options.serverProgram = u"/usr/bin/satchel"_s;  // started by nobody
  window = std::make_unique<MainWindow>(&state, options);
}

Scene::~Scene() = default;

void Scene::show(int width, int height) {
  window->resize(width, height);
  window->show();
  settle();
}

void Scene::openModel() {
  state.openModel(u"/models/SmolLM2-135M-Instruct.gguf"_s);
  engine.playAll();
  settle();
}

void Scene::settle() {
  for (int i = 0; i < 5; ++i) QApplication::processEvents();
}

ChatKey addSample(Scene& scene, const QString& preset) {
  ChatSettings settings;
  settings.preset = preset;
  settings.budgetBytes = 210'000'000;
  return scene.engine.addChat(u"Field notes, week 14"_s,
                              QDateTime::fromMSecsSinceEpoch(scene.clock.wall),
                              sampleConversation(), settings);
}

void addChats(Scene& scene) {
  const QDateTime now = QDateTime::fromMSecsSinceEpoch(scene.clock.wall);
  int age = 1;
  for (const QString& title :
       {u"What the harbour office wrote about the new moorings"_s, u"Letter to the archive"_s,
        u"Recipe for rye bread"_s, u"Packing list"_s, u"Contract, second reading"_s})
    scene.engine.addChat(title, now.addDays(-age++), {userMessage(title)});
}

void openSample(Scene& scene, const QString& preset) {
  addChats(scene);
  const ChatKey chat = addSample(scene, preset);
  scene.openModel();
  scene.engine.script.resume.n_chat_tokens = scene.engine.script.resume.n_reused = 4218;
  scene.engine.script.resume.ms = 212;
  scene.engine.script.resume.reread_ms_estimate = 58'000;
  scene.engine.script.cache = sampleCache(preset, 4218, scene.clock.wall);
  scene.state.openChat(chat);
  scene.engine.playAll();
}

void showPackedCard(Scene& scene) {
  addChats(scene);
  QList<Message> messages = sampleConversation();
  for (int row = 0; row < int(messages.size()); ++row) messages[row].id = row + 1;
  ChatSettings settings;
  settings.preset = u"compact"_s;
  settings.budgetBytes = 50'000'000;
  const ChatKey chat =
      scene.engine.addChat(u"Field notes, week 14"_s,
                           QDateTime::fromMSecsSinceEpoch(scene.clock.wall), messages, settings);
  scene.openModel();
  scene.engine.script.cache = sampleCache(u"compact"_s, 4218, scene.clock.wall);
  scene.state.openChat(chat);
  scene.engine.playAll();
  scene.state.dismissResume();
  scene.engine.script.ledger = sampleLedger(scene.clock.wall + 120'000);
  scene.engine.script.deltas = {u"Yes: it is now `4417`."_s};
  scene.state.send(u"Was the code of the archive room changed?"_s);
  scene.engine.playAll();
  Scene::settle();
}

ModelTools sampleModelTools() {
  ModelTools tools;
  tools.look = [](const QString&, std::stop_token) -> Result<ModelDetails> {
    ModelDetails details;
    details.facts = {.title = "SmolLM2 135M Instruct",
                     .architecture = "llama",
                     .unsupported = "",
                     .licence = "apache-2.0",
                     .chat_template = "smollm2",
                     .has_template = true,
                     .weights = "Q4_K",
                     .n_parameters = 134'515'008,
                     .n_bytes = 94'000'000,
                     .n_context = 8192,
                     .n_layers = 30};
    details.weightBytes = 94'000'000;
    details.freeBytes = 5'140'000'000;
    details.fits = {{QObject::tr("Fits with Full"), 198'000'000, 8192, true},
                    {QObject::tr("Fits with Compact"), 26'400'000, 8192, true}};
    return details;
  };
  // Comes to a third, and no further until it is stopped.
  tools.download = [](const QString&, const QString&, std::stop_token stop,
                      const FetchFn& progress) -> Result<QString> {
    progress({88'000'000, 264'000'000});
    while (!stop.stop_requested()) QThread::msleep(10);
    return Error{ErrorKind::cancelled, "STOPPED", "The download was stopped."};
  };
  return tools;
}

runtime::ModelFacts sampleModel() {
  runtime::ModelFacts model;
  model.title = "SmolLM2-135M-Instruct";
  model.device = "AVX-512 VNNI, 8 threads";
  model.weight_bytes = 94'000'000;
  model.n_layers = 30;
  model.n_lanes = 90;
  model.n_context = 8192;
  return model;
}

runtime::PresetEstimates samplePreviews() {
  runtime::PresetEstimates previews;
  previews.default_bytes = 210'000'000;
  previews.free_bytes = 5'140'000'000;
  const auto add = [&previews](const QString& preset, std::size_t bytes, std::size_t fit) {
    runtime::PresetEstimate preview;
    preview.preset = preset.toStdString();
    preview.estimate.expected_bytes = bytes;
    preview.estimate.arena_bytes = bytes + 9'000'000;  // to read it
    preview.estimate.n_tokens_fit = fit;
    previews.presets.push_back(preview);
  };
  add(u"full"_s, 198'000'000, 8192);
  add(u"balanced"_s, 41'000'000, 8192);
  add(u"compact"_s, 26'400'000, 8192);
  add(u"extreme"_s, 18'900'000, 8192);
  return previews;
}

runtime::ChatMemory sampleCache(const QString& preset, qint64 tokens, std::int64_t wallMs) {
  runtime::ChatMemory cache;
  const double keep = preset == u"extreme"_s ? 0.25 : preset == u"compact"_s ? 0.5 : 1;
  const bool packed = preset != u"full"_s;
  cache.n_tokens = cache.n_read = cache.n_in_context = std::size_t(tokens);
  cache.n_context = 8192;
  kvcache::CacheStats& stats = cache.stats;
  stats.n_tokens = std::size_t(tokens);
  stats.fp16_bytes = std::size_t(tokens) * 23040;
  const auto body = double(tokens - 200) * 23040;
  stats.body_fp16_bytes = std::size_t(body);
  const bool isKvzip = packed && keep < 1;  // 5.25 bits a value; minikv: 2.9
  stats.body_bytes = std::size_t(packed ? body * keep * (isKvzip ? 0.33 : 0.19) : body);
  stats.bytes = stats.body_bytes + 5'990'000;
  stats.arena_bytes = 210'000'000;
  stats.arena_used_bytes = stats.bytes;
  stats.arena_peak_bytes = stats.bytes + 14'000'000;
  for (int layer = 0; layer < 30; ++layer) {
    kvcache::LayerStats bar;
    const double share = packed && keep < 1 ? keep * (1.5 - layer / 29.0) : 1;
    bar.n_kept_max = std::size_t(double(tokens) * std::min(1.0, share + 0.06));
    bar.n_kept_min = std::size_t(double(tokens) * std::min(1.0, share));
    bar.n_pages = 12;
    if (packed) {
      bar.k_bits = isKvzip ? 5.3 : 3.0;
      bar.v_bits = isKvzip ? 5.3 : 2.8;
    }
    stats.layers.push_back(bar);
  }
  if (packed) {
    cache.fidelity.n_tokens = 128;
    cache.fidelity.agreement = preset == u"extreme"_s ? 0.898 : 0.961;
    cache.fidelity.attention_kept = preset == u"extreme"_s ? 0.931 : 0.987;
    cache.fidelity.kl = preset == u"extreme"_s ? 0.084 : 0.021;
    cache.fidelity.measured_at = std::size_t(tokens);
    cache.fidelity.measured_ms = wallMs - 130'000;
  }
  return cache;
}

runtime::ChatMemory samplePacking(int percent, qint64 tokens) {
  runtime::ChatMemory cache = sampleCache(u"full"_s, tokens, 0);
  cache.stats.n_pending = std::size_t(tokens - 200);
  cache.stats.n_pending_probed = cache.stats.n_pending * std::size_t(percent) / 100;
  return cache;
}

runtime::MemoryChange sampleLoss() {
  runtime::MemoryChange change;
  change.bytes_before = 97'200'000;
  change.bytes_after = 34'200'000;
  change.n_lane_tokens = 4218 * 90;
  change.n_lowered = change.n_lane_tokens * 49 / 100;
  change.n_evicted = change.n_lane_tokens * 48 / 100;
  change.cost.n_tokens = 128;
  change.cost.agreement = 0.961;
  change.cost.kl = 0.021;
  return change;
}

runtime::MemoryChange sampleReread(qint64 tokens) {
  runtime::MemoryChange change;
  change.bytes_before = 34'200'000;
  change.bytes_after = 97'200'000;
  change.n_lane_tokens = 4218 * 90;
  change.n_reread = std::size_t(tokens);
  change.reread_ms = 58'000;
  return change;
}

runtime::LedgerChanged sampleLedger(std::int64_t wallMs) {
  using runtime::LedgerCause;
  struct Step {
    LedgerCause cause;
    int minutesAgo;
    std::size_t n_tokens;
    double lowered, evicted;  // of all
    double before, after;     // MB
    double agreement, kl, attention;
  };
  const Step steps[] = {
      {LedgerCause::read, 94, 3102, 0.92, 0, 71.5, 24.9, 0.984, 0.004, 0.996},
      {LedgerCause::idle, 88, 3102, 0, 0.47, 24.9, 14.2, 0.969, 0.014, 0.991},
      {LedgerCause::turn, 51, 3544, 0.11, 0, 21.3, 18.9, 0.969, 0.013, 0.99},
      {LedgerCause::asked, 30, 3544, 0.31, 0.06, 18.9, 12.2, 0.961, 0.021, 0.987},
      {LedgerCause::turn, 9, 4102, 0.13, 0, 55.4, 52.0, 0.961, 0.021, 0.987},
      {LedgerCause::limit, 1, 4218, 0.115, 0.0002, 52.0, 47.8, 0, 0, 0},
  };
  runtime::LedgerChanged ledger;
  for (const Step& step : steps) {
    const double all = double(step.n_tokens) * 90;
    runtime::LedgerEntry entry;
    entry.at_ms = wallMs - step.minutesAgo * 60'000;
    entry.n_tokens = step.n_tokens;
    entry.cause = step.cause;
    entry.n_lowered = std::size_t(all * step.lowered);
    entry.n_evicted = std::size_t(all * step.evicted);
    entry.bytes_before = std::size_t(step.before * 1e6);
    entry.bytes_after = std::size_t(step.after * 1e6);
    if (step.agreement > 0) {
      entry.fidelity.n_tokens = 128;
      entry.fidelity.agreement = step.agreement;
      entry.fidelity.kl = step.kl;
      entry.fidelity.attention_kept = step.attention;
      entry.fidelity.measured_at = step.n_tokens;
      entry.fidelity.measured_ms = entry.at_ms + 4000;
    }
    ledger.entries.push_back(entry);
  }
  ledger.recall = {30, 27, 4102, wallMs - 12 * 60'000};
  return ledger;
}

runtime::OlderParts sampleParts(int n) {
  const char* beginnings[] = {
      "field-notes-week-14.md (part 1 of 3)",
      "field-notes-week-14.md (part 2 of 3)",
      "field-notes-week-14.md (part 3 of 3)",
      "Which visits are there this week, and what should I bring?",
      "Mara wrote that she has moved. Please note her new address: Strandgaten 18, Bergen.",
      "What does the letter to the archive have to say about the photographs?",
      "Let us plan the Sunday: who comes when, and who brings what?",
      "The harbour office has answered.",
      "How long does the train from Oslo take?",
      "Write a short thank-you note to Odile.",
      "What did I say about the green folder?",
      "Jonas plays on the 12th, not on the 11th."};
  runtime::OlderParts parts;
  for (int i = 0; i < n; ++i)
    parts.parts.push_back({.beginning = beginnings[std::size_t(i) % std::size(beginnings)],
                           .n_tokens = 1812 - std::size_t(i) * 53});
  return parts;
}

runtime::ShelfListed sampleShelf() {
  const auto document = [](std::string title, std::uint64_t n_tokens) {
    kvcache::SavedCache cache{.key = {}, .n_tokens = n_tokens};
    cache.note = "notes-mini\nsatchel, keeps 50 %\n";
    return runtime::ShelvedDocument{.hash = "0a", .title = std::move(title), .caches = {cache}};
  };
  runtime::ShelfListed shelf{
      .documents = {document("handbook.md", 12'400), document("minutes.txt", 3'120)}};
  shelf.documents[1].hash = "0b";
  shelf.documents[1].is_kept = true;
  return shelf;
}

runtime::ChatMemory sampleBeyond(const QString& preset, qint64 tokens, std::int64_t wallMs) {
  runtime::ChatMemory cache = sampleCache(preset, tokens, wallMs);
  cache.n_in_context = 6012;
  cache.goes_on = true;
  return cache;
}

Message withId(Message message, qint64 id) {
  message.id = id;
  return message;
}

Message userMessage(const QString& text) {
  Message message;
  message.text = text;
  return message;
}

Message answerMessage(const QString& text, const QString& footnote) {
  Message message;
  message.role = runtime::Role::assistant;
  message.text = text;
  message.footnote = footnote;
  return message;
}

QString sampleDocument() {
  return u"Field notes, week 14\n\nMara Lindqvist moved to Bergen in the spring and works there as "
         "a boat builder. Her brother Jonas still plays the cello, most evenings, in the room "
         "above the bakery.\nThe code of the archive room is 4417. It was changed on Tuesday.\n"
         "The spare key lies in the blue tin on the shelf behind the stove.\n\nVisits\nOdile comes "
         "on Friday at ten. Bring the map of the harbour, which is in the green folder.\n"_s
             .repeated(6);
}

QString sampleMarkdown() {
  return u"There are three visits this week. In short:\n\n"
         "| Who | Day | Bring |\n|---|---|---|\n| Odile | Friday, 10:00 | the harbour map |\n"
         "| Jonas | Saturday | nothing |\n| Mara | Sunday, 15:30 | the `blue tin` |\n\n"
         "Two things to keep in mind:\n\n"
         "- The **archive room** has a new code since Tuesday.\n"
         "- The map is in the *green folder*, not on the shelf.\n\n"
         "If you want a reminder in the terminal:\n\n"
         "```python\nfrom datetime import date\n\nvisits = {\"Odile\": date(2026, 4, 10), "
         "\"Mara\": date(2026, 4, 12)}\nfor name, day in sorted(visits.items()):\n"
         "    print(f\"{name:8} {day:%A}\")\n```\n\n"
         "See also [the harbour office](https://harbour.example/visits)."_s;
}

QList<Message> sampleConversation() {
  Message document = userMessage(sampleDocument());
  document.documentTitle = u"field-notes-week-14.md"_s;
  return {document,
          answerMessage(u"Noted."_s),
          userMessage(u"Where is the spare key?"_s),
          answerMessage(u"The spare key lies in the blue tin on the shelf behind the stove."_s,
                        u"18 tokens · 41.2 tokens/s"_s),
          userMessage(u"Which visits are there this week, and what should I bring? Please make a "
                      "small table."_s),
          answerMessage(sampleMarkdown(), u"214 tokens · 38.7 tokens/s"_s)};
}

}  // namespace satchel::ui

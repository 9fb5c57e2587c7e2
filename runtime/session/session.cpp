#include "runtime/session/session.h"

#include <algorithm>
#include <utility>

#include "runtime/episodes/part_title.h"
#include "runtime/session/first_document.h"
#include "runtime/session/memory_changer.h"
#include "runtime/session/part_notes.h"
#include "runtime/session/session_state.h"
#include "runtime/session/thoughts.h"
#include "runtime/session/turn.h"

namespace satchel::runtime {
namespace {

// What would fit is reckoned as if all of it lay in memory.
Result<void> refuse_far(const EngineState& engine) {
  if (!engine.open_far) return {};
  return Error{
      ErrorKind::unsupported, "FAR_MEMORY",
      "A chat whose memory is on disk keeps its limit and its recipe. Nothing was changed. "
      "Close it, and open it again with another limit or recipe."};
}

}  // namespace

Session::State::State(EngineState& engine_in, const SessionOptions& options_in,
                      std::unique_ptr<kvcache::Cache> cache_in)
    : engine(engine_in),
      options(options_in),
      clock(options.clock != nullptr ? *options.clock : system_clock),
      transcript({.tokenizer = *engine.tokenizer,
                  .chat_template = *engine.chat_template,
                  .n_vocabulary = engine.model->config().n_vocabulary,
                  .n_context = engine.model->config().context,
                  .model_fingerprint = engine.fingerprint,
                  .system = options.system,
                  .system_marks = options.system_marks,
                  .thinking = options.thinking,
                  .journal = options.journal,
                  .chat = options.chat}),
      cache(engine, options, std::move(cache_in)),
      meter(engine, cache, clock, options),
      parts{.engine = engine,
            .clock = clock,
            .transcript = transcript,
            .cache = cache,
            .meter = meter},
      past(parts, options.beyond),
      prefill(parts, past),
      idle_work(parts, prefill) {}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<MessageId> Session::add_user(std::string_view text) {
  SATCHEL_TRY(state_->prefill.need_cache());
  return state_->transcript.add_user(text, state_->past.beyond());
}

Result<std::vector<MessageId>> Session::add_messages(std::span<const MessageText> messages) {
  SATCHEL_TRY(state_->prefill.need_cache());
  return state_->transcript.add_messages(messages, state_->past.beyond());
}

Result<std::vector<DocumentIds>> Session::add_document(std::string_view title,
                                                       std::string_view text,
                                                       const std::stop_token& stop) {
  SATCHEL_TRY(state_->prefill.need_cache());
  SATCHEL_TRY_ASSIGN(const std::vector<std::string_view> parts, state_->past.parts_of(text, stop));
  std::vector<Transcript::Document> documents;
  for (const std::string_view part : parts)
    documents.push_back({part_title({title, documents.size() + 1, parts.size()}), part});
  return state_->transcript.add_documents(documents, state_->past.beyond(), stop);
}

Result<AllAsked> Session::ask_all(std::string_view question, std::stop_token stop,
                                  const ProgressFn& progress) {
  ChatPrefill& prefill = state_->prefill;
  SATCHEL_TRY(prefill.need_cache());
  SATCHEL_TRY(prefill.need_script());
  SATCHEL_TRY(prefill.prefill_unread(stop, progress));
  SATCHEL_TRY_ASSIGN(PartNotes::Notes notes,
                     PartNotes(state_->parts, prefill).take(question, stop, progress));
  AllAsked asked{.n_parts = notes.n_parts, .notes = std::move(notes.text)};
  if (asked.notes.empty()) {
    SATCHEL_TRY_ASSIGN(asked.question, add_user(question));
    return asked;
  }
  SATCHEL_TRY_ASSIGN(const Transcript::Asked added,
                     state_->transcript.add_asked({std::string(kPartNotesTitle), asked.notes},
                                                  question, state_->past.beyond()));
  asked.document = added.document;
  asked.question = added.question;
  return asked;
}

Result<ReadReport> Session::read(std::stop_token stop, const ProgressFn& progress, ReadHow how) {
  ChatPrefill& prefill = state_->prefill;
  SATCHEL_TRY(prefill.need_cache());
  SATCHEL_TRY(prefill.need_script());
  ReadReport placed;
  if (how == ReadHow::at_once) {
    SATCHEL_TRY_ASSIGN(placed, place_documents(state_->parts, prefill, stop, progress));
  }
  SATCHEL_TRY_ASSIGN(ReadReport report, prefill.prefill_unread(stop, progress));
  report.n_tokens += placed.n_tokens;
  report.n_shelf += placed.n_shelf;
  report.n_placed = placed.n_placed;
  report.not_placed = placed.not_placed;
  report.reuse = sum_of(placed.reuse, report.reuse);
  report.compressed = report.compressed || placed.compressed;
  report.ms += placed.ms;
  report.reread = state_->cache.take_rereads();
  // What was read stays read, whether or not the measurement comes to an end.
  ChatMeter& meter = state_->meter;
  if (meter.can_measure() && meter.measure(tokens(), stop, progress).ok())
    report.fidelity = meter.fidelity();
  return report;
}

Result<GenerateReport> Session::generate(const TurnRequest& request) {
  Turn turn(state_->parts, state_->prefill, request);
  turn.begin();
  while (const std::optional<TokenId> token = turn.choose())
    turn.decoded(request.decode ? request.decode(turn, *token) : turn.decode(*token));
  return turn.measure(turn.close());
}

Result<GenerateReport> Session::generate(const Sampling& sampling, const DeltaFn& delta,
                                         std::stop_token stop, const ProgressFn& progress,
                                         const DeltaFn& thought) {
  return generate(TurnRequest{.sampling = sampling,
                              .delta = delta,
                              .stop = std::move(stop),
                              .progress = progress,
                              .thought = thought});
}

Result<void> Session::set_thinking(Thinking thinking) {
  SATCHEL_TRY(check_thinking(*state_->engine.chat_template, thinking));
  state_->transcript.set_thinking(thinking);
  return {};
}
Result<void> Session::set_beyond(BeyondContext beyond) {
  const SessionOptions& options = state_->options;
  if (options.journal != nullptr)
    SATCHEL_TRY(options.journal->set_note(options.chat, kBeyondNote, beyond_name(beyond)));
  state_->past.set_beyond(beyond);
  return {};
}
BeyondContext Session::beyond() const {
  return state_->past.beyond();
}
std::vector<Episode> Session::episodes() const {
  std::vector<Episode> out;
  const std::span<const SessionMessage> all = messages();
  for (const IndexRange& range : state_->past.episodes()) {
    const auto first = std::ranges::find_if(
        all, [&](const SessionMessage& message) { return message.end > range.begin; });
    out.push_back({.first = first == all.end() ? MessageId{} : first->id,
                   .n_tokens = range.end - range.begin,
                   .is_unread = state_->past.is_unread(range)});
  }
  for (const std::size_t i : state_->past.seen_episodes().seen) out[i].is_seen = true;
  return out;
}
Result<void> Session::name_episodes(std::vector<std::size_t> numbers) {
  return state_->past.name(std::move(numbers));
}
Thinking Session::thinking() const {
  return state_->transcript.thinking();
}
Result<Thoughts> Session::thoughts(MessageId answer) const {
  SATCHEL_TRY_ASSIGN(const SessionMessage message, state_->transcript.find(answer));
  if (message.role != Role::assistant) return Thoughts{};
  return thoughts_in(tokens().subspan(message.begin, message.end - message.begin),
                     *state_->engine.tokenizer, *state_->engine.chat_template);
}

Result<IdleReport> Session::idle(std::stop_token stop, const ProgressFn& progress) {
  SATCHEL_TRY_ASSIGN(IdleReport report, state_->idle_work.run(stop, progress));
  report.reread = state_->cache.take_rereads();
  return report;
}
bool Session::has_idle_work() const {
  return state_->idle_work.is_due();
}

Result<MemoryChange> Session::preview_memory(const MemoryRequest& request, std::stop_token stop) {
  SATCHEL_TRY(state_->prefill.need_cache());
  SATCHEL_TRY(refuse_far(state_->engine));
  MemoryChangePlanner planner(state_->parts);
  SATCHEL_TRY(state_->past.rest_under(planner.own_bytes_under(planner.limit_of(request))));
  return planner.preview(request, std::move(stop));
}
Result<MemoryChange> Session::change_memory(const MemoryRequest& request, std::stop_token stop,
                                            const ProgressFn& progress) {
  SATCHEL_TRY(refuse_far(state_->engine));
  return MemoryChanger(state_->parts, state_->prefill).change(request, std::move(stop), progress);
}
Result<ReadReport> Session::set_recipe(const kvcache::Recipe& recipe, std::stop_token stop,
                                       const ProgressFn& progress) {
  SATCHEL_TRY(refuse_far(state_->engine));
  SATCHEL_TRY_ASSIGN(
      ReadReport report,
      MemoryChanger(state_->parts, state_->prefill).set_recipe(recipe, std::move(stop), progress));
  report.reread = state_->cache.take_rereads();
  return report;
}

std::span<const std::int32_t> Session::tokens() const {
  return state_->transcript.tokens();
}
std::span<const SessionMessage> Session::messages() const {
  return state_->transcript.messages();
}
std::size_t Session::n_read() const {
  return state_->cache.n_tokens();
}
std::vector<PartsRead> Session::parts_read() const {
  std::vector<PartsRead> out;
  for (const SessionMessage& message : messages()) {
    if (message.kind != MessageKind::document) continue;
    const auto part = read_part_title(message.title);
    if (!part) continue;
    if (out.empty() || part->number == 1) out.push_back({.document = message.id});
    ++out.back().n_all;
    if (message.end <= n_read() && !state_->past.is_unread({message.begin, message.end}))
      ++out.back().n_read;
  }
  return out;
}
std::size_t Session::n_context() const {
  return state_->engine.model->config().context;
}
std::size_t Session::n_context_left() const {
  return state_->past.n_left();
}
kvcache::CacheStats Session::stats() const {
  return state_->cache.stats();
}
Result<std::vector<kvcache::HeldToken>> Session::held() {
  if (state_->cache.is_lost()) return std::vector<kvcache::HeldToken>{};
  return state_->cache->inspector().held();
}
const Fidelity& Session::fidelity() const {
  return state_->meter.fidelity();
}
const RecallProbe& Session::recall() const {
  return state_->meter.recall();
}
std::span<const LedgerEntry> Session::ledger() const {
  return state_->meter.ledger().entries();
}
const kvcache::Recipe& Session::recipe() const {
  return state_->cache.recipe();
}

}  // namespace satchel::runtime

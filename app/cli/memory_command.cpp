#include "app/cli/memory_command.h"

#include <algorithm>

#include "app/cli/input.h"
#include "app/number_options.h"
#include "kernels/base/size_text.h"
#include "runtime/chat/memory_settings.h"
#include "runtime/limits/precision_floor.h"
#include "runtime/limits/presets.h"
#include "runtime/session/cache_contents.h"

namespace satchel::app {
namespace {

constexpr std::string_view kLimit = "/limit", kPreset = "/preset", kNow = "now", kSame = "same";
constexpr std::string_view kBlanks = " \t";

// Removes `word` and the blanks before it if it is the last of several words. Blanks elsewhere
// stay: they may belong to a file's name.
bool take_last(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  const std::string_view before = text.substr(0, text.size() - word.size());
  if (before.empty() || kBlanks.find(before.back()) == std::string_view::npos) return false;
  text = before.substr(0, before.find_last_not_of(kBlanks) + 1);
  return true;
}

std::string share_of(std::size_t n, const runtime::MemoryChange& change) {
  return format_percent(static_cast<double>(n) /
                        static_cast<double>(std::max<std::size_t>(change.n_lane_tokens, 1)));
}

// The effect of a limit that may be too low for all the text to be reread.
std::string describe_reclaim(const runtime::MemoryChange& change) {
  if (change.limit_all == 0) return "";
  const std::string all = " A limit of " + size_text(change.limit_all) + " avoids that.";
  if (change.bytes_all <= change.bytes_after)
    return " With this limit, text may drop to lower precision again while it is reread." + all;
  return " With this limit, text drops to lower precision again until it takes " +
         size_text(change.bytes_after) + " at most, instead of " + size_text(change.bytes_all) +
         "." +
         (change.bytes_after <= change.bytes_before ? " Rereading would restore almost nothing."
                                                    : "") +
         all;
}

std::string reason_of(const runtime::MemoryChange& change) {
  const std::string text = kvcache::reread_text(kvcache::main_reason(change.reread));
  return text.empty() ? text : " " + text;
}

std::string cost_text(const runtime::Fidelity& cost) {
  if (cost.n_tokens == 0) return " The effect on accuracy is not measured.";
  return " Measured on the last " + count_text(cost.n_tokens) + " tokens: same next token " +
         format_percent(cost.agreement) + " of the time, KL " + fixed_text(cost.kl, 4) + ".";
}

}  // namespace

Result<std::optional<MemoryCommand>> memory_command(std::string_view line) {
  const auto limit = rest_of(line, kLimit), preset = rest_of(line, kPreset);
  if (!limit && !preset) return std::optional<MemoryCommand>();
  MemoryCommand command{.is_limit = limit.has_value(), .request = {}};
  std::string_view rest = limit ? *limit : *preset;
  if (rest.empty()) return std::optional(command);
  command.now = take_last(rest, kNow);
  if (limit) {
    SATCHEL_TRY_ASSIGN(command.request.limit_bytes, parse_bytes(rest));
    if (command.request.limit_bytes == 0)
      return Error{ErrorKind::invalid, "PARAM", "The memory limit must be greater than 0."};
  } else if (rest == kSame) {
    command.same = true;
  } else {
    SATCHEL_TRY_ASSIGN(command.request.recipe, runtime::resolve_recipe(rest));
  }
  return std::optional(command);
}

std::string describe_far(const kvcache::CacheStats& stats) {
  if (stats.far_bytes == 0) return "";
  return size_text(stats.far_bytes) + " of keys and values are on disk, exactly as they were; " +
         size_text(stats.copy_bytes) + " of these are in memory as well for now.";
}

std::string describe_limit(const kvcache::CacheStats& stats) {
  const std::string at_rest =
      stats.n_resting == 0 ? ""
                           : format_percent(static_cast<double>(stats.n_resting) /
                                            static_cast<double>(stats.n_kept + stats.n_resting)) +
                                 " of what the chat keeps is on disk until a question needs it. ";
  return "The memory limit is " + size_text(stats.arena_bytes) + "; " +
         size_text(stats.arena_used_bytes) + " is in use. " + at_rest +
         (stats.far_bytes == 0 ? "" : describe_far(stats) + " ") +
         "\"/limit 40MB\" shows what another limit would do, \"/limit 40MB now\" "
         "applies it.";
}

std::string describe_preset(const kvcache::Recipe& recipe, std::string_view architecture) {
  std::string text, known;
  const runtime::PrecisionFloor* const floor = runtime::precision_floor(architecture);
  for (const runtime::Preset& preset : runtime::presets()) {
    if (preset.name == runtime::preset_of(recipe))
      text = "The preset is " + std::string(preset.name) + ", recipe \"" + recipe.name() + "\"." +
             (floor == nullptr ? "" : " " + std::string(floor->why));
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  if (text.empty())
    text = "The recipe is \"" + recipe.name() + "\", which is not a preset" +
           (recipe.keep() < 1 ? "; it keeps " + format_percent(recipe.keep()) + " of the tokens."
                              : ".");
  return text + " Presets: " + known +
         ". \"/preset compact\" shows what another preset would do, \"/preset compact now\" "
         "applies it.";
}

std::string describe_coarser(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats) {
  const std::size_t n = runtime::n_coarser_than(recipe, stats);
  if (n == 0) return "";
  const std::size_t n_held = std::max<std::size_t>(stats.n_kept, 1);
  return " " + format_percent(static_cast<double>(n) / static_cast<double>(n_held)) +
         " of the cache was lowered below the preset's precision to save memory, and stays so "
         "until the chat is reread: \"/preset same\" shows what that takes, \"/preset same now\" "
         "does it.";
}

std::string describe_done(const runtime::MemoryChange& done) {
  if (done.n_reread == 0) return describe(done);
  return size_text(done.bytes_after) + " instead of " + size_text(done.bytes_before) + "; " +
         count_text(done.n_reread) + " tokens were reread." + reason_of(done);
}

std::string describe(const runtime::MemoryChange& change) {
  if (!change.fits)
    return "That does not fit: this chat needs a limit of at least " +
           size_text(change.limit_least) + ".";
  const std::string bytes =
      size_text(change.bytes_after) + " instead of " + size_text(change.bytes_before);
  if (change.n_reread > 0)
    return "About " + bytes + "; " + count_text(change.n_reread) + " tokens must be reread" +
           (change.reread_ms > 0 ? ", which takes about " + duration_text(change.reread_ms) : "") +
           "." + reason_of(change) + describe_reclaim(change);
  if (change.n_lowered + change.n_evicted == 0 && change.bytes_after >= change.bytes_before)
    return bytes + "; the chat stays as it is.";
  if (change.n_lowered + change.n_evicted == 0)
    return "At most " + bytes +
           ". Older text drops to lower precision as far as needed; there is too little memory to "
           "measure the effect beforehand.";
  std::string text = bytes + ": ";
  if (change.n_lowered > 0)
    text += share_of(change.n_lowered, change) + " of the cache at lower precision";
  if (change.n_evicted > 0)
    text += (change.n_lowered > 0 ? ", " : "") + share_of(change.n_evicted, change) + " dropped";
  return text + "." + cost_text(change.cost);
}

Result<void> obey(const MemoryCommand& command, Conversation& conversation, Console& console) {
  const runtime::Session& session = conversation.session();
  const runtime::Engine& engine = *conversation.service().engine();
  if (command.asks()) {
    console.reply(command.is_limit
                      ? describe_limit(session.stats())
                      : describe_preset(session.recipe(), engine.config().architecture));
    return {};
  }
  runtime::MemoryRequest request = command.request;
  if (command.same) request.recipe = session.recipe();
  const bool rises = request.limit_bytes > session.stats().arena_bytes;
  const auto coarser = [&] {
    return rises ? describe_coarser(session.recipe(), session.stats()) : std::string();
  };
  if (!command.now) {
    SATCHEL_TRY_ASSIGN(
        const runtime::MemoryChange change,
        conversation.service().preview_memory(conversation.chat(), request, conversation.call()));
    console.reply(describe(change) +
                  (change.fits ? " Add \"now\" to the command to apply it." : "") + coarser());
    return {};
  }
  SATCHEL_TRY_ASSIGN(
      const runtime::MemoryChange done,
      conversation.service().change_memory(conversation.chat(), request, conversation.call()));
  console.reply(describe_done(done) + coarser());
  return {};
}

}  // namespace satchel::app

#include "app/cli/memory_command.h"

#include <algorithm>

#include "app/cli/input.h"
#include "app/cli/interrupt.h"
#include "runtime/governor/coarser.h"
#include "runtime/governor/presets.h"

namespace satchel::app {
namespace {

constexpr std::string_view kLimit = "/limit", kPreset = "/preset", kNow = "now", kSame = "same";
constexpr std::string_view kBlanks = " \t";

// Whether the last of several words is `word`; then it is cut off, and the blanks before it. A file's
// name may have blanks in it, which stay.
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

// What a limit does that may be too low for all that is read again.
std::string describe_room(const runtime::MemoryChange& change) {
  if (change.limit_all == 0) return "";
  const std::string all = " A limit of " + format_bytes(change.limit_all) + " holds all of it.";
  if (change.bytes_all <= change.bytes_after)
    return " Under this limit text may go to fewer bits again while it is read." + all;
  return " Under this limit text goes to fewer bits again, until it takes " +
         format_bytes(change.bytes_after) + " at most: all of it would take " +
         format_bytes(change.bytes_all) + "." +
         (change.bytes_after <= change.bytes_before ? " So hardly anything comes back." : "") + all;
}

std::string cost_text(const runtime::Fidelity& cost) {
  if (cost.n_tokens == 0) return " What it costs is not measured.";
  return " Its cost, measured on the last " + with_thousands(cost.n_tokens) +
         " tokens: the same next token in " + format_percent(cost.agreement) + ", KL " +
         format_fixed(cost.kl, 4) + ".";
}

}  // namespace

Result<std::optional<MemoryCommand>> memory_command(std::string_view line) {
  const auto limit = rest_of(line, kLimit), preset = rest_of(line, kPreset);
  if (!limit && !preset) return std::optional<MemoryCommand>();
  MemoryCommand command{.of = limit ? MemoryCommand::Of::limit : MemoryCommand::Of::preset,
                        .wish = {}};
  std::string_view rest = limit ? *limit : *preset;
  if (rest.empty()) return std::optional(command);
  command.now = take_last(rest, kNow);
  if (limit) {
    SATCHEL_TRY_ASSIGN(command.wish.limit_bytes, parse_bytes(rest));
    if (command.wish.limit_bytes == 0)
      return Error{ErrorKind::invalid, "PARAM", "A memory limit must be above 0."};
  } else if (rest == kSame) {
    command.same = true;
  } else {
    SATCHEL_TRY_ASSIGN(command.wish.recipe, runtime::resolve_recipe(rest));
  }
  return std::optional(command);
}

std::string describe_limit(const kvcache::CacheStats& stats) {
  return "The memory limit is " + format_bytes(stats.pool_bytes) + ", " +
         format_bytes(stats.pool_used_bytes) +
         " are in use. \"/limit 40MB\" says what another would do, \"/limit 40MB now\" does it.";
}

std::string describe_preset(const kvcache::Recipe& recipe) {
  std::string text, known;
  for (const runtime::Preset& preset : runtime::presets()) {
    const auto of_preset = runtime::resolve_recipe(preset.name);
    if (of_preset.ok() && of_preset->hash() == recipe.hash())
      text = "The preset is " + std::string(preset.name) + ", recipe \"" + recipe.name() + "\".";
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  }
  if (text.empty())
    text = "The recipe is \"" + recipe.name() + "\", none of the presets" +
           (recipe.keep() < 1 ? "; " + format_percent(recipe.keep()) + " of what is read are kept."
                              : ".");
  return text + " There are " + known +
         ". \"/preset compact\" says what another would do, \"/preset compact now\" does it.";
}

std::string describe_coarser(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats) {
  const std::size_t n = runtime::n_coarser_than(recipe, stats);
  if (n == 0) return "";
  const std::size_t n_held = std::max<std::size_t>(stats.n_kept, 1);
  return " " + format_percent(static_cast<double>(n) / static_cast<double>(n_held)) +
         " of what is held came to fewer bits than the preset has, for want of room, and stays so "
         "until the chat is read again: \"/preset same\" says what that takes, \"/preset same "
         "now\" "
         "does it.";
}

std::string describe_done(const runtime::MemoryChange& done) {
  if (done.n_reread == 0) return describe(done);
  return format_bytes(done.bytes_after) + " instead of " + format_bytes(done.bytes_before) + "; " +
         with_thousands(done.n_reread) + " tokens were read again.";
}

std::string describe(const runtime::MemoryChange& change) {
  if (!change.fits)
    return "That does not fit: the least limit for this chat is " +
           format_bytes(change.limit_least) + ".";
  const std::string bytes =
      format_bytes(change.bytes_after) + " instead of " + format_bytes(change.bytes_before);
  if (change.n_reread > 0)
    return "About " + bytes + "; " + with_thousands(change.n_reread) +
           " tokens have to be read again" +
           (change.reread_ms > 0 ? ", which takes about " + format_seconds(change.reread_ms) : "") +
           "." + describe_room(change);
  if (change.n_lowered + change.n_evicted == 0 && change.bytes_after >= change.bytes_before)
    return bytes + "; the chat stays as it is.";
  if (change.n_lowered + change.n_evicted == 0)
    return "At most " + bytes +
           ". There is no room to try beforehand what that costs; "
           "older text goes to fewer bits, as far as needed.";
  std::string text = bytes + ";";
  if (change.n_lowered > 0)
    text += " " + share_of(change.n_lowered, change) + " of what is held goes to fewer bits";
  if (change.n_evicted > 0)
    text += (change.n_lowered > 0 ? ", " : " ") + share_of(change.n_evicted, change) + " goes";
  return text + "." + cost_text(change.cost);
}

Result<void> obey(const MemoryCommand& command, Conversation& conversation, Console& console) {
  const runtime::Session& session = conversation.session();
  if (command.asks()) {
    console.reply(command.of == MemoryCommand::Of::limit ? describe_limit(session.stats())
                                                         : describe_preset(session.recipe()));
    return {};
  }
  runtime::MemoryWish wish = command.wish;
  if (command.same) wish.recipe = session.recipe();
  const bool rises = wish.limit_bytes > session.stats().pool_bytes;
  const auto coarser = [&] {
    return rises ? describe_coarser(session.recipe(), session.stats()) : std::string();
  };
  if (!command.now) {
    SATCHEL_TRY_ASSIGN(const runtime::MemoryChange change,
                       conversation.session().preview_memory(wish, begin_interruptible()));
    console.reply(describe(change) +
                  (change.fits ? " The same line with \"now\" behind it does it." : "") +
                  coarser());
    return {};
  }
  SATCHEL_TRY_ASSIGN(const runtime::MemoryChange done, conversation.change_memory(wish, console));
  console.reply(describe_done(done) + coarser());
  return {};
}

}  // namespace satchel::app

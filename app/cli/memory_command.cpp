#include "app/cli/memory_command.h"

#include <algorithm>

#include "app/cli/interrupt.h"
#include "runtime/governor/presets.h"

namespace satchel::app {
namespace {

constexpr std::string_view kLimit = "/limit ", kPreset = "/preset ", kNow = " now";

std::string share_of(std::size_t n, const runtime::MemoryChange& change) {
  return format_percent(static_cast<double>(n) /
                        static_cast<double>(std::max<std::size_t>(change.n_lane_tokens, 1)));
}

std::string cost_text(const runtime::Fidelity& cost) {
  if (cost.n_tokens == 0) return " What it costs is not measured.";
  return " Its cost, measured on the last " + with_thousands(cost.n_tokens) +
         " tokens: the same next token in " + format_percent(cost.agreement) + ", KL " +
         format_fixed(cost.kl, 4) + ".";
}

}  // namespace

Result<std::optional<MemoryCommand>> memory_command(std::string_view line) {
  const bool limits = line.starts_with(kLimit);
  if (!limits && !line.starts_with(kPreset)) return std::optional<MemoryCommand>();
  MemoryCommand command;
  std::string_view rest = line.substr(limits ? kLimit.size() : kPreset.size());
  if (rest.ends_with(kNow)) {
    command.now = true;
    rest.remove_suffix(kNow.size());
  }
  if (limits) {
    SATCHEL_TRY_ASSIGN(command.wish.limit_bytes, parse_bytes(rest));
    if (command.wish.limit_bytes == 0)
      return Error{ErrorKind::invalid, "PARAM", "A memory limit must be above 0."};
  } else {
    SATCHEL_TRY_ASSIGN(command.wish.recipe, runtime::resolve_recipe(rest));
  }
  return std::optional(command);
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
           ".";
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
  if (!command.now) {
    SATCHEL_TRY_ASSIGN(const runtime::MemoryChange change,
                       conversation.session().preview_memory(command.wish, begin_interruptible()));
    console.note(describe(change) +
                 (change.fits ? " The same line with \"now\" behind it does it." : ""));
    return {};
  }
  SATCHEL_TRY_ASSIGN(const runtime::MemoryChange done,
                     conversation.change_memory(command.wish, console));
  console.note(describe(done));
  return {};
}

}  // namespace satchel::app

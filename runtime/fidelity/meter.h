// Meter: what was measured of a chat, and its ledger, as they are kept with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/fidelity/fidelity.h"
#include "runtime/fidelity/ledger.h"
#include "runtime/fidelity/recall_probe.h"

namespace satchel::runtime {

struct Meter {
  Fidelity fidelity;   // the last one; n_tokens 0: never measured
  RecallProbe recall;  // likewise; n_asked 0
  Ledger ledger;
};

// Under which name a journal keeps the text (Journal::set_note).
inline constexpr std::string_view kMeterNote = "meter";

// Lines of numbers: the form (1), the fidelity, the recall, then a line for each entry.
std::string to_text(const Meter& meter);
// None: the text is not one that to_text could have made. Of a ledger that is read, all entries are
// closed.
std::optional<Meter> meter_from(std::string_view text);

}  // namespace satchel::runtime

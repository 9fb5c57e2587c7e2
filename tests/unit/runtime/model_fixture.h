#include "support/source_dir.h"
// Reads tests/golden/model/*.txt: token ids and logits as an independent implementation computed
// them (origin: tests/golden/model/README.md).
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace satchel::runtime {

struct LogitRow {
  std::size_t position = 0;
  std::vector<std::pair<std::int32_t, float>> top;  // id and logit, largest first
};
struct ModelFixture {
  std::vector<std::int32_t> tokens, greedy;
  std::vector<LogitRow> rows;
  std::vector<std::pair<std::size_t, std::vector<float>>> full;   // position, all logits
  std::vector<std::pair<std::size_t, std::vector<float>>> other;  // of a second implementation
};

// Every section "tokens" begins a new fixture. Empty if the file is not there.
inline std::vector<ModelFixture> read_model_fixtures(const std::string& name) {
  std::ifstream file(test::source_dir() + "/tests/golden/model/" + name);
  std::vector<ModelFixture> out;
  std::string section;
  std::size_t n = 0, width = 0;
  while (file >> section >> n) {
    if (section == "tokens" || out.empty()) out.emplace_back();
    ModelFixture& fixture = out.back();
    if (section == "tokens" || section == "greedy") {
      auto& ids = section == "tokens" ? fixture.tokens : fixture.greedy;
      ids.resize(n);
      for (auto& id : ids) file >> id;
    } else if (file >> width; section == "rows") {
      for (std::size_t i = 0; i < n; ++i) {
        LogitRow& row = fixture.rows.emplace_back();
        file >> row.position;
        row.top.resize(width);
        for (auto& [id, logit] : row.top) file >> id >> logit;
      }
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        auto& rows = section == "other" ? fixture.other : fixture.full;
        auto& [position, logits] = rows.emplace_back(0, std::vector<float>(width));
        file >> position;
        for (float& logit : logits) file >> logit;
      }
    }
  }
  return out;
}

}  // namespace satchel::runtime

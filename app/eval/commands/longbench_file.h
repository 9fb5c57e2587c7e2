// The files of LongBench (arXiv:2308.14508) as its authors give them away, an example a line, JSON:
//   {"input": "…", "context": "…", "answers": ["…"], "length": 3512, "dataset": "hotpotqa",
//    "language": "en", "all_classes": null, "_id": "…"}
// "dataset" may lack where the file's name says it (hotpotqa.jsonl, hotpotqa_e.jsonl).
//   errors  DOC_FORMAT with file:line and what is missing there, where it names a dataset that is
//           none, or where the file is empty; those of read_text_file
#pragma once

#include <string>
#include <vector>

#include "app/eval/longbench/ask.h"
#include "kernels/base/result.h"

namespace satchel::app {

// At most n of the file; 0: all. An example without "_id" is called by its number in the file.
Result<std::vector<eval::longbench::Example>> read_longbench_file(const std::string& path,
                                                                  std::size_t n);

}  // namespace satchel::app

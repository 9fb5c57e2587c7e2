// A plain main around one fuzz target: runs the corpus, then mutates what found new edges until the
// time is up. Needs neither clang nor libFuzzer. An input that ends the program is left behind as a
// file, and its path is printed.
//   usage   fuzz_x [--seconds N] [--seed N] [--corpus FOLDER] [--keep FOLDER] [FILE …]
//           with FILEs: only these are run. --keep writes each input that found something new.
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "coverage.h"
#include "mutate.h"
#include "target.h"

// A hostile input may not make us ask for more at once than the largest of our targets needs.
extern "C" const char* __asan_default_options() {
  return "handle_abort=1:max_allocation_size_mb=64:malloc_context_size=8";
}

namespace satchel::fuzz {
namespace {

constexpr unsigned kHangSeconds = 5;      // as libFuzzer's -timeout
constexpr std::size_t kCorpusMax = 4096;  // chosen: far above what the targets reach

struct Options {
  double seconds = 5;
  std::uint64_t seed = 1;
  std::string corpus;
  std::string keep;
  std::vector<std::string> files;
};

// What the death callback needs; nothing may be allocated there.
const Input* running = nullptr;

void leave_behind() {
  if (running == nullptr) return;
  const std::string path = std::string("finding-") + target.name + "-" + std::to_string(getpid());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return;
  std::fwrite(running->data(), 1, running->size(), file);
  std::fclose(file);
  std::fprintf(stderr, "\n%s: the input of %zu bytes is in %s\n", target.name, running->size(),
               path.c_str());
}

void on_hang(int) {
  std::fprintf(stderr, "\n%s: no end after %u s\n", target.name, kHangSeconds);
  leave_behind();
  std::_Exit(1);
}

Input read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Fuzzer {
 public:
  explicit Fuzzer(const Options& options) : options_(options), rng_(options.seed) {}

  void run_file(const std::string& path) { run(read_file(path)); }

  void run_corpus() {
    for (Input& seed : target.seeds()) run(std::move(seed));
    if (options_.corpus.empty()) return;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(options_.corpus))
      paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) run(read_file(path));
  }

  void run_for(double seconds) {
    const auto begin = std::chrono::steady_clock::now();
    const auto end = begin + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      alarm(kHangSeconds);  // for all of them together; most take well below a millisecond
      for (int i = 0; i < target.n_together; ++i) run(next_input());
    }
    alarm(0);
  }

  void report(double seconds) const {
    std::printf("%s: %zu inputs, %.0f s, %zu edges, %zu inputs kept; nothing found\n", target.name,
                inputs_, seconds, edges_reached(), corpus_.size());
  }

 private:
  Input next_input() {
    Input input;
    if (target.generate != nullptr && below(rng_, 8) == 0) input = target.generate(rng_);
    if (input.empty() && !corpus_.empty()) {
      // Half of the time from the newest tenth: what was found last leads on most often.
      const std::size_t newest = std::max<std::size_t>(1, corpus_.size() / 10);
      const std::size_t back = below(rng_, below(rng_, 2) == 0 ? newest : corpus_.size());
      input = corpus_[corpus_.size() - 1 - back];
      mutate(input, corpus_[below(rng_, corpus_.size())], rng_);
    }
    if (target.repair != nullptr && below(rng_, 4) != 0) target.repair(input);
    return input;
  }

  void run(Input input) {
    input.shrink_to_fit();  // so that a read past the end is a read past the allocation
    running = &input;
    start_coverage();
    LLVMFuzzerTestOneInput(input.data(), input.size());
    running = nullptr;
    ++inputs_;
    if (!reached_something_new() || corpus_.size() >= kCorpusMax) return;
    if (!options_.keep.empty())
      std::ofstream(std::filesystem::path(options_.keep) / std::to_string(inputs_),
                    std::ios::binary)
          .write(reinterpret_cast<const char*>(input.data()),
                 static_cast<std::streamsize>(input.size()));
    corpus_.push_back(std::move(input));
  }

  const Options& options_;
  Rng rng_;
  std::vector<Input> corpus_;
  std::size_t inputs_ = 0;
};

bool parse(int count, char** arguments, Options& out) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (!name.starts_with("--")) {
      out.files.emplace_back(name);
      continue;
    }
    if (i + 1 == count) return false;
    const char* value = arguments[++i];
    if (name == "--seconds") {
      out.seconds = std::atof(value);
    } else if (name == "--seed") {
      out.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--corpus") {
      out.corpus = value;
    } else if (name == "--keep") {
      out.keep = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace
}  // namespace satchel::fuzz

int main(int count, char** arguments) {
  using namespace satchel::fuzz;
  Options options;
  if (!parse(count, arguments, options)) {
    std::fprintf(
        stderr, "usage: %s [--seconds N] [--seed N] [--corpus FOLDER] [--keep FOLDER] [FILE ...]\n",
        arguments[0]);
    return 2;
  }
  __sanitizer_set_death_callback(leave_behind);
  std::signal(SIGALRM, on_hang);
  Fuzzer fuzzer(options);
  if (!options.files.empty()) {
    for (const std::string& file : options.files) fuzzer.run_file(file);
    fuzzer.report(0);
    return 0;
  }
  fuzzer.run_corpus();
  fuzzer.run_for(options.seconds);
  fuzzer.report(options.seconds);
  return 0;
}

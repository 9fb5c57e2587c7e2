// What choosing a token costs: microseconds for a vocabulary of 128,256 words, greedy and drawn
// from the 40 likeliest, beside looks at every token in turn.
//
//   bench_sampler [WORDS]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "bench/rounds.h"
#include "runtime/sampler/sampler.h"

namespace {

using namespace satchel;
using runtime::Sampler, runtime::Sampling;

void compare(const char* what, const Sampling& sampling, std::vector<float> logits,
             std::function<void()> by_token) {
  Sampler sampler(sampling);
  bench::Timed ours(bench::Time::of_thread, [&] { sampler.choose(logits, {}); });
  bench::Timed other(bench::Time::of_thread, std::move(by_token));
  bench::take_turns(ours, other, 2);
  std::printf("%-8s %8.1f %8.1f %6.1f\n", what, 1e6 * other.seconds(), 1e6 * ours.seconds(),
              other.seconds() / ours.seconds());
}

}  // namespace

int main(int n_arguments, char** arguments) {
  const std::size_t n_words =
      n_arguments > 1 ? std::strtoul(arguments[1], nullptr, 10) : std::size_t{128'256};
  if (n_words == 0) {
    std::fprintf(stderr, "bench_sampler: WORDS must be a number above 0\n");
    return EXIT_FAILURE;
  }
  const std::vector<float> logits = bench::random_floats(n_words, 1);
  std::printf("us a token: token by token, ours; times as fast\n");
  volatile float seen = 0;
  compare("greedy", Sampling::plain_greedy(0), logits,
          [&] { seen = *std::ranges::max_element(logits); });
  std::vector<float> likeliest(std::min<std::size_t>(40, n_words));
  Sampling drawn;
  drawn.repetition_penalty = 1;
  compare("drawn", drawn, logits, [&] {
    std::ranges::partial_sort_copy(logits, likeliest, std::greater<>());
    seen = likeliest.front();
  });
}

// bench_kernels [level[:8]] [threads] [type …]: what the CPU backend's matrix products and row
// operations reach, against the read bandwidth and the fp32 multiply-add rate measured in the same
// run.
//   :8       with activations of 8 bits
//   decode   one token; the matrix is another copy at each call, 256 MiB in all, so that it comes
//            from memory as in a model; GB/s count the file's bytes, not the repacked ones
//   prefill  256 tokens; not for the output matrix, which meets only the last one
//   figures  the shortest round, first rounds dropped: other programs share the machine; the limits
//            are measured alike
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine_limits.h"
#include "kernels/registry/registry.h"
#include "support/weights.h"

namespace satchel::bench {
namespace {

using kernels::Backend;
using kernels::Weight;
using kernels::WeightType;

struct Shape {
  std::size_t n_out, n_in;
};
constexpr Shape kShapes[] = {{576, 576}, {1536, 576}, {576, 1536}, {49'152, 576}};  // SmolLM2-135M
constexpr WeightType kTypes[] = {
    WeightType::q4_0,    WeightType::q4_1,   WeightType::q5_0,   WeightType::q8_0,
    WeightType::q2_k,    WeightType::q3_k,   WeightType::q4_k,   WeightType::q5_k,
    WeightType::q6_k,    WeightType::iq4_nl, WeightType::iq4_xs, WeightType::mxfp4,
    WeightType::iq3_xxs, WeightType::iq2_s,  WeightType::f16,    WeightType::f32};

constexpr double kRoundSeconds = 5e-3;

template <class Body>
double best_seconds(int rounds, const Body& body) {
  std::vector<double> times;
  for (int round = 0; round < rounds + rounds / 5; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    const auto end = std::chrono::steady_clock::now();
    if (round >= rounds / 5) times.push_back(std::chrono::duration<double>(end - begin).count());
  }
  return *std::min_element(times.begin(), times.end());
}

void bench_matmul(Backend& backend, WeightType type, Shape shape, const MachineLimits& limits) {
  const std::size_t block = kernels::weight_type_traits(type).block_values;
  const std::size_t n_in = (shape.n_in + block - 1) / block * block;
  const auto file = test::random_weight(type, shape.n_out, n_in, 1);
  const std::size_t bytes = file.source().bytes.size();
  // Weights that are read in place need their own file each; the others own a copy.
  const std::size_t copies = std::max<std::size_t>(1, (std::size_t{256} << 20) / bytes);
  std::vector<test::WeightFile> files;
  std::vector<std::unique_ptr<Weight>> weights;
  for (std::size_t i = 0; i < copies; ++i) {
    const bool in_place = !weights.empty() && weights[0]->owned_bytes() == 0;
    if (in_place) files.push_back(file);
    auto weight = backend.load_weight((in_place ? files.back() : file).source());
    if (!weight.ok()) std::exit(1);
    weights.push_back(std::move(weight).value());
  }
  const auto x = test::random_values(256 * n_in, 2);
  std::vector<float> out(256 * shape.n_out);
  std::size_t next = 0;
  const auto one_token = [&] {
    (void)backend.matmul(*weights[next++ % copies], x.data(), 1, out.data());
  };
  // A round is short, so that some fall between what else the machine does.
  const double fit = kRoundSeconds / best_seconds(2, one_token);
  const int calls = static_cast<int>(std::clamp(fit, 1.0, 200.0));
  const double decode = best_seconds(11,
                                     [&] {
                                       for (int i = 0; i < calls; ++i) one_token();
                                     }) /
                        calls;
  const double rate = static_cast<double>(bytes) / decode;
  std::printf("%-7s %6zu x %-5zu %9.1f us %7.1f GB/s %4.0f %%",
              kernels::weight_type_traits(type).name, shape.n_out, n_in, decode * 1e6, rate / 1e9,
              100 * rate / limits.read_bytes_per_s);
  if (shape.n_out > 4096) return static_cast<void>(std::puts(""));
  const double prefill = best_seconds(
      20, [&] { (void)backend.matmul(*weights[next++ % copies], x.data(), 256, out.data()); });
  const double flops = 2.0 * 256 * static_cast<double>(shape.n_out * n_in);
  std::printf("   %10.1f us %8.1f GFLOP/s %4.0f %%\n", prefill * 1e6, flops / prefill / 1e9,
              100 * flops / prefill / limits.fma_flops_per_s);
  std::fflush(stdout);
}

kernels::BackendOptions options_of(std::span<char*> arguments) {
  kernels::BackendOptions out;
  if (arguments.size() > 1) out.cpu_level = arguments[1];
  if (arguments.size() > 2) out.n_threads = static_cast<std::size_t>(std::atoi(arguments[2]));
  if (!out.cpu_level.ends_with(":8")) return out;
  out.cpu_level.remove_suffix(2);
  out.activation_bits = 8;
  return out;
}

void line(const char* what, double seconds) {
  std::printf("%-44s %9.2f us\n", what, seconds * 1e6);
}

void bench_rows(Backend& backend) {
  auto x = test::random_values(256 * 1536, 3);
  const auto y = test::random_values(256 * 1536, 4);
  std::vector<float> out(x.size());
  std::vector<std::int32_t> positions(256);
  for (std::size_t i = 0; i < 256; ++i) positions[i] = static_cast<std::int32_t>(i + 1000);
  std::vector<double> inverse(32, 0.01);
  std::vector<Backend::Ranked> ranked(40);
  std::vector<float> rotation(256 * 64);
  for (const std::size_t n : {std::size_t{1}, std::size_t{256}}) {
    std::printf("rows of %zu token(s)\n", n);
    line("  rms_norm 576", best_seconds(101, [&] {
           (void)backend.rms_norm(x.data(), y.data(), n, 576, 1e-5f, out.data());
         }));
    const kernels::Batch batch{.positions = positions.data(), .n_tokens = n};
    line("  make_rotation of 64", best_seconds(101, [&] {
           (void)backend.make_rotation(batch, {.inverse_frequency = inverse}, rotation.data());
         }));
    line("  rope 9 heads of 64", best_seconds(101, [&] {
           (void)backend.rope({.q = out.data(),
                               .n_tokens = n,
                               .n_heads = 9,
                               .head_dim = 64,
                               .rotation = rotation.data(),
                               .n_rotated = 64});
         }));
    // silu(1) · 1.3679 = 1: so the values stay what they are, and never become subnormal.
    std::vector<float> gate(n * 1536, 1.0f), up(n * 1536, 1.3678794f);
    line("  gated_silu 1536", best_seconds(101, [&] {
           (void)backend.glu(kernels::Activation::silu, gate.data(), up.data(), n * 1536);
         }));
    line("  add 576", best_seconds(101, [&] { (void)backend.add(x.data(), y.data(), n * 576); }));
  }
  const auto logits = test::random_values(49'152, 5);
  line("argmax of 49152", best_seconds(101, [&] { (void)backend.argmax(logits.data(), 49'152); }));
  const auto file = test::random_weight(WeightType::q4_1, 49'152, 576, 6);
  line("loading Q4_1 49152 x 576",
       best_seconds(3, [&] { (void)backend.load_weight(file.source()); }));
  line("top 40 of 49152",
       best_seconds(101, [&] { (void)backend.top_k(logits.data(), 49'152, ranked); }));
}

int run(const kernels::BackendOptions& options, std::span<char*> only) {
  auto opened = kernels::open_backend("cpu", options);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    return 1;
  }
  Backend& backend = **opened;
  const bool avx512 = backend.device().starts_with("AVX-512");
  const MachineLimits limits = measure_machine(options.n_threads, avx512);
  double load[1] = {};
  (void)getloadavg(load, 1);
  std::printf("%s, %s, %s, load %.1f\nread %.1f GB/s, fp32 multiply-add %.0f GFLOP/s\n",
              today().c_str(), processor_name().c_str(), backend.device().c_str(), load[0],
              limits.read_bytes_per_s / 1e9, limits.fma_flops_per_s / 1e9);
  std::printf("%-20s %34s   %40s\n", "matmul", "one token, share of read",
              "256 tokens, share of fp32 peak");
  const auto wanted = [&](WeightType type) {
    const std::string_view name = kernels::weight_type_traits(type).name;
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  for (const WeightType type : kTypes)
    for (const Shape shape : kShapes)
      if (wanted(type)) bench_matmul(backend, type, shape, limits);
  if (only.empty()) bench_rows(backend);
  return 0;
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  return satchel::bench::run(satchel::bench::options_of(arguments),
                             arguments.subspan(std::min<std::size_t>(3, arguments.size())));
}

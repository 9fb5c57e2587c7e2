// What a loaded model takes of the machine's memory.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

// Bytes of mapped files that lie in this process's memory now.
std::size_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    std::size_t kib = 0;
    if (key == "RssFile:" && status >> kib) return kib * 1024;
    std::getline(status, key);
  }
  return 0;
}

TEST(Weights, what_the_backend_repacked_is_not_resident_a_second_time_in_the_mapping) {
  // Once before, so that the pages of the program itself are there and do not count.
  open_model(std::move(GgufFile::open(bundled_model())).value(), "cpu");
  GgufFile file = std::move(GgufFile::open(bundled_model())).value();
  const std::size_t file_bytes = file.file_bytes();
  const std::size_t before = resident_file_bytes();
  if (before == 0) GTEST_SKIP() << "this kernel does not tell RssFile";
  ASSERT_TRUE(file.model_fingerprint().ok());  // reads every byte, and lets it go
  EXPECT_LE(resident_file_bytes(), before + file_bytes / 4);
  unsigned sum = 0;
  for (const GgufTensor& tensor : file.tensors())
    for (const std::byte byte : tensor.bytes) sum += std::to_integer<unsigned>(byte);
  ASSERT_NE(sum, 0u);
  ASSERT_GE(resident_file_bytes(), before + file_bytes / 2) << "touched, so that it counts";
  const TestModel model = open_model(std::move(file), "cpu");
  ASSERT_GE(model.model->weights().owned_bytes, file_bytes / 2) << "nothing was repacked";
  EXPECT_LE(resident_file_bytes(), before + file_bytes / 4);
}

TEST(Weights, embedding_rows_that_were_read_are_not_resident) {
  TestModel model = open_model(std::move(GgufFile::open(bundled_model())).value(), "cpu");
  const std::size_t file_bytes = model.file->file_bytes();
  const auto cache = model.cache("full", 1400);
  // The same with one token, so that the pages of the program itself are there and do not count.
  model.read(*cache, std::vector<std::int32_t>(700, 5));
  const std::size_t before = resident_file_bytes();
  if (before == 0) GTEST_SKIP() << "this kernel does not tell RssFile";
  model.read(*cache, random_ids(700, model.config().n_vocabulary, 1));  // most of its pages
  EXPECT_LE(resident_file_bytes(), before + file_bytes / 16);
}

TEST(Weights, what_was_let_go_can_be_read_again) {
  const GgufFile file = std::move(GgufFile::open(bundled_model())).value();
  const auto before = file.model_fingerprint();
  for (const GgufTensor& tensor : file.tensors()) file.let_go(tensor.bytes);
  const auto after = file.model_fingerprint();
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(*before, *after);
}

TEST(Model, memory_beside_weights_and_arena_is_counted) {
  TestModel model = tiny_model({}, "cpu");
  const std::size_t logits = 3 * 288 * sizeof(float);
  EXPECT_GE(model.model->outside_bytes(), logits);
  const auto cache = model.cache("full", 300);
  model.read(*cache, random_ids(300, 288, 1));
  EXPECT_GT(model.model->outside_bytes(), logits) << "attention works in memory of its own";
  EXPECT_EQ(model.model->outside_bytes(), logits + model.backend->scratch_bytes());
}

}  // namespace
}  // namespace satchel::runtime

// Query rows of the CPU's attention over pages: a row is the same bits whatever rows share its
// kernel, and transformed by every level as the plain loops turn it.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/contract/transform.h"
#include "kernels/cpu/dispatch/kernel_table.h"
#include "support/backends.h"
#include "support/lanes.h"
#include "support/mixed_bit.h"
#include "support/questions.h"

namespace satchel::kernels {
namespace {

using test::Answer;
using test::ask;
using test::LaneFixture;
using test::Question;

class EveryQueryRow : public test::OnEveryBackend {};

// Of tokens that stand within a page each sees another part of it, and a token behind it sees all:
// rows that are masked and rows that are not go through one kernel together.
TEST_P(EveryQueryRow, is_the_same_alone_and_beside_others_that_see_more) {
  if (GetParam().backend != "cpu") return;
  const PageShape mixed_bit{.k = test::graded_operand({6, 5, 4, 4, 4, 3, 3, 3}),
                            .v = {.form = OperandShape::Form::affine,
                                  .bits = 4,
                                  .group = 64,
                                  .symmetric = true,
                                  .transform = Transform::hadamard}};
  for (const PageShape& page : {mixed_bit, test::affine_pages(2), test::affine_pages(4)}) {
    const LaneFixture lane({.n_first = 3, .n_pages = 3, .page = page});
    for (const std::size_t n_group : {1u, 3u, 4u})
      for (const std::int32_t back : {2, 40, 127, 170}) {
        Question question{
            .n_tokens = 4, .n_group = n_group, .first_position = lane.end_position() - back};
        const Answer together = ask(backend(), question, {lane.view()});
        question.n_tokens = 1;
        const Answer alone = ask(backend(), question, {lane.view()});
        ASSERT_TRUE(std::equal(alone.out.begin(), alone.out.end(), together.out.begin()))
            << "K " << page.k.bits << ", heads " << n_group << ", " << back << " before the end";
        ASSERT_TRUE(std::equal(alone.lse.begin(), alone.lse.end(), together.lse.begin()));
      }
  }
}

TEST_P(EveryQueryRow, transformed_by_hadamard_has_the_bits_of_the_plain_loops) {
  if (GetParam().backend != "cpu") return;
  const auto& table = cpu::kernels_of(*cpu::cpu_level_of(GetParam().cpu_level)).attend;
  for (const std::size_t head_dim : {16u, 64u, 80u, 96u, 128u, 256u, 512u, 576u}) {
    std::vector<float> plain;
    for (const Half x : test::random_halves(3 * head_dim, head_dim, 1))
      plain.push_back(half_to_float(x));
    std::vector<float> transformed = plain;
    transform_rows(Transform::hadamard, plain.data(), 3, head_dim);
    table.transform_hadamard(transformed.data(), 3, head_dim);
    EXPECT_EQ(transformed, plain) << head_dim;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryQueryRow, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels

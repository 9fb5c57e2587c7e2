// How alike two lists of numbers are.
#pragma once

#include <optional>
#include <span>

namespace satchel::runtime {

// Pearson's, of as many values on both sides; nothing where either side is constant.
std::optional<double> correlation(std::span<const double> a, std::span<const double> b);

// Spearman's rank correlation, equal values in the middle of their ranks, what is no number the least;
// 0 where either is constant.
double rank_correlation(std::span<const float> a, std::span<const float> b);

}  // namespace satchel::runtime

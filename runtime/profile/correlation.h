// Correlation of two lists of numbers.
#pragma once

#include <optional>
#include <span>

namespace satchel::runtime {

// Pearson's correlation of lists of equal length; nothing if either is constant.
std::optional<double> correlation(std::span<const double> a, std::span<const double> b);

// Spearman's rank correlation. Equal values share their mean rank; NaN ranks lowest; 0 if either
// list is constant.
double rank_correlation(std::span<const float> a, std::span<const float> b);

}  // namespace satchel::runtime

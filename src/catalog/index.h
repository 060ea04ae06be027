// Which words stand in which capability, and how much that counts. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"

namespace casemate::catalog {

// The words of one capability, each with its weight: how often it stands where.
class WordWeights {
 public:
  void add(std::string_view text, double weight);
  // Names of parameters and descriptions, however deep; a bounded number of them.
  void add_schema(const schema::Schema& schema, double name_weight, double description_weight);
  const std::map<std::string, double, std::less<>>& weights() const { return weights_; }
  double length() const { return length_; }

 private:
  std::map<std::string, double, std::less<>> weights_;
  double length_ = 0;
  std::size_t words_left_ = 4000;  // of one capability: a longer text has enough words
};

// BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; k1 = 1.2, b = 0.75) over
// weighted words.
class WordIndex {
 public:
  explicit WordIndex(const std::vector<WordWeights>& documents);

  // For each document its score for the words, 0 where none matches. A word matches itself, and with less
  // weight what it begins.
  std::vector<double> scores(const std::vector<std::string>& words) const;

 private:
  struct Posting {
    std::uint32_t document = 0;
    double score = 0;  // of this word in this document, without the query
  };
  void score_word(std::string_view word, std::vector<double>& best) const;

  std::size_t documents_;
  std::vector<std::string> words_;  // sorted
  std::vector<std::vector<Posting>> postings_;
};

}  // namespace casemate::catalog

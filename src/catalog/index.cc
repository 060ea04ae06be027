#include "catalog/index.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "catalog/words.h"

namespace casemate::catalog {
namespace {

constexpr double kK1 = 1.2;
constexpr double kB = 0.75;
constexpr double kPrefixWeight = 0.5;
constexpr std::size_t kPrefixMin = 3;           // characters: fewer begin too much
constexpr std::size_t kPrefixWordsMax = 64;     // words that one of the query may begin
constexpr std::size_t kSchemaVisitsMax = 1000;  // values of one schema that are looked at
constexpr std::size_t kSchemaDepthMax = 16;

// Looks for names and descriptions in a schema's document. What is an example or a value is no name.
struct SchemaWords {
  WordWeights& words;
  double name_weight;
  double description_weight;
  std::size_t visits = kSchemaVisitsMax;

  void visit(const json::Value& value, std::size_t depth) {
    if (visits == 0 || depth > kSchemaDepthMax) return;
    --visits;
    for (const json::Value& item : value.items()) visit(item, depth + 1);
    for (const json::Member& member : value.members()) {
      const auto text = member.value.as_string();
      if (member.key == "enum" || member.key == "const" || member.key == "default" ||
          member.key == "examples")
        continue;
      if (text && (member.key == "description" || member.key == "title"))
        words.add(*text, description_weight);
      if (member.key == "properties") {
        for (const json::Member& property : member.value.members()) {
          words.add(property.key, name_weight);
          visit(property.value, depth + 1);
        }
      } else {
        visit(member.value, depth + 1);
      }
    }
  }
};

}  // namespace

void WordWeights::add(std::string_view text, double weight) {
  for (std::string& word : words_of(text, words_left_)) {
    --words_left_;
    weights_[std::move(word)] += weight;
    length_ += weight;
  }
}

void WordWeights::add_schema(const schema::Schema& schema, double name_weight, double description_weight) {
  SchemaWords{*this, name_weight, description_weight}.visit(schema.document(), 0);
}

WordIndex::WordIndex(const std::vector<WordWeights>& documents) : documents_(documents.size()) {
  double length_sum = 0;
  std::map<std::string_view, std::vector<Posting>> words;
  for (std::uint32_t i = 0; i < documents.size(); ++i) {
    length_sum += documents[i].length();
    for (const auto& [word, weight] : documents[i].weights()) words[word].push_back({i, weight});
  }
  const auto count = static_cast<double>(documents_);
  const double length_mean = count > 0 && length_sum > 0 ? length_sum / count : 1;
  for (auto& [word, postings] : words) {
    const auto with = static_cast<double>(postings.size());
    const double rarity = std::log(1 + (count - with + 0.5) / (with + 0.5));
    for (Posting& posting : postings) {
      const double norm = 1 - kB + kB * documents[posting.document].length() / length_mean;
      posting.score = rarity * posting.score * (kK1 + 1) / (posting.score + kK1 * norm);
    }
    words_.emplace_back(word);
    postings_.push_back(std::move(postings));
  }
}

std::vector<double> WordIndex::scores(const std::vector<std::string>& words) const {
  std::vector<double> sum(documents_, 0);
  std::vector<double> best(documents_, 0);
  for (const std::string& word : words) {
    std::fill(best.begin(), best.end(), 0);
    score_word(word, best);
    for (std::size_t i = 0; i < documents_; ++i) sum[i] += best[i];
  }
  return sum;
}

// The best match of one word in each document.
void WordIndex::score_word(std::string_view word, std::vector<double>& best) const {
  std::size_t looked_at = 0;
  for (auto found = std::lower_bound(words_.begin(), words_.end(), word);
       found != words_.end() && found->starts_with(word) && looked_at < kPrefixWordsMax;
       ++found, ++looked_at) {
    const bool exact = found->size() == word.size();
    if (!exact && word.size() < kPrefixMin) break;
    const double weight = exact ? 1 : kPrefixWeight;
    for (const Posting& posting : postings_[static_cast<std::size_t>(found - words_.begin())]) {
      best[posting.document] = std::max(best[posting.document], weight * posting.score);
    }
  }
}

}  // namespace casemate::catalog

#include "approve/text.h"

#include <string_view>

#include "base/split.h"
#include "json/reader.h"
#include "json/utf8.h"
#include "json/writer.h"

namespace casemate::approve {
namespace {

constexpr std::size_t kLineMax = 512;
constexpr std::size_t kLabelsShownMax = 32;
constexpr std::size_t kValuesMax = 100'000;

// One member a line, where it can be read: it was, when the call was judged.
std::string pretty(const std::string& arguments) {
  const json::ReadLimits limits{arguments.size(), json::kReaderDepthMax, kValuesMax};
  const auto value = json::read(arguments, limits);
  if (!value) return json::one_line(arguments, arguments.size() * 4 + 4);
  json::Writer writer(json::Writer::Style::kPretty);
  writer.value(*value);
  return json::escape_control(std::move(writer).take());
}

std::string labels_of(const Question& question) {
  std::string text;
  std::size_t shown = 0;
  for (const auto& [label, source] : question.labels) {
    if (++shown > kLabelsShownMax) break;
    text += (text.empty() ? "" : ", ") + json::one_line(label, kLineMax);
    text += " (from " + json::one_line(source, kLineMax) + ")";
  }
  if (question.labels.size() > kLabelsShownMax)
    text += ", and " + std::to_string(question.labels.size() - kLabelsShownMax) + " more";
  return text.empty() ? "none" : text;
}

}  // namespace

std::string question_text(const Question& question, std::size_t arguments_max) {
  std::string text = json::one_line(question.capability, kLineMax) + "\n";
  text += "  rule      " + (question.rule.empty() ? "the default" : json::one_line(question.rule, kLineMax)) +
          "\n";
  if (!question.reason.empty()) text += "  reason    " + json::one_line(question.reason, kLineMax) + "\n";
  text += "  labels    " + labels_of(question) + "\n  arguments\n";
  const std::string all = pretty(question.arguments);
  const std::string_view shown = json::cut_text(all, arguments_max);
  for (const std::string& line : split(std::string(shown), '\n')) text += "    " + line + "\n";
  if (shown.size() < all.size())
    text += "    … cut: they have " + std::to_string(question.arguments.size()) + " bytes\n";
  return text;
}

}  // namespace casemate::approve

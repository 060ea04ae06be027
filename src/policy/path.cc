#include "policy/path.h"

#include <algorithm>

#include "base/limits.h"

namespace casemate::policy {

Result<Path> Path::parse(Tokens& tokens) {
  Path path;
  bool member = true;  // the next step is a member's name
  while (true) {
    const Token token = tokens.take();
    if (path.steps_.size() == kArgumentPathMax) {
      return tokens.fail_at(token, "a path has at most " + std::to_string(kArgumentPathMax) + " steps");
    }
    if (member) {
      const bool quoted = token.kind == Token::Kind::kString;
      if (!quoted && token.kind != Token::Kind::kName) {
        return tokens.fail_at(token, "the name of an argument is due here");
      }
      path.steps_.push_back({quoted ? token.text : std::string(token.raw), false});
    } else {
      if (!token.is("*")) return tokens.fail_at(token, "`*` is due here");
      TRY(tokens.expect("]"));
      path.steps_.push_back({{}, true});
    }
    path.text_ += member ? std::string(token.raw) : "[*]";
    if (tokens.take_if(".")) {
      member = true;
      path.text_ += ".";
    } else if (tokens.take_if("[")) {
      member = false;
    } else {
      return path;
    }
  }
}

bool Path::many() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.each; });
}

std::vector<Reached> Path::reach(const json::Value& arguments) const {
  std::vector<Reached> out;
  walk(arguments, nullptr, 0, out);
  return out;
}

// Recurses as deep as the path is long.
void Path::walk(const json::Value& value, const json::Value* holder, std::size_t step,
                std::vector<Reached>& out) const {
  if (step == steps_.size()) {
    out.push_back({Reached::End::kThere, &value, holder, {}});
    return;
  }
  const json::Value::Kind wanted = steps_[step].each ? json::Value::Kind::kArray : json::Value::Kind::kObject;
  if (value.kind() != wanted) {
    out.push_back({Reached::End::kOther, nullptr, nullptr,
                   "`" + text_ + "` leads through " + json::kind_name(value.kind()) + " where " +
                       json::kind_name(wanted) + " should be"});
    return;
  }
  if (!steps_[step].each) {
    const json::Value* member = value.find(steps_[step].member);
    if (member == nullptr) {
      out.push_back({Reached::End::kMissing, nullptr, nullptr, "`" + text_ + "` is missing"});
    } else {
      walk(*member, &value, step + 1, out);
    }
    return;
  }
  if (value.items().empty()) {
    out.push_back({Reached::End::kEmpty, nullptr, nullptr, "`" + text_ + "` leads through an empty list"});
  }
  for (const json::Value& item : value.items()) walk(item, nullptr, step + 1, out);
}

}  // namespace casemate::policy

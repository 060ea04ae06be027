#include "options.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>

#include "json/utf8.h"

namespace casemate {
namespace {

constexpr std::size_t kHelpColumn = 28;
constexpr int kExitUsage = 2;

bool is_long(std::string_view text) { return text.starts_with("--"); }

// How many single edits apart two names are, for a typing error's sake.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

Error unknown(const Command& command, std::string_view name) {
  std::string message = "there is no option '" + std::string(name) + "'";
  const Option* near = nullptr;
  std::size_t best = name.size() / 3 + 1;
  for (const Option& option : command.options) {
    if (const std::size_t edits = distance(name, option.name); edits < best) {
      best = edits;
      near = &option;
    }
  }
  if (near != nullptr) message += "; is it " + std::string(near->name) + "?";
  return Error{ErrorCode::kInvalid, message, 0};
}

// The option that `word` begins with, and where its value starts if that is in the same word.
struct Match {
  const Option* option = nullptr;
  std::optional<std::string> value;
};

Result<Match> match(const Command& command, std::string_view word) {
  const std::string_view name = is_long(word) ? word.substr(0, word.find('=')) : word.substr(0, 2);
  const auto found = std::find_if(command.options.begin(), command.options.end(),
                                  [&](const Option& option) { return name == option.name; });
  if (found == command.options.end()) return tl::unexpected(unknown(command, name));
  Match result{&*found, {}};
  if (word.size() > name.size())
    result.value = std::string(word.substr(name.size() + (is_long(word) ? 1 : 0)));
  if (result.value && found->value == nullptr)
    return fail(ErrorCode::kInvalid, std::string(found->name) + " takes no value");
  return result;
}

void store(const Option& option, std::string value) {
  if (auto* const* flag = std::get_if<bool*>(&option.to)) **flag = true;
  if (auto* const* text = std::get_if<std::string*>(&option.to))
    **text = std::move(value);
  else if (auto* const* maybe = std::get_if<std::optional<std::string>*>(&option.to))
    **maybe = std::move(value);
  else if (auto* const* list = std::get_if<std::vector<std::string>*>(&option.to))
    (*list)->push_back(std::move(value));
}

bool may_repeat(const Option& option) {
  return std::holds_alternative<bool*>(option.to) ||
         std::holds_alternative<std::vector<std::string>*>(option.to);
}

void add_row(std::string& text, std::string left, const char* what) {
  left.insert(0, "  ");
  left.resize(std::max(left.size() + 1, kHelpColumn), ' ');
  text += left + what + "\n";
}

}  // namespace

Result<bool> parse_command(const Command& command, int argc, const char* const* argv) {
  std::set<const Option*> given;
  std::size_t arguments = 0;
  for (int at = 1; at < argc; ++at) {
    const std::string_view word = argv[at];
    if (word == "--help" || word == "-h") return true;
    if (word == "--") {
      if (command.rest == nullptr) return fail(ErrorCode::kInvalid, "nothing may follow `--` here");
      command.rest->assign(argv + at + 1, argv + argc);
      break;
    }
    if (word.size() < 2 || word.front() != '-') {
      if (arguments == command.arguments.size())
        return fail(ErrorCode::kInvalid, "'" + std::string(word) + "' is one argument too many" +
                                             (command.rest ? "; the program's own come after `--`" : ""));
      *command.arguments[arguments++].to = word;
      continue;
    }
    Match matched = TRY(match(command, word));
    const Option& option = *matched.option;
    if (!given.insert(&option).second && !may_repeat(option))
      return fail(ErrorCode::kInvalid, std::string(option.name) + " is given twice");
    if (option.value != nullptr && !matched.value) {
      if (++at == argc)
        return fail(ErrorCode::kInvalid, std::string(option.name) + " needs a value: " + option.value);
      matched.value = argv[at];
    }
    store(option, std::move(matched.value).value_or(""));
  }
  for (; arguments < command.arguments.size(); ++arguments) {
    const Argument& missing = command.arguments[arguments];
    if (missing.required) return fail(ErrorCode::kInvalid, std::string(missing.name) + " is missing");
  }
  return false;
}

std::string help_text(const Command& command) {
  std::string text = std::string(command.summary) + "\n\nUsage: " + command.name + " [OPTIONS]";
  for (const Argument& argument : command.arguments) {
    text += argument.required ? std::string(" ") + argument.name : std::string(" [") + argument.name + "]";
  }
  if (command.rest != nullptr) text += " [-- ARGUMENTS]";
  text += "\n\n";
  for (const Argument& argument : command.arguments) add_row(text, argument.name, argument.what);
  for (const Option& option : command.options) {
    add_row(text, std::string(option.name) + (option.value != nullptr ? std::string(" ") + option.value : ""),
            option.what);
  }
  add_row(text, "--help", "this text");
  return text + "\n" + command.footer + "\n";
}

std::optional<int> read_command(const Command& command, int argc, const char* const* argv) {
  const auto parsed = parse_command(command, argc, argv);
  if (!parsed) {
    std::fprintf(stderr, "%s: %s; see `%s --help`\n", command.name,
                 json::escape_control(parsed.error().message).c_str(), command.name);
    return kExitUsage;
  }
  if (*parsed) {
    std::fputs(help_text(command).c_str(), stdout);
    return 0;
  }
  return std::nullopt;
}

}  // namespace casemate

#include <algorithm>
#include <array>

#include "json/utf8.h"
#include "schema/canonical.h"
#include "schema/compiler.h"
#include "schema/explain.h"

namespace casemate::schema {
namespace {

using json::Value;

constexpr std::size_t kShownMax = 80;
constexpr std::string_view k2020Uri = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view k07Uri = "http://json-schema.org/draft-07/schema";

std::string_view without_empty_fragment(std::string_view uri) {
  if (uri.ends_with('#')) uri.remove_suffix(1);
  return uri;
}

// RFC 3986, 2.1. nullopt when a "%" is followed by anything but two hex digits.
std::optional<std::string> percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

// What a part of it may look like, by core 8.2.2.
bool is_anchor(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

}  // namespace

std::string line_of(const Fault& fault) {
  if (fault.place.empty()) return fault.message;
  return json::one_line(fault.place, 2 * kPointerMax) + ": " + fault.message;
}

Error error_of(std::span<const Fault> faults) {
  std::string message = line_of(faults.front());
  if (faults.size() > 1) message += " (and " + std::to_string(faults.size() - 1) + " more)";
  return {ErrorCode::kInvalid, std::move(message), 0};
}

Schema::Compiled Schema::compile(const Value& document) {
  Result<Value> copied = copy(document, kSchemaValuesMax);
  if (!copied)
    return tl::unexpected(std::vector<Fault>{{"", "", "the schema has " + copied.error().message}});
  auto program = std::make_shared<Program>();
  program->document = std::move(*copied);
  std::vector<Fault> faults = Compiler(*program).run();
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return Schema(std::move(program));
}

const Value& Schema::document() const { return program_->document; }

std::vector<Fault> Compiler::run() {
  schema(program_.document);
  if (faults_.empty()) resolve_refs();
  if (faults_.empty()) check_chains();
  return std::move(faults_);
}

void Compiler::fault(std::string_view keyword, const std::string& message) {
  if (is_full()) return;
  faults_.push_back({place_.pointer(), std::string(json::cut_text(keyword, kShownMax)),
                     json::one_line(message, kFaultMessageMax)});
}

NodeId Compiler::schema(const Value& value) {
  const auto id = static_cast<NodeId>(program_.nodes.size());
  Node& node = program_.nodes.emplace_back();
  node.source = &value;
  nodes_.emplace(&value, id);
  if (const auto truth = value.as_boolean()) {
    node.boolean = *truth;
    return id;
  }
  if (value.kind() != Value::Kind::kObject) {
    fault(keyword_,
          std::string("a schema is an object, true or false; this is ") + json::kind_name(value.kind()));
    return id;
  }
  // Which keywords there are depends on it, wherever it stands.
  if (const Value* named = value.find("$schema")) keyword(node, "$schema", *named);
  for (const json::Member& member : value.members()) {
    if (is_full()) break;
    if (member.key != "$schema") keyword(node, member.key, member.value);
  }
  return id;
}

void Compiler::keyword(Node& node, std::string_view name, const Value& value) {
  const Keyword* known = find_keyword(name);
  const std::string_view outer = keyword_;
  keyword_ = name;
  const Place::Step step(place_, name);
  if (known == nullptr) {
    unknown(name);
  } else if (dialect_ == Dialect::k07 && !known->in_07) {
    fault(name, quoted(name) + " is no keyword of draft-07, which \"$schema\" names");
  } else {
    (this->*known->handler)(node, value);
  }
  keyword_ = outer;
}

void Compiler::dialect(Node&, const Value& value) {
  if (!expect(value, Value::Kind::kString)) return;
  const std::string_view uri = without_empty_fragment(*value.as_string());
  const bool is_root = place_.depth() == 1;
  if (uri == k2020Uri && (is_root || dialect_ == Dialect::k2020)) return;
  if (uri == k07Uri && (is_root || dialect_ == Dialect::k07)) {
    dialect_ = Dialect::k07;
    return;
  }
  fault("$schema", "only draft 2020-12 (" + std::string(k2020Uri) +
                       ") and the part of draft-07 that it shares are known" +
                       (is_root ? "" : ", one of them for the whole document") + "; this is " + quoted(uri));
}

void Compiler::id(Node& node, const Value& value) {
  if (!expect(value, Value::Kind::kString)) return;
  if (node.source != &program_.document) {
    fault("$id", "only the root may have an \"$id\": a part that is a document of its own is not supported");
    return;
  }
  base_ = without_empty_fragment(*value.as_string());
  if (base_.find('#') != std::string_view::npos)
    fault("$id", "an \"$id\" has no fragment; \"$anchor\" names a place");
}

void Compiler::anchor(Node& node, const Value& value) {
  if (!expect(value, Value::Kind::kString)) return;
  const std::string_view name = *value.as_string();
  if (!is_anchor(name)) {
    fault("$anchor",
          "an anchor is letters, digits, \"_\", \"-\" and \".\", and begins with a letter or \"_\"");
  } else if (!anchors_.emplace(name, nodes_.at(node.source)).second) {
    fault("$anchor", "the anchor " + quoted(name) + " comes twice");
  }
}

void Compiler::ref(Node& node, const Value& value) {
  if (!expect(value, Value::Kind::kString)) return;
  if (dialect_ == Dialect::k07) {
    // There, whatever stands beside a reference is ignored; here it would be checked.
    constexpr std::array<std::string_view, 9> kHarmless = {
        "$ref", "$schema", "$id", "$comment", "title", "description", "default", "definitions", "$defs"};
    for (const json::Member& member : node.source->members()) {
      if (std::find(kHarmless.begin(), kHarmless.end(), member.key) == kHarmless.end()) {
        fault("$ref", "draft-07 ignores " + quoted(member.key) + " beside \"$ref\": put both into \"allOf\"");
        return;
      }
    }
  }
  refs_.push_back({nodes_.at(node.source), *value.as_string(), place_.pointer()});
}

void Compiler::resolve_refs() {
  for (const PendingRef& ref : refs_) {
    if (is_full()) return;
    const std::optional<NodeId> target = target_of(ref.reference);
    if (target) {
      Node& from = program_.nodes[ref.from];
      if (!from.logic) from.logic = std::make_unique<Logic>();
      from.logic->ref = *target;
      continue;
    }
    const bool local = ref.reference.starts_with('#');
    faults_.push_back(
        {ref.place, "$ref",
         quoted(ref.reference) +
             (local ? " leads to no schema in this document"
                    : " leads out of this document: only \"#\", \"#/…\" and \"#anchor\" are followed")});
  }
}

std::optional<NodeId> Compiler::target_of(std::string_view reference) {
  if (!base_.empty() && reference.starts_with(base_)) {
    const std::string_view rest = reference.substr(base_.size());
    if (rest.empty()) return 0;
    if (rest.starts_with('#')) reference = rest;
  }
  if (!reference.starts_with('#')) return std::nullopt;
  const std::optional<std::string> fragment = percent_decoded(reference.substr(1));
  if (!fragment) return std::nullopt;
  if (!fragment->empty() && !fragment->starts_with('/')) {
    const auto anchored = anchors_.find(*fragment);
    return anchored == anchors_.end() ? std::nullopt : std::optional(anchored->second);
  }
  const Value* value = follower_.follow(*fragment);
  const auto found = value == nullptr ? nodes_.end() : nodes_.find(value);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<NodeId> in_place(const Node& node) {
  std::vector<NodeId> found;
  const auto add = [&](const std::optional<NodeId>& id) {
    if (id) found.push_back(*id);
  };
  if (const Logic* logic = node.logic.get()) {
    for (const auto* list : {&logic->all_of, &logic->any_of, &logic->one_of}) {
      found.insert(found.end(), list->begin(), list->end());
    }
    for (const auto* one : {&logic->ref, &logic->negated, &logic->condition, &logic->then, &logic->otherwise})
      add(*one);
  }
  if (node.object) {
    for (const auto& [key, id] : node.object->dependent_schemas) found.push_back(id);
  }
  return found;
}

// The longest way from each node along in_place(), found from its ends up. Does not recurse.
void Compiler::check_chains() {
  enum class State : unsigned char { kNew, kOpen, kDone };
  struct Open {
    NodeId id = 0;
    std::vector<NodeId> next;
    std::size_t at = 0;
  };
  const std::size_t count = program_.nodes.size();
  std::vector<State> states(count, State::kNew);
  std::vector<std::size_t> lengths(count, 1);
  std::vector<Open> open;
  const auto begin = [&](NodeId id) {
    states[id] = State::kOpen;
    open.push_back({id, in_place(program_.nodes[id])});
  };
  for (NodeId root = 0; root < count; ++root) {
    if (states[root] == State::kNew) begin(root);
    while (!open.empty()) {
      Open& top = open.back();
      if (top.at < top.next.size()) {
        const NodeId next = top.next[top.at];
        if (states[next] == State::kOpen) {
          fault(
              "$ref",
              "a schema refers to itself in a circle, for one and the same value: no check of it would end");
          return;
        }
        if (states[next] == State::kNew) {
          begin(next);  // `top` is gone
          continue;
        }
        lengths[top.id] = std::max(lengths[top.id], lengths[next] + 1);
        ++top.at;
        continue;
      }
      if (lengths[top.id] > kSchemaChainMax) {
        fault("$ref",
              "more than " + std::to_string(kSchemaChainMax) + " schemas lead to each other for one value");
        return;
      }
      states[top.id] = State::kDone;
      open.pop_back();
    }
  }
}

}  // namespace casemate::schema

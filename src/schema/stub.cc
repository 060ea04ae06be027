#include "schema/stub.h"

#include <algorithm>
#include <utility>

#include "json/utf8.h"
#include "schema/explain.h"
#include "schema/python_name.h"
#include "schema/stub_types.h"

namespace casemate::schema {
namespace {

using json::Value;

constexpr std::size_t kLineMax = 100;
constexpr std::size_t kRemarkMax = 300;
constexpr std::size_t kDefaultMax = 40;  // bytes; a longer one is "..."
constexpr std::size_t kVisitsMax = 2000;

// A parameter as it is printed.
struct Printed {
  Parameter parameter;
  std::optional<NodeId> id;
  std::string type;
  std::string text;  // "limit: int = 100"
};

std::string_view function_of(std::string_view path) {
  return path.substr(path.rfind('.') == std::string_view::npos ? 0 : path.rfind('.') + 1);
}

// The fields of a shape with their spellings, required ones first.
std::vector<Printed> spelled(const Shape& shape) {
  std::vector<std::string_view> names;
  for (const Field& field : shape.fields) names.push_back(field.name);
  std::vector<std::string> python = python_names(names);
  std::vector<Printed> printed;
  for (std::size_t i = 0; i < names.size(); ++i) {
    printed.push_back({{std::string(names[i]), std::move(python[i]), shape.fields[i].required},
                       shape.fields[i].id,
                       {},
                       {}});
  }
  std::stable_partition(printed.begin(), printed.end(),
                        [](const Printed& one) { return one.parameter.required; });
  return printed;
}

// A default as Python writes it, where type checkers take it for one of `type`; else "...".
std::string default_of(const Schema& schema, NodeId id, const std::string& type) {
  const Node& node = schema.program().nodes[id];
  const Value* value = node.boolean ? nullptr : node.source->find("default");
  const auto is_one_of = [&](std::string_view name) {
    return type == name || type.starts_with(std::string(name) + " | ");
  };
  if (value == nullptr) return "...";
  if (value->kind() == Value::Kind::kNull) return type.ends_with("None") ? "None" : "...";
  if (const auto truth = value->as_boolean()) return !is_one_of("bool") ? "..." : *truth ? "True" : "False";
  const auto text = value->as_string();
  if (text && text->size() <= kDefaultMax && is_one_of("str")) return python_string(*text);
  if (text && text->size() <= kDefaultMax && type.starts_with("Literal[")) {
    // Only one of its own values: what else stands there is a mistake of the author's.
    const Value* values = node.source->find("enum");
    if (values == nullptr) return "...";
    for (const Value& one : values->items()) {
      if (one.as_string() && *one.as_string() == *text) return python_string(*text);
    }
  }
  const auto number = value->as_number_text();
  if (!number || number->size() > kDefaultMax) return "...";
  if (is_one_of("int") && value->as_int64()) return std::string(*number);
  if (is_one_of("float") && value->as_double()) return std::string(*number);
  return "...";
}

// What a stub is made of, written once in full and once in brief.
class Writer {
 public:
  Writer(const StubSource& source, Detail detail)
      : source_(source),
        module_(function_of(source.path)),
        detail_(detail),
        like_(class_name(function_of(source.path))) {
    if (source.parameters != nullptr) {
      write_parameters(*source.parameters);
    } else {
      more_ = "**arguments: " + module_.spell("Any");
    }
    if (source.result == nullptr) {
      result_ = module_.spell("Any");
    } else {
      result_ = TypeWriter(source.result->program(), module_, detail).type(0, like_ + "Result");
    }
  }

  std::string stub() const;
  std::string signature() const;

 private:
  void write_parameters(const Schema& schema);
  std::string head() const;
  std::string documentation() const;

  const StubSource& source_;
  StubModule module_;
  Detail detail_;
  std::string like_;
  std::vector<Printed> parameters_;
  std::string more_;  // "**more: Any", or empty
  std::string result_;
};

void Writer::write_parameters(const Schema& schema) {
  TypeWriter types(schema.program(), module_, detail_);
  const Shape shape = types.shape(0);
  parameters_ = spelled(shape);
  const bool cut = parameters_.size() > kStubParametersMax;
  if (cut) parameters_.resize(kStubParametersMax);
  for (Printed& one : parameters_) {
    one.type =
        one.id ? types.type(*one.id, class_name(like_ + "_" + one.parameter.name)) : module_.spell("Any");
    one.text = one.parameter.python + ": " + one.type;
    if (!one.parameter.required) one.text += " = " + (one.id ? default_of(schema, *one.id, one.type) : "...");
  }
  // An object that says nothing of its members takes all.
  const Node& root = schema.program().nodes.front();
  const bool closed = root.object && root.object->additional && !shape.open && !shape.additional;
  if (!cut && !shape.open && !shape.additional && (!parameters_.empty() || closed)) return;
  std::string name = "more";
  while (std::any_of(parameters_.begin(), parameters_.end(),
                     [&](const Printed& one) { return one.parameter.python == name; })) {
    name += '_';
  }
  more_ = "**" + name + ": " +
          (shape.additional && !cut ? types.type(*shape.additional, like_ + "More") : module_.spell("Any"));
}

std::string Writer::head() const {
  const std::string name(function_of(source_.path));
  std::vector<std::string> parts;
  if (!parameters_.empty()) parts.emplace_back("*");
  for (const Printed& one : parameters_) parts.push_back(one.text);
  if (!more_.empty()) parts.push_back(more_);
  const std::string line = "def " + name + "(" + listed(parts, ", ", parts.size()) + ") -> " + result_ + ":";
  if (line.size() <= kLineMax) return line + "\n";
  std::string text = "def " + name + "(\n";
  for (const std::string& part : parts) text += "    " + part + ",\n";
  return text + ") -> " + result_ + ":\n";
}

std::string Writer::documentation() const {
  const std::string_view kept = json::cut_text(source_.description, kStubTextMax);
  std::string text = source_.description.empty() ? "Not described." : std::string(kept);
  if (kept.size() < source_.description.size()) text += "…";
  text += "\n\nCapability: " + json::one_line(source_.name, kRemarkMax);
  for (const std::string& note : source_.notes) text += "\n" + json::one_line(note, kRemarkMax);
  for (const Printed& one : parameters_) {
    std::string remark = one.id ? remarks(source_.parameters->program(), *one.id, kRemarkMax) : "";
    if (one.parameter.python != one.parameter.name) {
      remark = "sent as " + quoted(one.parameter.name) + (remark.empty() ? "" : "; ") + remark;
    }
    if (!remark.empty()) text += "\n" + one.parameter.python + ": " + remark;
  }
  return "    " + python_docstring(text, 4) + "\n";
}

std::string Writer::stub() const {
  std::string text = module_.imports();
  for (const std::string& definition : module_.definitions()) text += (text.empty() ? "" : "\n") + definition;
  if (!text.empty()) text += "\n";
  return text + head() + documentation() + "    ...\n";
}

std::string Writer::signature() const {
  const std::string begin = "tools." + std::string(source_.path) + "(";
  const std::string end = ") -> " + result_;
  std::vector<std::string> parts;
  if (!parameters_.empty()) parts.emplace_back("*");
  for (const Printed& one : parameters_) parts.push_back(one.text);
  if (!more_.empty()) parts.push_back(more_);
  std::string line = begin + listed(parts, ", ", parts.size()) + end;
  while (line.size() > kSignatureMax && parts.size() > 1) {
    parts.pop_back();
    line = begin + listed(parts, ", ", parts.size()) + ", …" + end;
  }
  return json::one_line(line, kSignatureMax);
}

}  // namespace

std::string python_stub(const StubSource& source) { return Writer(source, Detail::kFull).stub(); }

std::string python_signature(const StubSource& source) { return Writer(source, Detail::kBrief).signature(); }

std::vector<Parameter> parameters_of(const Schema& parameters) {
  std::size_t visits = kVisitsMax;
  std::vector<Parameter> found;
  for (Printed& one : spelled(shape_of(parameters.program(), 0, visits)))
    found.push_back(std::move(one.parameter));
  return found;
}

}  // namespace casemate::schema

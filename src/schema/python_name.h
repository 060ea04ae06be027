// Names and texts that others chose, made into Python that nobody can break out of.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace casemate::schema {

// Of a name that was made. It leaves room in a file name of 255 bytes.
inline constexpr std::size_t kPythonNameMax = 100;

// ASCII letters, digits and "_", no digit first, no keyword of Python 3.9 to 3.13, at most kPythonNameMax
// bytes. Names beyond ASCII are none: Python folds some of them into each other.
bool is_python_name(std::string_view name);

// One Python name for each of `names`, which must differ: the name itself where it is one, else one that is
// like it ("from_", "content_type", "_2nd"), with a number where that is taken. No two are the same, so that
// the way back is unambiguous. In the order of `names`, which decides who gets a number. Takes time n log n.
std::vector<std::string> python_names(std::span<const std::string_view> names);

// A string literal in double quotes, on one line, that Python reads back as `text`. `text` must be valid
// UTF-8. Control characters, and those that hide or turn text around, are escaped.
std::string python_string(std::string_view text);

// A string in three double quotes that stays one string, whatever `text` is. Lines after the first begin with
// `indent` spaces, and then the closing quotes stand on a line of their own. `text` must be valid UTF-8;
// white space at its ends and at the ends of its lines is dropped.
std::string python_docstring(std::string_view text, std::size_t indent);

// A comment's text for the end of a line: one line, and none that type checkers take for theirs ("type: …").
std::string python_comment(std::string_view text, std::size_t bytes_max);

}  // namespace casemate::schema

#include "schema/stub.h"

#include <filesystem>

#include "schema/python_name.h"
#include "schema/test_support.h"

namespace casemate::schema {
namespace {

struct Described {
  std::string name = "ledger.read";
  std::string path = "ledger.read";
  std::string description = "Reads a ledger.";
  std::string parameters = "{}";
  std::string result = {};
  std::vector<std::string> notes = {};
};

template <typename Write>
std::string written(const Described& one, Write write) {
  const Schema parameters = schema_of(one.parameters);
  const Schema result = schema_of(one.result.empty() ? "true" : one.result);
  return write(StubSource{one.name, one.path, one.description, one.notes, &parameters,
                          one.result.empty() ? nullptr : &result});
}
std::string stub(const Described& one) { return written(one, python_stub); }
std::string signature(const Described& one) { return written(one, python_signature); }

constexpr const char* kRead = R"({"type":"object","properties":{
  "limit":{"type":"integer","default":100,"minimum":1,"maximum":1000},
  "tenant":{"type":"string","description":"whose ledger"},
  "since":{"type":["string","null"],"format":"date","default":null},
  "kind":{"enum":["open","closed"],"default":"open"},
  "min_amount":{"type":["string","number"],"format":"decimal"},
  "filter":{"type":"object","properties":{"currency":{"type":"string"},"tags":{"type":"array","items":{"type":"string"}}},
            "required":["currency"],"additionalProperties":false}},
  "required":["tenant"],"additionalProperties":false})";
constexpr const char* kRows =
    R"({"type":"array","items":{"$ref":"#/$defs/row"},"$defs":{"row":{"type":"object","properties":{
  "id":{"type":"integer"},"amount":{"type":"string","format":"decimal"},"parts":{"type":"array","items":{"$ref":"#/$defs/row"}}},
  "required":["id","amount"]}}})";

TEST(Stub, IsAFunctionWithItsTypes) {
  EXPECT_EQ(stub({.parameters = kRead, .result = kRows, .notes = {"Tier 2: asks nobody."}}),
            R"PY(from decimal import Decimal
from typing import Literal, NotRequired, TypedDict

class ReadFilter(TypedDict):
    currency: str
    tags: NotRequired[list[str]]

class ReadResultItem(TypedDict):
    id: int
    amount: Decimal
    parts: NotRequired[list[ReadResultItem]]

def read(
    *,
    tenant: str,
    limit: int = 100,
    since: str | None = None,
    kind: Literal["open", "closed"] = "open",
    min_amount: Decimal = ...,
    filter: ReadFilter = ...,
) -> list[ReadResultItem]:
    """Reads a ledger.

    Capability: ledger.read
    Tier 2: asks nobody.
    tenant: whose ledger
    limit: at least 1, at most 1000, default 100
    since: format date, default null
    kind: default "open"
    """
    ...
)PY");
}

TEST(Stub, OfASmallCapabilityIsSmall) {
  EXPECT_EQ(stub({.name = "clock.now",
                  .path = "clock.now",
                  .description = "",
                  .parameters = R"({"type":"object","additionalProperties":false})",
                  .result = R"({"type":"string"})"}),
            R"PY(def now() -> str:
    """Not described.

    Capability: clock.now
    """
    ...
)PY");
  EXPECT_EQ(stub({.name = "a.b", .path = "a.b", .description = "d", .parameters = "true"}),
            R"PY(from typing import Any

def b(**more: Any) -> Any:
    """d

    Capability: a.b
    """
    ...
)PY");
}

TEST(Stub, NamesThatPythonDoesNotHave) {
  const std::string text = stub({.name = "git-hub.create from",
                                 .path = "git_hub.create_from",
                                 .parameters = R"({"type":"object","properties":{
      "from":{"type":"string"},"content-type":{"type":"string","description":"of the body"},"content_type":{"type":"integer"},
      "options":{"type":"object","properties":{"class":{"type":"string"},"x-y":{"type":"integer"}}}},"required":["from"]})"});
  EXPECT_NE(text.find("    from_: str,\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    content_type_2: str = ...,\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    content_type: int = ...,\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    from_: sent as \"from\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    content_type_2: sent as \"content-type\"; of the body\n"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find("CreateFromOptions = TypedDict(\"CreateFromOptions\", {\n    \"class\": NotRequired[str],\n"
                "    \"x-y\": NotRequired[int],\n})\n"),
      std::string::npos)
      << text;
  const std::vector<Parameter> parameters =
      parameters_of(schema_of(R"({"properties":{"b":true,"from":true},"required":["from"]})"));
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(parameters[0].name, "from");
  EXPECT_EQ(parameters[0].python, "from_");
  EXPECT_TRUE(parameters[0].required);
  EXPECT_EQ(parameters[1].python, "b");
}

TEST(Stub, AFunctionThatIsCalledLikeAType) {
  const std::string text = stub(
      {.name = "files.list",
       .path = "files.list",
       .parameters = R"({"properties":{"list":{"type":"array","items":{"type":"string"}}}})",
       .result = R"({"type":"array","items":{"type":"object","properties":{"str":{"type":"string"}}}})"});
  EXPECT_NE(text.find("import builtins\n"), std::string::npos) << text;
  EXPECT_NE(text.find("def list(*, list: builtins.list[str] = ...) -> builtins.list[ListResultItem]:"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("ListResultItem = TypedDict("), std::string::npos) << text;
}

TEST(Stub, DefaultsThatDoNotFitTheirTypeAreLeftOut) {
  const std::string text =
      stub({.parameters =
                R"({"properties":{"a":{"type":"integer","default":"x"},"b":{"type":"integer","default":1.5},
      "c":{"enum":["x"],"default":"y"},"d":{"type":"boolean","default":true},"e":{"type":"number","default":1e400},"f":{"type":"string","default":null},
      "g":{"type":"array","default":[]},"h":{"type":"number","default":0.5},"i":{"type":"string","default":"\"\n"}}})"});
  for (const std::string_view line :
       {"a: int = ...", "b: int = ...", "c: Literal[\"x\"] = ...", "d: bool = True", "e: float = ...",
        "f: str = ...", "g: list[Any] = ...", "h: float = 0.5", "i: str = \"\\\"\\n\""}) {
    EXPECT_NE(text.find("    " + std::string(line) + ",\n"), std::string::npos) << line << "\n" << text;
  }
}

TEST(Stub, GathersParametersFromAllParts) {
  const std::string text = stub(
      {.parameters =
           R"({"$ref":"#/$defs/base","$defs":{"base":{"type":"object","properties":{"a":{"type":"string"}},"required":["a","z"],
      "allOf":[{"properties":{"b":{"type":"string"}},"required":["b"]}],"anyOf":[{"properties":{"c":{"type":"string"}},"required":["c"]},{"required":["d"]}]}}})"});
  EXPECT_NE(text.find("def read(*, a: str, z: Any, b: str, c: str = ..., d: Any = ...) -> Any:"),
            std::string::npos)
      << text;
}

TEST(Stub, IsBoundedWhateverTheSchema) {
  std::string wide = "{\"properties\":{\"p\":true";
  for (int i = 0; i < 5000; ++i)
    wide += ",\"p" + std::to_string(i) + "\":{\"type\":\"object\",\"properties\":{\"a\":true}}";
  std::string deep = "{\"type\":\"integer\"}";
  for (int i = 0; i < 25; ++i) deep = R"({"type":"object","properties":{"a":)" + deep + "}}";
  std::string doubling = R"({"$ref":"#/$defs/d0","$defs":{)";
  for (int i = 0; i < 30; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    doubling += "\"d" + std::to_string(i) + R"(":{"properties":{"a":)" + next + R"(,"b":)" + next +
                R"(},"anyOf":[)" + next + "," + next + "]},";
  }
  doubling += "\"d30\":true}}";
  for (const std::string& parameters : {wide + "}}", deep, doubling}) {
    const std::string text =
        stub({.description = std::string(100'000, 'd'), .parameters = parameters, .result = parameters});
    EXPECT_LT(text.size(), 200'000U);
    EXPECT_LE(signature({.parameters = parameters, .result = parameters}).size(), kSignatureMax);
  }
  EXPECT_NE(stub({.parameters = wide + "}}"}).find("**more: Any"), std::string::npos);
}

TEST(Signature, IsOneLine) {
  EXPECT_EQ(signature({.parameters = kRead, .result = kRows}),
            "tools.ledger.read(*, tenant: str, limit: int = 100, since: str | None = None, kind: "
            "Literal[\"open\", \"closed\"] = \"open\", "
            "min_amount: Decimal = ..., filter: dict = ...) -> list[dict]");
  const std::string text = signature(
      {.parameters = R"({"properties":{"a\nb\u001b":{"enum":["x\n\u001b[2J"]}},"required":["a\nb\u001b"]})"});
  EXPECT_EQ(text, "tools.ledger.read(*, a_b_: Literal[\"x\\n\\x1b[2J\"]) -> Any");
}

TEST(Signature, LeavesOutWhatDoesNotFit) {
  std::string parameters = "{\"properties\":{\"first\":{\"type\":\"string\"}";
  for (int i = 0; i < 50; ++i) parameters += ",\"parameter_" + std::to_string(i) + "\":{\"type\":\"string\"}";
  const std::string text = signature({.parameters = parameters + "},\"required\":[\"first\"]}"});
  EXPECT_TRUE(text.starts_with("tools.ledger.read(*, first: str, parameter_0: str = ..., ")) << text;
  EXPECT_TRUE(text.ends_with(", …) -> Any")) << text;
  EXPECT_LE(text.size(), kSignatureMax);
}

// Names, texts and types that try to be more than they are.
std::string hostile_schema() {
  const std::string text = R"(\"\"\"\nimport os\\\n\u0000\u001b[2J\u202e # type: ignore\n'''\f\r\n\"\"\")";
  const std::vector<std::string> keys = {"from",
                                         "class",
                                         "None",
                                         "__init__",
                                         "__x",
                                         "a b",
                                         "",
                                         "é",
                                         "ﬁ",
                                         "self",
                                         "list",
                                         "str",
                                         "Any",
                                         "a\\nb",
                                         "\\\"\\\"\\\"",
                                         "*",
                                         "x: int = exec()",
                                         "lambda",
                                         "match",
                                         "type",
                                         "2",
                                         "ReadA",
                                         "TypedDict"};
  const std::vector<std::string> types = {
      R"("type":"string")",
      R"("type":"object","properties":{"list":{"type":"array"},"from":{"type":"string"},)"
      R"("A":{"type":"object","properties":{"b":true}}})",
      R"("enum":["a\nb","\"",1,true,null])",
      R"("type":["array","null"],"items":{"$ref":"#"})",
  };
  std::string schema = R"({"type":"object","description":")" + text + R"(","properties":{)";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    schema += (i > 0 ? ",\"" : "\"") + keys[i] + "\":{" + types[i % types.size()] +
              R"(,"description":"type: )" + text + R"(","default":"\"\\\n"})";
  }
  return schema + R"(},"required":["from","","nowhere"],"additionalProperties":{"type":"integer"}})";
}

// Each file is imports, classes and one function that does nothing, and calls nothing but TypedDict.
constexpr std::string_view kParse = R"PY(
import ast, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.pyi")):
    tree = ast.parse(path.read_text(), str(path))
    compile(tree, str(path), "exec")
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    rest = (ast.FunctionDef, ast.ImportFrom, ast.Import, ast.ClassDef, ast.Assign)
    assert len(functions) == 1 and all(isinstance(node, rest) for node in tree.body), path
    assert ast.get_docstring(functions[0]) and len(functions[0].body) == 2, path
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Import) or node.names[0].name in ("builtins", "typing", "decimal"), path
        assert not isinstance(node, ast.Call) or "TypedDict" in ast.unparse(node.func), path
)PY";

// Everything at once, read by Python, and by mypy where it is installed.
TEST(Stub, PythonTakesThemAll) {
  const std::string hostile = hostile_schema();
  std::vector<Described> all = {{.parameters = kRead, .result = kRows},
                                {.parameters = hostile, .result = hostile}};
  for (const char* function : {"list", "dict", "str", "int", "Any", "Decimal", "Literal", "TypedDict",
                               "NotRequired", "builtins", "typing", "decimal", "read_2"}) {
    Described plain{.parameters = kRead, .result = kRows};
    plain.path = std::string("x.") + function;
    all.push_back(plain);
    all.push_back({.name = "\"\"\"\n\\",
                   .path = plain.path,
                   .description = "\"\"\"\\",
                   .parameters = hostile,
                   .result = hostile,
                   .notes = {"\"\"\"\n\\"}});
  }
  const std::string folder = testing::TempDir() + "casemate_stubs_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const std::string text = stub(all[n]);
    EXPECT_EQ(text, stub(all[n]));
    std::ofstream(folder + "/stub" + std::to_string(n) + ".pyi", std::ios::binary) << text;
  }
  const ScratchFile program("parse.py", kParse);
  EXPECT_EQ(output_of("/usr/bin/python3 " + program.path() + " " + folder), "");
  if (std::filesystem::exists("/usr/bin/mypy")) {
    const std::string said =
        output_of("/usr/bin/mypy --strict --no-incremental --cache-dir=/dev/null --python-version 3.11 " +
                  folder + "/*.pyi");
    EXPECT_TRUE(said.starts_with("Success")) << said.substr(0, 3000);
  }
  if (!HasFailure()) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace casemate::schema

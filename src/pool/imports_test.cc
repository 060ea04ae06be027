#include "pool/imports.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"

namespace casemate::pool {
namespace {

constexpr PreloadSet kBare = PreloadSet::kBare;
constexpr PreloadSet kNumpy = PreloadSet::kNumpy;
constexpr PreloadSet kPandas = PreloadSet::kPandas;

struct Case {
  const char* name;
  std::string program;
  PreloadSet set;
};

class PreloadFor : public testing::TestWithParam<Case> {};

TEST_P(PreloadFor, ReadsImportStatements) {
  EXPECT_STREQ(preload_name(preload_for(GetParam().program)), preload_name(GetParam().set));
}

const std::vector<Case> kStatements = {
    {"Nothing", "", kBare},
    {"NoImport", "print(1)\n", kBare},
    {"Other", "import json, csv\nfrom decimal import Decimal\n", kBare},
    {"Plain", "import numpy", kNumpy},
    {"As", "import numpy as np\n", kNumpy},
    {"List", "import a, pandas as pd, c\n", kPandas},
    {"ListAfterAs", "import a as b, numpy\n", kNumpy},
    {"Dotted", "import numpy.linalg as la\n", kNumpy},
    {"DottedBlanks", "import os . path , numpy . linalg\n", kNumpy},
    {"From", "from pandas import DataFrame\n", kPandas},
    {"FromDotted", "from numpy.random import default_rng\n", kNumpy},
    {"FromBrackets", "from numpy import (\n  array,\n  zeros,\n)\n", kNumpy},
    {"FromStar", "from numpy import*\n", kNumpy},
    {"Largest", "import numpy\nimport pandas\n", kPandas},
    {"LargestFirst", "import pandas\nimport numpy\n", kPandas},
    {"NeedsNumpy", "import matplotlib.pyplot as plt\n", kNumpy},
    {"NeedsPandas", "import seaborn\n", kPandas},
    {"Indented", "def f():\n\timport numpy\n", kNumpy},
    {"AfterSemicolon", "x = 1; import numpy\n", kNumpy},
    {"AfterColon", "try: import numpy\nexcept ImportError: pass\n", kNumpy},
    {"Continued", "import \\\n  numpy\n", kNumpy},
    {"ContinuedCrlf", "from \\\r\n  pandas \\\r\n import DataFrame\r\n", kPandas},
    {"AfterContinued", "x = 1 + \\\n  2\nimport numpy\n", kNumpy},
    {"CarriageReturns", "x = 1\rimport numpy\r", kNumpy},
    {"ByteOrderMark", "\xef\xbb\xbfimport numpy\n", kNumpy},
    {"AfterBrackets", "x = [1,\n 2]\nimport numpy\n", kNumpy},
    {"AfterCommentWithQuote", "# don't\nimport numpy\n", kNumpy},
    {"AfterString", "x = 'it\\'s'\nimport numpy\n", kNumpy},
    {"AfterRawString", "x = r'\\'\nimport numpy\n", kNumpy},
    {"AfterOpenString", "x = 'open\nimport numpy\n", kNumpy},
    {"AfterDocString", "\"\"\"What it \"does\".\n\n'''\n\"\"\"\nimport numpy\n", kNumpy},
    {"AfterFString", "print(f\"{x['a']:>{width}} {{\")\nimport numpy\n", kNumpy},
    {"AfterNestedFString", "print(f\"{x[\"a\"]}\")\nimport numpy\n", kNumpy},
    {"AfterEmptyStrings", "x = ''\ny = \"\"\nz = ''''''\nimport numpy\n", kNumpy},
};
const std::vector<Case> kElsewhere = {
    {"Comment", "# import numpy\n", kBare},
    {"CommentAfterCode", "x = 1  # ; import numpy\n", kBare},
    {"String", "x = 'import numpy'\n", kBare},
    {"StringSemicolon", "x = '; import numpy'\n", kBare},
    {"StringContinued", "x = 'a\\\nimport numpy'\n", kBare},
    {"TripleString", "x = '''\nimport numpy\n'''\n", kBare},
    {"TripleEscaped", "x = \"\"\"\\\"\"\"\nimport numpy\n\"\"\"\n", kBare},
    {"TripleBytes", "x = rb\"\"\"\nimport numpy\n\"\"\"\n", kBare},
    {"FStringTriple", "x = f'''\nimport numpy {y}\n'''\n", kBare},
    {"InBrackets", "x = (\nimport numpy\n)\n", kBare},
    {"Relative", "from .numpy import x\nfrom . import numpy\n", kBare},
    {"ImportedName", "from mine import numpy\n", kBare},
    {"Alias", "import mine as numpy\n", kBare},
    {"Submodule", "import mine.numpy\n", kBare},
    {"LongerName", "import numpy_financial\nimport xnumpy\nimport numpy\xc3\xa9\n", kBare},
    {"LongerKeyword", "imports numpy\nimport_ = numpy\n", kBare},
    {"FromWithoutImport", "from numpy\n", kBare},
    {"ContinuedComment", "x = 1 \\\nimport numpy\n", kBare},
    {"Raise", "raise E from numpy\n", kBare},
    {"OpenBracket", "x = (\nimport numpy\n", kBare},
    {"OpenTriple", "x = '''\nimport numpy\n", kBare},
    {"EndsInBackslash", "x = 'a\\", kBare},
    {"EndsInQuote", "x = ''", kBare},
    {"Nul", std::string("import\0numpy\n", 13), kBare},
};
std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Statements, PreloadFor, testing::ValuesIn(kStatements), case_name);
INSTANTIATE_TEST_SUITE_P(Elsewhere, PreloadFor, testing::ValuesIn(kElsewhere), case_name);

TEST(PreloadForLimit, LooksNoFurther) {
  const std::string import = "import numpy\n";
  const std::string before(kImportScanMax - import.size(), '\n');
  EXPECT_EQ(preload_for(before + import), kNumpy);
  EXPECT_EQ(preload_for(before + "\n\n\n" + import), kBare);
}

// Nothing may be read again from its start, or a program of quotes would cost its length squared.
TEST(PreloadForLimit, TakesTimeInProportion) {
  for (const char* piece : {"'", "\"\"\"", "(", "import a,", "\\\n", "from .", ";", "f'{"}) {
    std::string program;
    while (program.size() < kImportScanMax) program += piece;
    const Instant before = now();
    (void)preload_for(program);
    EXPECT_LT(now() - before, std::chrono::seconds{1}) << piece;
  }
}

}  // namespace
}  // namespace casemate::pool

#include "image/python_steps.h"

namespace casemate::image {
namespace {

// How many interpreters compile side by side. Fixed, because what an interpreter has compiled before
// can change the next file's code: the marshalled form marks objects that are shared at the time.
constexpr int kCompilers = 4;

// argv: which compiler this is, of how many. Every n-th module in order of paths. The byte code says
// that its source need not be looked at again (PEP 552, unchecked hash), so that it does not depend
// on times, and names its source as a box sees it. A file that is no valid Python is a template or a
// test's input; it is left without byte code.
constexpr const char* kCompile = R"py(
import importlib.util
import os
import sys
from importlib._bootstrap_external import _code_to_hash_pyc

which, count = int(sys.argv[1]), int(sys.argv[2])
sources = []
for top in ("/usr/lib/python3", "/usr/lib/python3.%d" % sys.version_info[1]):
    for folder, folders, names in os.walk(top):
        sources.extend(os.path.join(folder, name) for name in names if name.endswith(".py"))
sources.sort()
for source in sources[which::count]:
    with open(source, "rb") as file:
        text = file.read()
    try:
        code = compile(text, source, "exec", dont_inherit=True, optimize=0)
    except (SyntaxError, ValueError):
        continue
    target = importlib.util.cache_from_source(source)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file:
        file.write(_code_to_hash_pyc(code, importlib.util.source_hash(text), False))
    del code, text
)py";

// Importing font_manager writes the list beside the configuration: fontlist-vNNN.json.
constexpr const char* kFonts = R"py(
import os
os.environ["MPLCONFIGDIR"] = "/usr/share/casemate/matplotlib"
import matplotlib.font_manager
names = os.listdir(os.environ["MPLCONFIGDIR"])
assert len(names) == 1 and names[0].startswith("fontlist-v"), names
)py";

// The modules that `import NAME` works for, private ones left out: each is tried in a process of its own.
constexpr const char* kFacts = R"py(
import importlib
import os
import pkgutil
import platform
import sys

names = {name for name in sys.stdlib_module_names if not name.startswith("_")}
names.update(module.name for module in pkgutil.iter_modules() if not module.name.startswith("_"))
print("python", platform.python_version(), flush=True)
for name in sorted(names):
    child = os.fork()
    if child == 0:
        quiet = os.open("/tmp/noise", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            importlib.import_module(name)
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print("module", name, flush=True)
)py";

// A closure of packages can be complete on paper and not work; this is where that shows.
constexpr const char* kTry = R"py(
import os
os.environ["MPLCONFIGDIR"] = "/tmp/matplotlib"
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy
import pandas
import ctypes, decimal, hashlib, json, lzma, bz2, sqlite3, ssl, uuid, zlib, zoneinfo

zoneinfo.ZoneInfo("Europe/Berlin")
assert sqlite3.connect(":memory:").execute("select 1").fetchone() == (1,)
frame = pandas.DataFrame({"a": numpy.arange(10), "b": pandas.date_range("2024-01-01", periods=10, tz="UTC")})
assert float(frame.a.describe()["mean"]) == 4.5
assert abs(float(numpy.linalg.det(numpy.eye(3))) - 1) < 1e-9
figure, axes = plt.subplots()
axes.plot(frame.a)
axes.set_title("title")
figure.savefig("/tmp/figure.png")
assert open("/tmp/figure.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n"
)py";

std::vector<std::string> python(const char* program, std::vector<std::string> arguments = {}) {
  std::vector<std::string> command = {"/usr/bin/python3", "-s", "-B", "-c", program};
  for (std::string& argument : arguments) command.push_back(std::move(argument));
  return command;
}

}  // namespace

std::vector<Step> python_steps() {
  std::vector<Step> steps;
  steps.push_back({"list shared libraries", {{"/usr/sbin/ldconfig", "-X", "-i"}}});
  Step compile{"byte-compile Python", {}};
  for (int i = 0; i < kCompilers; ++i) {
    compile.commands.push_back(python(kCompile, {std::to_string(i), std::to_string(kCompilers)}));
  }
  steps.push_back(std::move(compile));
  steps.push_back({"list fonts", {python(kFonts)}});
  steps.push_back({"list modules", {python(kFacts)}, StepOutput::kFacts});
  steps.push_back({"try numpy, pandas and matplotlib", {python(kTry)}});
  return steps;
}

}  // namespace casemate::image

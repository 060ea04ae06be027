#include "image/recipe.h"

#include "crypto/sha256.h"
#include "image/python_steps.h"

namespace casemate::image {
namespace {

#if defined(__x86_64__)
constexpr const char* kArchitecture = "amd64";
#elif defined(__aarch64__)
constexpr const char* kArchitecture = "arm64";
#else
#error "say what dpkg calls this architecture"
#endif

// Raised when the code that follows a recipe comes to make something else of it.
constexpr int kBuilderVersion = 1;

std::vector<Cut> python_cuts() {
  const char* const no_display = "needs a display";
  const char* const no_set_up = "installs and configures packages; nothing is installed in a box";
  const char* const no_browser = "for matplotlib's web backend, which needs a browser on the same host";
  return {
      {"python3-pythran", "compiles scipy when scipy is built; brings gcc and Boost"},
      {"python3-pil.imagetk", no_display},
      {"libjs-jquery", no_browser},
      {"libjs-jquery-ui", no_browser},
      {"unicode-data", "the tables are in Python already; 37 MB of text"},
      {"dpkg", no_set_up},
      {"install-info", no_set_up},
      {"debconf", no_set_up},
      {"debconf-2.0", no_set_up},
      {"fontconfig-config", no_set_up},
      {"init-system-helpers", no_set_up},
      {"media-types", "Python has a table of its own"},
  };
}

std::vector<Exclusion> python_exclusions() {
  const char* const docs = "documentation";
  const char* const build = "only for building programs";
  const char* const tests = "a package's own tests";
  const char* const host = "for the running of a host";
  return {
      {"/usr/share/doc/*", docs},
      {"/usr/share/man/*", docs},
      {"/usr/share/info/*", docs},
      {"/usr/share/common-licenses/*", docs},
      {"/usr/share/doc-base/*", docs},
      {"/usr/share/lintian/*", docs},
      {"/usr/share/bug/*", docs},
      {"/usr/share/locale/*", "translations; the locale of a box is C.UTF-8"},
      {"/usr/share/gettext/*", "translations"},
      {"/usr/include/*", build},
      {"/usr/lib/*.a", build},
      {"/usr/lib/*.la", build},
      {"*/pkgconfig/*", build},
      {"/usr/lib/python3*/dist-packages/*.h", build},
      {"/usr/lib/python3*/dist-packages/*.pyx", build},
      {"/usr/lib/python3*/dist-packages/*.pxd", build},
      {"/usr/lib/python3*/dist-packages/*/tests/*", tests},
      {"/usr/lib/python3.*/test/*", tests},
      {"/usr/lib/python3.*/lib2to3/tests/*", tests},
      {"/usr/share/python3/*", "byte-compiles packages as they are installed"},
      {"/etc/init.d/*", host},
      {"/etc/default/*", host},
      {"/etc/cron*", host},
      {"/etc/pam.d/*", host},
      {"/etc/systemd/*", host},
      {"/etc/update-motd.d/*", host},
      {"/usr/lib/systemd/*", host},
      {"/usr/lib/udev/*", host},
      {"/usr/lib/tmpfiles.d/*", host},
      {"/usr/lib/sysusers.d/*", host},
      {"/etc/issue*", host},
      {"/etc/skel/*", host},
      {"/usr/share/menu/*", "needs a display"},
      {"/usr/share/applications/*", "needs a display"},
      {"/usr/share/pixmaps/*", "needs a display"},
      {"/usr/share/icons/*", "needs a display"},
      {"/usr/share/bash-completion/*", "for typing"},
      {"/usr/share/gdb/*", "for debugging casemate's image from outside"},
      {"/usr/share/glib-2.0/*", "for programs of a desktop"},
      {"/var/*", "state of a host"},
  };
}

// Made by us: what maintainer scripts or an administrator write on a host, without the host in it.
std::vector<MadeFile> made_files() {
  return {
      {"/etc/passwd",
       "root:x:0:0:root:/root:/bin/bash\n"
       "box:x:1000:1000:box:/vol/home:/bin/bash\n"
       "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
      {"/etc/group", "root:x:0:\nbox:x:1000:\nnogroup:x:65534:\n"},
      {"/etc/nsswitch.conf",
       "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n"
       "protocols: files\nservices: files\n"},
      {"/etc/hosts", "127.0.0.1 localhost box\n::1 localhost box\n"},
      {"/etc/hostname", "box\n"},
      {"/etc/resolv.conf", ""},
      {"/etc/timezone", "Etc/UTC\n"},
      {"/etc/profile", "export PATH=/usr/local/bin:/usr/bin:/bin\n"},
  };
}

}  // namespace

const char* dpkg_architecture() { return kArchitecture; }

std::vector<Recipe> recipes() { return {python_recipe(), microvm_recipe()}; }

std::optional<Recipe> find_recipe(std::string_view name) {
  std::vector<Recipe> all = recipes();
  for (Recipe& recipe : all) {
    if (recipe.name == name) return std::move(recipe);
  }
  return std::nullopt;
}

std::string recipe_names() {
  std::string names;
  for (const Recipe& recipe : recipes()) names += (names.empty() ? "" : ", ") + recipe.name;
  return names;
}

Recipe python_recipe() {
  Recipe recipe;
  recipe.name = "python";
  recipe.architecture = dpkg_architecture();
  recipe.packages = {"bash",          "coreutils",      "dash",    "diffutils",
                     "findutils",     "grep",           "gzip",    "hostname",
                     "libc-bin",      "mawk",           "python3", "python3-matplotlib",
                     "python3-numpy", "python3-pandas", "sed",     "tar"};
  recipe.cuts = python_cuts();
  recipe.exclusions = python_exclusions();
  recipe.directories = {"/dev", "/etc/ssl/certs", "/proc",          "/root",
                        "/run", "/tmp",           "/usr/local/bin", "/usr/share/casemate/matplotlib",
                        "/vol"};
  recipe.files = made_files();
  recipe.links = {{"/bin", "usr/bin"},
                  {"/sbin", "usr/sbin"},
                  {"/lib", "usr/lib"},
                  {"/lib64", "usr/lib64"},
                  {"/work", "/vol/work"},
                  {"/var/tmp", "/tmp"},
                  {"/etc/localtime", "/usr/share/zoneinfo/Etc/UTC"},
                  {"/usr/bin/python", "python3"}};
  recipe.steps = python_steps();
  recipe.step_environment = {"HOME=/tmp", "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "PYTHONHASHSEED=0",
                             "TMPDIR=/tmp"};
  recipe.scratch = {"/tmp", "/var/cache"};
  return recipe;
}

std::string recipe_digest(const Recipe& recipe) {
  crypto::Sha256 digest;
  // Each string with its length in front, so that no two recipes give the same bytes.
  const auto add = [&](const std::string& text) {
    digest.update(std::to_string(text.size()) + ":" + text + "\n");
  };
  const auto add_all = [&](const std::vector<std::string>& texts) {
    add(std::to_string(texts.size()));
    for (const std::string& text : texts) add(text);
  };
  add(std::to_string(kBuilderVersion));
  add(recipe.name);
  add(recipe.architecture);
  add_all(recipe.packages);
  std::vector<std::string> flat;
  for (const Cut& cut : recipe.cuts) flat.push_back(cut.package);
  add_all(std::exchange(flat, {}));
  for (const Exclusion& exclusion : recipe.exclusions) flat.push_back(exclusion.pattern);
  add_all(std::exchange(flat, {}));
  add_all(recipe.directories);
  for (const MadeFile& file : recipe.files) flat.insert(flat.end(), {file.path, file.content});
  add_all(std::exchange(flat, {}));
  for (const MadeLink& link : recipe.links) flat.insert(flat.end(), {link.path, link.target});
  add_all(std::exchange(flat, {}));
  for (const Step& step : recipe.steps) {
    add(std::to_string(static_cast<int>(step.output)));
    for (const auto& command : step.commands) add_all(command);
  }
  add_all(recipe.step_environment);
  add_all(recipe.scratch);
  // Only where they say something: the images of recipes without them stay up to date.
  if (!recipe.only.empty()) {
    add("only");
    add_all(recipe.only);
  }
  if (recipe.unpacked) {
    // What somebody gave is another image's origin than what the archive vouches for.
    add(recipe.unpacked->given.empty() ? "fetched" : "given");
    add(recipe.unpacked->meta);
    add(recipe.unpacked->pattern);
    for (const TakenFile& file : recipe.unpacked->files) {
      flat.insert(flat.end(), {file.pattern, file.path, file.module ? "module" : "file"});
    }
    add_all(std::exchange(flat, {}));
  }
  return "sha256:" + digest.finish_hex();
}

}  // namespace casemate::image

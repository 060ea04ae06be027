#include "microvm/archive.h"

#include <algorithm>
#include <cstdlib>

#include "microvm/test_support.h"
#include "sys/test_support.h"

namespace casemate::guest {
namespace {

// An entry as the kernel's buffer-format.rst has it: "newc", numbers of eight hexadecimal digits.
struct Entry {
  std::string name, content;
  std::uint32_t inode = 0, mode = 0;
};

std::vector<Entry> parsed(std::string_view bytes) {
  std::vector<Entry> entries;
  const auto number = [&](std::size_t field) {
    return static_cast<std::uint32_t>(
        std::strtoul(std::string(bytes.substr(6 + field * 8, 8)).c_str(), nullptr, 16));
  };
  const auto skip = [&](std::size_t count) {
    bytes.remove_prefix(std::min((count + 3) / 4 * 4, bytes.size()));
  };
  while (!bytes.empty()) {
    if (bytes.size() < 110 || bytes.substr(0, 6) != "070701") {
      ADD_FAILURE() << "no header";
      return entries;
    }
    Entry entry;
    entry.inode = number(0);
    entry.mode = number(1);
    const std::size_t size = number(6), name_size = number(11);
    entry.name = bytes.substr(110, name_size - 1);
    EXPECT_EQ(bytes[110 + name_size - 1], '\0');
    skip(110 + name_size);
    entry.content = bytes.substr(0, size);
    skip(size);
    entries.push_back(std::move(entry));
  }
  return entries;
}

TEST(Archive, IsWhatTheKernelReads) {
  Archive archive;
  archive.add_directory("d");
  archive.add_file("d/f", 0755, "12345");
  const auto header = [](const char* inode, const char* mode, const char* size, const char* name_size) {
    const std::string zero = "00000000";
    return "070701" + std::string(inode) + mode + zero + zero + "00000001" + zero + size + zero + zero +
           zero + zero + name_size + zero;
  };
  const std::string nul(1, '\0'), nul3(3, '\0'), nul4(4, '\0');
  EXPECT_EQ(archive.finish(),
            header("00000001", "000041ed", "00000000", "00000002") + "d" + nul +        // 112
                header("00000002", "000081ed", "00000005", "00000004") + "d/f" + nul +  // 114
                nul + nul + "12345" + nul3 + header("00000003", "00000000", "00000000", "0000000b") +
                "TRAILER!!!" + nul + nul3);
}

TEST(Archive, EachEntryBeginsAtAWordWhateverTheSizesAre) {
  Archive archive;
  std::vector<Entry> given;
  for (std::size_t size = 0; size < 12; ++size) {
    const std::string name(size + 1, static_cast<char>('a' + size)), content(size * 37 % 11, '\7');
    archive.add_file(name, 0644, content);
    given.push_back({name, content, 0, S_IFREG | 0644});
  }
  archive.add_file("large", 0600, std::string(1 << 20, 'L'));
  const std::string bytes = archive.finish();
  EXPECT_EQ(bytes.size() % 4, 0U);
  const std::vector<Entry> entries = parsed(bytes);
  ASSERT_EQ(entries.size(), given.size() + 2);
  for (std::size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(entries[i].name, given[i].name);
    EXPECT_EQ(entries[i].content, given[i].content);
    EXPECT_EQ(entries[i].mode, given[i].mode);
    EXPECT_EQ(entries[i].inode, i + 1) << "two with one would be one file";
  }
  EXPECT_EQ(entries[given.size()].content.size(), std::size_t{1} << 20);
  EXPECT_EQ(entries.back().name, "TRAILER!!!");
}

}  // namespace
}  // namespace casemate::guest

#include "image/oci.h"

#include <gtest/gtest.h>

#include "image/oci_test_support.h"
#include "image/test_support.h"

namespace casemate::image {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

// A document in which one text is replaced, which must be there.
std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

OciArchive small() {
  OciArchive archive;
  archive.architecture = "amd64";
  archive.layer(TarText().add("a", "1")).layer(TarText().add("b", "2"));
  return archive;
}

struct Change {
  const char* from;
  const char* to;
  const char* said;
};

TEST(Oci, ReadsTheDocumentsOfAnImage) {
  const OciArchive archive = small();
  const auto index = parse_oci_index(archive.index());
  ASSERT_TRUE(index.has_value()) << message_of(index);
  ASSERT_EQ(index->size(), 1U);
  EXPECT_EQ(index->front().digest, OciArchive::digest(archive.manifest()));
  EXPECT_EQ(index->front().size, archive.manifest().size());
  const auto manifest = parse_oci_manifest(archive.manifest());
  ASSERT_TRUE(manifest.has_value()) << message_of(manifest);
  EXPECT_EQ(manifest->config.digest, OciArchive::digest(archive.config()));
  ASSERT_EQ(manifest->layers.size(), 2U);
  const auto config = parse_oci_config(archive.config());
  ASSERT_TRUE(config.has_value()) << message_of(config);
  EXPECT_EQ(config->os, "linux");
  EXPECT_EQ(config->diff_ids.size(), 2U);
}

TEST(Oci, RefusesManifestsThatAreNone) {
  const std::vector<Change> changes = {
      {"\"schemaVersion\":2", "\"schemaVersion\":1", "schemaVersion"},
      {"\"schemaVersion\":2", "\"schemaVersion\":2.0", "schemaVersion"},
      {"\"schemaVersion\":2,", "", "'schemaVersion' is missing"},
      {"\"config\":", "\"config2\":", "'config' is missing"},
      {"\"layers\":[", "\"layers\":[],\"x\":[", "'layers' is empty"},
      {"\"layers\":[", "\"layers\":[1,", "a descriptor should be an object"},
      {"\"layers\":[", "\"layers\":{},\"x\":[", "'layers' should be an array, is an object"},
      {"sha256:", "sha512:", "a digest must be sha256"},
      {"\"digest\":\"", "\"digest\":\"../../../etc/passwd", "a digest must be"},
      {"\"size\":", "\"size\":-", "'size'"},
      {"\"size\":", "\"size\":1e3,\"x\":", "'size'"},
      {"\"size\":", "\"size\":99999999999999999999", "'size'"},
      {"image.config.v1+json", "something.else", "no container image"},
      {"image.layer.v1.tar\"", "image.layer.v1.tar+xz\"", "is not taken"},
      {"{\"schema", "{\"mediaType\":\"application/vnd.oci.image.index.v1+json\",\"schema",
       "not a manifest's"},
      {"{\"schema", "{\"layers\":[],\"schema", "comes twice"},
      {"{\"schema", "x{\"schema", "line 1, column 1"}};
  for (const Change& change : changes) {
    const auto manifest = parse_oci_manifest(changed(small().manifest(), change.from, change.to));
    ASSERT_FALSE(manifest.has_value()) << change.to;
    EXPECT_EQ(manifest.error().code, ErrorCode::kInvalid);
    EXPECT_NE(manifest.error().message.find(change.said), std::string::npos) << manifest.error().message;
  }
}

TEST(Oci, RefusesConfigsThatAreNone) {
  const std::vector<Change> changes = {
      {"\"os\":", "\"os2\":", "'os' is missing"},
      {"\"architecture\":\"amd64\"", "\"architecture\":7", "should be a string"},
      {"\"type\":\"layers\"", "\"type\":\"other\"", "rootfs.type"},
      {"\"diff_ids\":[", "\"diff_ids\":[7,", "should be a string"},
      {"\"diff_ids\":[\"", "\"diff_ids\":[\"x", "a digest must be"}};
  for (const Change& change : changes) {
    const auto config = parse_oci_config(changed(small().config(), change.from, change.to));
    ASSERT_FALSE(config.has_value()) << change.to;
    EXPECT_NE(config.error().message.find(change.said), std::string::npos) << config.error().message;
  }
}

TEST(Oci, TheNumberOfLayersAndManifestsIsBounded) {
  const auto list = [](std::size_t count, const std::string& type) {
    std::string items;
    for (std::size_t i = 0; i < count; ++i) {
      items += std::string(i == 0 ? "" : ",") + R"({"mediaType":")" + type + R"(","size":1,"digest":")" +
               kDigest + "\"}";
    }
    return "[" + items + "]";
  };
  const auto layers = [&](std::size_t count) {
    return parse_oci_manifest(
        R"({"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":1,"digest":")" +
        kDigest + R"("},"layers":)" + list(count, "application/vnd.oci.image.layer.v1.tar+gzip") + "}");
  };
  EXPECT_EQ(layers(kOciLayersMax)->layers.size(), kOciLayersMax);
  EXPECT_EQ(layers(kOciLayersMax + 1).error().code, ErrorCode::kExhausted);
  const auto manifests = [&](std::size_t count) {
    return parse_oci_index(R"({"schemaVersion":2,"manifests":)" +
                           list(count, "application/vnd.oci.image.manifest.v1+json") + "}");
  };
  EXPECT_EQ(manifests(kOciManifestsMax)->size(), kOciManifestsMax);
  EXPECT_EQ(manifests(kOciManifestsMax + 1).error().code, ErrorCode::kExhausted);
  EXPECT_EQ(parse_oci_index(std::string(kOciDocumentMax + 1, ' ')).error().code, ErrorCode::kExhausted);
}

TEST(Oci, ChoosesTheImageOfThisMachine) {
  const auto item = [](const std::string& digest, const std::string& os, const std::string& architecture) {
    return OciDescriptor{"application/vnd.oci.image.manifest.v1+json", digest, 1, os, architecture};
  };
  const std::vector<OciDescriptor> index = {item("1", "", ""), item("2", "linux", "arm64"),
                                            item("3", "linux", "amd64"), item("4", "unknown", "unknown"),
                                            item("3", "linux", "amd64")};
  const auto digests = [&](const std::vector<OciDescriptor>& from, const char* architecture) {
    std::string all;
    for (const OciDescriptor& choice : oci_choices(from, architecture)) all += choice.digest;
    return all;
  };
  EXPECT_EQ(digests(index, "amd64"), "3");
  EXPECT_EQ(digests(index, "arm64"), "2");
  EXPECT_EQ(digests(index, "riscv64"), "1");
  EXPECT_EQ(digests({item("1", "", ""), item("2", "", "")}, "amd64"), "12");
}

TEST(Oci, LeavesOutWhatIsNoImageInAnIndex) {
  const std::string text =
      R"({"schemaVersion":2,"manifests":[{"mediaType":"text/plain","size":1,"digest":")" + kDigest +
      R"("},{"mediaType":"application/vnd.oci.image.index.v1+json","size":1,"digest":")" + kDigest +
      R"(","platform":{"os":"linux","architecture":"amd64","variant":"v2"}}]})";
  const auto index = parse_oci_index(text);
  ASSERT_TRUE(index.has_value()) << message_of(index);
  ASSERT_EQ(index->size(), 1U);
  EXPECT_EQ(index->front().architecture, "amd64");
}

TEST(Oci, KnowsHowLayersArePacked) {
  EXPECT_EQ(*oci_packing("application/vnd.oci.image.layer.v1.tar"), Packing::kNone);
  EXPECT_EQ(*oci_packing("application/vnd.oci.image.layer.v1.tar+gzip"), Packing::kGzip);
  EXPECT_EQ(*oci_packing("application/vnd.oci.image.layer.v1.tar+zstd"), Packing::kZstd);
  EXPECT_EQ(*oci_packing("application/vnd.docker.image.rootfs.diff.tar.gzip"), Packing::kGzip);
  EXPECT_FALSE(oci_packing("application/vnd.oci.image.layer.nondistributable.v1.tar+gzip").has_value());
  EXPECT_FALSE(oci_packing("").has_value());
}

TEST(Oci, KnowsTheVersionOfALayout) {
  EXPECT_TRUE(check_oci_layout(R"({"imageLayoutVersion":"1.0.0"})").has_value());
  EXPECT_FALSE(check_oci_layout(R"({"imageLayoutVersion":"2.0.0"})").has_value());
  EXPECT_FALSE(check_oci_layout(R"({"imageLayoutVersion":1})").has_value());
  EXPECT_FALSE(check_oci_layout("[]").has_value());
}

}  // namespace
}  // namespace casemate::image

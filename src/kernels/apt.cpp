// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/apt.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <sstream>
#include <thread>

#include "base/digest.h"
#include "base/process.h"
#include "kernels/cache.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr const char* kKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
constexpr std::size_t kTextLimit = std::size_t{64} << 20;

// The suites that carry kernels, oldest first.
constexpr std::array<std::string_view, 6> kSuites = {
    "bookworm", "bookworm-backports", "trixie", "trixie-backports", "sid", "experimental"};
constexpr std::array<std::string_view, 2> kSecuritySuites = {"bookworm-security",
                                                             "trixie-security"};
// First words of suites by which a source is known to be Debian's.
constexpr std::array<std::string_view, 14> kDebianSuites = {
    "buster",    "bullseye", "bookworm", "trixie",   "forky",        "duke",         "sid",
    "oldstable", "stable",   "testing",  "unstable", "oldoldstable", "experimental", "rc-buggy"};

std::vector<std::string> words(std::string_view text) {
    std::istringstream stream{std::string(text)};
    std::vector<std::string> out;
    for (std::string word; stream >> word;)
        out.push_back(word);
    return out;
}

bool debian_suite(std::string_view suite) {
    const std::string_view base = suite.substr(0, suite.find_first_of("-/"));
    return std::find(kDebianSuites.begin(), kDebianSuites.end(), base) != kDebianSuites.end();
}

bool security_suite(std::string_view suite) {
    return suite.ends_with("-security") || suite.ends_with("/updates");
}

// One source, in whichever format it was written.
struct Source {
    std::vector<std::string> uris;
    std::vector<std::string> suites;
    std::vector<std::string> components;
    std::string signed_by;
};

// "deb [signed-by=…] URI SUITE COMPONENT…"
std::optional<Source> parse_line(std::string_view line) {
    std::string text(line.substr(0, line.find('#')));
    Source source;
    if (const std::size_t open = text.find('['); open != std::string::npos) {
        const std::size_t close = text.find(']', open);
        if (close == std::string::npos) return std::nullopt;
        for (const std::string& option : words(text.substr(open + 1, close - open - 1))) {
            if (option.starts_with("signed-by=")) source.signed_by = option.substr(10);
        }
        text.erase(open, close - open + 1);
    }
    const auto parts = words(text);
    if (parts.size() < 4 || parts[0] != "deb") return std::nullopt;
    source.uris = {parts[1]};
    source.suites = {parts[2]};
    source.components.assign(parts.begin() + 3, parts.end());
    return source;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

std::optional<Source> finish_stanza(const std::map<std::string, std::string>& fields) {
    const auto field = [&](const char* name) {
        const auto found = fields.find(name);
        return found == fields.end() ? std::string() : found->second;
    };
    const auto types = words(field("types"));
    if (std::find(types.begin(), types.end(), "deb") == types.end()) return std::nullopt;
    for (const std::string& enabled : words(lower(field("enabled")))) {
        if (enabled == "no" || enabled == "false" || enabled == "0" || enabled == "off") {
            return std::nullopt;
        }
    }
    Source source{words(field("uris")), words(field("suites")), words(field("components")), ""};
    // A key block may stand in place of the path; ours is the archive's keyring then.
    if (const auto keys = words(field("signed-by")); keys.size() == 1) source.signed_by = keys[0];
    return source;
}

// The deb822 format: stanzas of "Field: value", continued by a space.
std::vector<Source> parse_stanzas(std::string_view text) {
    std::vector<Source> out;
    std::map<std::string, std::string> fields;
    std::string last;
    const auto finish = [&] {
        if (auto source = finish_stanza(fields)) out.push_back(std::move(*source));
        fields.clear();
        last.clear();
    };
    std::istringstream stream{std::string(text)};
    for (std::string line; std::getline(stream, line);) {
        if (line.starts_with('#')) continue;
        if (words(line).empty()) {
            finish();
        } else if (line.front() == ' ' || line.front() == '\t') {
            fields[last] += " " + line;
        } else if (const std::size_t colon = line.find(':'); colon != std::string::npos) {
            last = lower(line.substr(0, colon));
            fields[last] = line.substr(colon + 1);
        }
    }
    finish();
    return out;
}

std::vector<Source> read_sources(const fs::path& etc_apt) {
    std::vector<fs::path> files = {etc_apt / "sources.list"};
    std::error_code error;
    std::vector<fs::path> parts;
    for (fs::directory_iterator it(etc_apt / "sources.list.d", error), end; !error && it != end;
         it.increment(error)) {
        parts.push_back(it->path());
    }
    std::sort(parts.begin(), parts.end());
    files.insert(files.end(), parts.begin(), parts.end());
    std::vector<Source> out;
    for (const fs::path& file : files) {
        const auto text = read_file(file, std::size_t{1} << 20);
        if (!text) continue;
        if (file.extension() == ".sources") {
            for (Source& source : parse_stanzas(*text))
                out.push_back(std::move(source));
        } else if (file.extension() == ".list") {
            std::istringstream stream(*text);
            for (std::string line; std::getline(stream, line);) {
                if (auto source = parse_line(line)) out.push_back(std::move(*source));
            }
        }
    }
    return out;
}

// A URI goes into a line of our own sources.list; a disc in a drive isn't a mirror.
bool usable_uri(std::string_view uri) {
    return uri.find(':') != std::string_view::npos && !uri.starts_with("cdrom:") &&
           uri.find_first_of("[]\"") == std::string_view::npos;
}

}  // namespace

Result<Mirror> find_mirror(const fs::path& etc_apt) {
    std::optional<Mirror> found;
    std::optional<std::string> security;
    for (const Source& source : read_sources(etc_apt)) {
        const auto& components = source.components;
        if (std::find(components.begin(), components.end(), "main") == components.end()) continue;
        for (const std::string& uri : source.uris) {
            if (!usable_uri(uri)) continue;
            for (const std::string& suite : source.suites) {
                if (!debian_suite(suite)) continue;
                if (security_suite(suite)) {
                    if (!security) security = uri;
                } else if (!found) {
                    found = Mirror{uri, std::nullopt, std::nullopt};
                    if (source.signed_by.starts_with('/')) found->signed_by = source.signed_by;
                }
            }
        }
    }
    if (!found) {
        return fail(Code::environment,
                    "{} names no mirror of Debian, so kernels can't be fetched from its archive; "
                    "add a Debian source there, or give the path of a bzImage",
                    (etc_apt / "sources.list").string());
    }
    found->security_uri = security;
    return std::move(*found);
}

namespace {

Result<std::string> keyring(const Mirror& mirror) {
    if (::access(kKeyring, R_OK) == 0) return std::string(kKeyring);
    if (mirror.signed_by && ::access(mirror.signed_by->c_str(), R_OK) == 0) {
        return *mirror.signed_by;
    }
    return fail(Code::environment,
                "{} is missing; install it: apt-get install debian-archive-keyring", kKeyring);
}

std::string sources_list(const Mirror& mirror, std::string_view keys) {
    std::string out;
    const auto line = [&](std::string_view uri, std::string_view suite) {
        out += fmt::format("deb [arch=amd64 targets=Packages lang=none signed-by={}] {} {} main\n",
                           keys, uri, suite);
    };
    for (const std::string_view suite : kSuites)
        line(mirror.uri, suite);
    if (mirror.security_uri) {
        for (const std::string_view suite : kSecuritySuites)
            line(*mirror.security_uri, suite);
    }
    return out;
}

// A path inside a quoted value of apt.conf.
bool quotable(std::string_view path) {
    return path.find_first_of("\"\\\n;{}") == std::string_view::npos;
}

// Read after the system's configuration (so a proxy set there is used), and overrides it. The hooks
// are cleared: images for containers use them to empty the system's package cache.
std::string apt_conf(const std::string& folder) {
    std::string out = fmt::format(R"(Dir::Etc "{0}/etc";
Dir::Etc::SourceList "{0}/etc/sources.list";
Dir::Etc::SourceParts "{0}/etc/sources.list.d";
Dir::Etc::Preferences "{0}/etc/preferences";
Dir::Etc::PreferencesParts "{0}/etc/preferences.d";
Dir::Etc::TrustedParts "{0}/etc/trusted.gpg.d";
Dir::State "{0}/state";
Dir::State::Lists "{0}/lists";
Dir::State::Status "{0}/state/status";
Dir::Cache "{0}/cache";
Dir::Log "{0}/state";
APT::Architecture "amd64";
APT::Get::List-Cleanup "true";
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
APT::Architectures {{ "amd64"; }};
)",
                                  folder);
    // As root apt would hand downloads to a user who can't write into our folders.
    if (::geteuid() == 0) out += "APT::Sandbox::User \"root\";\n";
    return out;
}

Status write_if_different(const fs::path& path, std::string_view text) {
    const auto there = read_file(path, kTextLimit);
    if (there && *there == text) return {};
    return write_file_atomic(path, text);
}

Result<std::string> apt_program(const char* name) {
    const auto found = find_program(name);
    if (found) return found->string();
    return fail(
        Code::environment,
        "{} was not found on PATH: kernels of Debian's archive are fetched with apt; on this "
        "machine give the path of a bzImage instead",
        name);
}

// The lines by which apt says what went wrong ("E: …", else "W: …"), in one.
std::string complaint(std::string_view text) {
    std::string out;
    for (const std::string_view mark : {"E: ", "Err:", "W: "}) {
        std::istringstream stream{std::string(text)};
        for (std::string line; std::getline(stream, line) && out.size() < 600;) {
            if (line.starts_with(mark)) out += (out.empty() ? "" : "; ") + line;
        }
        if (!out.empty()) return out;
    }
    return std::string(text.substr(0, 300));
}

// Did `apt-get update` reach any suite? ("Hit:1 …" unchanged, "Get:2 …" fetched.)
bool any_fetched(std::string_view text) {
    return text.starts_with("Hit:") || text.starts_with("Get:") ||
           text.find("\nHit:") != std::string_view::npos ||
           text.find("\nGet:") != std::string_view::npos;
}

std::optional<std::chrono::seconds> age_of(const fs::path& path) {
    std::error_code error;
    const auto written = fs::last_write_time(path, error);
    if (error) return std::nullopt;
    const auto age = fs::file_time_type::clock::now() - written;
    return std::chrono::duration_cast<std::chrono::seconds>(age);
}

}  // namespace

std::optional<std::vector<Package>> Apt::index() const {
    const auto text = read_file(index_file(), kTextLimit);
    if (!text) return std::nullopt;
    return parse_packages(*text);
}

std::optional<std::chrono::seconds> Apt::age() const {
    return age_of(index_file());
}
std::optional<std::chrono::seconds> Apt::since_try() const {
    return age_of(tried_file());
}

Status Apt::configure() const {
    MANO_ASSIGN(const Mirror mirror, find_mirror(etc_apt_));
    MANO_ASSIGN(const std::string keys, keyring(mirror));
    std::error_code error;
    const fs::path absolute = fs::absolute(folder_, error);
    if (error || !quotable(absolute.string())) {
        return fail(Code::environment, "{}: apt can't use a folder with such a name",
                    folder_.string());
    }
    // apt warns about each of these that is missing.
    for (const char* name : {"etc/sources.list.d", "etc/preferences.d", "etc/trusted.gpg.d",
                             "state", "lists/partial", "cache/archives/partial"}) {
        MANO_TRY(make_folders(folder_ / name));
    }
    MANO_TRY(write_if_different(folder_ / "state/status", ""));
    MANO_TRY(write_if_different(folder_ / "etc/sources.list", sources_list(mirror, keys)));
    return write_if_different(folder_ / "etc/apt.conf", apt_conf(absolute.string()));
}

Result<std::optional<std::string>> Apt::refresh(const Options& options) const {
    MANO_ASSIGN(const std::string program, apt_program("apt-get"));
    std::error_code ignored;
    const auto before = fs::last_write_time(index_file(), ignored);
    MANO_ASSIGN(const Fd held, wait_for_lock(folder_ / "lock", false, options));
    // Another process may have done it while this one waited.
    if (fs::last_write_time(index_file(), ignored) != before) return std::optional<std::string>();
    MANO_TRY(configure());
    if (options.progress) options.progress("fetching Debian's package index", 0, 0);
    const std::string conf = (folder_ / "etc/apt.conf").string();
    MANO_TRY(write_file_atomic(tried_file(), ""));
    MANO_ASSIGN(const Output output,
                run_program({program, "-c", conf, "-q", "--error-on=any", "update"}, {}, kTextLimit,
                            options.stop));
    const std::string trouble = output.exit.ok() ? "" : complaint(output.err + output.out);
    // A suite that this mirror doesn't have is no reason to do without the others; but an index
    // that couldn't be fetched at all must not count as a fresh one.
    if (!output.exit.ok() && !any_fetched(output.out)) {
        return fail(Code::environment, "Debian's package index couldn't be fetched: {}", trouble);
    }
    MANO_TRY(rebuild_index(options));
    if (trouble.empty()) return std::optional<std::string>();
    return std::optional<std::string>(trouble);
}

// Out of apt's index of some 60,000 packages the few hundred that matter, as a file of ours: asking
// apt takes seconds, reading it a millisecond.
Status Apt::rebuild_index(const Options& options) const {
    MANO_ASSIGN(const std::string program, apt_program("apt-cache"));
    const std::string conf = (folder_ / "etc/apt.conf").string();
    MANO_ASSIGN(const Output names, run_program({program, "-c", conf, "pkgnames", "linux-"}, {},
                                                kTextLimit, options.stop));
    std::vector<std::string> show = {program, "-c", conf, "show", "-a"};
    const std::size_t fixed = show.size();
    for (const std::string& name : words(names.out)) {
        const bool kind = name.starts_with("linux-image-") || name.starts_with("linux-binary-") ||
                          name.starts_with("linux-modules-") || name.starts_with("linux-base-");
        const bool source = name.starts_with("linux-source-");
        if ((kind && name.ends_with("-amd64")) || source) show.push_back(name);
    }
    std::vector<Package> packages;
    if (names.exit.ok() && show.size() > fixed) {
        MANO_ASSIGN(const Output texts, run_program(show, {}, kTextLimit, options.stop));
        packages = parse_packages(texts.out);
    }
    if (packages.empty()) {
        return fail(Code::environment, "apt's index has no kernels in it: {}",
                    complaint(names.err));
    }
    return write_file_atomic(index_file(), show_packages(packages));
}

namespace {

// Waits for apt-get while saying how much of the file is there.
Result<Exit> watch(Child& child, const Package& package, const fs::path& folder,
                   const Options& options) {
    const std::string what = "downloading " + package.name;
    while (true) {
        if (const auto exit = child.poll()) return *exit;
        if (options.stop && options.stop()) {
            child.kill_and_reap();
            return fail(Code::interrupted, "stopped while downloading {}", package.name);
        }
        if (options.progress) {
            options.progress(what, std::min(bytes_on_disk(folder), package.size), package.size);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

std::optional<fs::path> package_in(const fs::path& folder) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == ".deb") return it->path();
    }
    return std::nullopt;
}

}  // namespace

Result<fs::path> Apt::download(const Package& package, const fs::path& folder,
                               const Options& options) const {
    MANO_ASSIGN(const std::string program, apt_program("apt-get"));
    // Shared: downloads may go on side by side, but not while the index is being replaced.
    MANO_ASSIGN(const Fd held, wait_for_lock(folder_ / "lock", true, options));
    // The paths in it are absolute: a cache that was moved needs them anew.
    MANO_TRY(configure());
    std::error_code error;
    const fs::path conf = fs::absolute(folder_ / "etc/apt.conf", error);
    const fs::path into = folder / package.name;
    MANO_TRY(make_folders(into));
    const fs::path log_path = folder / (package.name + ".log");
    MANO_ASSIGN(const Fd log, open_file(log_path, O_WRONLY | O_CREAT | O_TRUNC));
    SpawnOptions spawn;
    spawn.folder = into;
    spawn.stdout_fd = log.get();
    spawn.stderr_fd = log.get();
    MANO_ASSIGN(Child child, Child::spawn({program, "-c", conf.string(), "-q", "download",
                                           package.name + "=" + package.version},
                                          spawn));
    MANO_ASSIGN(const Exit exit, watch(child, package, into, options));
    const auto found = package_in(into);
    if (!exit.ok() || !found) {
        const auto text = read_file(log_path, kTextLimit);
        return fail(Code::environment, "{} {} couldn't be downloaded: {}", package.name,
                    package.version, text ? complaint(*text) : exit.text());
    }
    MANO_ASSIGN(const std::string digest, sha256_file(*found));
    if (digest != package.sha256) {
        return fail(Code::environment,
                    "{} {}: what was downloaded has the sha256 {} instead of {}; a full disk or a "
                    "broken mirror",
                    package.name, package.version, digest, package.sha256);
    }
    return *found;
}

}  // namespace mano::kernels

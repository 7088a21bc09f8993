// <filesystem> and <fstream>: folders, files, links, iteration, sizes, renames, errors.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

namespace fs = std::filesystem;

int main() {
    fs::path root = "tree";
    fs::remove_all(root);
    fs::create_directories(root / "a/b/c");
    for (int i = 0; i < 5; i++) {
        std::ofstream file(root / "a" / ("file" + std::to_string(i) + ".txt"));
        for (int line = 0; line <= i; line++) file << "line " << line << '\n';
    }
    fs::copy(root / "a/file3.txt", root / "a/b/copy.txt");
    fs::rename(root / "a/file4.txt", root / "a/b/c/moved.txt");
    fs::create_symlink("file0.txt", root / "a/link");
    fs::resize_file(root / "a/file2.txt", 7);
    std::vector<std::string> found;
    for (auto &entry : fs::recursive_directory_iterator(root))
        found.push_back(entry.path().generic_string() + (entry.is_directory() ? "/" : entry.is_symlink() ? "@" : "")
                        + (entry.is_regular_file() ? " " + std::to_string(entry.file_size()) : ""));
    std::sort(found.begin(), found.end());
    for (auto &line : found) std::cout << line << '\n';
    std::ifstream moved(root / "a/b/c/moved.txt");
    std::string line, last;
    while (std::getline(moved, line)) last = line;
    std::error_code error;
    fs::file_size(root / "missing", error);
    std::cout << last << ' ' << error.message() << ' ' << fs::read_symlink(root / "a/link") << ' '
              << fs::equivalent(root / "a/link", root / "a/file0.txt") << '\n';
    try {
        fs::create_directory(root / "no/such/place");
    } catch (const fs::filesystem_error &failure) {
        std::cout << failure.path1() << ' ' << failure.code().value() << '\n';
    }
    std::cout << fs::remove_all(root) << ' ' << fs::exists(root) << '\n';
    std::cout << fs::path("/a/./b/../c//d.tar.gz").lexically_normal() << fs::path("x/y.z").stem() << '\n';
}

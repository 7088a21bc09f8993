// Strings: building, searching, edit distance.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
int main() {
    std::string text;
    unsigned x = 7;
    for (int i = 0; i < 400000; i++) {
        x = x * 1664525u + 1013904223u;
        text += static_cast<char>('a' + (x >> 16) % 20);
        if ((x >> 8) % 6 == 0) text += ' ';
    }
    long found = 0;
    for (const char* needle : {"abc", "qrs t", "mno", "zzz", "a b c"})
        for (std::size_t at = 0; (at = text.find(needle, at)) != std::string::npos; at++) found++;
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        auto end = text.find(' ', at);
        if (end == std::string::npos) end = text.size();
        words.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::sort(words.begin(), words.end());
    long copied = 0;
    std::vector<char> buffer(1 << 16);
    for (int i = 0; i < 3000; i++) {
        std::memcpy(buffer.data(), text.data() + i * 7, buffer.size() / 2);
        copied += std::strlen(words[i].c_str()) + buffer[i];
    }
    std::string a = text.substr(0, 2500), b = text.substr(5000, 2500);
    std::vector<int> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); i++) {
        int diagonal = row[0]++;
        for (std::size_t j = 1; j <= b.size(); j++) {
            int next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = row[j];
            row[j] = next;
        }
    }
    std::printf("%ld %zu %ld %d\n", found, words.size(), copied, row[b.size()]);
}

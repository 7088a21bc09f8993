// Behind driver.hpp and before the candidate: what a generated `main` needs to read arguments, to put the region around
// a call and to report results. All of it stands before the candidate's text, so that its macros do not reach here.
#include <bits/stdc++.h>

namespace TICKMARK_NAMESPACE {
constexpr long sys_exit_group = 231;

// One message: the head, then at most this many bytes.
constexpr long part_bytes = 60000;
static char part_message[head_bytes + part_bytes];

static void send(char kind, const char *text, long length) {
    memcpy(part_message, begin_message, head_bytes);
    part_message[0] = kind;
    memcpy(part_message + head_bytes, text, static_cast<std::size_t>(length));
    ask_kernel(sys_write, device, part_message, head_bytes + length);
}

// An argument that does not fit its parameter.
[[noreturn]] static void refuse(const char *what) {
    std::string text = std::string("the driver cannot pass an argument: ") + what;
    send('F', text.data(), static_cast<long>(text.size()));
    for (;;) ask_kernel(sys_exit_group, 1, nullptr, 0);
}

static std::string input_text;
static const char *cursor;

static void read_input() {
    char buffer[65536];
    for (long length; (length = ask_kernel(sys_read, 0, buffer, sizeof buffer)) > 0;)
        input_text.append(buffer, static_cast<std::size_t>(length));
    cursor = input_text.c_str();
}

static void blank() {
    while (*cursor == ' ') ++cursor;
}
static bool accept(char letter) {
    blank();
    if (*cursor != letter) return false;
    ++cursor;
    return true;
}
static void expect(char letter) {
    if (!accept(letter)) refuse("the input is not what the signature tells");
}
static bool accept_word(const char *word) {
    blank();
    std::size_t length = strlen(word);
    if (strncmp(cursor, word, length) != 0) return false;
    cursor += length;
    return true;
}

static std::string out;
static void report() {
    long left = static_cast<long>(out.size());
    const char *text = out.data();
    for (; left > part_bytes; left -= part_bytes, text += part_bytes) send('P', text, part_bytes);
    send('R', text, left);
    out.clear();
}

template <class T, class = void> struct codec {
    static_assert(sizeof(T) == 0, "the driver knows no such type");
};

template <class T> struct codec<T, std::enable_if_t<std::is_integral_v<T>>> {
    static T read() {
        blank();
        bool negative = accept('-');
        if (*cursor < '0' || *cursor > '9') refuse("a number is needed");
        unsigned __int128 value = 0;
        // Beyond 64 bits it stays beyond them.
        for (; *cursor >= '0' && *cursor <= '9'; ++cursor)
            if (value >> 64 == 0) value = value * 10 + static_cast<unsigned>(*cursor - '0');
        if (*cursor == '.') {
            do ++cursor;
            while (*cursor == '0');
            if ((*cursor >= '0' && *cursor <= '9') || *cursor == 'e') refuse("an integer is needed");
        }
        __int128 wide = static_cast<__int128>(negative ? 0 - value : value);
        if (wide < static_cast<__int128>(std::numeric_limits<T>::min()) ||
            wide > static_cast<__int128>(std::numeric_limits<T>::max()))
            refuse("a number is too large for its type");
        return static_cast<T>(wide);
    }
    static void write(T value) { out += std::to_string(value); }
};
template <> struct codec<bool, void> {
    static bool read() {
        if (accept_word("true")) return true;
        if (accept_word("false")) return false;
        return codec<int>::read() != 0;
    }
    static void write(bool value) { out += value ? "true" : "false"; }
};
template <class T> struct codec<T, std::enable_if_t<std::is_floating_point_v<T>>> {
    static T read() {
        blank();
        char *end;
        T value = static_cast<T>(strtod(cursor, &end));
        if (end == cursor) refuse("a number is needed");
        cursor = end;
        return value;
    }
    static void write(T value) {
        char text[64];
        if (value != value) out += "nan";
        else if (value - value != 0) out += value > 0 ? "inf" : "-inf";
        else {
            snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
            out += text;
            // Else the result would pass for an integer.
            if (strpbrk(text, ".e") == nullptr) out += ".0";
        }
    }
};
template <> struct codec<std::string, void> {
    static std::string read() {
        expect('"');
        std::string text;
        for (; *cursor != '"'; ++cursor) {
            if (*cursor == 0) refuse("a text does not end");
            if (*cursor != '\\') {
                text += *cursor;
                continue;
            }
            switch (*++cursor) {
            case 'n': text += '\n'; break;
            case 't': text += '\t'; break;
            case 'r': text += '\r'; break;
            case 'u': {
                // Only control characters are written so.
                char digits[5] = {cursor[1], cursor[2], cursor[3], cursor[4], 0};
                text += static_cast<char>(strtol(digits, nullptr, 16));
                cursor += 4;
                break;
            }
            default: text += *cursor;
            }
        }
        ++cursor;
        return text;
    }
    static void write(const std::string &text) {
        out += '"';
        for (char letter : text) {
            if (letter == '"' || letter == '\\') {
                out += '\\';
                out += letter;
            } else if (static_cast<unsigned char>(letter) < 32) {
                char escape[8];
                snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(letter));
                out += escape;
            } else out += letter;
        }
        out += '"';
    }
};
template <> struct codec<char, void> {
    static char read() {
        std::string text = codec<std::string>::read();
        if (text.size() != 1) refuse("one character is needed");
        return text[0];
    }
    static void write(char value) { codec<std::string>::write(std::string(1, value)); }
};

// Adds each element with `add`.
template <class Add> void read_list(Add add) {
    expect('[');
    if (accept(']')) return;
    do add();
    while (accept(','));
    expect(']');
}
template <class Range> void write_list(const Range &range) {
    out += '[';
    bool first = true;
    for (auto &&item : range) {
        if (!first) out += ',';
        first = false;
        codec<typename Range::value_type>::write(item);
    }
    out += ']';
}

template <class T, class = void> struct is_range : std::false_type {};
template <class T>
struct is_range<T, std::void_t<typename T::value_type, decltype(std::declval<T &>().insert(
                                   std::declval<T &>().end(), std::declval<typename T::value_type>()))>>
    : std::bool_constant<!std::is_same_v<T, std::string>> {};
template <class T> struct codec<T, std::enable_if_t<is_range<T>::value>> {
    static T read() {
        T range;
        read_list([&] { range.insert(range.end(), codec<typename T::value_type>::read()); });
        return range;
    }
    static void write(const T &range) { write_list(range); }
};
template <class T, std::size_t size> struct codec<std::array<T, size>, void> {
    static std::array<T, size> read() {
        std::array<T, size> range{};
        std::size_t at = 0;
        read_list([&] {
            if (at == size) refuse("an array has too many elements");
            range[at++] = codec<T>::read();
        });
        return range;
    }
    static void write(const std::array<T, size> &range) { write_list(range); }
};
template <class A, class B> struct codec<std::pair<A, B>, void> {
    using bare = std::remove_const_t<A>;
    static std::pair<bare, B> read() {
        expect('[');
        bare first = codec<bare>::read();
        expect(',');
        B second = codec<B>::read();
        expect(']');
        return {std::move(first), std::move(second)};
    }
    static void write(const std::pair<A, B> &pair) {
        out += '[';
        codec<bare>::write(pair.first);
        out += ',';
        codec<B>::write(pair.second);
        out += ']';
    }
};

// Nodes, told apart by their members.
#define TICKMARK_HAS(name)                                                                                             \
    template <class T, class = void> struct has_##name : std::false_type {};                                           \
    template <class T> struct has_##name<T, std::void_t<decltype(std::declval<T &>().name)>> : std::true_type {};
TICKMARK_HAS(next)
TICKMARK_HAS(random)
TICKMARK_HAS(left)
TICKMARK_HAS(right)
TICKMARK_HAS(children)
TICKMARK_HAS(neighbors)
#undef TICKMARK_HAS

template <class T> using value_of = std::remove_reference_t<decltype(std::declval<T &>().val)>;

template <class T> T *make_node(value_of<T> value) {
    T *node;
    if constexpr (std::is_constructible_v<T, value_of<T>>) {
        node = new T(value);
    } else {
        node = new T();
        node->val = value;
    }
    // Some of the site's constructors leave them undefined.
    if constexpr (has_next<T>::value) node->next = nullptr;
    if constexpr (has_random<T>::value) node->random = nullptr;
    if constexpr (has_left<T>::value) node->left = nullptr;
    if constexpr (has_right<T>::value) node->right = nullptr;
    return node;
}

// Trees of the case that is being read: an argument that is a bare number stands for the node with that value.
template <class T> std::vector<T *> &roots() {
    static std::vector<T *> all;
    return all;
}
static std::vector<void (*)()> forget;

template <class T> struct codec<T *, std::enable_if_t<std::is_class_v<T>>> {
    using value = value_of<T>;
    static constexpr bool tree = has_left<T>::value && has_right<T>::value;

    static T *read() {
        if (accept_word("null")) return nullptr;
        blank();
        if constexpr (tree) {
            if (*cursor != '[') return find(codec<value>::read());
            T *root = read_tree();
            if (roots<T>().empty()) forget.push_back([] { roots<T>().clear(); });
            roots<T>().push_back(root);
            return root;
        } else if constexpr (has_neighbors<T>::value) return read_graph();
        else if constexpr (has_children<T>::value) return read_children();
        else if constexpr (has_next<T>::value && has_random<T>::value) return read_random();
        else {
            static_assert(has_next<T>::value, "the driver knows no such node");
            T *head = nullptr, *last = nullptr;
            read_list([&] {
                T *node = make_node<T>(codec<value>::read());
                (last == nullptr ? head : last->next) = node;
                last = node;
            });
            return head;
        }
    }

    static T *find(value wanted) {
        for (T *root : roots<T>()) {
            std::deque<T *> queue{root};
            for (; !queue.empty(); queue.pop_front()) {
                T *node = queue.front();
                if (node == nullptr) continue;
                if (node->val == wanted) return node;
                queue.push_back(node->left);
                queue.push_back(node->right);
            }
        }
        refuse("no tree before it has a node of this value");
    }

    static T *read_tree() {
        T *root = nullptr;
        std::deque<T **> places{&root};
        read_list([&] {
            if (places.empty()) refuse("a tree has more values than places");
            T **place = places.front();
            places.pop_front();
            if (accept_word("null")) return;
            *place = make_node<T>(codec<value>::read());
            places.push_back(&(*place)->left);
            places.push_back(&(*place)->right);
        });
        return root;
    }

    static T *read_random() {
        std::vector<T *> nodes;
        std::vector<long> targets;
        read_list([&] {
            expect('[');
            nodes.push_back(make_node<T>(codec<value>::read()));
            expect(',');
            targets.push_back(accept_word("null") ? -1 : codec<long>::read());
            expect(']');
        });
        for (std::size_t at = 0; at < nodes.size(); ++at) {
            if (at + 1 < nodes.size()) nodes[at]->next = nodes[at + 1];
            if (targets[at] >= static_cast<long>(nodes.size())) refuse("a node points beyond the list");
            if (targets[at] >= 0) nodes[at]->random = nodes[static_cast<std::size_t>(targets[at])];
        }
        return nodes.empty() ? nullptr : nodes[0];
    }

    static T *read_graph() {
        std::vector<std::vector<long>> lists = codec<std::vector<std::vector<long>>>::read();
        std::vector<T *> nodes;
        for (std::size_t at = 0; at < lists.size(); ++at) nodes.push_back(make_node<T>(static_cast<value>(at + 1)));
        for (std::size_t at = 0; at < lists.size(); ++at)
            for (long to : lists[at]) {
                if (to < 1 || to > static_cast<long>(nodes.size())) refuse("a node has a neighbour that is not there");
                nodes[at]->neighbors.push_back(nodes[static_cast<std::size_t>(to - 1)]);
            }
        return nodes.empty() ? nullptr : nodes[0];
    }

    // Level order; `null` ends the children of a node.
    static T *read_children() {
        T *root = nullptr;
        std::deque<T *> queue;
        bool started = false;
        read_list([&] {
            if (accept_word("null")) {
                if (started && !queue.empty()) queue.pop_front();
                started = true;
                return;
            }
            T *node = make_node<T>(codec<value>::read());
            if (root == nullptr) {
                root = node;
                // The `null` behind the root ends no list of children.
                queue.push_back(nullptr);
                queue.push_back(node);
                started = true;
                return;
            }
            if (queue.empty() || queue.front() == nullptr) refuse("a tree has more values than places");
            queue.front()->children.push_back(node);
            queue.push_back(node);
        });
        return root;
    }

    static void write(T *node) {
        if constexpr (tree && has_next<T>::value) write_levels(node);
        else if constexpr (tree) write_tree(node);
        else if constexpr (has_neighbors<T>::value) write_graph(node);
        else if constexpr (has_children<T>::value) write_children(node);
        else if constexpr (has_random<T>::value) write_random(node);
        else {
            out += '[';
            for (T *at = node; at != nullptr; at = at->next) {
                if (at != node) out += ',';
                codec<value>::write(at->val);
            }
            out += ']';
        }
    }

    static void write_tree(T *root) {
        std::vector<T *> nodes{root};
        for (std::size_t at = 0; at < nodes.size(); ++at) {
            if (nodes[at] == nullptr) continue;
            nodes.push_back(nodes[at]->left);
            nodes.push_back(nodes[at]->right);
        }
        while (!nodes.empty() && nodes.back() == nullptr) nodes.pop_back();
        out += '[';
        for (std::size_t at = 0; at < nodes.size(); ++at) {
            if (at > 0) out += ',';
            if (nodes[at] == nullptr) out += "null";
            else codec<value>::write(nodes[at]->val);
        }
        out += ']';
    }

    // Each level by its `next` pointers, with `#` behind it.
    static void write_levels(T *root) {
        out += '[';
        for (T *first = root; first != nullptr;) {
            T *below = nullptr;
            for (T *at = first; at != nullptr; at = at->next) {
                codec<value>::write(at->val);
                out += ',';
                if (below == nullptr) below = at->left != nullptr ? at->left : at->right;
            }
            out += below == nullptr ? "\"#\"" : "\"#\",";
            first = below;
        }
        out += ']';
    }

    static void write_graph(T *start) {
        std::map<value, std::vector<value>> lists;
        std::deque<T *> queue;
        std::set<T *> seen;
        if (start != nullptr) {
            queue.push_back(start);
            seen.insert(start);
        }
        for (; !queue.empty(); queue.pop_front()) {
            std::vector<value> &list = lists[queue.front()->val];
            for (T *to : queue.front()->neighbors) {
                list.push_back(to->val);
                if (seen.insert(to).second) queue.push_back(to);
            }
        }
        std::vector<std::vector<value>> ordered;
        for (auto &entry : lists) ordered.push_back(entry.second);
        codec<std::vector<std::vector<value>>>::write(ordered);
    }

    static void write_children(T *root) {
        std::string text;
        std::deque<T *> queue;
        out += '[';
        if (root != nullptr) {
            codec<value>::write(root->val);
            out += ",null";
            queue.push_back(root);
        }
        std::size_t kept = out.size();
        for (; !queue.empty(); queue.pop_front()) {
            for (T *child : queue.front()->children) {
                out += ',';
                codec<value>::write(child->val);
                queue.push_back(child);
                kept = out.size();
            }
            out += ",null";
        }
        if (root != nullptr && kept == out.size()) kept = out.size();
        out.resize(kept);
        // A root alone has no list of children to be ended.
        if (root != nullptr && out.size() >= 5 && out.compare(out.size() - 5, 5, ",null") == 0) out.resize(out.size() - 5);
        out += ']';
    }

    static void write_random(T *head) {
        std::map<T *, std::size_t> places;
        for (T *at = head; at != nullptr && places.emplace(at, places.size()).second;) at = at->next;
        out += '[';
        std::size_t left = places.size();
        for (T *at = head; left > 0; at = at->next, --left) {
            if (at != head) out += ',';
            out += '[';
            codec<value>::write(at->val);
            out += ',';
            auto found = places.find(at->random);
            // A copy that points into the original list is no answer.
            out += at->random == nullptr ? "null" : found == places.end() ? "\"elsewhere\"" : std::to_string(found->second);
            out += ']';
        }
        out += ']';
    }
};

template <class T> using bare = std::remove_cv_t<std::remove_reference_t<T>>;

static bool first_argument;
static void begin_arguments() {
    expect('[');
    first_argument = true;
}
template <class T> bare<T> argument() {
    if (!first_argument) expect(',');
    first_argument = false;
    return codec<bare<T>>::read();
}
static void end_arguments() { expect(']'); }

// The next line.
static void begin_case() {
    for (auto clear : forget) clear();
    forget.clear();
    if (*cursor != '\n') refuse("a line goes on behind its arguments");
    ++cursor;
}

// The call goes through a volatile pointer: nothing can be inlined, folded or moved out.
template <class Body> void timed(Body &&body) {
    void (*volatile target)(Body &) = [](Body &inner) { inner(); };
    region scope;
    target(body);
}

template <class T> void show(const T &value) { codec<bare<T>>::write(value); }

// One call on the object of a design problem, its arguments read already.
template <class Class> struct step {
    virtual void run(Class *&object) = 0;
    virtual void show_result() = 0;
    virtual ~step() {}
};
template <class Class, class Body, class... Arguments> struct bound_step : step<Class> {
    using result = bare<std::invoke_result_t<Body &, Class *&, Arguments &...>>;
    using kept = std::conditional_t<std::is_void_v<result>, char, result>;
    Body body;
    std::tuple<Arguments...> arguments;
    std::optional<kept> value;
    bound_step(Body b, std::tuple<Arguments...> a) : body(b), arguments(std::move(a)) {}
    void run(Class *&object) override {
        std::apply(
            [&](Arguments &...each) {
                if constexpr (std::is_void_v<result>) body(object, each...);
                else value.emplace(body(object, each...));
            },
            arguments);
    }
    void show_result() override {
        if constexpr (std::is_void_v<result>) out += "null";
        else show(*value);
    }
};
template <class Class, class... Arguments, class Body> std::unique_ptr<step<Class>> make_step(Body body) {
    begin_arguments();
    // Braces: the arguments are read in order.
    std::tuple<bare<Arguments>...> arguments{argument<Arguments>()...};
    end_arguments();
    return std::make_unique<bound_step<Class, Body, bare<Arguments>...>>(body, std::move(arguments));
}

// `[["Class", "name", ...], [[...], [...], ...]]`; `make` gives the step of a name.
template <class Class, class Make> void play(Make make) {
    expect('[');
    std::vector<std::string> names = codec<std::vector<std::string>>::read();
    expect(',');
    expect('[');
    std::vector<std::unique_ptr<step<Class>>> steps;
    for (std::size_t at = 0; at < names.size(); ++at) {
        if (at > 0) expect(',');
        steps.push_back(make(names[at]));
        if (steps.back() == nullptr) refuse("the class has no such method");
    }
    expect(']');
    expect(']');
    Class *object = nullptr;
    timed([&] {
        for (auto &each : steps) each->run(object);
    });
    out += '[';
    for (std::size_t at = 0; at < steps.size(); ++at) {
        if (at > 0) out += ',';
        steps[at]->show_result();
    }
    out += ']';
    report();
}
} // namespace TICKMARK_NAMESPACE

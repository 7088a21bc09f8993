// Spans between markers, in user code of a program with a library.
#include <stdio.h>

struct Node {
    struct Node *left, *right;
    int key;
};

static struct Node nodes[300];
static char message[17];
static unsigned long device_read;

// One marker: the simulator sees the write, a single-stepper the address. Without a device the write fails, at the
// same count of instructions.
extern const char marker_point[];
__attribute__((noinline)) static void mark(char kind) {
    message[0] = kind;
    long result;
    __asm__ volatile(".globl marker_point\nmarker_point: syscall"
                     : "=a"(result)
                     : "a"(1), "D"(198), "S"(message), "d"(17)
                     : "rcx", "r11", "memory");
}

static struct Node *insert(struct Node *root, struct Node *node) {
    node->left = node->right = 0;
    if (!root) return node;
    struct Node *at = root;
    for (;;) {
        struct Node **next = node->key < at->key ? &at->left : &at->right;
        if (!*next) {
            *next = node;
            return root;
        }
        at = *next;
    }
}

static int depth(const struct Node *node) {
    if (!node) return 0;
    int left = depth(node->left), right = depth(node->right);
    return 1 + (left > right ? left : right);
}

static long collatz(long n) {
    long steps = 0;
    for (; n != 1; ++steps) n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

static long clear(char *to, long bytes) {
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(0) : "memory");
    return bytes;
}

int main(void) {
    long result = 0;
    __asm__ volatile("syscall"
                     : "=a"(device_read)
                     : "a"(0), "D"(198), "S"(message + 1), "d"(16)
                     : "rcx", "r11", "memory");
    mark('B');
    mark('E');

    mark('B');
    struct Node *root = 0;
    for (int i = 0; i < 300; ++i) {
        nodes[i].key = i * 7919 % 1009;
        root = insert(root, &nodes[i]);
    }
    result += depth(root);
    mark('E');

    mark('B');
    for (long n = 1; n < 200; ++n) result += collatz(n);
    mark('E');

    static char room[1000];
    mark('B');
    for (long n = 0; n < 1000; n += 100) result += clear(room, n);
    mark('E');

    printf("%ld\n", result);
    return 0;
}

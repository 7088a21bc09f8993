// A hot loop on two objects of the stack: whatever moves the stack moves its line splits.
#include <stdio.h>

struct Record {
    long fields[6];
};

int main(void) {
    volatile struct Record from = {{1, 2, 3, 4, 5, 6}}, to = {{0}};
    for (int i = 0; i < 100000; ++i) {
        to = from;
        from.fields[i % 6] += to.fields[(i + 1) % 6] & 7;
    }
    printf("%ld %ld\n", to.fields[0], from.fields[5]);
    return 0;
}

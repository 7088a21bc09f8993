#include <stdio.h>
int main(int argc, char **argv) {
    int sum = 0;
    for (int i = 0; i < 1000; i++) sum += i * i % 7;
    printf("compiled in memory: %d %s\n", sum, argv[argc - 1]);
    return 0;
}

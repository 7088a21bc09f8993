/* Works for a while, then prints the file that it is given. */
#include <stdio.h>

int main(int argc, char **argv) {
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < 1000000; i++)
        sum += i;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL)
        return 1;
    for (int c; (c = getc(file)) != EOF;)
        putchar(c);
    return 0;
}

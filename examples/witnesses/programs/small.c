#define SQUARE(x) ((x) * (x))
typedef struct { int a; double b; } pair;
static int table[4] = {1, 2, 3, 4};
int work(int n, pair *p) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += SQUARE(i) + table[i & 3];
    p->b *= sum;
    return sum;
}

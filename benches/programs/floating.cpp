// Floating point: n-body, matrix product, a square root here and there.
#include <cmath>
#include <cstdio>
#include <vector>
int main() {
    const int bodies = 8;
    double p[bodies][3], v[bodies][3], m[bodies];
    for (int i = 0; i < bodies; i++) {
        for (int k = 0; k < 3; k++) p[i][k] = std::cos(i * 3 + k) * 10, v[i][k] = std::sin(i + k * 2);
        m[i] = 1 + i * 0.1;
    }
    for (int step = 0; step < 60000; step++) {
        for (int i = 0; i < bodies; i++)
            for (int j = i + 1; j < bodies; j++) {
                double d[3], square = 0.01;
                for (int k = 0; k < 3; k++) d[k] = p[i][k] - p[j][k], square += d[k] * d[k];
                double scale = 0.001 / (square * std::sqrt(square));
                for (int k = 0; k < 3; k++) v[i][k] -= d[k] * m[j] * scale, v[j][k] += d[k] * m[i] * scale;
            }
        for (int i = 0; i < bodies; i++)
            for (int k = 0; k < 3; k++) p[i][k] += 0.001 * v[i][k];
    }
    const int n = 160;
    std::vector<double> a(n * n), b(n * n), c(n * n);
    for (int i = 0; i < n * n; i++) a[i] = i % 17 * 0.5, b[i] = i % 13 * 0.25;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
    std::printf("%.12g %.12g\n", p[3][1], c[n * n / 2]);
}

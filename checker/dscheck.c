/* dscheck.c: check a certificate of dominant sets against its data.   cc -O2 -o dscheck dscheck.c -lm
 *
 * The same claims, bounds, words and exit codes as dscheck.py (README.md), in C99 without any library but the
 * standard one. Throughout r = A x - shift x and f = x'r, for weights x that sum to 1. A graph must be saved
 * without compression; there are no rationals here.
 */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPS 0x1p-52
#define DENSE 3000 /* most objects of a face */
#define PAIRS 6000 /* most objects of minimax distances */
typedef struct V { /* a value of JSON: 0 null, 'b' true or false, 'n' number, 's' text, 'a' list, 'o' object */
    char type, whole; double number; char *text; struct V *item; char **key; long count;
} V;

static void refuse(const char *why) { printf("refused: %s\n", why); exit(2); }
static void need(int condition, const char *why) { if (!condition) refuse(why); }
static void *room(double count, size_t size) {
    need(count >= 0 && count * size < 1e12, "the numbers of objects or entries are too large.");
    void *out = calloc((size_t)count + 1, size);
    need(out != NULL, "there is no memory for it.");
    return out;
}
static double *numbers(double count) { return room(count, sizeof(double)); }

/* SHA-256 ---------------------------------------------------------------------------------------------- */
typedef struct { uint32_t h[8]; uint64_t length; unsigned char block[64]; int held; } Sha;
static uint32_t K[64];
static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }
static uint32_t fraction(double x) { return (uint32_t)((x - floor(x)) * 4294967296.0); }
static void sha_start(Sha *s) { /* constants: fractions of square and cube roots of the first primes */
    for (int p = 2, k = 0; k < 64; p++) {
        int prime = 1;
        for (int q = 2; q * q <= p; q++) prime &= p % q != 0;
        if (!prime) continue;
        if (k < 8) s->h[k] = fraction(sqrt(p));
        K[k++] = fraction(cbrt(p));
    }
    s->length = 0; s->held = 0;
}
static void sha_block(Sha *s) {
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)s->block[4*i] << 24 | s->block[4*i+1] << 16 | s->block[4*i+2] << 8 | s->block[4*i+3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i-15], b = w[i-2];
        w[i] = w[i-16] + w[i-7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(v, s->h, 32);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + K[i] + w[i];
        uint32_t u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 28);
        v[4] += t; v[0] = t + u;
    }
    for (int i = 0; i < 8; i++) s->h[i] += v[i];
}
static void sha_add(Sha *s, const void *data, size_t count) {
    const unsigned char *bytes = data;
    s->length += count;
    while (count--) {
        s->block[s->held++] = *bytes++;
        if (s->held == 64) { sha_block(s); s->held = 0; }
    }
}
static void sha_end(Sha *s, char *hex) {
    uint64_t bits = 8 * s->length;
    unsigned char one = 0x80, zero = 0, last[8];
    sha_add(s, &one, 1);
    while (s->held != 56) sha_add(s, &zero, 1);
    for (int i = 0; i < 8; i++) last[i] = bits >> (56 - 8 * i) & 255;
    sha_add(s, last, 8);
    for (int i = 0; i < 8; i++) snprintf(hex + 8 * i, 9, "%08x", (unsigned)s->h[i]);
}

/* JSON ------------------------------------------------------------------------------------------------- */
static char *at; /* where the reader is; the text ends with 0 */
static const char *ODD = "the certificate is not as the format says.";
static void blank(void) { while (*at && strchr(" \n\r\t", *at)) at++; }
static char *text(void) {
    char *start = ++at, *out = start;
    while (*at && *at != '"') {
        if (*at == '\\') { at++; need(*at != 0, ODD); }
        *out++ = *at++;
    }
    need(*at++ == '"', ODD);
    *out = 0;
    return start;
}
static V value(int depth) {
    V v = {0};
    long size = 0;
    need(depth < 50, ODD);
    blank();
    if (*at == '"') { v.type = 's'; v.text = text(); }
    else if (*at == '[' || *at == '{') {
        char end = *at == '[' ? ']' : '}';
        v.type = *at++ == '[' ? 'a' : 'o';
        blank();
        while (*at != end) {
            if (v.count == size) {
                size = 2 * size + 4;
                v.item = realloc(v.item, size * sizeof(V));
                if (v.type == 'o') v.key = realloc(v.key, size * sizeof(char *));
                need(v.item && (v.type == 'a' || v.key), "there is no memory for it.");
            }
            if (v.type == 'o') { blank(); need(*at == '"', ODD); v.key[v.count] = text(); blank(); need(*at++ == ':', ODD); }
            v.item[v.count++] = value(depth + 1);
            blank();
            need(*at == ',' || *at == end, ODD);
            if (*at == ',') { at++; blank(); need(*at != end, ODD); }
        }
        at++;
    } else if (!strncmp(at, "null", 4)) at += 4;
    else if (!strncmp(at, "true", 4)) { v.type = 'b'; v.number = 1; at += 4; }
    else if (!strncmp(at, "false", 5)) { v.type = 'b'; at += 5; }
    else {
        char *end = at + strspn(at, "+-.0123456789eE"), *read;
        v.type = 'n'; v.number = strtod(at, &read); v.whole = strcspn(at, ".eE") >= (size_t)(end - at);
        need(end > at && read == end && (*at == '-' || isdigit((unsigned char)*at)), ODD);
        at = end;
    }
    return v;
}
static V *maybe(V *v, const char *key) {
    need(v->type == 'o', ODD);
    for (long i = v->count - 1; i >= 0; i--) if (!strcmp(v->key[i], key)) return &v->item[i];
    return NULL;
}
static V *get(V *v, const char *key) { v = maybe(v, key); need(v != NULL, ODD); return v; }
static double number(V *v) { need(v->type == 'n', ODD); return v->number; }
static char *word(V *v) { need(v->type == 's', ODD); return v->text; }
static double *list(V *v, long *count) {
    need(v->type == 'a', ODD);
    double *out = numbers(v->count);
    for (long i = 0; i < v->count; i++) out[i] = number(&v->item[i]);
    if (count) *count = v->count;
    return out;
}
static long *wholes(V *v, long *count, double low, double high) {
    double *x = list(v, count);
    long *out = room(*count, sizeof(long));
    for (long i = 0; i < *count; i++) {
        need(v->item[i].whole && x[i] >= low && x[i] < high, "a list holds numbers that are no objects.");
        out[i] = (long)x[i];
    }
    return out;
}

/* Data ------------------------------------------------------------------------------------------------- */
typedef struct { long n, d, *starts, *tails; double *x; } Data; /* rows, a matrix, or a graph */
static const char *NO_ARRAY = "the data are no array of numbers (.npy), and no graph saved without compression (.npz).";
static unsigned char *bytes_of(const char *path, size_t *count) {
    FILE *stream = fopen(path, "rb");
    need(stream != NULL, "a file cannot be opened.");
    size_t size = 0, got;
    unsigned char *out = NULL;
    for (*count = 0;; *count += got) {
        if (*count + 65536 > size) { out = realloc(out, (size = 2 * size + 131072) + 1); need(out != NULL, "there is no memory."); }
        if (!(got = fread(out + *count, 1, size - *count, stream))) break;
    }
    fclose(stream);
    out[*count] = 0;
    return out;
}
static double *npy(unsigned char *raw, size_t size, long *n, long *d) { /* an array of up to two axes, in C order */
    need(size > 12 && !memcmp(raw, "\x93NUMPY", 6), NO_ARRAY);
    size_t head = raw[6] == 1 ? (size_t)10 + raw[8] + 256 * raw[9] : 12 + raw[8] + 256 * raw[9] + 65536 * (size_t)raw[10];
    need(head <= size, NO_ARRAY);
    char *kind = strstr((char *)raw + 10, "'descr': '"), *shape = strstr((char *)raw + 10, "'shape': (");
    int transposed = strstr((char *)raw + 10, "'fortran_order': True") != NULL, axes;
    need(kind && shape && (unsigned char *)shape < raw + head, NO_ARRAY);
    *n = *d = 1;
    axes = sscanf(shape + 10, "%ld, %ld", n, d);
    char type = kind[11];
    size_t width = (size_t)atoi(kind + 12), count = (size_t)*n * *d;
    need(axes >= 1 && strchr("<|", kind[10]) && strchr("fiub", type) && *n >= 0 && *d >= 0, NO_ARRAY);
    need(*n == 0 || *d == 0 || (width && count / *n == (size_t)*d && (size - head) / width >= count), NO_ARRAY);
    double *out = numbers((double)count);
    for (size_t k = 0; k < count; k++) {
        unsigned char *p = raw + head + k * width;
        float f; int64_t i = 0; uint64_t u = 0; double v;
        memcpy(&u, p, width > 8 ? 8 : width);
        i = width < 8 && (u >> (8 * width - 1) & 1) ? (int64_t)(u | ~0ull << 8 * width) : (int64_t)u;
        memcpy(&f, p, 4 < width ? 4 : width); memcpy(&v, &u, 8);
        need(type != 'f' || width == 4 || width == 8, NO_ARRAY);
        v = type == 'f' ? (width == 4 ? f : v) : type == 'i' ? (double)i : (double)u;
        need(isfinite(v), "the data have NaN or infinite entries.");
        out[transposed && axes == 2 ? (k % *n) * *d + k / *n : k] = v;
    }
    if (axes == 1) *d = 0;
    return out;
}
static unsigned get4(unsigned char *p) { return p[0] | p[1] << 8 | p[2] << 16 | (unsigned)p[3] << 24; }
static double *entry_of(unsigned char *raw, size_t size, const char *name, long *n) { /* of a zip, stored */
    long d;
    for (size_t k = size < 22 ? 0 : size - 22; k; k--) {
        if (memcmp(raw + k, "PK\5\6", 4)) continue;
        for (size_t p = get4(raw + k + 16); p + 46 < size && !memcmp(raw + p, "PK\1\2", 4);) {
            size_t length = raw[p+28] + 256 * raw[p+29], begin = get4(raw + p + 42), bytes = get4(raw + p + 24);
            if (length == strlen(name) && p + 46 + length < size && !memcmp(raw + p + 46, name, length)) {
                need(raw[p+10] == 0 && begin + 30 < size, NO_ARRAY);
                begin += 30 + raw[begin+26] + 256 * raw[begin+27] + raw[begin+28] + 256 * raw[begin+29];
                need(begin + bytes <= size, NO_ARRAY);
                return npy(raw + begin, bytes, n, &d);
            }
            p += 46 + length + raw[p+30] + 256 * raw[p+31] + raw[p+32] + 256 * raw[p+33];
        }
        break;
    }
    refuse(NO_ARRAY);
    return NULL;
}
static double *by; /* what the next sort goes by */
static int rising(const void *a, const void *b) {
    double x = by[*(const long *)a], y = by[*(const long *)b];
    return x < y ? -1 : x > y;
}
static int plain(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }
static Data load(const char *path, const char *form, char *hex) {
    size_t size;
    long count, m;
    char head[64];
    unsigned char *raw = bytes_of(path, &size);
    Data g = {0};
    Sha s;
    sha_start(&s);
    if (strcmp(form, "graph")) {
        g.x = npy(raw, size, &g.n, &g.d);
        need(g.d > 0, "the data are no rows of numbers.");
        if (!strcmp(form, "matrix")) {
            need(g.n == g.d, "the data are no square matrix.");
            for (long i = 0; i < g.n; i++) g.x[i * g.n + i] = 0.0;
        }
        sha_add(&s, head, snprintf(head, sizeof head, "%ld %ld\n", g.n, g.d));
        for (long i = 0; i < g.n; i++)
            for (long j = 0; j < g.d; j++) {
                double v = g.x[i * g.d + j];
                if (!strcmp(form, "matrix")) v = 0.5 * (v + g.x[j * g.d + i]);
                sha_add(&s, &v, 8);
            }
        sha_end(&s, hex);
        return g;
    }
    double *shape = entry_of(raw, size, "shape.npy", &count), *starts = entry_of(raw, size, "indptr.npy", &m);
    double *tails = entry_of(raw, size, "indices.npy", &count), *values = entry_of(raw, size, "data.npy", &count);
    g.n = (long)shape[0];
    need(m == g.n + 1 && starts[0] == 0 && starts[g.n] == count, NO_ARRAY);
    g.starts = room(g.n + 1, sizeof(long)); g.tails = room(count, sizeof(long)); g.x = numbers(count);
    long *order = room(count, sizeof(long)), held = 0;
    by = tails;
    for (long i = 0; i < g.n; i++) {
        long first = (long)starts[i], last = (long)starts[i + 1];
        need(0 <= first && first <= last && last <= count, NO_ARRAY);
        for (long k = first; k < last; k++) order[k] = k;
        qsort(order + first, last - first, sizeof(long), rising);
        for (long k = first; k < last; k++) {
            long j = (long)tails[order[k]];
            need(j >= 0 && j < g.n && (k == first || tails[order[k-1]] < j), "the graph has an edge twice, or a wrong one.");
            if (j != i) { g.tails[held] = j; g.x[held++] = values[order[k]]; }
        }
        g.starts[i + 1] = held;
    }
    g.d = held;
    sha_add(&s, head, snprintf(head, sizeof head, "%ld %ld\n", g.n, held));
    for (long i = 0; i <= g.n; i++) { int64_t v = g.starts[i]; sha_add(&s, &v, 8); }
    for (long k = 0; k < held; k++) { int64_t v = g.tails[k]; sha_add(&s, &v, 8); }
    sha_add(&s, g.x, 8 * held);
    sha_end(&s, hex);
    return g;
}
static double edge(Data *g, long i, long j, double none) {
    for (long low = g->starts[i], high = g->starts[i + 1]; low < high;) {
        long k = (low + high) / 2;
        if (g->tails[k] == j) return g->x[k];
        if (g->tails[k] < j) low = k + 1; else high = k;
    }
    return none;
}

/* Similarities ----------------------------------------------------------------------------------------- */
enum { SQUARES, COSINE, LINEAR, RBF, LAPLACIAN, EUCLIDEAN, PATH, MATRIX, GRAPH };
static const char *KINDS[] = {"sqeuclidean", "cosine", "linear", "rbf", "laplacian", "euclidean", "path", "matrix", "graph"};
typedef struct { int kind; long n, d, terms; double m, gamma, c, size, slack, stretch, *U, *b, *own, *A, *T; Data *g; } Sim;

static double between(double *a, double *b, long d, int kind) { /* a product, a distance, or its square */
    double sum = 0;
    for (long k = 0; k < d; k++)
        sum += kind == 0 ? a[k] * b[k] : kind == 1 ? fabs(a[k] - b[k]) : (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}
static double *minimax(Data *g, int graph, long nearest) { /* of all pairs, by Prim's algorithm */
    long n = g->n, seen = 1;
    need(n <= PAIRS, "these are too many objects for all minimax distances.");
    double *D = numbers((double)n * n), *steps = numbers((double)n * n), *core = numbers(n), *row = numbers(n), *best;
    long *order = room(n, sizeof(long)), *source = room(n, sizeof(long));
    need(nearest >= 1, ODD);
    for (long i = 0; i < n; i++) {
        for (long j = 0; j < n; j++)
            row[j] = steps[i * n + j] = graph ? fmin(edge(g, i, j, INFINITY), edge(g, j, i, INFINITY))
                                              : sqrt(between(g->x + i * g->d, g->x + j * g->d, g->d, 2));
        qsort(row, n, sizeof(double), plain);
        core[i] = graph || nearest == 1 ? 0.0 : row[(nearest < n ? nearest : n) - 1];
    }
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) if (steps[i * n + j] > 0) steps[i * n + j] = fmax(steps[i * n + j], fmax(core[i], core[j]));
    best = row;
    memcpy(best, steps, n * sizeof(double));
    for (long i = 0; i < n; i++) order[i] = i; /* those that were seen come first */
    for (; seen < n; seen++) {
        long place = seen, i, swap;
        for (long k = seen; k < n; k++) if (best[order[k]] < best[order[place]]) place = k;
        i = order[place]; swap = order[seen]; order[seen] = i; order[place] = swap;
        for (long k = 0; k < seen; k++)
            D[i * n + order[k]] = D[order[k] * n + i] = fmax(D[source[i] * n + order[k]], best[i]);
        for (long k = seen + 1; k < n; k++)
            if (steps[i * n + order[k]] < best[order[k]]) { best[order[k]] = steps[i * n + order[k]]; source[order[k]] = i; }
    }
    free(steps);
    return D;
}
static Sim similarity(V *said, Data *g, V *metric) {
    Sim s = {0};
    double longest = 0, *mean = numbers(g->d + 1), m, R;
    char *kind = word(get(said, "kind"));
    for (s.kind = 0; s.kind <= GRAPH && strcmp(KINDS[s.kind], kind); s.kind++) {}
    need(s.kind <= GRAPH, "this kind of similarity is not known.");
    s.m = maybe(said, "offset") ? number(get(said, "offset")) : 0;
    s.gamma = maybe(said, "gamma") ? number(get(said, "gamma")) : 0;
    need((s.gamma > 0) == (s.kind == RBF || s.kind == LAPLACIAN), "gamma is wrong for this kind.");
    s.n = g->n; s.d = g->d; s.g = g; s.c = 1; s.terms = 1; m = s.m;
    s.own = numbers(s.n); s.b = numbers(s.n);
    int graph = g->starts != NULL;
    need(graph ? s.kind == GRAPH || s.kind == PATH : s.kind != GRAPH && (s.kind != MATRIX || s.n == s.d), ODD);
    for (long i = 0; i < s.n; i++) s.own[i] = m;
    if (s.kind == PATH) {
        s.A = minimax(g, graph, (long)number(get(said, "min_samples")));
        for (long i = 0; i < s.n; i++) for (long j = 0; j < s.n; j++) s.A[i * s.n + j] = i == j ? 0 : m - s.A[i * s.n + j];
        s.size = m; s.terms = graph ? 1 : s.d;
        return s;
    }
    if (s.kind == MATRIX || s.kind == GRAPH) {
        for (long i = 0; i < s.n; i++)
            for (long k = graph ? g->starts[i] : 0; k < (graph ? g->starts[i + 1] : s.n); k++) {
                double a = graph ? g->x[k] : g->x[i * s.n + k], back = graph ? edge(g, g->tails[k], i, NAN) : g->x[k * s.n + i];
                need(!isnan(back), "the graph is not symmetric.");
                s.size = fmax(s.size, a); s.slack = fmax(s.slack, fabs(a - back));
            }
        for (long i = 0; i < s.n; i++) s.own[i] = s.size;
        return s;
    }
    s.terms = s.d; s.stretch = 1;
    for (long i = 0; i < s.n; i++) for (long k = 0; k < s.d; k++) mean[k] += g->x[i * s.d + k] / s.n;
    double *Y = numbers((double)s.n * s.d), stretch = 0;
    for (long i = 0; i < s.n; i++) {
        double length = 0;
        for (long k = 0; k < s.d; k++)
            Y[i * s.d + k] = g->x[i * s.d + k] - (s.kind == COSINE || s.kind == LINEAR ? 0 : mean[k]);
        length = sqrt(between(Y + i * s.d, Y + i * s.d, s.d, 0));
        longest = fmax(longest, length);
        for (long k = 0; k < s.d; k++) if (s.kind == COSINE && length > 0) Y[i * s.d + k] /= length;
    }
    s.U = Y;
    if (metric && metric->type) {
        need(metric->type == 'a' && metric->count == s.d, ODD);
        s.U = numbers((double)s.n * s.d); s.T = numbers((double)s.d * s.d);
        for (long k = 0; k < s.d; k++) {
            long count;
            double *row = list(&metric->item[k], &count);
            need(count == s.d, ODD);
            for (long j = 0; j < s.d; j++) {
                s.T[k * s.d + j] = row[j]; stretch += row[j] * row[j];
                for (long i = 0; i < s.n; i++) s.U[i * s.d + j] += Y[i * s.d + k] * row[j];
            }
        }
        s.stretch = sqrt(stretch);
    }
    R = longest * s.stretch;
    s.c = s.kind == SQUARES || s.kind == RBF ? 2 : 1;
    for (long i = 0; i < s.n; i++) {
        double square = between(s.U + i * s.d, s.U + i * s.d, s.d, 0);
        if (s.c == 2) s.b[i] = -square;
        s.own[i] = s.kind == SQUARES ? m : s.kind <= LINEAR ? m + square : m ? m : 1;
    }
    s.size = s.kind == COSINE ? 2 : s.kind == LINEAR ? m + R * R : s.kind == LAPLACIAN ? 1 : s.kind == EUCLIDEAN ? m + 2 * R
           : (m ? m : 1) + 4 * R * R * (s.gamma ? s.gamma : 1);
    return s;
}
static double error(Sim *s, double count) { return 2 * EPS * (count + s->terms + 16) * s->size + s->slack; }
static double pair(Sim *s, long i, long j) {
    if (i == j) return 0;
    if (s->kind == PATH) return s->A[i * s->n + j];
    if (s->kind == MATRIX) return 0.5 * (s->g->x[i * s->n + j] + s->g->x[j * s->n + i]);
    if (s->kind == GRAPH) return edge(s->g, i, j, 0);
    double *a = s->U + i * s->d, *b = s->U + j * s->d;
    if (s->kind == LAPLACIAN) return exp(-s->gamma * between(a, b, s->d, 1));
    if (s->kind == EUCLIDEAN) return s->m - sqrt(between(a, b, s->d, 2));
    double out = s->c * between(a, b, s->d, 0) + s->b[i] + s->b[j];
    return s->kind == RBF ? exp(s->gamma * out) : out + s->m;
}
static double *times(Sim *s, long *J, double *x, long m) { /* A x; -inf where no path leads */
    double *out = numbers(s->n), *mix = numbers(s->d + 1), total = 0, biases = 0;
    if (s->kind > LINEAR) {
        for (long k = 0; k < m; k++)
            if (s->kind == GRAPH)
                for (long e = s->g->starts[J[k]]; e < s->g->starts[J[k] + 1]; e++)
                    out[s->g->tails[e]] += edge(s->g, s->g->tails[e], J[k], 0) * x[k];
            else for (long i = 0; i < s->n; i++) out[i] += pair(s, i, J[k]) * x[k];
        return out;
    }
    for (long k = 0; k < m; k++) {
        total += x[k]; biases += x[k] * s->b[J[k]];
        for (long j = 0; j < s->d; j++) mix[j] += x[k] * s->U[J[k] * s->d + j];
    }
    for (long i = 0; i < s->n; i++)
        out[i] = s->c * between(s->U + i * s->d, mix, s->d, 0) + (s->b[i] + s->m) * total + biases;
    for (long k = 0; k < m; k++) out[J[k]] -= s->own[J[k]] * x[k];
    return out;
}
static int factor(double *C, long q, double slack) { /* the Cholesky factor of C less what may be off, in its place */
    double trace = 0;
    for (long i = 0; i < q; i++) trace += C[i * q + i];
    slack += (q + 2) * EPS * fmax(trace, 1e-300);
    for (long i = 0; i < q; i++) {
        C[i * q + i] -= slack;
        for (long j = 0; j <= i; j++) {
            double sum = C[i * q + j];
            for (long k = 0; k < j; k++) sum -= C[i * q + k] * C[j * q + k];
            if (i == j && !(sum > 0 && isfinite(sum))) return 0;
            C[i * q + j] = i == j ? sqrt(sum) : sum / C[j * q + j];
        }
    }
    return 1;
}
static int face_of_products(Sim *s, long *R, long m, double shift, double *moved, double *rise) {
    long d = s->d, q = m > d ? d : m;
    double total = 0, reach = 0, *lengths = numbers(s->n), *V = numbers((double)m * d), *mean = numbers(d), *v = numbers(d);
    double *C = numbers((double)q * q), *F = numbers((double)q * q), *rows = s->kind == COSINE ? s->U : s->g->x, wide;
    for (long i = 0; i < m; i++) {
        if (s->own[R[i]] + shift <= 0) return 0;
        total += 1 / (s->own[R[i]] + shift);
    }
    for (long i = 0; i < s->n; i++)
        lengths[i] = s->stretch * sqrt(s->c * between(rows + i * d, rows + R[0] * d, d, 2));
    for (long i = 0; i < m; i++) {
        reach = fmax(reach, lengths[R[i]]);
        for (long k = 0; k < d; k++) v[k] = sqrt(s->c) * (rows[R[i] * d + k] - rows[R[0] * d + k]);
        for (long k = 0; k < d; k++) for (long j = 0; j < d; j++)
            if (s->T ? 1 : k == j) V[i * d + j] += v[k] * (s->T ? s->T[k * d + j] : 1);
        for (long k = 0; k < d; k++) mean[k] += V[i * d + k] / (s->own[R[i]] + shift) / total;
    }
    for (long i = 0; i < m; i++) for (long k = 0; k < d; k++)
        V[i * d + k] = (V[i * d + k] - mean[k]) / sqrt(s->own[R[i]] + shift);
    for (long i = 0; i < q; i++) for (long j = 0; j < q; j++) {
        if (m <= d) C[i * q + j] = between(V + i * d, V + j * d, d, 0);
        else for (long k = 0; k < m; k++) C[i * q + j] += V[k * d + i] * V[k * d + j];
    }
    wide = s->kind == SQUARES ? reach : sqrt(s->size);
    for (double share = 0.5; share > 0x1p-40; share *= 0.5) {
        for (long i = 0; i < q * q; i++) F[i] = (i % (q + 1) ? 0 : 1 - share) - C[i];
        if (!factor(F, q, 2 * EPS * (m + s->terms + 16) * total * reach * wide)) continue;
        for (long i = 0; i < m; i++) moved[i] = (2 + 2 * reach * sqrt(total) / share) / (s->own[R[i]] + shift);
        for (long i = 0; i < s->n; i++) rise[i] = 2 + (lengths[i] + reach) * sqrt(total) / share;
        return 1;
    }
    return 0;
}
static int face(Sim *s, long *R, long m, double shift, double *moved, double *rise) { /* whether f is shown to be concave */
    long q = m - 1;
    if (s->kind <= LINEAR && face_of_products(s, R, m, shift, moved, rise)) return 1;
    if (m > DENSE) return 0;
    double *C = numbers((double)m * m), *row = numbers(m), most = 0, norm = 0, sum, corner = -shift;
    for (long i = 0; i < m; i++) for (long j = 0; j < m; j++) {
        double a = pair(s, R[i], R[j]) - (i == j ? shift : 0);
        most = fmax(most, fabs(a));
        if (i && j) C[(i-1) * q + j - 1] = -(a - pair(s, R[i], R[0]) - pair(s, R[0], R[j]) + corner);
    }
    if (!factor(C, q, 4.0 * m * (error(s, 1) + EPS * most))) { free(C); return 0; }
    for (long j = 0; j < q; j++) /* columns of the inverse of the factor */
        for (long i = j; i < q; i++) {
            sum = i == j;
            for (long k = j; k < i; k++) sum -= C[i * q + k] * row[k];
            row[i] = sum / C[i * q + i];
            norm += row[i] * row[i];
        }
    free(C);
    for (long i = 0; i < m; i++) moved[i] = 2 * norm * (i ? sqrt(m) : m);
    for (long i = 0; i < s->n; i++) rise[i] = s->size * 2 * norm * (sqrt(m) * q + m);
    return 1;
}
static double bound(Sim *s, V *boxes, double shift, char *among) { /* of f + shift over the boxes of a proof */
    long count, cuts, n = 0, d = s->d, depth = 0, *axis = wholes(get(boxes, "axis"), &count, -1, d);
    double *cut = list(get(boxes, "cut"), &cuts), top = -INFINITY, root = sqrt(s->c), *lows = numbers((double)(count + 1) * d);
    double *highs = numbers((double)(count + 1) * d), *S = numbers(s->n), *low = numbers(d), *high = numbers(d), *p = numbers(d);
    long *live = room(s->n, sizeof(long)), *order = room(s->n, sizeof(long));
    need(s->kind <= LINEAR && cuts == count, "the boxes of a proof are not complete, or no proof here.");
    for (long i = 0; i < s->n; i++) if (among[i]) live[n++] = i;
    for (long k = 0; k < d; k++) { lows[k] = INFINITY; highs[k] = -INFINITY; }
    for (long i = 0; i < n; i++) for (long k = 0; k < d; k++) {
        lows[k] = fmin(lows[k], root * s->U[live[i] * d + k]); highs[k] = fmax(highs[k], root * s->U[live[i] * d + k]);
        need(s->own[live[i]] + shift > 0, "the boxes of a proof are not complete, or no proof here.");
    }
    for (long e = 0; e < count; e++) {
        need(depth >= 0, "the boxes of a proof are not complete, or no proof here.");
        memcpy(low, lows + depth * d, d * sizeof(double)); memcpy(high, highs + depth * d, d * sizeof(double));
        depth--;
        if (axis[e] >= 0) {
            for (int side = 1; side >= 0; side--) { /* the left one is looked at first */
                depth++;
                memcpy(lows + depth * d, low, d * sizeof(double)); memcpy(highs + depth * d, high, d * sizeof(double));
                (side ? lows : highs)[depth * d + axis[e]] = cut[e];
            }
            continue;
        }
        double value = s->m + shift, tau = -INFINITY, inverse = 0, sum = 0;
        for (long k = 0; k < d; k++) {
            p[k] = 0.5 * (low[k] + high[k]);
            value += 0.25 * (high[k] - low[k]) * (high[k] - low[k]) - p[k] * p[k];
        }
        for (long i = 0; i < n; i++) {
            S[live[i]] = root * between(s->U + live[i] * d, p, d, 0) + s->b[live[i]];
            order[i] = live[i];
        }
        by = S;
        qsort(order, n, sizeof(long), rising);
        for (long i = n - 1; i >= 0; i--) {
            double kappa = s->own[order[i]] + shift;
            sum += S[order[i]] / kappa; inverse += 1 / kappa;
            tau = fmax(tau, (sum - 1) / inverse);
        }
        for (long i = 0; i < n; i++) {
            double over = fmax(S[live[i]] - tau, 0);
            value += over * over / (s->own[live[i]] + shift);
        }
        top = fmax(top, value + 2 * tau);
    }
    need(depth < 0, "the boxes of a proof are not complete, or no proof here.");
    return top;
}

/* Claims ----------------------------------------------------------------------------------------------- */
static char where[40];
static long said_[3];
static void say(const char *claim, int verdict) { /* 1 holds, 0 fails, -1 not checked */
    printf("%s %s: %s\n", where, claim, verdict > 0 ? "holds" : verdict ? "not checked" : "FAILS");
    said_[verdict + 1]++;
}
static int truth(V *v) { return v->type == 'b' ? (int)v->number : v->type ? 2 : -1; }
static void cluster(V *c, Sim *s, char *left, long *labels, long number_, long **J_, long *m_) {
    long m, w, u, n = s->n, a, *J = wholes(get(c, "members"), &m, 0, n);
    double *x = list(get(c, "weights"), &w), shift = number(get(c, "shift")), total = 0, most = 0, f = 0;
    int ordered = m == w && m > 0, inside_all = 1;
    char *scope = word(get(c, "among"));
    int on_left = !strcmp(scope, "left"), on_label = !strcmp(scope, "label");
    need(on_left || !strcmp(scope, "all") || (on_label && labels), "among which objects, is not said.");
    for (long k = 0; k < m && ordered; k++) { ordered &= x[k] > 0 && (!k || J[k] > J[k-1]); total += x[k]; most = fmax(most, x[k]); }
    need(ordered && fabs(total - 1) < 1e-9, "members or weights are no point.");
    double E = error(s, m) + 4 * EPS * fabs(shift) * most;
    for (long k = 0; k < m; k++) x[k] /= total;
    double *r = times(s, J, x, m), *held = numbers(n);
    char *among = room(n, 1), *inside = room(n, 1);
    for (long i = 0; i < n; i++) among[i] = (on_left ? left[i] : on_label ? labels[i] == number_ : 1) && r[i] > -INFINITY;
    long *apart = wholes(get(c, "apart"), &a, 0, n), *undecided = wholes(get(c, "undecided"), &u, 0, n);
    for (long k = 0; k < a; k++) among[apart[k]] = 0;
    for (long k = 0; k < m; k++) { r[J[k]] -= shift * x[k]; f += x[k] * r[J[k]]; inside[J[k]] = 1; held[J[k]] = x[k]; }
    double high = -INFINITY, low = INFINITY, outside = -INFINITY, among_count = 0;
    long others = 0, q = 0, *R = room(m + u, sizeof(long)), all = 0, *live = room(n, sizeof(long));
    for (long k = 0; k < m; k++) { inside_all &= among[J[k]]; low = fmin(low, r[J[k]]); high = fmax(high, r[J[k]]); }
    for (long k = 0; k < u; k++) inside[undecided[k]] |= 2;
    double gap = high;
    for (long i = 0; i < n; i++) {
        if (inside[i]) { need(q < m + u, ODD); R[q++] = i; high = fmax(high, r[i]); }
        if (!among[i]) continue;
        among_count++; live[all++] = i;
        if (inside[i] & 1) continue;
        others++; outside = fmax(outside, r[i]);
    }
    gap = fmax(gap, outside) - f;
    double margin = f - outside, value = f + shift, spread = high - low + 2 * E;
    V *claimed = get(c, "margin");
    printf("%s: %ld of %.0f of %ld objects, numbers up to %.1e\n", where, m, among_count, n, 4 * E);
    say("members", inside_all);
    say("value", fabs(value - number(get(c, "value"))) <= 4 * E);
    say("gap", fabs(fmax(gap, 0) - number(get(c, "gap"))) <= 4 * E);
    say("margin", claimed->type ? fabs(margin - number(claimed)) <= 4 * E : !others);
    double *moved = numbers(q + all), *rise = numbers(n), doubt = 0;
    int proved = face(s, R, q, shift, moved, rise);
    for (long i = 0; i < n && proved; i++) proved = !among[i] || inside[i] || f - r[i] > spread * (1 + rise[i]);
    for (long k = 0; k < q && proved; k++)
        if (held[R[k]] <= spread * moved[k]) { doubt += held[R[k]]; proved = inside[R[k]] >= 2; }
    proved = proved && doubt < 0.5;
    int strict = truth(get(c, "strict")), tie = u || (margin <= spread && s->kind >= PATH);
    if (strict >= 0) say("strict", strict ? (proved ? 1 : q > DENSE || tie ? -1 : 0) : proved ? 0 : -1);
    V *best = get(c, "global_gap"), *boxes = get(c, "boxes");
    if (best->type) {
        double unit = 0, top = INFINITY;
        for (long k = 0; k < m; k++) unit += (s->own[J[k]] + shift) * x[k] * x[k];
        if (boxes->type) top = bound(s, boxes, shift, among);
        else if (face(s, live, all, shift, moved, rise)) top = value + 2 * (fmax(gap, 0) + 2 * E);
        say("global_gap", top - value <= number(best) + 8 * error(s, among_count) ? 1 : boxes->type ? 0 : -1);
        say("proven", truth(get(c, "proven")) != 1 || number(best) <= 1.000001e-6 * unit);
    }
    for (long k = 0; k < m; k++) left[J[k]] = 0;
    *J_ = J; *m_ = m;
}
static double *scores_of(V *of, Sim *s, long *K) {
    long rows, count, d;
    double *constants = list(get(of, "constants"), K), *rates = list(get(of, "rates"), &rows);
    V *V_ = get(of, "rows");
    need(rows == *K && V_->type == 'a' && V_->count == *K && s->U, ODD);
    double *out = numbers((double)s->n * *K);
    for (long k = 0; k < *K; k++) {
        double *row = list(&V_->item[k], &d);
        need(d == s->d, ODD);
        for (long i = 0; i < s->n; i++) {
            double *u = s->U + i * s->d;
            out[i * *K + k] = constants[k] + between(u, row, d, 0) - between(u, u, d, 0) * rates[k];
        }
    }
    (void)count;
    return out;
}
static void labels_of(V *said, long **J, long *m, Sim *sims, long K) {
    long n = sims[0].n, count, k_, *labels = wholes(get(said, "labels"), &count, -1, K), *cores = room(n, sizeof(long));
    V *given = get(said, "scores");
    char *rule = word(get(said, "rule"));
    need(count == n, "labels are no numbers, one per object.");
    for (long i = 0; i < n; i++) cores[i] = -1;
    int same = 1;
    for (long k = K - 1; k >= 0; k--)
        for (long j = 0; j < m[k]; j++) { cores[J[k][j]] = k; same &= labels[J[k][j]] == k; }
    if (truth(get(said, "belong")) == 1) say("belong", same);
    int members = !strcmp(rule, "members"), average = !strcmp(rule, "average"), scored = !strcmp(rule, "scores"), ok = 1;
    if (!members && !average && !scored) { say("labels", -1); return; }
    double *S = numbers((double)n * K), *back = NULL, *judges = NULL, *least = NULL, *rest = NULL, near = 0;
    int only = scored && truth(get(given, "only_members")) == 1;
    long one, judged = K;
    if (scored) {
        S = scores_of(given, &sims[0], &k_);
        least = list(get(given, "least"), &one); rest = list(get(given, "rest"), &count);
        need(k_ == K && one == K && count == K, ODD);
        if (get(given, "background")->type) { back = scores_of(get(given, "background"), &sims[0], &one); need(one == 1, ODD); }
        if (get(given, "judges")->type) judges = scores_of(get(given, "judges"), &sims[0], &judged);
    }
    for (long k = 0; k < K && average; k++) {
        double *equal = numbers(m[k]);
        for (long j = 0; j < m[k]; j++) equal[j] = 1.0 / m[k];
        double *column = times(&sims[k], J[k], equal, m[k]);
        for (long i = 0; i < n; i++) S[i * K + k] = column[i];
    }
    for (long i = 0; i < n * K; i++) if (isfinite(S[i])) near = fmax(near, fabs(S[i]));
    near = 1e-9 * (1 + near);
    for (long i = 0; i < n; i++) {
        if (members || (average && cores[i] >= 0) || (only && cores[i] < 0)) { ok &= labels[i] == cores[i]; continue; }
        long best = 0;
        for (long k = 1; k < K; k++) if (S[i * K + k] > S[i * K + best]) best = k;
        double top = S[i * K + best], away = scored ? top - least[best] : 0, judge = -INFINITY;
        for (long k = 0; k < judged && judges; k++) judge = fmax(judge, judges[i * judged + k]);
        if (back) away = fmin(away, (judges ? judge : top + rest[best]) - back[i]);
        ok &= labels[i] < 0 ? away <= near : S[i * K + labels[i]] >= top - near && away >= -near;
    }
    say("labels", ok);
}
int main(int count, char **arguments) {
    size_t size;
    char *words[5], hex[65], *line;
    need(count == 3, "usage: dscheck fit.cert X.npy");
    char *raw = (char *)bytes_of(arguments[1], &size);
    char *body = memchr(raw, '\n', size);
    need(body && !strncmp(raw, "dominantsets certificate ", 25), "this file is no certificate.");
    *body++ = 0;
    long found = 0;
    for (line = strtok(raw, " "); line && found < 5; line = strtok(NULL, " ")) words[found++] = line;
    need(found == 5 && !line && !strcmp(words[3], "sha256"), "this file is no certificate.");
    need(!strcmp(words[2], "1"), "the certificate has another format, and this program reads format 1.");
    Sha s;
    sha_start(&s);
    sha_add(&s, body, size - (body - raw));
    sha_end(&s, hex);
    need(!strcmp(hex, words[4]), "the certificate was cut or edited: its digest differs.");
    at = body;
    V said = value(0), *clusters = get(&said, "clusters"), *labels = get(&said, "labels"), *about = get(&said, "data");
    blank();
    need(!*at && at == raw + size && clusters->type == 'a', ODD);
    Data data = load(arguments[2], word(get(about, "form")), hex);
    need(!strcmp(hex, word(get(about, "sha256"))), "the data are not those of the certificate: digests differ.");
    Sim *sims = room(clusters->count, sizeof(Sim));
    long **J = room(clusters->count, sizeof(long *)), *m = room(clusters->count, sizeof(long));
    char *left = room(data.n, 1);
    memset(left, 1, data.n);
    long given = data.n, *mine = labels->type ? wholes(get(labels, "labels"), &given, -1, clusters->count) : NULL;
    need(given == data.n, "labels are no numbers, one per object.");
    for (long k = 0; k < clusters->count; k++) {
        V *metric = get(&clusters->item[k], "metric");
        snprintf(where, sizeof where, "cluster %ld", k);
        sims[k] = k && !metric->type ? sims[k-1] : similarity(get(&said, "similarity"), &data, metric);
        cluster(&clusters->item[k], &sims[k], left, mine, k, &J[k], &m[k]);
    }
    snprintf(where, sizeof where, "file");
    if (labels->type && clusters->count) labels_of(labels, J, m, sims, clusters->count);
    printf("%ld claims hold, %ld fail, %ld not checked\n", said_[2], said_[1], said_[0]);
    return said_[1] ? 1 : said_[0] ? 3 : 0;
}

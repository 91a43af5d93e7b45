/*
 * The map of a page. A strip for each of the first heaps is drawn here, so that it is there without
 * scripts and on paper; all cells stand behind it as data, for the script that zooms:
 *
 *     {"page": 4096, "chunks": true,
 *      "heaps": [[heap_id, arena_id, "0x7f...", pages, resident_bytes, live_bytes, "CELLS"], ...],
 *      "marks": [["0x7f...", bytes, unlocked, heap_id, rank, "text"], ...]}
 *
 * CELLS is a text, a cell after the other: a letter for the class (in small letters: not in
 * memory), how many pages where there are more than one; a cell of several classes in brackets;
 * then a dot and the live bytes, where there are any:   L3M.812T14(L10m2R34).40960
 */
#include <inttypes.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"

enum {
    STRIPS_MAX = 240,
    STRIP_COLUMNS = 96,
    STRIP_LEVELS = 16,
    MARK_TEXT_BYTES = 120,
    NR_LAYERS = CF_MAP_NR_CLASSES + 1, /* the last one: not in memory */
};

static const char letters[] = "LMDRTOlmdrto";

/* What stands in a strip from the bottom up, and how it is called. */
static const enum cf_map_class layer_classes[] = {CF_MAP_LIVE, CF_MAP_MIXED,      CF_MAP_OVERHEAD,
                                                  CF_MAP_DEAD, CF_MAP_RELEASABLE, CF_MAP_TOP};

static const char *layer_style(size_t layer) {
    return layer == NR_LAYERS - 1 ? "absent"
                                  : cf_html_style(cf_map_class_name(layer_classes[layer]), 0);
}

/* ---- the data ---- */

static void put_count(struct cf_html *html, size_t class, uint64_t pages) {
    (void)fputc(letters[class], html->sink);
    if (pages > 1)
        (void)fprintf(html->sink, "%" PRIu64, pages);
}

static void put_cell(struct cf_html *html, const struct cf_map_cell *cell) {
    size_t nr_classes = 0;
    for (size_t i = 0; i < CF_MAP_NR_COUNTS; i++)
        nr_classes += cell->counts[i] > 0;
    if (nr_classes != 1)
        (void)fputc('(', html->sink);
    for (size_t i = 0; i < CF_MAP_NR_COUNTS; i++)
        if (cell->counts[i] > 0)
            put_count(html, i, cell->counts[i]);
    if (nr_classes != 1)
        (void)fputc(')', html->sink);
    if (cell->live_bytes > 0)
        (void)fprintf(html->sink, ".%" PRIu64, cell->live_bytes);
}

static void put_heap_data(struct cf_html *html, const struct cf_map *map,
                          const struct cf_map_heap *heap) {
    (void)fprintf(html->sink,
                  "[%" PRId64 ",%" PRId64 ",\"0x%" PRIx64 "\",%" PRIu64 ",%" PRId64 ",%" PRId64
                  ",\"",
                  heap->heap_id, heap->arena_id, heap->start, heap->pages, heap->resident_bytes,
                  heap->live_bytes);
    for (size_t i = 0; i < heap->nr_cells; i++)
        put_cell(html, &map->cells.items[heap->first_cell + i]);
    (void)fputs("\"]", html->sink);
}

static void put_mark_data(struct cf_html *html, const struct cf_map_mark *mark) {
    (void)fprintf(html->sink, "[\"0x%" PRIx64 "\",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",",
                  mark->address, mark->bytes, mark->unlocked, mark->heap_id, mark->rank);
    cf_html_json(html, mark->text == NULL ? "" : mark->text, MARK_TEXT_BYTES);
    (void)fputs("]", html->sink);
}

static void put_data(struct cf_html *html, const struct cf_map *map) {
    (void)fprintf(html->sink,
                  "<script type=\"application/json\" id=map-data>{\"page\":%" PRIu64
                  ",\"chunks\":%s,\"heaps\":[",
                  map->page_bytes, map->has_chunks ? "true" : "false");
    for (size_t i = 0; i < map->heaps.len; i++) {
        (void)fputs(i > 0 ? ",\n" : "", html->sink);
        put_heap_data(html, map, &map->heaps.items[i]);
    }
    (void)fputs("],\"marks\":[", html->sink);
    for (size_t i = 0; i < map->marks.len; i++) {
        (void)fputs(i > 0 ? ",\n" : "", html->sink);
        put_mark_data(html, &map->marks.items[i]);
    }
    (void)fputs("]}</script>\n", html->sink);
}

/* ---- the strips ---- */

/* Where each layer of each column ends, counted from the bottom in levels. */
struct strip {
    size_t nr_columns;
    double pages[STRIP_COLUMNS][NR_LAYERS];
    unsigned ends[STRIP_COLUMNS][NR_LAYERS];
};

/* Shares the pages of `cell` among the columns that it lies in. */
static void spread_cell(struct strip *strip, const struct cf_map_heap *heap,
                        const struct cf_map_cell *cell) {
    double width = (double)heap->pages / (double)strip->nr_columns;
    double from = (double)cell->page, to = from + (double)cell->pages;
    for (size_t c = (size_t)(from / width); c < strip->nr_columns && (double)c * width < to; c++) {
        double left = (double)c * width > from ? (double)c * width : from;
        double right = (double)(c + 1) * width < to ? (double)(c + 1) * width : to;
        double part = right > left ? (right - left) / (double)cell->pages : 0;
        for (size_t layer = 0; layer < NR_LAYERS - 1; layer++) {
            size_t class = layer_classes[layer];
            strip->pages[c][layer] += part * (double)cell->counts[class];
            strip->pages[c][NR_LAYERS - 1] +=
                part * (double)cell->counts[class + CF_MAP_NR_CLASSES];
        }
    }
}

/* Rounds a column to levels. What is live is never thinner than one: it is what is looked for. */
static void level_column(const double pages[NR_LAYERS], unsigned ends[NR_LAYERS]) {
    double sum = 0, below = 0;
    for (size_t layer = 0; layer < NR_LAYERS; layer++)
        sum += pages[layer];
    unsigned least = 0;
    for (size_t layer = 0; layer < NR_LAYERS; layer++) {
        below += pages[layer];
        least += layer <= 1 && pages[layer] > 0;
        unsigned end = sum > 0 ? (unsigned)(below / sum * STRIP_LEVELS + 0.5) : 0;
        ends[layer] = end > least ? end : least;
    }
}

static void fill_strip(struct strip *strip, const struct cf_map *map,
                       const struct cf_map_heap *heap) {
    memset(strip, 0, sizeof *strip);
    strip->nr_columns = heap->pages < STRIP_COLUMNS ? (size_t)heap->pages : STRIP_COLUMNS;
    for (size_t i = 0; i < heap->nr_cells; i++)
        spread_cell(strip, heap, &map->cells.items[heap->first_cell + i]);
    for (size_t c = 0; c < strip->nr_columns; c++)
        level_column(strip->pages[c], strip->ends[c]);
}

/* One path for all that a layer has, columns of the same height joined. */
static void put_layer(struct cf_html *html, const struct strip *strip, size_t layer) {
    bool is_open = false;
    for (size_t c = 0, next; c < strip->nr_columns; c = next) {
        unsigned low = layer == 0 ? 0 : strip->ends[c][layer - 1];
        unsigned high = strip->ends[c][layer];
        for (next = c + 1; next < strip->nr_columns && strip->ends[next][layer] == high &&
                           (layer == 0 ? 0 : strip->ends[next][layer - 1]) == low;
             next++)
            continue;
        if (high <= low)
            continue;
        if (!is_open)
            (void)fprintf(html->sink, "<path class=\"k %s\" d=\"", layer_style(layer));
        is_open = true;
        (void)fprintf(html->sink, "M%zu %uh%zuv%uH%zuz", c, STRIP_LEVELS - high, next - c,
                      high - low, c);
    }
    if (is_open)
        (void)fputs("\"/>", html->sink);
}

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

/* "live 4.1 %, mixed 12.0 % ...", of the heap's pages. */
static void put_summary(struct cf_html *html, const struct strip *strip, uint64_t pages) {
    for (size_t layer = 0; layer < NR_LAYERS; layer++) {
        double sum = 0;
        char text[CF_FORMAT_MAX];
        for (size_t c = 0; c < strip->nr_columns; c++)
            sum += strip->pages[c][layer];
        if (sum < 0.5)
            continue;
        (void)fprintf(html->sink, "%s ",
                      layer == NR_LAYERS - 1 ? "not in memory"
                                             : cf_map_class_name(layer_classes[layer]));
        cf_html_text(html, cf_format_percent(text, percent(sum, (double)pages)), sizeof text);
        (void)fputs("; ", html->sink);
    }
}

static void put_strip(struct cf_html *html, const struct cf_map *map,
                      const struct cf_map_heap *heap, uint64_t most_pages) {
    struct strip strip;
    char bytes[CF_FORMAT_MAX], live[CF_FORMAT_MAX];
    fill_strip(&strip, map, heap);
    double share = (double)heap->pages / (double)most_pages;
    (void)fprintf(html->sink,
                  "<div class=heap data-heap=%" PRId64 "><span class=name>arena %" PRId64
                  "%s <small>heap %" PRId64 "</small></span><div class=lane><svg class=strip "
                  "viewBox=\"0 0 %zu %d\" preserveAspectRatio=none role=img aria-label=\"",
                  heap->heap_id, heap->arena_id, heap->arena_id == 0 ? " (main)" : "",
                  heap->heap_id, strip.nr_columns, STRIP_LEVELS);
    put_summary(html, &strip, heap->pages);
    (void)fputs("\" width=\"", html->sink);
    cf_html_share(html, share < 0.01 ? 0.01 : share);
    (void)fputs("\">", html->sink);
    for (size_t layer = 0; layer < NR_LAYERS; layer++)
        put_layer(html, &strip, layer);
    uint64_t mapped = heap->pages * map->page_bytes;
    (void)fprintf(html->sink, "</svg></div><span class=size>%s, ",
                  cf_format_bytes(bytes, mapped, html->exact));
    cf_html_text(html, cf_format_percent(live, percent((double)heap->live_bytes, (double)mapped)),
                 sizeof live);
    (void)fputs(" live</span></div>\n", html->sink);
}

static void put_legend(struct cf_html *html) {
    static const struct {
        const char *style;
        const char *text;
    } entries[] = {
        {"live", "L live"},
        {"pinned", "M mixed: live and dead bytes, pinned"},
        {"overhead", "O overhead"},
        {"edge", "D dead, and kept"},
        {"releasable", "R releasable"},
        {"top", "T top"},
        {"absent", "· not in memory"},
    };
    (void)fputs("<p class=legend>", html->sink);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        (void)fputs("<span>", html->sink);
        cf_html_swatch(html, entries[i].style);
        (void)fprintf(html->sink, " %s</span> ", entries[i].text);
    }
    (void)fputs("</p>\n", html->sink);
}

static void put_more(struct cf_html *html, const struct cf_map *map, size_t drawn) {
    char count[CF_FORMAT_MAX];
    if (map->heaps.len > drawn)
        (void)fprintf(html->sink, "<p class=more id=map-more>%s heaps more in this page.</p>\n",
                      cf_format_count(count, (int64_t)(map->heaps.len - drawn)));
    if (map->nr_more > 0)
        (void)fprintf(html->sink, "<p class=more>%s heaps more in the database.</p>\n",
                      cf_format_count(count, (int64_t)map->nr_more));
}

void cf_html_map(struct cf_html *html, const struct cf_map *map) {
    uint64_t most = 1;
    for (size_t i = 0; i < map->heaps.len; i++)
        most = map->heaps.items[i].pages > most ? map->heaps.items[i].pages : most;
    (void)fputs("<p class=how>A strip is a heap from its lowest address to its highest; its height "
                "shows what share of the pages there is what. What is live is never drawn thinner "
                "than a line. <span id=map-how></span></p>\n",
                html->sink);
    put_legend(html);
    (void)fputs("<div id=heaps>\n", html->sink);
    size_t drawn = 0;
    for (; drawn < map->heaps.len && drawn < STRIPS_MAX; drawn++)
        if (map->heaps.items[drawn].pages > 0)
            put_strip(html, map, &map->heaps.items[drawn], most);
    (void)fputs("</div>\n", html->sink);
    put_more(html, map, drawn);
    put_data(html, map);
}

#include "holders/preview.h"

#include "mem/mem.h"

bool cf_preview_at(const struct cf_resolver *resolver, uint64_t addr, struct cf_preview *out) {
    size_t number = cf_resolver_number_at(resolver, addr);
    if (number == CF_NO_CHUNK)
        return false;
    const struct cf_extent *extent = cf_resolver_extent_of(resolver, number);
    struct cf_numbered chunk = cf_resolver_chunk(resolver, extent, number);
    uint64_t user = chunk.addr + 2 * resolver->word_bytes, avail;
    uint64_t end = cf_resolver_payload_end(resolver, extent, chunk.addr, chunk.bytes);
    const unsigned char *at = cf_mem_span(resolver->mem, user, &avail);
    if (!chunk.live || end <= user || at == NULL)
        return false;
    uint64_t most = end - user < avail ? end - user : avail, nr = 0;
    struct cf_preview preview = {.addr = addr, .bytes = chunk.bytes};
    while (nr < most && nr < CF_PREVIEW_CHARS && at[nr] >= 0x20 && at[nr] < 0x7f) {
        preview.text[nr] = (char)at[nr];
        nr++;
    }
    if (nr < CF_PREVIEW_MIN)
        return false;
    *out = preview;
    return true;
}

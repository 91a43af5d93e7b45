/* The culprit stands in the first row: programs of C, C++, Rust's manner, Python, Java and node. */
#include "claims.h"

#define TYPE_IS(type, evidence, chunks)                                                           \
    "SELECT count(*) FROM v_type WHERE type = '" type "' AND evidence = '" evidence               \
    "' AND chunks = " #chunks " AND unreachable_chunks = 0"
#define FIRST_TYPE_IS(type) "SELECT " FIRST_TYPE " = '" type "'"
/* What piles up is most of the heap, in about as many chunks as were made: a runtime has some more,
 * and a stale word may hold a few of them. */
#define FIRST_TYPE_HAS(chunks, percent)                                                           \
    "SELECT chunks BETWEEN " #chunks " * 0.97 AND " #chunks " * 1.1 AND bytes * 100 >= "          \
    #percent " * (SELECT live_bytes FROM v_verdict) FROM v_type ORDER BY bytes DESC LIMIT 1"
#define HELD_BY_A(root)                                                                           \
    "SELECT holder LIKE '" root "%' FROM v_type ORDER BY bytes DESC LIMIT 1"
#define NOTHING_LEAKED                                                                            \
    "SELECT sum(unreachable_bytes) * 100 < sum(bytes) FROM v_type"
#define IN_THE_VERDICT(text) "SELECT detail LIKE '%" text "%' FROM v_finding WHERE finding_id = 1"

/* A class S with `body` in main(), run with a heap that is small beside what malloc serves. */
#define JAVA(imports, body)                                                                       \
    "cat >S.java <<'END'\n"                                                                       \
    "import java.util.*;\n" imports "\n"                                                          \
    "public class S {\n"                                                                          \
    "    static final List<Object> kept = new ArrayList<>();\n"                                   \
    "    public static void main(String[] a) throws Exception {\n" body                           \
    "        System.out.println(\"ready\");\n"                                                    \
    "        Thread.sleep(100000);\n"                                                             \
    "        System.out.println(kept.size());\n"                                                  \
    "    }\n"                                                                                     \
    "}\n"                                                                                         \
    "END\n"                                                                                       \
    "javac S.java && exec java -XX:+UseSerialGC -Xmx64m -cp . S"
/* `body` calls ready() when what it began is done, also in node's thread pool; the pause behind it
 * lets V8 collect. */
#define NODE(body)                                                                                \
    "exec node -e 'const kept = []; const ready = () => setTimeout(() => {"                       \
    " console.log(\"ready\"); setInterval(() => kept, 100000); }, 1000); " body "'"
#define HAS_JAVA "command -v javac >/dev/null && command -v java >/dev/null"
#define HAS_NODE "command -v node >/dev/null"

static const struct claims_program programs[] = {
    {"ghosts", NULL, NULL, {
        {"the dead still show where nobody has written since",
         "SELECT ghosts = 299 AND ghost_bytes = 299 * 2016 AND alive = 20 AND arenas = 1 "
         "FROM v_ghost WHERE type = 'Session'"},
        {"what was written over does not, nor do words that are no object's",
         "SELECT count(*) = 1 FROM v_ghost"},
        {"rules know the type that shows most",
         "SELECT ghost_phrase = '299 of Session still show in free memory; 20 are alive' "
         "FROM v_fact"},
    }},
    {"tables", NULL, NULL, {
        {"a table in the first word names an object", TYPE_IS("tcp_ops", "vtable", 4000)},
        {"so does one behind the links of a list", TYPE_IS("mail_job_ops", "vtable", 3000)},
        {"a trait object is known by its holder", TYPE_IS("session_table", "vtable", 5000)},
        {"texts are texts, and other bytes are not", TYPE_IS("(text)", "text", 2000)},
        {"the largest stands first", FIRST_TYPE_IS("session_table")},
        {"the buffer of stdout is libc's own, not a vector's",
         TYPE_IS("glibc stdio buffer", "libc", 1)},
        {"what has no name is a variable's memory",
         TYPE_IS("memory of global plains (tables)", "owner", 1500)},
        {"and says so in a column of its own",
         "SELECT memory_of = 'global plains (tables)' FROM v_type WHERE type LIKE '% plains %'"},
        {"all live chunks are in the sums",
         "SELECT sum(bytes) = (SELECT live_bytes FROM v_verdict) FROM v_type"},
    }},
    {"objects", NULL, NULL, {
        {"a class names its objects", TYPE_IS("shop::Book", "vtable", 50000)},
        {"a template is told without its defaults",
         TYPE_IS("shop::Shelf<std::map<std::string, int>>", "vtable", 10000)},
        {"buffers are their owner's",
         "SELECT chunks BETWEEN 50990 AND 51000 FROM v_type WHERE type = 'std::string buffer'"},
        {"the largest stands first", FIRST_TYPE_IS("shop::Book")},
    }},
    {"objects-stripped", NULL, NULL, {
        {"without symbols RTTI names the class", TYPE_IS("shop::Book", "vtable", 50000)},
        {"what has no name is the data's of its program",
         "SELECT count(*) FROM v_type WHERE memory_of = 'global data of objects-stripped'"},
        {"the largest stands first", FIRST_TYPE_IS("shop::Book")},
    }},
    {"contexts-later", "", NULL, {
        {"the contexts that pile up are the first type", FIRST_TYPE_IS("file_log_ops")},
        {"none is missed", TYPE_IS("file_log_ops", "vtable", 120000)},
    }},
    {"python3", "exec /usr/bin/python3 -c 'import time\n"
                "kept = [bytes([i % 256]) * 2000 for i in range(3000)]\n"
                "print(\"ready\", flush=True)\n"
                "time.sleep(100)'", "test -x /usr/bin/python3", {
        {"python objects are called as in python",
         "SELECT count(*) FROM v_type WHERE type = 'python bytes' AND chunks >= 3000"},
        {"the largest stands first", FIRST_TYPE_IS("python bytes")},
        {"somebody holds them",
         "SELECT holder IS NOT NULL FROM v_type WHERE type = 'python bytes'"},
    }},
    {"python3 with lists", "exec /usr/bin/python3 -c 'import time\n"
                           "kept = [list(range(i, i + 300)) for i in range(3000)]\n"
                           "print(\"ready\", flush=True)\n"
                           "time.sleep(100)'", "test -x /usr/bin/python3", {
        {"the items of lists are the lists'", FIRST_TYPE_IS("memory of python list")},
        {"nearly all are there", FIRST_TYPE_HAS(3000, 70)},
        {"they hang on the interpreter's objects", HELD_BY_A("Python objects (pymalloc), object ")},
    }},
    {"java, direct buffers", JAVA("import java.nio.*;",
        "        for (int i = 0; i < 2000; i++) {\n"
        "            ByteBuffer b = ByteBuffer.allocateDirect(20000);\n"
        "            for (int j = 0; j < 20000; j += 8) b.putLong(j, i * 31L + j);\n"
        "            kept.add(b);\n"
        "        }\n"), HAS_JAVA, {
        {"their memory is theirs", FIRST_TYPE_IS("memory of java.nio.DirectByteBuffer (Java)")},
        {"nearly all are there", FIRST_TYPE_HAS(2000, 80)},
        {"the Java heap holds it",
         HELD_BY_A("Java heap (HotSpot), object java.nio.DirectByteBuffer")},
        {"the Java heap alone keeps all of it alive",
         "SELECT count(*) FROM v_owner WHERE name = 'Java heap (HotSpot)' AND chunks >= 1990"},
        {"the verdict says so", IN_THE_VERDICT("java.nio.DirectByteBuffer")},
        {"nothing of it is a leak", NOTHING_LEAKED},
    }},
    {"java, deflaters", JAVA("import java.util.zip.*;",
        "        byte[] in = new byte[5000], out = new byte[5000];\n"
        "        new Random(1).nextBytes(in);\n"
        "        for (int i = 0; i < 150; i++) {\n"
        "            Deflater d = new Deflater(6, true);\n"
        "            d.setInput(in);\n"
        "            d.deflate(out);\n"
        "            kept.add(d);\n"
        "        }\n"), HAS_JAVA, {
        {"what libz keeps is the deflaters'",
         "SELECT " FIRST_TYPE " LIKE 'memory of java.util.zip.Deflater%(Java)'"},
        {"nearly all are there", FIRST_TYPE_HAS(900, 80)}, /* z_stream, state, four buffers */
        {"the Java heap holds it", HELD_BY_A("Java heap (HotSpot), object java.util.zip.Deflater")},
        {"the verdict says so", IN_THE_VERDICT("java.util.zip.Deflater")},
        {"nothing of it is a leak", NOTHING_LEAKED},
    }},
    {"node, zlib", NODE("const zlib = require(\"zlib\"); let written = 0;"
                        " for (let i = 0; i < 150; i++) { const z = zlib.createDeflate();"
                        " z.write(Buffer.alloc(3000, i), () => { if (++written == 150) ready(); });"
                        " kept.push(z); }"), HAS_NODE, {
        {"what libz keeps is the streams'", FIRST_TYPE_IS("memory of node::ZlibStream")},
        {"nearly all are there", FIRST_TYPE_HAS(700, 70)},
        {"the streams have their class's name",
         "SELECT count(*) FROM v_type WHERE type = 'node::ZlibStream' AND chunks = 150"},
        {"the verdict says so", IN_THE_VERDICT("node::ZlibStream")},
        {"nothing of it is a leak", NOTHING_LEAKED},
    }},
    {"node, hashes", NODE("const c = require(\"crypto\"); for (let i = 0; i < 60000; i++) {"
                          " const h = c.createHash(\"sha256\"); h.update(\"x\" + i);"
                          " kept.push(h); } ready();"), HAS_NODE, {
        {"what libcrypto keeps is the hashes'",
         FIRST_TYPE_IS("memory of node::crypto::Hash")},
        {"nearly all are there", FIRST_TYPE_HAS(120000, 40)},
        {"the verdict says so", IN_THE_VERDICT("node::crypto::Hash")},
        {"nothing of it is a leak", NOTHING_LEAKED},
    }},
    {"node, buffers", NODE("for (let i = 0; i < 6000; i++) {"
                           " const b = Buffer.allocUnsafeSlow(5000 + i % 77);"
                           " for (let j = 0; j < b.length; j++) b[j] = (i * 7 + j * 13) & 255;"
                           " kept.push(b); } ready();"), HAS_NODE, {
        {"their memory is the ArrayBuffers'", FIRST_TYPE_IS("memory of JSArrayBuffer (V8)")},
        {"most of it is theirs",
         "SELECT bytes * 10 >= 8 * (SELECT live_bytes FROM v_verdict) FROM v_type"
         " ORDER BY bytes DESC LIMIT 1"},
        {"V8's heap holds it", HELD_BY_A("V8 heap (node), object JSArrayBuffer")},
        {"the verdict says so", IN_THE_VERDICT("JSArrayBuffer")},
        {"nothing of it is a leak", NOTHING_LEAKED},
    }},
};

int main(void) {
    return claims_run(programs, sizeof programs / sizeof programs[0]) != 0;
}

# corefrag: plain GNU make. Everything that is built lands in build/; `make help` lists the targets.
#
# FLAVOR=release (the default) or asan chooses the folder and the flags: build/release, build/asan.
# Each flavor has its own objects; build/corefrag, build/libcorefrag.a and build/libcorefrag.so are
# those of the release.

VERSION := $(shell sed -n 's/^\#define CF_VERSION_M[AI][JN]OR //p' include/corefrag.h | paste -sd .)
ABI := 0
FLAVOR ?= release
B := build/$(FLAVOR)
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
AR ?= ar
CLANG ?= clang
PKGS := libelf libdw sqlite3 libarchive zlib smartcols jansson

# ---- flags; the user's CFLAGS and LDFLAGS come last ----

CPPFLAGS_ALL := -Iinclude -Isrc -I$(B) -D_GNU_SOURCE \
	$(shell pkg-config --cflags $(PKGS) 2>/dev/null) $(CPPFLAGS)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wundef -Wvla -Wformat=2
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_release := -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong
CFLAGS_asan := -O1 -g -fno-omit-frame-pointer $(SANITIZE)
LDFLAGS_asan := $(SANITIZE)
# With sanitizers gcc warns of what is not there (-Wrestrict and others), so it may not fail then.
ERROR := $(if $(WERROR),$(if $(filter asan,$(FLAVOR)),,-Werror))
# One set of objects for both libraries; hidden is what include/corefrag.h does not mark CF_API.
CFLAGS_ALL := -std=gnu11 $(WARN) $(ERROR) $(CFLAGS_$(FLAVOR)) -fPIC -fvisibility=hidden -pthread \
	$(CFLAGS)
LDFLAGS_ALL := $(LDFLAGS_$(FLAVOR)) -pthread $(LDFLAGS)
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -liberty -ldl -lm
LINK = $(call say,LD) $(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(LDLIBS)
say = $(if $(V),,@echo '  $(1) $@';)

# ---- what there is ----

LIB_SRC := $(filter-out src/cli/%,$(wildcard src/*/*.c))
CLI_SRC := $(wildcard src/cli/*.c)
SCHEMA_SQL := $(sort $(wildcard schema/*.sql))
QUERIES := $(sort $(wildcard schema/queries/*.sql))
TESTS := $(wildcard tests/unit/test_*.c)
E2E := $(wildcard tests/e2e/test_*.c)
GEN := $(wildcard tests/gen/*.c)
FUZZ := $(wildcard tests/fuzz/fuzz_*.c)
SEEDS := $(patsubst tests/fuzz/%.zst,build/%,$(wildcard tests/fuzz/seeds/*.zst))

objects = $(patsubst %.c,$(B)/%.o,$(1))
helpers = $(call objects,$(filter-out $(wildcard $(1)/test_*.c),$(wildcard $(1)/*.c)))
LIB_OBJ := $(call objects,$(LIB_SRC))
CLI_OBJ := $(call objects,$(CLI_SRC))
TEST_BIN := $(TESTS:%.c=$(B)/%)
E2E_BIN := $(E2E:%.c=$(B)/%)
GEN_BIN := $(GEN:tests/gen/%.c=build/gen/%)
REPLAY_BIN := $(FUZZ:tests/fuzz/fuzz_%.c=$(B)/tests/fuzz/replay_%)

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
.PHONY: all deps demo samples test check test-unit golden test-e2e test-html test-fuzz test-docs test-example gen lint bench bench-readme fuzz \
	test-remedies remedies-readme \
	valgrind asan install uninstall test-install format clean help FORCE

PRODUCTS := corefrag libcorefrag.a libcorefrag.so libcorefrag.so.$(ABI)

all: $(PRODUCTS:%=build/%) ## the program and the library (default)

# ---- program and library ----

ifeq ($(FLAVOR),release)
$(PRODUCTS:%=build/%): build/%: $(B)/%
	@ln -sfn $(FLAVOR)/$* $@
else
.PHONY: $(PRODUCTS:%=build/%)
$(PRODUCTS:%=build/%): build/%: $(B)/%
endif

$(B)/corefrag: $(CLI_OBJ) $(B)/libcorefrag.a
	$(LINK)

$(B)/libcorefrag.a: $(LIB_OBJ) $(B)/sources
	@rm -f $@
	$(call say,AR) $(AR) rcs $@ $(filter %.o,$^)

# Another version of the interface (ABI) is another library: programs ask for the name with it.
$(B)/libcorefrag.so.$(ABI): $(LIB_OBJ) $(B)/sources
	$(call say,LD) $(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -shared -Wl,-soname,$(@F),--exclude-libs,ALL -o $@ \
		$(filter %.o,$^) $(LDLIBS)

$(B)/libcorefrag.so: $(B)/libcorefrag.so.$(ABI)
	@ln -sfn $(<F) $@

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC) $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# Objects are made again when the compiler or its flags change, the archive when its list does.
remember = @echo '$(subst ','\'',$(1))' | cmp -s - $@ || echo '$(subst ','\'',$(1))' > $@
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@pkg-config --exists $(PKGS) || { echo "libraries are missing: run make deps"; exit 1; }
	$(call remember,$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(LDFLAGS_ALL))
$(B)/sources: FORCE
	@mkdir -p $(@D)
	$(call remember,$(LIB_SRC))

# The schema is embedded as one C string.
$(B)/src/store/queries.o: $(B)/schema_sql.h
$(B)/schema_sql.h: $(SCHEMA_SQL) $(B)/flags
	@{ echo 'static const char schema_sql[] ='; \
	   cat $(SCHEMA_SQL) /dev/null | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/'; \
	   echo ';'; } > $@

# So are the named queries, each as a string of its own.
$(B)/src/store/queries.o: $(B)/queries_sql.h
$(B)/queries_sql.h: schema/queries/embed.awk $(QUERIES) $(B)/flags
	@awk -f $< $(QUERIES) > $@

# What a page of the report needs, as strings, with the hashes that its policy allows.
HTML_ASSETS := $(wildcard src/report/html/*)
$(B)/src/report/emit_html.o: $(B)/html_assets.h
$(B)/html_assets.h: $(HTML_ASSETS)
	@mkdir -p $(@D)
	@sh src/report/html/embed.sh > $@

# ---- what it stands on ----

deps: ## installs what is missing (Debian, Ubuntu)
	@sh .ci/deps

# ---- tests; the closing lines of each program stand at the end ----

# pkg-config was asked before `deps` could install anything, so make starts anew after it.
test: deps ## everything: unit tests, end to end, fuzz corpora
	@$(MAKE) --no-print-directory check

check: all test-docs test-example $(TEST_BIN) $(REPLAY_BIN) $(SEEDS) $(E2E_BIN) $(GEN_BIN)
	@COREFRAG=$(B)/corefrag GEN=build/gen sh tests/run.sh $(B)/log $(TEST_BIN) $(REPLAY_BIN) $(E2E_BIN)

test-unit: $(TEST_BIN) ## unit tests only
	@sh tests/run.sh $(B)/log $(TEST_BIN)

golden: $(TEST_BIN) ## writes what the reports say now into tests/unit/golden; review its diff
	@for t in $(filter %/test_report_sections %/test_report_formats,$(TEST_BIN)); do \
		UPDATE_GOLDEN=1 $$t > /dev/null 2>&1 || { UPDATE_GOLDEN=1 $$t; exit 1; }; done
	@git diff --stat tests/unit/golden

test-e2e: all $(E2E_BIN) $(GEN_BIN) $(SEEDS) ## end to end only
	@COREFRAG=$(B)/corefrag GEN=build/gen sh tests/run.sh $(B)/log $(E2E_BIN)

test-html: all gen ## the page of a report in headless Chromium, which is installed where missing
	@sh .ci/deps --page
	@COREFRAG=$(B)/corefrag TRUTH=build/gen/truth python3 tests/html/test_html.py $(TEST_HTML)

test-fuzz: $(REPLAY_BIN) $(SEEDS) ## replays the fuzz corpora
	@sh tests/run.sh $(B)/log $(REPLAY_BIN)

asan: ## the tests under ASan and UBSan
	@$(MAKE) --no-print-directory FLAVOR=asan check

valgrind: all $(TEST_BIN) build/demo/core ## unit tests, and the sample, under valgrind
	@valgrind -q --error-exitcode=99 --leak-check=full build/corefrag analyze build/demo/core \
		-o build/valgrind.db --force
	@WRAP='valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite' \
		sh tests/run.sh $(B)/log/valgrind $(TEST_BIN)

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(call helpers,tests/unit) $(B)/libcorefrag.a
	$(LINK) -lcmocka

$(B)/tests/e2e/%: $(B)/tests/e2e/%.o $(call helpers,tests/e2e) $(B)/libcorefrag.a
	$(LINK) -lcmocka

# Allocations that fail: the calls of our own code go through the test.
$(B)/tests/unit/test_faults: LDFLAGS_ALL += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc \
	strdup)
$(B)/tests/e2e/test_faults: LDFLAGS_ALL += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc \
	strdup vasprintf)
comma := ,

# Programs whose heaps are known: each stands alone and is the same for every flavor.
gen: $(GEN_BIN)
build/gen/%: tests/gen/%.c $(wildcard tests/gen/*.h) Makefile
	@mkdir -p $(@D)
	$(call say,CC) $(CC) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -O1 -g -pthread -o $@ $< -ldl

-include tests/tests.mk

# Needs root, the network and more tools than the tests: what it makes is kept in tests/corpus.
matrix: ## makes the cores of tests/corpus anew, MATRIX='2.43-*' for some of them
	bash tests/gen/matrix/matrix.sh build/matrix tests/corpus $(if $(MATRIX),'$(MATRIX)')

lint: ## layers, headers, function length, who may include what, exported names
	@sh tests/lint/selftest.sh
	@sh tests/lint/lint.sh
	@test ! -e $(B)/libcorefrag.so || sh tests/exports.sh $(B)

# ---- fuzzing: the targets are tests/fuzz/fuzz_X.c, their seeds small cores ----

FUZZ_MINUTES ?= 1
FUZZ_FLAGS := -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -pthread

fuzz: $(FUZZ:tests/fuzz/%.c=build/fuzz/%) $(SEEDS) ## each target for FUZZ_MINUTES=1 (clang's libFuzzer)
	@for f in $(filter build/fuzz/%,$^); do mkdir -p $$f.found; \
		$$f -max_total_time=$$(($(FUZZ_MINUTES) * 60)) -rss_limit_mb=2048 -timeout=20 \
			-artifact_prefix=$$f. $$f.found build/seeds || exit 1; done

build/seeds/%: tests/fuzz/seeds/%.zst
	@mkdir -p $(@D)
	@zstd -dqf -o $@ $<

build/fuzz/%: tests/fuzz/%.c $(LIB_SRC) $(B)/schema_sql.h $(B)/queries_sql.h $(B)/html_assets.h
	@command -v $(CLANG) > /dev/null || { echo "make fuzz needs clang with libFuzzer"; exit 1; }
	@mkdir -p $(@D)
	$(call say,CC) $(CLANG) $(CPPFLAGS_ALL) $(FUZZ_FLAGS) -o $@ $< $(LIB_SRC) $(LDLIBS)

$(B)/tests/fuzz/replay_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/replay.o $(B)/libcorefrag.a
	$(LINK) -lcmocka

# ---- speed ----

# All sizes of the readme: make bench BENCH_CHUNKS="5000000 20000000 50000000"
BENCH_CHUNKS ?= 5000000
BENCH_ROUNDS ?= 5
BENCH_SRC := $(filter-out %/pass.c,$(wildcard tests/bench/*.c))

bench: all build/bench build/bench-pass $(GEN_BIN) ## against sqlite3 and cat, BENCH_CHUNKS=5000000
	@build/bench -r $(BENCH_ROUNDS) $(BENCH_CHUNKS)

build/bench: $(BENCH_SRC) $(wildcard tests/bench/*.h) Makefile
	$(call say,CC) $(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(ERROR) -O2 -g -o $@ $(BENCH_SRC)

# Passes of the program's own, with clocks around them.
build/bench-pass: private LDFLAGS_ALL += $(patsubst %,-Wl$(comma)--wrap=%,cf_walk_heaps cf_ptmalloc_walk)
build/bench-pass: build/release/tests/bench/pass.o build/release/libcorefrag.a
	$(LINK)

# The readme's table of figures, from the last run.
bench-readme: ## writes what the last `make bench` measured into README.md
	@test -s build/bench.md
	@sed -i -e '/^<!-- bench -->/,/^<!-- end of bench -->/{//!d}' \
		-e '/^<!-- bench -->/r build/bench.md' README.md

# ---- what is advised, carried out for real: minutes, and gigabytes of cores in build/remedies ----

ROUNDS ?= 1
REMEDIES_OF ?= .
R := build/remedies
REMEDY_BIN := $(addprefix $(R)/,probe.so sessions batches scopes)
REMEDY_RUNTIMES := $(R)/Churn.class $(R)/node_modules/sharp

test-remedies: all $(REMEDY_BIN) ## advice against measurement; ROUNDS=3, REMEDIES_OF='regex' of programs
	@sh .ci/deps --remedies
	@$(MAKE) --no-print-directory $(REMEDY_RUNTIMES)
	@python3 tests/remedies/remedies.py build/corefrag $(R) --rounds $(ROUNDS) --of '$(REMEDIES_OF)' \
		--table $(R)/table.md

$(REMEDY_BIN): Makefile
$(R)/%.so: tests/remedies/%.c
	@mkdir -p $(@D)
	$(call say,CC) $(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(ERROR) -O1 -g -fPIC -shared \
		-Wl,-z,now -o $@ $< -ldl
$(R)/%: tests/remedies/%.c
	@mkdir -p $(@D)
	$(call say,CC) $(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(ERROR) -O1 -g -fno-builtin -rdynamic \
		-pthread -o $@ $<
$(R)/%: tests/remedies/%.cc
	@mkdir -p $(@D)
	$(call say,CXX) $(CXX) -std=c++20 -Wall -Wextra $(ERROR) -O1 -g -fno-builtin -rdynamic -pthread \
		-o $@ $<

$(R)/Churn.class: tests/remedies/Churn.java
	$(call say,JAVAC) javac -d $(R) $<
$(R)/node_modules/sharp:
	@npm install --silent --no-fund --no-audit --prefix $(R) sharp

remedies-readme: ## writes what the last `make test-remedies` measured into README.md
	@test -s $(R)/table.md
	@sed -i -e '/^<!-- remedies -->/,/^<!-- end of remedies -->/{//!d}' \
		-e '/^<!-- remedies -->/r $(R)/table.md' README.md

# ---- the demonstration ----

SAMPLE := $(firstword $(wildcard samples/*.tar.zst))

demo: deps ## analyzes the sample core and shows its report
	@$(MAKE) --no-print-directory all build/demo/core
	@cd build/demo && rm -f core.db && ../corefrag core

build/demo/core: $(SAMPLE)
	@mkdir -p $(@D)
	@zstd -dcq $< | tar -C $(@D) -xmSf -

samples: all build/demo/core ## writes samples/report.*, the sample's report in each format
	@cd build/demo && ../corefrag analyze core -o core.db --force && \
	for format in text.txt markdown.md json.json html.html; do \
		../corefrag report core.db --format $${format%.*} -o ../../samples/report.$${format#*.} \
			|| exit 1; done

# The readme's SQL and the sample's questions, asked anew.
test-docs: all build/demo/core ## what README.md and samples/ say
	@$(B)/corefrag analyze build/demo/core -o $(B)/docs.db --force
	@sh tests/docs.sh $(B)/docs.db

# The library's example, against the shared one and the archive.
EXAMPLES := $(B)/example $(B)/example-static
$(EXAMPLES): samples/example.c include/corefrag.h
$(B)/example: $(B)/libcorefrag.so
	$(call say,LD) $(CC) $(CFLAGS_ALL) -Iinclude $(LDFLAGS_ALL) -o $@ samples/example.c -L$(B) -lcorefrag \
		-Wl,-rpath,'$$ORIGIN' $$(pkg-config --libs sqlite3)
$(B)/example-static: $(B)/libcorefrag.a
	$(call say,LD) $(CC) $(CFLAGS_ALL) -Iinclude $(LDFLAGS_ALL) -o $@ samples/example.c \
		$(B)/libcorefrag.a $(LDLIBS)

test-example: $(EXAMPLES) build/demo/core ## samples/example.c, against both libraries
	@sh tests/example.sh $(B) build/demo/core $(EXAMPLES)

# ---- installing ----

install: all ## into DESTDIR, below PREFIX=/usr/local
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 755 $(B)/corefrag $(DESTDIR)$(PREFIX)/bin/corefrag
	install -m 644 $(B)/libcorefrag.a $(DESTDIR)$(PREFIX)/lib/libcorefrag.a
	install -m 755 $(B)/libcorefrag.so.$(ABI) $(DESTDIR)$(PREFIX)/lib/libcorefrag.so.$(VERSION)
	ln -sfn libcorefrag.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libcorefrag.so.$(ABI)
	ln -sfn libcorefrag.so.$(ABI) $(DESTDIR)$(PREFIX)/lib/libcorefrag.so
	install -m 644 include/corefrag.h $(DESTDIR)$(PREFIX)/include/corefrag.h
	@printf '%s\n' 'prefix=$(PREFIX)' 'Name: corefrag' 'Version: $(VERSION)' \
		'Description: says from an ELF core why glibc malloc holds its memory' \
		'Requires.private: $(PKGS)' 'Cflags: -I$${prefix}/include' \
		'Libs: -L$${prefix}/lib -lcorefrag' 'Libs.private: -liberty -ldl -lm -pthread' \
		> $(DESTDIR)$(PREFIX)/lib/pkgconfig/corefrag.pc

uninstall: ## removes what install wrote
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/corefrag lib/libcorefrag.a lib/libcorefrag.so \
		lib/libcorefrag.so.$(ABI) lib/libcorefrag.so.$(VERSION) include/corefrag.h \
		lib/pkgconfig/corefrag.pc)

test-install: ## installs into build/, and builds a program against that
	@rm -rf build/inst && $(MAKE) -s install PREFIX=$(CURDIR)/build/inst
	@printf '%s\n' '#include <corefrag.h>' '#include <stdio.h>' \
		'int main(void) { return puts(cf_version()) < 0; }' > build/inst/use.c
	@export PKG_CONFIG_PATH=build/inst/lib/pkgconfig && \
		$(CC) -o build/inst/use build/inst/use.c $$(pkg-config --cflags --libs corefrag) && \
		$(CC) -o build/inst/use-static build/inst/use.c $$(pkg-config --cflags corefrag) \
			build/inst/lib/libcorefrag.a $(LDLIBS) -pthread
	@test "$$(LD_LIBRARY_PATH=build/inst/lib build/inst/use)" = $(VERSION)
	@test "$$(build/inst/use-static)" = $(VERSION)
	@$(MAKE) -s uninstall PREFIX=$(CURDIR)/build/inst
	@test -z "$$(find build/inst ! -type d ! -name 'use*')" && echo "install and uninstall work"

format: ## clang-format over all C files
	clang-format -i $(wildcard include/*.h src/*/*.[ch] tests/*/*.[ch])

clean: ## removes build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  \1@\2/p' $(firstword $(MAKEFILE_LIST)) | tr @ '\t' | expand -t 16
	@echo "FLAVOR=asan with any of them: ASan and UBSan, in build/asan. WERROR=1: warnings are errors. V=1: whole commands."

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CLI_OBJ) $(call objects,$(wildcard tests/*/*.c)))
